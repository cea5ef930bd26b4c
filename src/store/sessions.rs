//! Sessions, their messages and their compactions. What a message means is its caller's business; here it is text.

use super::{Store, StoreError, Workspace, count, now, path, text, text_if};
use rusqlite::types::{ToSql, ValueRef};
use rusqlite::{OptionalExtension as _, Row, params};

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
    /// What the host put in names its source, which comes once in a session. `None` is what people and models say.
    pub source: Option<&'a str>,
}

/// What became of a message that was to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Its number in the session, from 1 up.
    pub seq: i64,
    /// Whether it was written now. Otherwise a message of its source was there, whose number this is, and nothing was.
    pub new: bool,
}

/// Which sessions to look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionFilter<'a> {
    /// Those of one workspace.
    pub workspace: Option<&'a Workspace>,
    /// Those of one key, by its halves.
    pub key: Option<(&'a str, &'a str)>,
    /// Those of any channel but this.
    pub not_channel: Option<&'a str>,
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
    /// Where it comes from, if the host put it in.
    pub source: Option<String>,
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
    " ORDER BY s.updated DESC, (SELECT max(m.id) FROM messages m WHERE m.session = s.id) DESC";

const THERE: &str = "SELECT m.seq FROM sessions s JOIN messages m ON m.session = s.id
    WHERE s.workspace = ?1 AND s.channel = ?2 AND s.chat = ?3 AND m.source = ?4";

const SOURCED: &str = "SELECT seq FROM messages WHERE session = ?1 AND source = ?2";

/// What is asked for with every message that the host puts in.
#[cfg(test)]
pub(super) const HOT: &[&str] = &[THERE, SOURCED];

impl Store {
    /// Appends a message to a session, which begins with its first one; unless a message of its source is there.
    ///
    /// # Errors
    ///
    /// When it cannot be written; then nothing was.
    pub fn append(
        &self,
        workspace: &Workspace,
        (channel, chat): (&str, &str),
        message: NewMessage<'_>,
    ) -> Result<Appended, StoreError> {
        let at = now();
        self.write(|transaction| {
            let workspace = workspace.settle(transaction)?;
            if let Some(source) = message.source {
                let there = transaction
                    .prepare_cached(THERE)?
                    .query_row(params![workspace, channel, chat, source], |row| row.get(0))
                    .optional()?;
                if let Some(seq) = there {
                    return Ok(Appended { seq, new: false });
                }
            }
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
                    "INSERT INTO messages (session, seq, at, speaker, blocks, source)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![session, seq, at, message.speaker, message.blocks, message.source])?;
            Ok(Appended { seq, new: true })
        })
    }

    /// The number of the message of that source.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn sourced(&self, session: SessionId, source: &str) -> Result<Option<i64>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(SOURCED)?
                .query_row(params![session.0, source], |row| row.get(0))
                .optional()
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
                    "SELECT seq, at, speaker, blocks, source FROM messages
                     WHERE session = ?1 AND seq >= ?2 ORDER BY seq",
                )?
                .query_map(params![session.0, from], |row| {
                    Ok(MessageRow {
                        seq: row.get(0)?,
                        at: row.get(1)?,
                        speaker: exact(row, 2)?.unwrap_or_default(),
                        blocks: exact(row, 3)?,
                        source: text_if(row, 4)?,
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

    /// The sessions that pass a filter; those in which something was said last come first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn sessions(&self, filter: &SessionFilter<'_>) -> Result<Vec<SessionRow>, StoreError> {
        self.read(|connection| {
            let mut query = format!("{COLUMNS} WHERE 1");
            let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
            let workspace = filter.workspace.map(|workspace| workspace.find(connection)).transpose()?;
            match &workspace {
                Some(None) => return Ok(Vec::new()),
                Some(Some(id)) => {
                    query.push_str(" AND s.workspace = :workspace");
                    values.push((":workspace", id));
                }
                None => {}
            }
            if let Some((channel, chat)) = &filter.key {
                query.push_str(" AND s.channel = :channel AND s.chat = :chat");
                values.push((":channel", channel));
                values.push((":chat", chat));
            }
            if let Some(channel) = &filter.not_channel {
                query.push_str(" AND s.channel <> :not_channel");
                values.push((":not_channel", channel));
            }
            query.push_str(LATEST_FIRST);
            connection.prepare_cached(&query)?.query_map(values.as_slice(), session_row)?.collect()
        })
    }

    /// Removes a session with its messages, its background runs that have ended, and its letters. Audit rows and usage stay.
    /// Whether it was there.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove_session(&self, session: SessionId) -> Result<bool, StoreError> {
        let removed = self.write(|transaction| {
            // What was said in its background runs goes with it, and what was to be told of them. A run that goes on stays.
            for statement in [
                "DELETE FROM sessions WHERE id IN (
                   SELECT s.id FROM sessions o
                   JOIN tasks t ON t.workspace = o.workspace AND t.channel = o.channel AND t.chat = o.chat
                   JOIN sessions s ON s.workspace = t.workspace AND s.channel = 'task' AND s.chat = t.id
                   WHERE o.id = ?1 AND t.ended IS NOT NULL)",
                "DELETE FROM tasks WHERE ended IS NOT NULL AND (workspace, channel, chat) =
                   (SELECT workspace, channel, chat FROM sessions WHERE id = ?1)",
                "DELETE FROM outbox WHERE (workspace, channel, chat) =
                   (SELECT workspace, channel, chat FROM sessions WHERE id = ?1)",
            ] {
                transaction.prepare_cached(statement)?.execute([session.0])?;
            }
            transaction.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session.0])
        })?;
        // What was said is still in the write-ahead log. Readers elsewhere may keep it there a little longer.
        self.read(|connection| connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))?;
        Ok(removed > 0)
    }
}

fn session_row(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: SessionId(row.get(0)?),
        workspace: path(row, 1)?.to_string_lossy().into_owned(),
        channel: text(row, 2)?,
        chat: text(row, 3)?,
        title: text(row, 4)?,
        created: row.get(5)?,
        updated: row.get(6)?,
        messages: count(row, 7)?,
    })
}

/// Text that is text: half of a message is none.
fn exact(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
        _ => None,
    })
}
