//! What is to reach a person who may not be there: letters, kept until somebody has shown them.

use super::{Delivery, Store, StoreError, Workspace, kept, now, path, text, text_if};
use rusqlite::types::ToSql;
use rusqlite::{Row, params};
use std::path::PathBuf;

/// A letter to be kept.
#[derive(Debug, Clone, Copy)]
pub struct NewLetter<'a> {
    /// The workspace of the session that it goes to.
    pub workspace: &'a Workspace,
    /// The first half of that session's key.
    pub channel: &'a str,
    /// The second half of that session's key.
    pub chat: &'a str,
    /// Where it comes from: a session gets one letter of a source. `None` is no source.
    pub source: Option<&'a str>,
    /// What it is: `answer`, `message` or `notice`.
    pub kind: &'a str,
    /// What is to be read.
    pub content: &'a str,
    /// Files that go with it, by path.
    pub attachments: &'a [String],
}

/// A letter as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterRow {
    /// Its row.
    pub id: i64,
    /// The path of its session's workspace; empty without one.
    pub workspace: PathBuf,
    /// The first half of its session's key.
    pub channel: String,
    /// The second half of its session's key.
    pub chat: String,
    /// Where it comes from.
    pub source: Option<String>,
    /// What it is: `answer`, `message` or `notice`.
    pub kind: String,
    /// What is to be read.
    pub content: String,
    /// Files that go with it, by path.
    pub attachments: Vec<String>,
    /// When it was kept, in milliseconds since the epoch.
    pub created: i64,
    /// A process ended while it showed it: whether it was seen is not known.
    pub uncertain: bool,
}

/// Which letters to take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LetterFilter {
    /// Those to one workspace.
    pub workspace: Option<Workspace>,
    /// Those to one session, by the halves of its key.
    pub session: Option<(String, String)>,
    /// Those to sessions that no other registered process attends.
    pub unattended: bool,
}

/// What is read of a row, in the order of [`row_of`].
macro_rules! columns {
    () => {
        "id, (SELECT w.path FROM workspaces w WHERE w.id = outbox.workspace), channel, chat, source, kind, content,
         attachments, created, uncertain"
    };
}

const PUT: &str = "INSERT INTO outbox
    (workspace, channel, chat, source, kind, content, attachments, created, uncertain, delivery)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 'pending')
    ON CONFLICT (workspace, channel, chat, source) WHERE source IS NOT NULL DO NOTHING";

macro_rules! take {
    ($which:literal) => {
        concat!(
            "UPDATE outbox SET owner = :owner WHERE id IN (
             SELECT o.id FROM outbox o WHERE o.delivery = 'pending' AND o.owner IS NULL",
            $which,
            " AND (NOT :unattended OR NOT EXISTS (SELECT 1 FROM processes p WHERE p.id <> :owner
             AND p.workspace = o.workspace AND p.channel = o.channel AND p.chat = o.chat))
             ORDER BY o.id LIMIT :most) RETURNING ",
            columns!()
        )
    };
}

const TAKE: &str = take!("");
const TAKE_IN: &str = take!(" AND o.workspace = :workspace");
const TAKE_OF: &str = take!(" AND o.channel = :channel AND o.chat = :chat");
const TAKE_IN_OF: &str = take!(" AND o.workspace = :workspace AND o.channel = :channel AND o.chat = :chat");

const DONE: &str = "UPDATE outbox SET delivery = ?3, delivered = ?4
    WHERE id = ?1 AND owner = ?2 AND delivery = 'pending'";

/// What is asked for with every letter.
#[cfg(test)]
pub(super) const HOT: &[&str] = &[PUT, TAKE, TAKE_IN, TAKE_OF, TAKE_IN_OF, DONE];

impl Store {
    /// Keeps a letter. `false`: its session has one of that source, and nothing was written.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn put_letter(&self, letter: &NewLetter<'_>) -> Result<bool, StoreError> {
        let attachments = serde_json::Value::from(letter.attachments).to_string();
        self.write(|transaction| {
            let workspace = letter.workspace.settle(transaction)?;
            let put = transaction.prepare_cached(PUT)?.execute(params![
                workspace,
                letter.channel,
                letter.chat,
                letter.source,
                letter.kind,
                letter.content,
                attachments,
                now(),
            ])?;
            Ok(put == 1)
        })
    }

    /// Makes letters `owner`'s that are nobody's, at most so many, oldest first.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn take_letters(
        &self,
        owner: &str,
        filter: &LetterFilter,
        most: u64,
    ) -> Result<Vec<LetterRow>, StoreError> {
        let most = kept(most);
        let mut taken = self.write(|transaction| {
            let mut values: Vec<(&str, &dyn ToSql)> =
                vec![(":owner", &owner), (":unattended", &filter.unattended), (":most", &most)];
            let found = filter.workspace.as_ref().map(|workspace| workspace.find(transaction)).transpose()?;
            match &found {
                Some(None) => return Ok(Vec::new()),
                Some(Some(id)) => values.push((":workspace", id)),
                None => {}
            }
            if let Some((channel, chat)) = &filter.session {
                values.push((":channel", channel));
                values.push((":chat", chat));
            }
            let query = match (found, &filter.session) {
                (None, None) => TAKE,
                (Some(_), None) => TAKE_IN,
                (None, Some(_)) => TAKE_OF,
                (Some(_), Some(_)) => TAKE_IN_OF,
            };
            transaction
                .prepare_cached(query)?
                .query_map(values.as_slice(), row_of)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        taken.sort_by_key(|letter| letter.id);
        Ok(taken)
    }

    /// Notes that a letter of `owner`'s was delivered or dropped. `false`: it was before, or is not `owner`'s; then nothing
    /// changed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn letter_done(&self, id: i64, owner: &str, delivery: Delivery) -> Result<bool, StoreError> {
        if delivery == Delivery::Pending {
            return Ok(false);
        }
        self.write(|transaction| {
            let values = params![id, owner, delivery.name(), now()];
            Ok(transaction.prepare_cached(DONE)?.execute(values)? == 1)
        })
    }

    /// The letters that nobody has shown yet, of a workspace or all, oldest first. Looking takes none.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn letters(&self, workspace: Option<&Workspace>) -> Result<Vec<LetterRow>, StoreError> {
        self.read(|connection| {
            let found = match workspace.map(|workspace| workspace.find(connection)).transpose()? {
                Some(None) => return Ok(Vec::new()),
                found => found.flatten(),
            };
            let query = concat!(
                "SELECT ",
                columns!(),
                " FROM outbox WHERE delivery = 'pending' AND (?1 IS NULL OR workspace = ?1) ORDER BY id"
            );
            connection.prepare_cached(query)?.query_map([found], row_of)?.collect()
        })
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<LetterRow> {
    let attachments: String = text(row, 7)?;
    Ok(LetterRow {
        id: row.get(0)?,
        workspace: path(row, 1)?,
        channel: text(row, 2)?,
        chat: text(row, 3)?,
        source: text_if(row, 4)?,
        kind: text(row, 5)?,
        content: text(row, 6)?,
        // The letter is worth reading without them.
        attachments: serde_json::from_str(&attachments).unwrap_or_default(),
        created: row.get(8)?,
        uncertain: row.get(9)?,
    })
}
