//! The processes that are there, and what becomes of the things of one that is gone.
//!
//! A row says that a process was here; whether it still is, its lock file tells, which is not kept here.

use super::{Store, StoreError, Workspace, now, path_if, small, text, text_if};
use rusqlite::{Row, Transaction, params};
use std::path::PathBuf;

/// A process that comes.
#[derive(Debug, Clone, Copy)]
pub struct NewProcess<'a> {
    /// Its name, which its lock file has too.
    pub id: &'a str,
    /// What it does: `chat`, `run`, `serve` or `work`.
    pub kind: &'a str,
    /// Its number in the system, for people.
    pub pid: u32,
}

/// A process as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// Its name.
    pub id: String,
    /// What it does: `chat`, `run`, `serve` or `work`.
    pub kind: String,
    /// Its number in the system, for people.
    pub pid: u32,
    /// When it came, in milliseconds since the epoch.
    pub started: i64,
    /// The workspace that it attends; empty for sessions without one.
    pub workspace: Option<PathBuf>,
    /// The session there that it attends, by the halves of its key.
    pub session: Option<(String, String)>,
}

/// What was left by a process that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buried {
    /// Runs that ended with it.
    pub lost: u64,
}

/// What a process that leaves in order has not ended.
const LEFT: &str = "its process left before it ended";

impl Store {
    /// Registers a process. One of that name is replaced.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn register_process(&self, process: &NewProcess<'_>) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO processes (id, kind, pid, started) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![process.id, process.kind, process.pid, now()])
                .map(drop)
        })
    }

    /// Notes which session a process attends, instead of any other. `None` is none in particular.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn attend(
        &self,
        id: &str,
        workspace: &Workspace,
        session: Option<(&str, &str)>,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            let workspace = workspace.settle(transaction)?;
            let (channel, chat) = session.unzip();
            transaction
                .prepare_cached("UPDATE processes SET workspace = ?2, channel = ?3, chat = ?4 WHERE id = ?1")?
                .execute(params![id, workspace, channel, chat])
                .map(drop)
        })
    }

    /// The processes that are registered, those that came first at the front.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn processes(&self) -> Result<Vec<ProcessRow>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id, kind, pid, started, channel, chat,
                     (SELECT w.path FROM workspaces w WHERE w.id = processes.workspace)
                     FROM processes ORDER BY started, id",
                )?
                .query_map([], row_of)?
                .collect()
        })
    }

    /// The names of all that anything unfinished belongs to, and of all that are registered. A name that is not registered is
    /// of a process that was buried while it was at work.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn owners(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM processes
                     UNION SELECT owner FROM tasks WHERE ended IS NULL AND owner IS NOT NULL
                     UNION SELECT owner FROM tasks WHERE delivery = 'pending' AND ended IS NOT NULL AND owner IS NOT NULL
                     UNION SELECT owner FROM outbox WHERE delivery = 'pending' AND owner IS NOT NULL
                     UNION SELECT owner FROM job_runs WHERE outcome = 'running' AND owner IS NOT NULL",
                )?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    /// A process leaves in order: what it has taken and not delivered is nobody's again, and what it has not ended is lost.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn leave(&self, id: &str) -> Result<(), StoreError> {
        self.write(|transaction| clear(transaction, id, LEFT, false).map(drop))
    }

    /// A process is gone without a word: its runs are lost, with this reason; its results and letters are nobody's again, and
    /// whether the letters were seen is not known; its jobs' runs failed.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn bury(&self, id: &str, reason: &str) -> Result<Buried, StoreError> {
        self.write(|transaction| clear(transaction, id, reason, true))
    }
}

/// Runs that are not over.
const LOSE: &str = "UPDATE tasks SET execution = 'lost', reason = ?2, ended = ?3, owner = NULL
    WHERE ended IS NULL AND owner = ?1 AND execution IN ('queued', 'running', 'waiting-approval')";

/// Results that were not delivered.
const FREE: &str =
    "UPDATE tasks SET owner = NULL WHERE delivery = 'pending' AND ended IS NOT NULL AND owner = ?1";

/// Letters that were not shown, or perhaps were.
const RETURN: &str = "UPDATE outbox SET owner = NULL, uncertain = max(uncertain, ?2)
    WHERE delivery = 'pending' AND owner = ?1";

/// Jobs whose runs fail with it: a job that ends its process each time is to be noticed.
const COUNT: &str = "UPDATE jobs SET failures = failures + 1
    WHERE id IN (SELECT job FROM job_runs WHERE outcome = 'running' AND owner = ?1)";

/// Their runs.
const FAIL: &str = "UPDATE job_runs SET outcome = 'failed', reason = ?2, ended = ?3
    WHERE outcome = 'running' AND owner = ?1";

/// What is asked for when a process ends.
#[cfg(test)]
pub(super) const HOT: &[&str] = &[LOSE, FREE, RETURN, COUNT, FAIL];

fn clear(transaction: &Transaction<'_>, id: &str, reason: &str, uncertain: bool) -> rusqlite::Result<Buried> {
    let at = now();
    let lost = transaction.prepare_cached(LOSE)?.execute(params![id, reason, at])?;
    transaction.prepare_cached(FREE)?.execute([id])?;
    transaction.prepare_cached(RETURN)?.execute(params![id, uncertain])?;
    transaction.prepare_cached(COUNT)?.execute([id])?;
    transaction.prepare_cached(FAIL)?.execute(params![id, reason, at])?;
    transaction.prepare_cached("DELETE FROM processes WHERE id = ?1")?.execute([id])?;
    Ok(Buried { lost: lost as u64 })
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<ProcessRow> {
    Ok(ProcessRow {
        id: text(row, 0)?,
        kind: text(row, 1)?,
        pid: small(row, 2)?,
        started: row.get(3)?,
        session: text_if(row, 4)?.zip(text_if(row, 5)?),
        workspace: path_if(row, 6)?,
    })
}
