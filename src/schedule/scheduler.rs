//! The `cron` interface of the sandbox: the jobs of one conversation, for one turn.

use super::due;
use super::jobs::{self, Draft, JobError, Owner};
use super::plan::Plan;
use super::service::{Schedule, clock};
use crate::config::CronConfig;
use crate::sandbox::ports::{Answer, Error, ErrorKind, Job, JobEntry, Missed, Schedule as Wanted, Scheduler};
use crate::store::{JobFilter, JobRow, JobState, Store, StoreError, Workspace};
use crate::tasks::Origin;
use std::sync::Arc;

/// Bound to one turn.
struct Bound {
    store: Arc<Store>,
    config: CronConfig,
    origin: Origin,
    /// Whoever runs what is added, if that is in this process.
    at_work: Option<Schedule>,
}

/// What stands behind `cron` in a turn of a process that runs no jobs itself: one with a chat or `serve` does.
pub fn scheduler(store: Arc<Store>, config: CronConfig, origin: Origin) -> Arc<dyn Scheduler> {
    bound(store, config, origin, None)
}

pub(super) fn bound(
    store: Arc<Store>,
    config: CronConfig,
    origin: Origin,
    at_work: Option<Schedule>,
) -> Arc<dyn Scheduler> {
    Arc::new(Bound { store, config, origin, at_work })
}

fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into() }
}

fn unreadable(problem: &StoreError) -> Error {
    error(ErrorKind::Failed, problem.to_string())
}

fn refused(problem: &JobError) -> Error {
    let kind = match problem {
        JobError::FullSession { .. } | JobError::Full { .. } => ErrorKind::Limit,
        JobError::Unowned => ErrorKind::Unavailable,
        JobError::Store(_) | JobError::Unwritten(_) => ErrorKind::Failed,
        JobError::Empty | JobError::Over(_) | JobError::Unfit(_) | JobError::Plan(_) | JobError::Range(_) => {
            ErrorKind::Invalid
        }
    };
    error(kind, problem.to_string())
}

impl Bound {
    fn now(&self) -> i64 {
        self.at_work.as_ref().map_or_else(clock, |schedule| (schedule.0.now)())
    }

    fn put(&self, job: &Job) -> Result<JobRow, Error> {
        let origin = &self.origin;
        if !origin.kept {
            return Err(refused(&JobError::Unowned));
        }
        let now = self.now();
        let plan = match &job.schedule {
            Wanted::At(moment) => Plan::at(&moment.time, moment.zone.as_deref(), now),
            Wanted::EverySeconds(seconds) => Plan::every(*seconds),
            Wanted::Cron(expression) => Plan::cron(&expression.fields, expression.zone.as_deref()),
        };
        let draft = Draft {
            name: job.name.clone(),
            message: job.message.clone(),
            plan: plan.map_err(|problem| refused(&problem.into()))?,
            missed: job.missed.map(|missed| match missed {
                Missed::Skip => due::Missed::Skip,
                Missed::Once => due::Missed::Once,
            }),
        };
        // A run takes no more than this turn may in all.
        let (taken, _) = origin.purse.taken();
        let owner = Owner {
            workspace: &origin.ground.workspace,
            key: &origin.key,
            of: &origin.of,
            rights: &origin.rights,
            tokens: origin.purse.left().tokens.map(|left| left.saturating_add(taken)),
            time: origin.ground.config.profile_limits(&origin.of.profile).time,
            silent: false,
            by: "agent",
        };
        let row = jobs::add(&self.store, &self.config, &owner, &draft, now);
        let row = row.map_err(|problem| refused(&problem))?;
        if let Some(schedule) = &self.at_work {
            schedule.wake();
        }
        Ok(row)
    }

    fn entry(&self, job: JobRow) -> Result<JobEntry, Error> {
        let runs = self.store.job_runs(&job.id, 1).map_err(|problem| unreadable(&problem))?;
        let enabled = job.state == JobState::Active;
        Ok(JobEntry {
            schedule: jobs::schedule_words(&job),
            last: runs.first().map(|run| jobs::run_words(&job, run)),
            next: job.next.filter(|_| enabled).map(|next| jobs::clock_words(&job, next)),
            enabled,
            id: job.id,
            name: job.name,
            message: job.message,
        })
    }

    /// A job of this conversation. What belongs to another is not there.
    fn mine(&self, job: &JobRow) -> bool {
        let origin = &self.origin;
        job.workspace_path == origin.ground.workspace
            && job.channel == origin.key.channel()
            && job.chat == origin.key.chat()
    }
}

impl Scheduler for Bound {
    fn add(&self, job: Job) -> Answer<'_, JobEntry> {
        Box::pin(async move { self.entry(self.put(&job)?) })
    }

    fn list(&self) -> Answer<'_, Vec<JobEntry>> {
        Box::pin(async move {
            let origin = &self.origin;
            let filter = JobFilter {
                workspace: Some(Workspace::at(&origin.ground.workspace)),
                session: Some((origin.key.channel().to_owned(), origin.key.chat().to_owned())),
                all_states: false,
            };
            let rows = self.store.jobs(&filter).map_err(|problem| unreadable(&problem))?;
            let shown = rows.into_iter().filter(|job| job.state != JobState::Disabled);
            shown.map(|job| self.entry(job)).collect()
        })
    }

    fn remove(&self, id: String) -> Answer<'_, ()> {
        Box::pin(async move {
            let job = self.store.job(&id).map_err(|problem| unreadable(&problem))?;
            let there = job.is_some_and(|job| self.mine(&job))
                && self.store.remove_job(&id).map_err(|problem| unreadable(&problem))?;
            let missing = || {
                let id = id.escape_debug();
                error(
                    ErrorKind::NotFound,
                    format!("this conversation has no scheduled job {id}; `list` shows them"),
                )
            };
            if there { Ok(()) } else { Err(missing()) }
        })
    }
}
