//! Which jobs are due.

use super::JobRow;
use super::table::{columns, row_of};
use crate::store::{Store, StoreError, Workspace};
use rusqlite::OptionalExtension as _;

const DUE: &str =
    concat!("SELECT ", columns!(), " FROM jobs WHERE state = 'active' AND next <= ?1 ORDER BY next, number");

const DUE_IN: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM jobs WHERE state = 'active' AND workspace = ?2 AND next <= ?1 ORDER BY next, number"
);

const NEXT: &str = "SELECT next FROM jobs WHERE state = 'active' AND next IS NOT NULL ORDER BY next LIMIT 1";

const NEXT_IN: &str = "SELECT next FROM jobs WHERE state = 'active' AND workspace = ?1 AND next IS NOT NULL
    ORDER BY next LIMIT 1";

/// What is asked for again and again.
#[cfg(test)]
pub(in crate::store) const HOT: &[&str] = &[DUE, DUE_IN, NEXT, NEXT_IN];

impl Store {
    /// The active jobs whose due time has come by `now`, of a workspace or all; those that came due first at the front.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn due_jobs(&self, now: i64, workspace: Option<&Workspace>) -> Result<Vec<JobRow>, StoreError> {
        self.read(|connection| match workspace.map(|workspace| workspace.find(connection)).transpose()? {
            None => connection.prepare_cached(DUE)?.query_map([now], row_of)?.collect(),
            Some(None) => Ok(Vec::new()),
            Some(Some(id)) => connection.prepare_cached(DUE_IN)?.query_map([now, id], row_of)?.collect(),
        })
    }

    /// When the next of the active jobs comes due, of a workspace or all, in milliseconds since the epoch.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn next_due(&self, workspace: Option<&Workspace>) -> Result<Option<i64>, StoreError> {
        self.read(|connection| match workspace.map(|workspace| workspace.find(connection)).transpose()? {
            None => connection.prepare_cached(NEXT)?.query_row([], |row| row.get(0)).optional(),
            Some(None) => Ok(None),
            Some(Some(id)) => {
                connection.prepare_cached(NEXT_IN)?.query_row([id], |row| row.get(0)).optional()
            }
        })
    }
}
