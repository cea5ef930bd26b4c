//! The state database: sessions, background runs, letters, jobs, audit rows and usage, in one SQLite file outside every workspace.
//!
//! A write is one transaction and is complete when its function returns. The write-ahead log is written with every
//! commit but forced to the disk only at checkpoints (`synchronous = NORMAL`): a process that is killed loses nothing and
//! tears nothing; a machine that loses power may lose the newest transactions, whole ones from the end, and tears nothing.
//!
//! Calls are short and block for as long as they take, which is microseconds unless another process writes at that
//! moment. So they are made from async code as they are; no lock is held across an `await`.

mod audit;
mod error;
mod jobs;
mod outbox;
mod place;
#[cfg(test)]
mod plans;
mod processes;
mod rows;
mod schema;
mod sessions;
mod tasks;
mod usage;
mod workspaces;

pub use audit::{AuditFilter, AuditRow};
pub use error::StoreError;
pub use jobs::{
    JobAdded, JobChange, JobFilter, JobRow, JobState, NewJob, NewRun, RunOutcome, RunRow, Timing,
};
pub use outbox::{LetterFilter, LetterRow, NewLetter};
pub use processes::{Buried, NewProcess, ProcessRow};
pub use sessions::{Appended, Compaction, MessageRow, NewMessage, SessionFilter, SessionId, SessionRow};
pub use tasks::{Begun, CancelAsked, Delivery, Execution, NewTask, Recorded, TaskEnd, TaskFilter, TaskRow};
pub use usage::{UsageRow, UsageSum};
pub use workspaces::Workspace;

use rows::{count, count_if, kept, named, narrow, path, path_if, small, text, text_if};
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What it is called, in the data directory.
pub const FILE: &str = "state.db";

/// How long to wait while another process writes.
const PATIENCE: Duration = Duration::from_secs(15);

/// The database, open. Several processes, and several of these in one process, may have it open at once.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Store {
    /// Opens the database, or makes it: a file that only this user can read, in a directory that only this user can enter.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, is a link or another user's, was written by a newer version, or is damaged. It is left as
    /// it was.
    pub fn open(path: &Path) -> Result<Arc<Self>, StoreError> {
        let path = place::settle(path)?;
        let _turn = place::take_turn(&path, PATIENCE)?;
        place::claim(&path)?;
        let sql = |error: rusqlite::Error| StoreError::of(&path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&path, flags).map_err(sql)?;
        connection.busy_timeout(PATIENCE).map_err(sql)?;
        connection.set_prepared_statement_cache_capacity(96);
        // Looked at before anything is changed, the journal mode included: a database that is refused stays as it is.
        schema::admit(&connection, &path)?;
        for (name, value) in [
            ("journal_mode", "WAL"),
            ("synchronous", "NORMAL"),
            ("foreign_keys", "ON"),
            ("trusted_schema", "OFF"),
            ("cell_size_check", "ON"),
            // What is removed is overwritten.
            ("secure_delete", "ON"),
        ] {
            connection.pragma_update(None, name, value).map_err(sql)?;
        }
        schema::migrate(&mut connection, &path)?;
        Ok(Arc::new(Self { path, connection: Mutex::new(connection) }))
    }

    /// The database, if there is one: looking does not make it.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Option<Arc<Self>>, StoreError> {
        if place::exists(path)? { Self::open(path).map(Some) } else { Ok(None) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        // A panic of another thread has rolled its transaction back; the connection is as good as before.
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| StoreError::of(&self.path, &error))
    }

    /// All of it is written or nothing. The lock of the database is taken first, so that what is read in it still holds
    /// when it is written.
    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let done =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|transaction| {
                let value = work(&transaction)?;
                transaction.commit()?;
                Ok(value)
            });
        done.map_err(|error| StoreError::of(&self.path, &error))
    }
}

/// Now, in milliseconds since the epoch.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
