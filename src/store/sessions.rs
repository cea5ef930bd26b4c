//! Sessions, their messages and their compactions. What a message means is its caller's business; here it is text.

use super::{Store, StoreError, Workspace, count, now};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// The row of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(i64);

/// A message to append.
#[derive(Debug, Clone, Copy)]
pub struct NewMessage<'a> {
    /// Who speaks.
    pub speaker: &'a str,
    /// What is said, as JSON.
    pub blocks: &'a str,
    /// The session's title, should it have none yet.
    pub title: &'a str,
}

/// A message as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Its number in the session, from 1 up.
    pub seq: i64,
    /// When it was appended, in milliseconds since the epoch.
    pub at: i64,
    /// Who speaks.
    pub speaker: String,
    /// What is said, as JSON. `None` when it cannot be read as text.
    pub blocks: Option<String>,
}

/// Where a model's view of a session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The first message that is not summed up.
    pub first: i64,
    /// What stands for those before it.
    pub summary: String,
}

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its row.
    pub id: SessionId,
    /// The path of its workspace, for people; empty without one.
    pub workspace: String,
    /// The first half of its key.
    pub channel: String,
    /// The second half of its key.
    pub chat: String,
    /// Its first prompt's first line.
    pub title: String,
    /// When it began, in milliseconds since the epoch.
    pub created: i64,
    /// When something was last said in it, in milliseconds since the epoch.
    pub updated: i64,
    /// How many messages it has.
    pub messages: u64,
}

const COLUMNS: &str = "SELECT s.id, w.path, s.channel, s.chat, s.title, s.created, s.updated,
    (SELECT count(*) FROM messages m WHERE m.session = s.id)
    FROM sessions s JOIN workspaces w ON w.id = s.workspace";

/// Within one millisecond, the last message decides.
const LATEST_FIRST: &str =
    "ORDER BY s.updated DESC, (SELECT max(m.id) FROM messages m WHERE m.session = s.id) DESC";

impl Store {
    /// Appends a message to a session, which begins with its first one. Its number.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn append(
        &self,
        workspace: &Workspace,
        (channel, chat): (&str, &str),
        message: NewMessage<'_>,
    ) -> Result<i64, StoreError> {
        let at = now();
        self.write(|transaction| {
            let workspace = workspace.settle(transaction)?;
            let (session, seq): (i64, i64) = transaction
                .prepare_cached(
                    "INSERT INTO sessions (workspace, channel, chat, title, created, updated, last)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1)
                     ON CONFLICT (workspace, channel, chat) DO UPDATE SET
                       last = last + 1, updated = max(updated, ?5), title = iif(title = '', ?4, title)
                     RETURNING id, last",
                )?
                .query_row(params![workspace, channel, chat, message.title, at], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            transaction
                .prepare_cached(
                    "INSERT INTO messages (session, seq, at, speaker, blocks) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![session, seq, at, message.speaker, message.blocks])?;
            Ok(seq)
        })
    }

    /// Notes that a summary stands for the messages before `first`.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or nothing was ever appended to the session.
    pub fn compact(&self, session: SessionId, compaction: &Compaction) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO compactions (session, at, first, summary) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![session.0, now(), compaction.first, compaction.summary])
                .map(drop)
        })
    }

    /// The newest compaction of a session.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn compaction(&self, session: SessionId) -> Result<Option<Compaction>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT first, summary FROM compactions WHERE session = ?1 ORDER BY id DESC LIMIT 1",
                )?
                .query_row([session.0], |row| Ok(Compaction { first: row.get(0)?, summary: row.get(1)? }))
                .optional()
        })
    }

    /// The messages of a session from a number on, oldest first. Those that are not text come without it.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn messages(&self, session: SessionId, from: i64) -> Result<Vec<MessageRow>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT seq, at, speaker, blocks FROM messages WHERE session = ?1 AND seq >= ?2 ORDER BY seq",
                )?
                .query_map(params![session.0, from], |row| {
                    let text = |at: usize| row.get_ref(at).map(text);
                    Ok(MessageRow {
                        seq: row.get(0)?,
                        at: row.get(1)?,
                        speaker: text(2)?.unwrap_or_default(),
                        blocks: text(3)?,
                    })
                })?
                .collect()
        })
    }

    /// The session of that key in a workspace.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn session(
        &self,
        workspace: &Workspace,
        (channel, chat): (&str, &str),
    ) -> Result<Option<SessionId>, StoreError> {
        self.read(|connection| {
            let Some(workspace) = workspace.find(connection)? else { return Ok(None) };
            connection
                .prepare_cached(
                    "SELECT id FROM sessions WHERE workspace = ?1 AND channel = ?2 AND chat = ?3",
                )?
                .query_row(params![workspace, channel, chat], |row| row.get(0).map(SessionId))
                .optional()
        })
    }

    /// The sessions of a workspace, or all; those in which something was said last come first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn sessions(&self, workspace: Option<&Workspace>) -> Result<Vec<SessionRow>, StoreError> {
        self.read(|connection| match workspace.map(|workspace| workspace.find(connection)) {
            None => rows(connection, &format!("{COLUMNS} {LATEST_FIRST}"), []),
            Some(found) => match found? {
                None => Ok(Vec::new()),
                Some(id) => {
                    let query = format!("{COLUMNS} WHERE s.workspace = ?1 {LATEST_FIRST}");
                    rows(connection, &query, [id])
                }
            },
        })
    }

    /// Removes a session with its messages. Audit rows and usage stay. Whether it was there.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove_session(&self, session: SessionId) -> Result<bool, StoreError> {
        let removed = self.write(|transaction| {
            transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session.0])
        })?;
        // What was said is still in the write-ahead log. Readers elsewhere may keep it there a little longer.
        self.read(|connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))?;
        Ok(removed > 0)
    }
}

fn rows(
    connection: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<SessionRow>> {
    connection.prepare_cached(query)?.query_map(parameters, session_row)?.collect()
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    let text = |at: usize| row.get_ref(at).map(|value| text(value).unwrap_or_default());
    Ok(SessionRow {
        id: SessionId(row.get(0)?),
        workspace: match row.get_ref(1)? {
            ValueRef::Blob(path) => String::from_utf8_lossy(path).into_owned(),
            _ => String::new(),
        },
        channel: text(2)?,
        chat: text(3)?,
        title: text(4)?,
        created: row.get(5)?,
        updated: row.get(6)?,
        messages: count(row, 7)?,
    })
}

/// Text that is text.
fn text(value: ValueRef<'_>) -> Option<String> {
    value.as_str().ok().map(str::to_owned)
}
