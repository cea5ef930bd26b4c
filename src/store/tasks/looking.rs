//! Looking at runs.

use super::{Delivery, Execution, TaskRow};
use crate::store::{
    Store, StoreError, Workspace, count, count_if, kept, named, narrow, path, small, text, text_if,
};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// Which runs to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFilter {
    /// Those of one workspace.
    pub workspace: Option<Workspace>,
    /// Those of one session, by the halves of its key.
    pub session: Option<(String, String)>,
    /// Those that are not over.
    pub unended: bool,
    /// The newest so many.
    pub limit: Option<u64>,
}

/// What is read of a row, in the order of [`row_of`].
macro_rules! columns {
    () => {
        "id, (SELECT w.path FROM workspaces w WHERE w.id = tasks.workspace), channel, chat, nth, turn, digest, label,
         task, profile, provider, model, rights, max_iterations, max_tokens, max_cost, temperature, time_ms, retry_of,
         owner, kept, cancel, execution, delivery, reason, created, started, ended, delivered, result, iterations,
         input, cached, output, cost, number, origin"
    };
}
pub(super) use columns;

/// Where the number of a row stands behind its columns.
const NUMBER: usize = 35;

impl Store {
    /// The run of that name.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn task(&self, id: &str) -> Result<Option<TaskRow>, StoreError> {
        self.read(|connection| one(connection, id))
    }

    /// The runs that pass a filter, newest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn tasks(&self, filter: &TaskFilter) -> Result<Vec<TaskRow>, StoreError> {
        self.read(|connection| {
            let mut query = concat!("SELECT ", columns!(), " FROM tasks WHERE 1").to_owned();
            let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
            let workspace =
                filter.workspace.as_ref().map(|workspace| workspace.find(connection)).transpose()?;
            if !narrow(&mut query, &mut values, &workspace, &filter.session) {
                return Ok(Vec::new());
            }
            if filter.unended {
                query.push_str(" AND ended IS NULL");
            }
            query.push_str(" ORDER BY number DESC LIMIT :limit");
            let limit = filter.limit.map_or(-1, kept);
            values.push((":limit", &limit));
            connection.prepare_cached(&query)?.query_map(values.as_slice(), row_of)?.collect()
        })
    }

    /// The names of runs that begin so, the newest first, at most so many.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn task_ids(&self, beginning: &str, limit: u64) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM tasks WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number DESC LIMIT ?2",
                )?
                .query_map(rusqlite::params![beginning, kept(limit)], |row| row.get(0))?
                .collect()
        })
    }

    /// Runs that wait and are nobody's, oldest first, at most so many.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn unowned_tasks(&self, limit: u64) -> Result<Vec<TaskRow>, StoreError> {
        self.read(|connection| {
            connection.prepare_cached(UNOWNED)?.query_map([kept(limit)], row_of)?.collect()
        })
    }
}

const UNOWNED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM tasks WHERE execution = 'queued' AND owner IS NULL AND ended IS NULL ORDER BY number LIMIT ?1"
);

/// What is asked for with every run.
#[cfg(test)]
pub(in crate::store) const HOT: &[&str] = &[ONE, UNOWNED];

const ONE: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE id = ?1");

pub(super) fn one(connection: &Connection, id: &str) -> rusqlite::Result<Option<TaskRow>> {
    connection.prepare_cached(ONE)?.query_row([id], row_of).optional()
}

/// A row with its number, by which rows are in the order in which they were recorded.
pub(super) fn numbered(row: &Row<'_>) -> rusqlite::Result<(i64, TaskRow)> {
    Ok((row.get(NUMBER)?, row_of(row)?))
}

pub(super) fn row_of(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let workspace_path = path(row, 1)?;
    Ok(TaskRow {
        id: text(row, 0)?,
        workspace: workspace_path.to_string_lossy().into_owned(),
        workspace_path,
        channel: text(row, 2)?,
        chat: text(row, 3)?,
        nth: count(row, 4)?,
        turn: text(row, 5)?,
        digest: text(row, 6)?,
        label: text(row, 7)?,
        task: text(row, 8)?,
        profile: text(row, 9)?,
        provider: text(row, 10)?,
        model: text(row, 11)?,
        rights: text(row, 12)?,
        max_iterations: small(row, 13)?,
        max_tokens: count_if(row, 14)?,
        max_cost: count_if(row, 15)?,
        temperature: row.get(16)?,
        time_ms: count(row, 17)?,
        retry_of: text_if(row, 18)?,
        owner: text_if(row, 19)?,
        kept: row.get(20)?,
        cancel: text_if(row, 21)?,
        execution: named(row, 22, Execution::from_name)?,
        delivery: named(row, 23, Delivery::from_name)?,
        reason: text_if(row, 24)?,
        created: row.get(25)?,
        started: row.get(26)?,
        ended: row.get(27)?,
        delivered: row.get(28)?,
        result: text_if(row, 29)?,
        iterations: small(row, 30)?,
        input: count(row, 31)?,
        cached: count(row, 32)?,
        output: count(row, 33)?,
        cost: count_if(row, 34)?,
        origin: text(row, 36)?,
    })
}
