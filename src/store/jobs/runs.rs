//! What became of due times.

use super::JobState;
use crate::store::{Store, StoreError, count, kept, named, now, text, text_if};
use rusqlite::{OptionalExtension as _, Row, params};

/// What became of a due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunOutcome {
    /// It runs.
    Running,
    /// It ran.
    Ran,
    /// It ran and failed, or could not run.
    Failed,
    /// It was left out.
    Skipped,
    /// Nobody was there.
    Missed,
}

impl RunOutcome {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Running, Self::Ran, Self::Failed, Self::Skipped, Self::Missed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ran => "ran",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Missed => "missed",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A row about due times, to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRun<'a> {
    /// The due time, or the first of several, in milliseconds since the epoch.
    pub due: i64,
    /// The last of them.
    pub until: i64,
    /// How many they are.
    pub count: u64,
    /// What became of them.
    pub outcome: RunOutcome,
    /// Why.
    pub reason: Option<&'a str>,
    /// The process that runs it.
    pub owner: Option<&'a str>,
}

/// A row about due times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its row.
    pub id: i64,
    /// The id of its job, which may be gone.
    pub job: String,
    /// The due time, or the first of several, in milliseconds since the epoch.
    pub due: i64,
    /// The last of them.
    pub until: i64,
    /// How many they are.
    pub count: u64,
    /// What became of them.
    pub outcome: RunOutcome,
    /// Why.
    pub reason: Option<String>,
    /// The process that runs or ran it.
    pub owner: Option<String>,
    /// When the row was written, in milliseconds since the epoch.
    pub began: i64,
    /// When that was over.
    pub ended: Option<i64>,
}

const COLUMNS: &str = "SELECT id, job, due, until, times, outcome, reason, owner, began, ended FROM job_runs";

const STEP: &str = "UPDATE jobs SET next = ?3, state = coalesce(?4, state), updated = ?5
    WHERE id = ?1 AND next = ?2 AND state = 'active'";

const RUNS: &str = "SELECT 1 FROM job_runs WHERE job = ?1 AND outcome = 'running'";

const THERE: &str = "SELECT 1 FROM jobs WHERE id = ?1";

const ADD: &str = "INSERT INTO job_runs (job, due, until, times, outcome, reason, owner, began, ended)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// The newest twenty stay, and what runs.
const FORGET: &str = "DELETE FROM job_runs WHERE job = ?1 AND outcome <> 'running'
    AND id <= (SELECT id FROM job_runs WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET 20)";

const END: &str = "UPDATE job_runs SET outcome = ?3, reason = ?4, ended = ?5
    WHERE id = ?1 AND owner = ?2 AND outcome = 'running' RETURNING job";

const COUNT: &str = "UPDATE jobs SET failures = iif(?2, failures + 1, 0) WHERE id = ?1";

/// What is asked for with every due time.
#[cfg(test)]
pub(in crate::store) const HOT: &[&str] = &[STEP, RUNS, THERE, ADD, FORGET, END, COUNT];

impl Store {
    /// Deals with due times of a job: writes rows about them and moves the job on to its `next` one, and to a state if one is
    /// given. The rows' ids; or `None`, and nothing changed, when the job is not active or its due time is not
    /// `expected_next` any more (another process was faster), or when a row is to say that it runs and it runs already.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn settle_due(
        &self,
        job: &str,
        expected_next: i64,
        next: Option<i64>,
        state: Option<JobState>,
        rows: &[NewRun<'_>],
    ) -> Result<Option<Vec<i64>>, StoreError> {
        let at = now();
        self.write(|transaction| {
            let running = rows.iter().filter(|row| row.outcome == RunOutcome::Running).count();
            let runs = running > 0 && transaction.prepare_cached(RUNS)?.exists([job])?;
            if runs || running > 1 {
                return Ok(None);
            }
            let moved = transaction.prepare_cached(STEP)?.execute(params![
                job,
                expected_next,
                next,
                state.map(JobState::name),
                at
            ])?;
            if moved != 1 {
                return Ok(None);
            }
            let mut ids = Vec::new();
            for row in rows {
                let ended = (row.outcome != RunOutcome::Running).then_some(at);
                let id = transaction.prepare_cached(ADD)?.insert(params![
                    job,
                    row.due,
                    row.until,
                    kept(row.count),
                    row.outcome.name(),
                    row.reason,
                    row.owner,
                    at,
                    ended,
                ])?;
                ids.push(id);
            }
            transaction.prepare_cached(FORGET)?.execute([job])?;
            Ok(Some(ids))
        })
    }

    /// Writes down that a job is run now, whatever its due times: the row's id. `None`, and nothing written, when it runs
    /// already or there is no such job.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn begin_run(&self, job: &str, owner: &str, due: i64) -> Result<Option<i64>, StoreError> {
        let at = now();
        self.write(|transaction| {
            if transaction.prepare_cached(RUNS)?.exists([job])?
                || !transaction.prepare_cached(THERE)?.exists([job])?
            {
                return Ok(None);
            }
            let outcome = RunOutcome::Running.name();
            let id = transaction.prepare_cached(ADD)?.insert(params![
                job,
                due,
                due,
                1,
                outcome,
                None::<&str>,
                owner,
                at,
                None::<i64>
            ])?;
            transaction.prepare_cached(FORGET)?.execute([job])?;
            Ok(Some(id))
        })
    }

    /// Notes what became of a run of `owner`'s, and counts the failures of its job: one more when it failed, none any more
    /// when it ran. `false`: it was over before, or is not `owner`'s, or `outcome` is no end; then nothing changed.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn end_run(
        &self,
        run: i64,
        owner: &str,
        outcome: RunOutcome,
        reason: Option<&str>,
    ) -> Result<bool, StoreError> {
        if outcome == RunOutcome::Running {
            return Ok(false);
        }
        self.write(|transaction| {
            let job: Option<String> = transaction
                .prepare_cached(END)?
                .query_row(params![run, owner, outcome.name(), reason, now()], |row| row.get(0))
                .optional()?;
            let Some(job) = job else { return Ok(false) };
            if matches!(outcome, RunOutcome::Failed | RunOutcome::Ran) {
                transaction.prepare_cached(COUNT)?.execute(params![job, outcome == RunOutcome::Failed])?;
            }
            Ok(true)
        })
    }

    /// The run of a job that runs.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn running_run(&self, job: &str) -> Result<Option<RunRow>, StoreError> {
        self.read(|connection| {
            let query = format!("{COLUMNS} WHERE job = ?1 AND outcome = 'running'");
            connection.prepare_cached(&query)?.query_row([job], row_of).optional()
        })
    }

    /// The runs of a process that run.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn runs_of(&self, owner: &str) -> Result<Vec<RunRow>, StoreError> {
        self.read(|connection| {
            let query = format!("{COLUMNS} WHERE owner = ?1 AND outcome = 'running'");
            connection.prepare_cached(&query)?.query_map([owner], row_of)?.collect()
        })
    }

    /// What became of a job's due times, newest first, at most so many. Twenty rows are kept, and what runs.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn job_runs(&self, job: &str, limit: u64) -> Result<Vec<RunRow>, StoreError> {
        self.read(|connection| {
            let query = format!("{COLUMNS} WHERE job = ?1 ORDER BY id DESC LIMIT ?2");
            connection.prepare_cached(&query)?.query_map(params![job, kept(limit)], row_of)?.collect()
        })
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        id: row.get(0)?,
        job: text(row, 1)?,
        due: row.get(2)?,
        until: row.get(3)?,
        count: count(row, 4)?,
        outcome: named(row, 5, RunOutcome::from_name)?,
        reason: text_if(row, 6)?,
        owner: text_if(row, 7)?,
        began: row.get(8)?,
        ended: row.get(9)?,
    })
}
