//! One run of a job: a turn that nobody watches, in the job's session.

use super::jobs::{self, Fit};
use super::service::{Inner, Schedule};
use super::{notice, settle};
use crate::agent::{Incomplete, Said, TurnEnd, TurnOutcome};
use crate::store::{JobRow, JobState, RunOutcome, StoreError};
use crate::tasks::Unattended;
use crate::toolbox::one_line;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Failures in a row at which the person is told, before the job is paused.
const SOME: u32 = 2;

/// How a run ended, to be written down.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    job: String,
    run: i64,
    outcome: RunOutcome,
    reason: Option<String>,
}

/// A run that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The job.
    pub job: JobRow,
    /// The due time that it was run for, in milliseconds since the epoch.
    pub due: i64,
    /// What became of it.
    pub outcome: RunOutcome,
    /// Why.
    pub reason: Option<String>,
    /// The turn, where there was one.
    pub end: Option<TurnEnd>,
}

/// A job that is not run by hand.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// There is none of that id.
    #[error("there is no such job")]
    Unknown,
    /// A run of it goes on.
    #[error("the job runs already")]
    Running,
    /// It can never run as it is.
    #[error("the job is disabled: {0}")]
    Disabled(String),
    /// Its end will not be heard of.
    #[error("the program is about to end")]
    Ending,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The name under which a job's session takes the message of a due time once.
pub fn source(id: &str, due: i64) -> String {
    format!("job:{id}:{due}")
}

impl Schedule {
    /// Runs a job now, whatever its due times, and waits for its end; `stop` ends it. A paused job is run, a disabled one is
    /// not.
    ///
    /// # Errors
    ///
    /// When there is no such job, it runs already, or it can never run as it is.
    pub async fn run_now(&self, id: &str, stop: watch::Receiver<bool>) -> Result<Ran, NotRun> {
        let inner = &self.0;
        let job = inner.store.job(id)?.ok_or(NotRun::Unknown)?;
        if job.state == JobState::Disabled {
            return Err(NotRun::Disabled(job.reason.unwrap_or_default()));
        }
        let fit = match Fit::of(&job) {
            Ok(fit) => fit,
            Err(unfit) => {
                settle::halt(inner, &job, JobState::Disabled, &unfit.0)?;
                return Err(NotRun::Disabled(unfit.0));
            }
        };
        let due = (inner.now)();
        if settle::runs(inner, id)? {
            return Err(NotRun::Running);
        }
        let Some(run) = inner.store.begin_run(id, inner.tasks.process(), due)? else {
            return Err(NotRun::Running);
        };
        start(inner, &job, fit, (run, due), stop).await.map_err(|_| NotRun::Ending)
    }
}

/// Begins a run whose row says that it runs. It is a task of its own: nothing waits for it but who wants to.
pub(super) fn start(
    inner: &Arc<Inner>,
    job: &JobRow,
    fit: Fit,
    (run, due): (i64, i64),
    stop: watch::Receiver<bool>,
) -> oneshot::Receiver<Ran> {
    let (tell, over) = oneshot::channel();
    let (inner, job) = (Arc::clone(inner), job.clone());
    let counted = inner.count();
    tokio::spawn(async move {
        // A task of its own, so that a panic in it ends it alone.
        let work = tokio::spawn(work(Arc::clone(&inner), job.clone(), fit, due, stop)).await;
        let (outcome, reason, end) = match work {
            Ok(Ok(end)) => told(end),
            Ok(Err(problem)) => (RunOutcome::Failed, Some(problem), None),
            Err(error) => (RunOutcome::Failed, Some(format!("the program failed: {error}")), None),
        };
        inner.ended(Ended { job: job.id.clone(), run, outcome, reason: reason.clone() });
        if let Some(listener) = inner.listener.get() {
            let why = reason.as_ref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
            listener(&format!("job {} ({}) {}{why}", job.id, one_line(&job.name), outcome.name()));
        }
        drop(counted);
        // Nobody waits for a run that came due by itself.
        let _ = tell.send(Ran { job, due, outcome, reason, end });
    });
    over
}

async fn work(
    inner: Arc<Inner>,
    job: JobRow,
    fit: Fit,
    due: i64,
    stop: watch::Receiver<bool>,
) -> Result<TurnEnd, String> {
    let ground = inner.house.ground(&job.workspace_path, &fit.rights.directories)?;
    let said = Said::by_host(message(&job, due), source(&job.id, due));
    let unattended = Unattended {
        tasks: inner.tasks.clone(),
        ground,
        key: fit.key,
        of: fit.of,
        rights: fit.rights,
        time: Some(Duration::from_millis(job.time_ms).min(inner.config.timeout)),
        tokens: job.max_tokens,
        silent: job.silent,
    };
    unattended.go(vec![said], &source(&job.id, due), stop).await
}

/// What the agent is told.
fn message(job: &JobRow, due: i64) -> String {
    let person = if job.silent {
        "nobody is told of your answer; it is kept in this conversation"
    } else {
        "your answer is kept for the person"
    };
    format!(
        "[host] You run as the scheduled job \"{}\" ({}), due at {}. Nobody is there to answer a question: decide yourself, \
         and say what you could not do; {person}. You cannot schedule further jobs. What is to be done:\n{}",
        one_line(&job.name),
        job.id,
        jobs::clock_words(job, due),
        job.message,
    )
}

/// How a turn ended, as what became of a run. What is not complete failed.
fn told(end: TurnEnd) -> (RunOutcome, Option<String>, Option<TurnEnd>) {
    let reason = match &end.outcome {
        TurnOutcome::Completed => return (RunOutcome::Ran, None, Some(end)),
        TurnOutcome::Incomplete(Incomplete::Time) => "its time was over".to_owned(),
        TurnOutcome::Incomplete(Incomplete::Iterations) => "it used up its model calls".to_owned(),
        TurnOutcome::Incomplete(Incomplete::Tokens) => "it used up its tokens".to_owned(),
        TurnOutcome::Incomplete(Incomplete::Cost) => "it used up its money".to_owned(),
        TurnOutcome::Incomplete(Incomplete::Length) => {
            "its answer is longer than the model may write".to_owned()
        }
        TurnOutcome::Cancelled => "the process was told to end".to_owned(),
        TurnOutcome::Failed(error) => error.to_string(),
        TurnOutcome::Unrecorded(problem) => problem.clone(),
    };
    (RunOutcome::Failed, Some(reason), Some(end))
}

/// Writes down how a run ended, and what follows for its job. `false`: it could not be written.
pub(super) fn write(inner: &Inner, ended: &Ended) -> bool {
    let reason = ended.reason.as_deref();
    match inner.store.end_run(ended.run, inner.tasks.process(), ended.outcome, reason) {
        Ok(true) if ended.outcome == RunOutcome::Failed => {
            if let Err(error) = consequences(inner, ended) {
                tracing::warn!("what follows from a failed run of job {} is not done: {error}", ended.job);
            }
            true
        }
        Ok(_) => true,
        Err(error) => {
            tracing::error!("how a run of job {} ended cannot be written down: {error}", ended.job);
            false
        }
    }
}

fn consequences(inner: &Inner, ended: &Ended) -> Result<(), StoreError> {
    let Some(job) = inner.store.job(&ended.job)? else { return Ok(()) };
    let why = ended.reason.as_deref().unwrap_or_default();
    if job.state == JobState::Active && job.failures >= inner.config.failures {
        let why = format!("{}; the last: {why}", settle::failing(job.failures));
        return settle::halt(inner, &job, JobState::Paused, &why);
    }
    if job.state == JobState::Done || (job.state == JobState::Active && job.failures == SOME) {
        notice::failed(inner, &job, ended.run, why);
    }
    Ok(())
}
