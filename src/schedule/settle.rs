//! What becomes of a job that is due: each of its due times ends in a row, whatever is in the way.

use super::due::{Due, Fate, Missed, Row, Settling};
use super::jobs::{Fit, Unfit};
use super::plan::Plan;
use super::service::Inner;
use super::{notice, run};
use crate::store::{JobChange, JobRow, JobState, NewRun, RunOutcome, StoreError};
use std::sync::Arc;
use tokio::sync::watch;

/// How often a job is looked at anew that changed at the same moment.
const AGAIN: usize = 4;

/// Why a due time is left out while the run before it goes on.
const GOING: &str = "the run before it is still going";

/// What is to happen to the due time that is run, if one is.
enum Verdict {
    Run(Box<Fit>),
    Overlap,
    Failing(String),
    Unfit(String),
}

/// Deals with what is due of a job, unless another process does.
pub(super) fn settle(
    inner: &Arc<Inner>,
    mut job: JobRow,
    now: i64,
    stop: &watch::Receiver<bool>,
) -> Result<(), StoreError> {
    let seen = job.next;
    for _ in 0..AGAIN {
        if attempt(inner, &job, now, stop)? {
            return Ok(());
        }
        // Another process was faster, or began a run of it by hand.
        match inner.store.job(&job.id)? {
            Some(found) if found.next == seen && found.state == JobState::Active => job = found,
            _ => return Ok(()),
        }
    }
    Ok(())
}

/// `false`: it changed meanwhile.
fn attempt(
    inner: &Arc<Inner>,
    job: &JobRow,
    now: i64,
    stop: &watch::Receiver<bool>,
) -> Result<bool, StoreError> {
    let Some(next) = job.next else { return Ok(true) };
    let fit = Fit::of(job);
    let settling = match Plan::from_text(&job.schedule) {
        Ok(plan) => {
            // A job of which this cannot be read is not run, as is seen below.
            let missed = Missed::from_name(&job.missed).unwrap_or(Missed::Skip);
            let due = Due { plan: &plan, anchor: job.anchor, next, missed, grace: inner.config.grace };
            match due.settle(now) {
                Ok(settling) => settling,
                Err(error) => {
                    tracing::warn!("when job {} is due cannot be reckoned: {error}", job.id);
                    return Ok(true);
                }
            }
        }
        Err(_) => unreadable(next),
    };
    let verdict = verdict(inner, job, fit)?;
    let reasons: Vec<Option<String>> = settling.rows.iter().map(|row| reason(row, &verdict)).collect();
    let owner = inner.tasks.process();
    let rows: Vec<NewRun<'_>> = settling
        .rows
        .iter()
        .zip(&reasons)
        .map(|(row, reason)| {
            let outcome = outcome(row, &verdict);
            NewRun {
                due: row.due,
                until: row.until,
                count: row.count,
                outcome,
                reason: reason.as_deref(),
                owner: (outcome == RunOutcome::Running).then_some(owner),
            }
        })
        .collect();
    let state = match &verdict {
        Verdict::Unfit(_) => Some(JobState::Disabled),
        Verdict::Failing(_) => Some(JobState::Paused),
        // Said at once, so that a process which dies on the way leaves no job that is never due.
        Verdict::Run(_) | Verdict::Overlap => settling.next.is_none().then_some(JobState::Done),
    };
    let Some(ids) = inner.store.settle_due(&job.id, next, settling.next, state, &rows)? else {
        return Ok(false);
    };
    match verdict {
        Verdict::Run(fit) => {
            let begun = rows.iter().zip(ids).find(|(row, _)| row.outcome == RunOutcome::Running);
            if let Some((row, id)) = begun {
                run::start(inner, job, *fit, (id, row.due), stop.clone());
            }
        }
        Verdict::Overlap => {}
        Verdict::Failing(why) => halt(inner, job, JobState::Paused, &why)?,
        Verdict::Unfit(why) => halt(inner, job, JobState::Disabled, &why)?,
    }
    Ok(true)
}

fn verdict(inner: &Arc<Inner>, job: &JobRow, fit: Result<Fit, Unfit>) -> Result<Verdict, StoreError> {
    let fit = match fit {
        Ok(fit) => fit,
        Err(Unfit(why)) => return Ok(Verdict::Unfit(why)),
    };
    // Runs that ended with their process are counted by whoever noticed that it was gone.
    if job.failures >= inner.config.failures {
        return Ok(Verdict::Failing(failing(job.failures)));
    }
    Ok(if runs(inner, &job.id)? { Verdict::Overlap } else { Verdict::Run(Box::new(fit)) })
}

/// Whether a run of it goes on, in whatever process. One whose process is gone does not.
pub(super) fn runs(inner: &Inner, id: &str) -> Result<bool, StoreError> {
    match inner.store.running_run(id)? {
        None => Ok(false),
        Some(run) if run.owner.as_deref() == Some(inner.tasks.process()) => Ok(true),
        Some(_) => {
            inner.tasks.bury_the_gone();
            Ok(inner.store.running_run(id)?.is_some())
        }
    }
}

/// Why a job is paused that fails and fails.
pub(super) fn failing(failures: u32) -> String {
    match failures {
        1 => "its last run failed".to_owned(),
        many => format!("its last {many} runs failed"),
    }
}

/// Takes a job out of the schedule, and tells the person why.
pub(super) fn halt(inner: &Inner, job: &JobRow, state: JobState, why: &str) -> Result<(), StoreError> {
    inner
        .store
        .change_job(&job.id, &JobChange { state: Some((state, Some(why))), ..JobChange::default() })?;
    notice::halted(inner, job, state, why);
    Ok(())
}

fn outcome(row: &Row, verdict: &Verdict) -> RunOutcome {
    match (row.fate, verdict) {
        (Fate::Missed, _) => RunOutcome::Missed,
        (Fate::Run, Verdict::Run(_)) => RunOutcome::Running,
        (Fate::Run, Verdict::Overlap | Verdict::Failing(_)) => RunOutcome::Skipped,
        (Fate::Run, Verdict::Unfit(_)) => RunOutcome::Failed,
    }
}

fn reason(row: &Row, verdict: &Verdict) -> Option<String> {
    match (row.fate, verdict) {
        (Fate::Missed, _) if row.more => {
            Some(format!("no process was there to run it, more than {} times in a row", row.count))
        }
        (Fate::Missed, _) => Some("no process was there to run it".to_owned()),
        (Fate::Run, Verdict::Run(_)) => None,
        (Fate::Run, Verdict::Overlap) => Some(GOING.to_owned()),
        (Fate::Run, Verdict::Failing(why) | Verdict::Unfit(why)) => Some(why.clone()),
    }
}

/// Of a job whose plan cannot be read, one due time is known, and none after it.
fn unreadable(next: i64) -> Settling {
    let row = Row { due: next, until: next, count: 1, more: false, fate: Fate::Run };
    Settling { rows: vec![row], next: None }
}
