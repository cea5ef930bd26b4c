//! The jobs that there are.

use super::{JobAdded, JobChange, JobRow, JobState, NewJob};
use crate::store::{
    Store, StoreError, Workspace, count, count_if, kept, named, narrow, now, path, small, text, text_if,
};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// When a job comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing<'a> {
    /// As JSON.
    pub schedule: &'a str,
    /// From when its phase is counted, in milliseconds since the epoch.
    pub anchor: i64,
    /// Its next due time, in milliseconds since the epoch.
    pub next: Option<i64>,
}

/// Which jobs to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Those of one workspace.
    pub workspace: Option<Workspace>,
    /// Those of one session, by the halves of its key.
    pub session: Option<(String, String)>,
    /// Those that are done as well.
    pub all_states: bool,
}

/// What is read of a row, in the order of [`row_of`].
macro_rules! columns {
    () => {
        "id, (SELECT w.path FROM workspaces w WHERE w.id = jobs.workspace), channel, chat, name, message, schedule, missed,
         rights, profile, provider, model, time_ms, max_tokens, silent, author, anchor, next, state, reason, failures,
         created, updated, tools, most"
    };
}
pub(super) use columns;

const ONE: &str = concat!("SELECT ", columns!(), " FROM jobs WHERE id = ?1");

impl Store {
    /// Adds a job, active, unless its session has `most_in_session` or there are `most_in_all`; those that are done do not
    /// count.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or its id is taken; then nothing was written.
    pub fn add_job(
        &self,
        job: &NewJob<'_>,
        most_in_session: u64,
        most_in_all: u64,
    ) -> Result<JobAdded, StoreError> {
        self.write(|transaction| {
            let workspace = job.workspace.settle(transaction)?;
            let are = transaction
                .prepare_cached(
                    "SELECT count(*) FROM jobs
                     WHERE state <> 'done' AND workspace = ?1 AND channel = ?2 AND chat = ?3",
                )?
                .query_row(params![workspace, job.channel, job.chat], |row| count(row, 0))?;
            if are >= most_in_session {
                return Ok(JobAdded::Full { are, most: most_in_session, of_session: true });
            }
            let are = transaction
                .prepare_cached("SELECT count(*) FROM jobs WHERE state <> 'done'")?
                .query_row([], |row| count(row, 0))?;
            if are >= most_in_all {
                return Ok(JobAdded::Full { are, most: most_in_all, of_session: false });
            }
            transaction
                .prepare_cached(
                    "INSERT INTO jobs (id, workspace, channel, chat, name, message, schedule, missed, rights, profile,
                     provider, model, time_ms, max_tokens, silent, author, anchor, next, state, failures, created, updated,
                     tools, most)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, 'active', 0,
                     ?19, ?19, ?20, ?21)",
                )?
                .execute(params![
                    job.id,
                    workspace,
                    job.channel,
                    job.chat,
                    job.name,
                    job.message,
                    job.schedule,
                    job.missed,
                    job.rights,
                    job.profile,
                    job.provider,
                    job.model,
                    kept(job.time_ms),
                    job.max_tokens.map(kept),
                    job.silent,
                    job.by,
                    job.anchor,
                    job.next,
                    now(),
                    job.tools,
                    job.most,
                ])?;
            one(transaction, job.id)?.map(JobAdded::Added).ok_or(rusqlite::Error::QueryReturnedNoRows)
        })
    }

    /// The job of that id.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn job(&self, id: &str) -> Result<Option<JobRow>, StoreError> {
        self.read(|connection| one(connection, id))
    }

    /// The jobs that pass a filter, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn jobs(&self, filter: &JobFilter) -> Result<Vec<JobRow>, StoreError> {
        self.read(|connection| {
            let mut query = concat!("SELECT ", columns!(), " FROM jobs WHERE 1").to_owned();
            let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
            let workspace =
                filter.workspace.as_ref().map(|workspace| workspace.find(connection)).transpose()?;
            if !narrow(&mut query, &mut values, &workspace, &filter.session) {
                return Ok(Vec::new());
            }
            if !filter.all_states {
                query.push_str(" AND state <> 'done'");
            }
            query.push_str(" ORDER BY number");
            connection.prepare_cached(&query)?.query_map(values.as_slice(), row_of)?.collect()
        })
    }

    /// Removes a job. What became of its due times stays. Whether it was there.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove_job(&self, id: &str) -> Result<bool, StoreError> {
        self.write(|transaction| {
            Ok(transaction.prepare_cached("DELETE FROM jobs WHERE id = ?1")?.execute([id])? == 1)
        })
    }

    /// Changes a job, if it is there: how it is afterwards.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn change_job(&self, id: &str, change: &JobChange<'_>) -> Result<Option<JobRow>, StoreError> {
        self.write(|transaction| {
            let (state, reason) = change.state.unzip();
            let timing = change.timing;
            transaction
                .prepare_cached(
                    "UPDATE jobs SET name = coalesce(?2, name), message = coalesce(?3, message),
                     schedule = coalesce(?4, schedule), anchor = coalesce(?5, anchor), next = iif(?6, ?7, next),
                     state = coalesce(?8, state), reason = iif(?8 IS NULL, reason, ?9),
                     failures = coalesce(?10, failures), updated = ?11 WHERE id = ?1",
                )?
                .execute(params![
                    id,
                    change.name,
                    change.message,
                    timing.map(|timing| timing.schedule),
                    timing.map(|timing| timing.anchor),
                    timing.is_some(),
                    timing.and_then(|timing| timing.next),
                    state.map(JobState::name),
                    reason.flatten(),
                    change.failures,
                    now(),
                ])?;
            one(transaction, id)
        })
    }
}

fn one(connection: &Connection, id: &str) -> rusqlite::Result<Option<JobRow>> {
    connection.prepare_cached(ONE)?.query_row([id], row_of).optional()
}

pub(super) fn row_of(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let workspace_path = path(row, 1)?;
    Ok(JobRow {
        id: text(row, 0)?,
        workspace: workspace_path.to_string_lossy().into_owned(),
        workspace_path,
        channel: text(row, 2)?,
        chat: text(row, 3)?,
        name: text(row, 4)?,
        message: text(row, 5)?,
        schedule: text(row, 6)?,
        missed: text(row, 7)?,
        rights: text(row, 8)?,
        profile: text(row, 9)?,
        provider: text(row, 10)?,
        model: text(row, 11)?,
        time_ms: count(row, 12)?,
        max_tokens: count_if(row, 13)?,
        silent: row.get(14)?,
        by: text(row, 15)?,
        anchor: row.get(16)?,
        next: row.get(17)?,
        state: named(row, 18, JobState::from_name)?,
        reason: text_if(row, 19)?,
        failures: small(row, 20)?,
        created: row.get(21)?,
        updated: row.get(22)?,
        tools: text_if(row, 23)?,
        most: text(row, 24)?,
    })
}
