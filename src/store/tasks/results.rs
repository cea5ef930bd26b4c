//! What ended and reached nobody yet.

use super::looking::{columns, numbered};
use super::{Delivery, TaskRow};
use crate::store::{Store, StoreError, Workspace, now};
use rusqlite::params;
use rusqlite::types::ToSql;

/// Ended, undelivered, and nobody's.
macro_rules! take {
    ($which:literal) => {
        concat!(
            "UPDATE tasks SET owner = :owner WHERE delivery = 'pending' AND ended IS NOT NULL AND owner IS NULL",
            $which,
            " RETURNING ",
            columns!()
        )
    };
}

const TAKE: &str = take!("");
const TAKE_IN: &str = take!(" AND workspace = :workspace");
const TAKE_OF: &str = take!(" AND channel = :channel AND chat = :chat");
const TAKE_IN_OF: &str = take!(" AND workspace = :workspace AND channel = :channel AND chat = :chat");

const GIVE_UP: &str =
    "UPDATE tasks SET owner = NULL WHERE delivery = 'pending' AND ended IS NOT NULL AND owner = ?1";

const DELIVER: &str = "UPDATE tasks SET delivery = ?3, delivered = ?4
    WHERE id = ?1 AND owner = ?2 AND delivery = 'pending' AND ended IS NOT NULL";

/// What is asked for with every result.
#[cfg(test)]
pub(in crate::store) const HOT: &[&str] = &[TAKE, TAKE_IN, TAKE_OF, TAKE_IN_OF, GIVE_UP, DELIVER];

impl Store {
    /// Makes results `owner`'s that are nobody's: of a workspace, of a session (by the halves of its key), or all. In the
    /// order in which they were recorded.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn take_results(
        &self,
        owner: &str,
        workspace: Option<&Workspace>,
        session: Option<(&str, &str)>,
    ) -> Result<Vec<TaskRow>, StoreError> {
        let mut taken = self.write(|transaction| {
            let mut values: Vec<(&str, &dyn ToSql)> = vec![(":owner", &owner)];
            let found = workspace.map(|workspace| workspace.find(transaction)).transpose()?;
            match &found {
                Some(None) => return Ok(Vec::new()),
                Some(Some(id)) => values.push((":workspace", id)),
                None => {}
            }
            if let Some((channel, chat)) = &session {
                values.push((":channel", channel));
                values.push((":chat", chat));
            }
            let query = match (found, session) {
                (None, None) => TAKE,
                (Some(_), None) => TAKE_IN,
                (None, Some(_)) => TAKE_OF,
                (Some(_), Some(_)) => TAKE_IN_OF,
            };
            transaction
                .prepare_cached(query)?
                .query_map(values.as_slice(), numbered)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        taken.sort_by_key(|(number, _)| *number);
        Ok(taken.into_iter().map(|(_, row)| row).collect())
    }

    /// Leaves the results of `owner`'s to others.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn give_up_results(&self, owner: &str) -> Result<(), StoreError> {
        self.write(|transaction| transaction.prepare_cached(GIVE_UP)?.execute([owner]).map(drop))
    }

    /// Notes that a result of `owner`'s was delivered or dropped. `false`: it was before, or is not `owner`'s, or the run is
    /// not over; then nothing changed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn deliver_task(&self, id: &str, owner: &str, delivery: Delivery) -> Result<bool, StoreError> {
        if delivery == Delivery::Pending {
            return Ok(false);
        }
        self.write(|transaction| {
            let values = params![id, owner, delivery.name(), now()];
            Ok(transaction.prepare_cached(DELIVER)?.execute(values)? == 1)
        })
    }
}
