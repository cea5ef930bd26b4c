//! Jobs on record: adding, changing and telling them, for whoever may.

use super::due::Missed;
use super::plan::{OutOfRange, Plan, PlanError};
use super::zone::Zone;
use crate::authority::{Capability, Profile, Rights};
use crate::config::{self, CronConfig};
use crate::session::SessionKey;
use crate::store::{JobAdded, JobChange, JobRow, JobState, NewJob, RunOutcome, RunRow, Store, StoreError};
use crate::store::{Timing, Workspace};
use crate::tasks::TurnOf;
use crate::toolbox::one_line;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// Characters of a message that become a job's name.
const NAME: usize = 30;

/// Seconds between due times from which on a missed one is made up for, unless it is said otherwise.
const WORTH_IT: u32 = 60 * 60;

/// What somebody wants done, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What it is called; the beginning of the message otherwise.
    pub name: Option<String>,
    /// What is to be done each time.
    pub message: String,
    /// When.
    pub plan: Plan,
    /// What becomes of due times that were missed; by the kind of the plan otherwise.
    pub missed: Option<Missed>,
}

/// Whose a job is, and the most that it may do. It is what the host bound, never what a model said.
#[derive(Debug, Clone)]
pub struct Owner<'a> {
    /// The workspace, links resolved.
    pub workspace: &'a Path,
    /// The session.
    pub key: &'a SessionKey,
    /// As what and with which model its creator runs.
    pub of: &'a TurnOf,
    /// What its creator holds. The job holds this without `cron`.
    pub rights: &'a Rights,
    /// Tokens of a run.
    pub tokens: Option<u64>,
    /// Time of a run, where its creator has less than every job.
    pub time: Option<Duration>,
    /// Whether its answers are kept without being sent to the person.
    pub silent: bool,
    /// Who adds it: `agent` or `user`.
    pub by: &'static str,
}

/// A job that is not added or changed, and what to do instead.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Too many in its session.
    #[error(
        "this conversation has {are} of {most} scheduled jobs; remove one first, or raise [cron] jobs_per_session"
    )]
    FullSession {
        /// How many there are.
        are: u64,
        /// How many there may be.
        most: u64,
    },
    /// Too many over all.
    #[error(
        "there are {are} of {most} scheduled jobs over all conversations; remove one first, or raise [cron] jobs"
    )]
    Full {
        /// How many there are.
        are: u64,
        /// How many there may be.
        most: u64,
    },
    /// It cannot be written down.
    #[error("the job cannot be written down: {0}")]
    Unwritten(String),
    /// Nothing to be done.
    #[error("the job's message is empty; write what is to be done each time")]
    Empty,
    /// No session to belong to.
    #[error(
        "a job belongs to a conversation that is kept in a workspace, and this is none; begin one that is kept"
    )]
    Unowned,
    /// Not due any more.
    #[error("{0} has passed, and there is no later time; give the job another schedule")]
    Over(String),
    /// It can never run as it is.
    #[error("the job cannot run: {0}; remove it, and add it anew")]
    Unfit(String),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The clock.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Puts a job on record. It runs as the built-in profile `cron`, with the tools and rights of its creator and never more.
///
/// # Errors
///
/// When there are too many, its schedule is not ahead, or it cannot be written. Nothing is on record then.
pub fn add(
    store: &Store,
    config: &CronConfig,
    owner: &Owner<'_>,
    draft: &Draft,
    now: i64,
) -> Result<JobRow, JobError> {
    let message = draft.message.trim();
    if message.is_empty() {
        return Err(JobError::Empty);
    }
    let (channel, chat) = (owner.key.channel(), owner.key.chat());
    if channel.is_empty() || chat.is_empty() || owner.workspace.as_os_str().is_empty() {
        return Err(JobError::Unowned);
    }
    let next = draft.plan.next_after(now, now)?;
    let next = next.ok_or_else(|| JobError::Over(draft.plan.words()))?;
    let mut rights = owner.rights.clone();
    rights.capabilities = rights.capabilities.without(Capability::Cron);
    let tools = owner.of.tools.as_ref().map(|tools| serde_json::Value::from(tools.as_slice()).to_string());
    let most =
        serde_json::to_string(&owner.of.most).map_err(|error| JobError::Unwritten(error.to_string()))?;
    let time = owner.time.map_or(config.timeout, |time| time.min(config.timeout));
    let (id, workspace, name) = (config::fresh_id(), Workspace::at(owner.workspace), name(draft));
    let new = NewJob {
        id: &id,
        workspace: &workspace,
        channel,
        chat,
        name: &name,
        message,
        schedule: &draft.plan.to_text(),
        missed: draft.missed.unwrap_or_else(|| usual(&draft.plan)).name(),
        rights: &rights.to_text(),
        profile: &Profile::cron().name,
        tools: tools.as_deref(),
        provider: &owner.of.provider,
        model: &owner.of.model,
        time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        max_tokens: owner.tokens,
        most: &most,
        silent: owner.silent,
        by: owner.by,
        anchor: now,
        next: Some(next),
    };
    match store.add_job(&new, config.jobs_per_session, config.jobs)? {
        JobAdded::Added(row) => Ok(row),
        JobAdded::Full { are, most, of_session: true } => Err(JobError::FullSession { are, most }),
        JobAdded::Full { are, most, of_session: false } => Err(JobError::Full { are, most }),
    }
}

/// What to change of a job; the rest stays, its history too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    /// What it is called.
    pub name: Option<String>,
    /// What is to be done each time.
    pub message: Option<String>,
    /// When.
    pub plan: Option<Plan>,
}

/// Changes a job. One that is done comes due again with a new schedule. `None`: there is none of that id.
///
/// # Errors
///
/// When its schedule is not ahead, or it cannot be written. Nothing changed then.
pub fn edit(store: &Store, job: &JobRow, edit: &Edit, now: i64) -> Result<Option<JobRow>, JobError> {
    let message = edit.message.as_deref().map(str::trim);
    if message.is_some_and(str::is_empty) {
        return Err(JobError::Empty);
    }
    let name = edit.name.as_deref().map(|name| one_line(name.trim()));
    let schedule = edit.plan.as_ref().map(Plan::to_text);
    let next = match &edit.plan {
        Some(plan) => Some(plan.next_after(now, now)?.ok_or_else(|| JobError::Over(plan.words()))?),
        None => None,
    };
    let timing = schedule.as_deref().map(|schedule| Timing { schedule, anchor: now, next });
    let again = edit.plan.is_some() && job.state == JobState::Done;
    let state = again.then_some((JobState::Active, None));
    let change = JobChange {
        name: name.as_deref().filter(|name| !name.is_empty()),
        message,
        timing,
        state,
        failures: None,
    };
    Ok(store.change_job(&job.id, &change)?)
}

/// Lets a job come due no more until it is resumed. `None`: there is none of that id.
///
/// # Errors
///
/// When it cannot be written.
pub fn pause(store: &Store, id: &str, reason: &str) -> Result<Option<JobRow>, StoreError> {
    store.change_job(id, &JobChange { state: Some((JobState::Paused, Some(reason))), ..JobChange::default() })
}

/// Lets a job come due again, in phase: as if it had never been paused, from the next due time on. `None`: there is none of
/// that id.
///
/// # Errors
///
/// When it can never run as it is, has no due time ahead, or it cannot be written. Nothing changed then.
pub fn resume(store: &Store, job: &JobRow, now: i64) -> Result<Option<JobRow>, JobError> {
    let fit = Fit::of(job).map_err(|unfit| JobError::Unfit(unfit.0))?;
    let next = fit.plan.next_after(job.anchor, now)?;
    let next = next.ok_or_else(|| JobError::Over(fit.plan.words()))?;
    let timing = Timing { schedule: &job.schedule, anchor: job.anchor, next: Some(next) };
    let change = JobChange {
        timing: Some(timing),
        state: Some((JobState::Active, None)),
        failures: Some(0),
        ..JobChange::default()
    };
    Ok(store.change_job(&job.id, &change)?)
}

/// Why a job can never run as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit(pub(super) String);

/// A job that can be run.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) plan: Plan,
    pub(super) rights: Rights,
    pub(super) of: TurnOf,
    pub(super) key: SessionKey,
}

impl Fit {
    /// Reads what is on record of a job. What of it cannot be read is never guessed.
    pub(super) fn of(job: &JobRow) -> Result<Self, Unfit> {
        let plan = Plan::from_text(&job.schedule).map_err(|error| Unfit(error.to_string()))?;
        Missed::from_name(&job.missed).ok_or_else(|| {
            Unfit(format!("there is no way to miss a run called `{}`", one_line(&job.missed)))
        })?;
        if job.channel.is_empty() || job.chat.is_empty() {
            return Err(Unfit("it belongs to no session".to_owned()));
        }
        if job.workspace_path.as_os_str().is_empty() {
            return Err(Unfit("it belongs to no workspace".to_owned()));
        }
        if job.profile != Profile::cron().name {
            return Err(Unfit(format!("a job does not run as `{}`", one_line(&job.profile))));
        }
        let rights = Rights::from_text(&job.rights).map_err(|error| Unfit(error.to_string()))?;
        let tools = match job.tools.as_deref().map(serde_json::from_str) {
            Some(Ok(tools)) => Some(tools),
            Some(Err(error)) => return Err(Unfit(format!("its tools cannot be read: {error}"))),
            None => None,
        };
        present(&job.workspace_path)?;
        let of = TurnOf {
            profile: job.profile.clone(),
            tools,
            provider: job.provider.clone(),
            model: job.model.clone(),
            most: serde_json::from_str(&job.most)
                .map_err(|error| Unfit(format!("what it may take at most cannot be read: {error}")))?,
        };
        Ok(Self { plan, rights, of, key: SessionKey::new(&job.channel, &job.chat) })
    }
}

/// The directory is there, and is itself: what it was, and no link to another.
fn present(workspace: &Path) -> Result<(), Unfit> {
    // A file has nothing below it.
    match config::canonical(&workspace.join(".")) {
        Ok(found) if found == workspace => Ok(()),
        Ok(_) => Err(Unfit(format!("its workspace {} is a link to another by now", workspace.display()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(Unfit(format!("its workspace {} is gone", workspace.display())))
        }
        // It may come back; the run says what is wrong.
        Err(_) => Ok(()),
    }
}

/// What a job is called.
fn name(draft: &Draft) -> String {
    let given = draft.name.as_deref().map(|name| one_line(name.trim())).filter(|name| !name.is_empty());
    given.unwrap_or_else(|| {
        let words = draft.message.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = words.char_indices().nth(NAME).and_then(|(at, _)| words.get(..at));
        one_line(&cut.map_or_else(|| words.clone(), |head| format!("{head}...")))
    })
}

/// What becomes of missed due times where nobody said. What is due every minute is not worth making up for.
fn usual(plan: &Plan) -> Missed {
    match plan {
        Plan::At(_) => Missed::Once,
        Plan::Every(every) if every.seconds() >= WORTH_IT => Missed::Once,
        Plan::Every(_) | Plan::Cron(_) => Missed::Skip,
    }
}

/// A job's schedule in words; what is kept where it cannot be read.
pub fn schedule_words(job: &JobRow) -> String {
    Plan::from_text(&job.schedule).map_or_else(|_| one_line(&job.schedule), |plan| plan.words())
}

/// An instant on the clock that a job is told on.
pub fn clock_words(job: &JobRow, at: i64) -> String {
    let zone = Plan::from_text(&job.schedule).ok().and_then(|plan| plan.zone().cloned());
    zone.or_else(|| Zone::of_user().ok()).unwrap_or_else(Zone::utc).say(at)
}

/// What became of due times, in words: `2026-12-01T09:00:00+01:00 (Europe/Berlin), failed: why`.
pub fn run_words(job: &JobRow, run: &RunRow) -> String {
    let how = match run.outcome {
        RunOutcome::Running => "runs now",
        RunOutcome::Ran => "ran",
        RunOutcome::Failed => "failed",
        RunOutcome::Skipped => "skipped",
        RunOutcome::Missed => "missed",
    };
    let at = clock_words(job, run.until);
    match run.reason.as_deref().map(one_line).filter(|reason| !reason.is_empty()) {
        Some(reason) => format!("{at}, {how}: {reason}"),
        None => format!("{at}, {how}"),
    }
}
