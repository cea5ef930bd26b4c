//! From the record of a run to its end.

use super::looking::{columns, one, row_of};
use super::{Begun, CancelAsked, NewTask, Recorded, TaskEnd};
use crate::store::{Store, StoreError, count, kept, now};
use rusqlite::{OptionalExtension as _, params};

/// The states of a run that began and is not over.
macro_rules! running {
    () => {
        "('running', 'waiting-approval')"
    };
}

const SAME: &str = "SELECT number FROM tasks
    WHERE workspace = ?1 AND channel = ?2 AND chat = ?3 AND turn = ?4 AND digest = ?5";

const LAST: &str = "SELECT nth FROM tasks WHERE workspace = ?1 AND channel = ?2 AND chat = ?3
    ORDER BY nth DESC LIMIT 1";

const WAITING: &str = "SELECT 1 FROM tasks WHERE id = ?1 AND execution = 'queued' AND ended IS NULL
    AND (owner IS NULL OR owner = ?2)";

const COUNT_RUNNING: &str =
    concat!("SELECT count(*) FROM tasks WHERE ended IS NULL AND execution IN ", running!());

const BEGIN: &str = "UPDATE tasks SET execution = 'running', owner = ?2, started = ?3 WHERE id = ?1";

const END: &str = "UPDATE tasks SET execution = ?3, reason = ?4, result = ?5, iterations = ?6, input = ?7,
    cached = ?8, output = ?9, cost = ?10, ended = ?11 WHERE id = ?1 AND owner = ?2 AND ended IS NULL";

const CANCEL_IDLE: &str = "UPDATE tasks SET execution = 'cancelled', reason = ?2, ended = ?3
    WHERE id = ?1 AND ended IS NULL AND (owner IS NULL OR execution = 'queued')";

const CANCEL_BUSY: &str = "UPDATE tasks SET cancel = coalesce(cancel, ?2) WHERE id = ?1 AND ended IS NULL";

const CANCELS: &str = concat!(
    "SELECT id FROM tasks WHERE owner = ?1 AND cancel IS NOT NULL AND ended IS NULL AND execution IN ",
    running!()
);

/// What is asked for with every run.
#[cfg(test)]
pub(in crate::store) const HOT: &[&str] =
    &[SAME, LAST, WAITING, COUNT_RUNNING, BEGIN, END, CANCEL_IDLE, CANCEL_BUSY, CANCELS];

impl Store {
    /// Records a run, queued and undelivered, unless the same was asked for in this turn before, or its session has had
    /// `most_in_session`.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or its name is taken; then nothing was written.
    pub fn record_task(&self, task: &NewTask<'_>, most_in_session: u64) -> Result<Recorded, StoreError> {
        self.write(|transaction| {
            let workspace = task.workspace.settle(transaction)?;
            let session = params![workspace, task.channel, task.chat, task.turn, task.digest];
            let same: Option<i64> =
                transaction.prepare_cached(SAME)?.query_row(session, |row| row.get(0)).optional()?;
            if let Some(number) = same {
                let query = concat!("SELECT ", columns!(), " FROM tasks WHERE number = ?1");
                return transaction.prepare_cached(query)?.query_row([number], row_of).map(Recorded::Same);
            }
            let last = transaction
                .prepare_cached(LAST)?
                .query_row(params![workspace, task.channel, task.chat], |row| count(row, 0))
                .optional()?;
            let are = last.unwrap_or_default();
            if are >= most_in_session {
                return Ok(Recorded::Full { are });
            }
            transaction
                .prepare_cached(
                    "INSERT INTO tasks (id, workspace, channel, chat, nth, turn, digest, label, task, profile, provider,
                     model, rights, max_iterations, max_tokens, max_cost, temperature, time_ms, retry_of, kept, owner,
                     execution, delivery, created, iterations, input, cached, output, origin)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                     ?21, 'queued', 'pending', ?22, 0, 0, 0, 0, ?23)",
                )?
                .execute(params![
                    task.id,
                    workspace,
                    task.channel,
                    task.chat,
                    kept(are.saturating_add(1)),
                    task.turn,
                    task.digest,
                    task.label,
                    task.task,
                    task.profile,
                    task.provider,
                    task.model,
                    task.rights,
                    task.max_iterations,
                    task.max_tokens.map(kept),
                    task.max_cost.map(kept),
                    task.temperature,
                    kept(task.time_ms),
                    task.retry_of,
                    task.kept,
                    task.owner,
                    now(),
                    task.origin,
                ])?;
            let row = one(transaction, task.id)?;
            row.map(Recorded::New).ok_or(rusqlite::Error::QueryReturnedNoRows)
        })
    }

    /// Lets a run begin that waits and is `owner`'s or nobody's, unless `most_running` run, over all processes.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn begin_task(&self, id: &str, owner: &str, most_running: u64) -> Result<Begun, StoreError> {
        self.write(|transaction| {
            if !transaction.prepare_cached(WAITING)?.exists([id, owner])? {
                return Ok(Begun::Gone);
            }
            let run = transaction.prepare_cached(COUNT_RUNNING)?.query_row([], |row| count(row, 0))?;
            if run >= most_running {
                return Ok(Begun::Busy);
            }
            transaction.prepare_cached(BEGIN)?.execute(params![id, owner, now()])?;
            Ok(one(transaction, id)?.map_or(Begun::Gone, Begun::Yes))
        })
    }

    /// Notes how a run of `owner`'s ended. `false`: it was over before, or is not `owner`'s, or `end` is no end; then
    /// nothing changed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn end_task(&self, id: &str, owner: &str, end: &TaskEnd<'_>) -> Result<bool, StoreError> {
        if !end.execution.ended() {
            return Ok(false);
        }
        self.write(|transaction| {
            let changed = transaction.prepare_cached(END)?.execute(params![
                id,
                owner,
                end.execution.name(),
                end.reason,
                end.result,
                end.iterations,
                kept(end.input),
                kept(end.cached),
                kept(end.output),
                end.cost.map(kept),
                now(),
            ])?;
            Ok(changed == 1)
        })
    }

    /// Cancels a run that has not begun, or is nobody's; asks the process of one that runs to end it. The reason that is
    /// given first counts.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn cancel_task(&self, id: &str, reason: &str) -> Result<CancelAsked, StoreError> {
        self.write(|transaction| {
            let ended = transaction.prepare_cached(CANCEL_IDLE)?.execute(params![id, reason, now()])?;
            let asked = match ended {
                0 => transaction.prepare_cached(CANCEL_BUSY)?.execute([id, reason])?,
                _ => 0,
            };
            Ok(match one(transaction, id)? {
                None => CancelAsked::Unknown,
                Some(row) if ended > 0 => CancelAsked::Ended(row),
                Some(row) if asked > 0 => CancelAsked::Asked(row),
                Some(row) => CancelAsked::Over(row),
            })
        })
    }

    /// The runs of `owner`'s that somebody wants to end. Why is in their rows.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn cancels(&self, owner: &str) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            connection.prepare_cached(CANCELS)?.query_map([owner], |row| row.get(0))?.collect()
        })
    }
}
