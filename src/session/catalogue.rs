//! The sessions that there are.

use super::key::{TASK, TERMINAL};
use super::{SessionError, SessionKey};
use crate::store::{SessionFilter, SessionId, SessionRow, Store, Workspace};
use std::path::Path;

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which.
    pub key: SessionKey,
    /// The path of its workspace; empty without one.
    pub workspace: String,
    /// Its first prompt's first line.
    pub title: String,
    /// When it began, in milliseconds since the epoch.
    pub created: i64,
    /// When something was last said in it, in milliseconds since the epoch.
    pub updated: i64,
    /// How many messages it has.
    pub messages: u64,
    pub(super) id: SessionId,
}

/// No session can be meant by what was typed, or more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The key that was looked for.
    pub key: SessionKey,
    /// The workspaces that have a session of that key, where none that was looked in does, or several do.
    pub workspaces: Vec<String>,
}

/// The sessions of a workspace, or all; those in which something was said last come first. Without those of background
/// runs, which are read by their runs.
///
/// # Errors
///
/// When the store cannot be read.
pub fn list(store: &Store, workspace: Option<&Path>) -> Result<Vec<Entry>, SessionError> {
    entries(store, workspace, SessionFilter { not_channel: Some(TASK), ..SessionFilter::default() })
}

/// The same with those of background runs.
///
/// # Errors
///
/// When the store cannot be read.
pub fn list_all(store: &Store, workspace: Option<&Path>) -> Result<Vec<Entry>, SessionError> {
    entries(store, workspace, SessionFilter::default())
}

fn entries(
    store: &Store,
    workspace: Option<&Path>,
    filter: SessionFilter<'_>,
) -> Result<Vec<Entry>, SessionError> {
    let workspace = workspace.map(Workspace::at);
    let filter = SessionFilter { workspace: workspace.as_ref(), ..filter };
    Ok(store.sessions(&filter)?.into_iter().map(entry).collect())
}

/// The session of that key in a workspace; or in whichever workspace has one, if it is one alone.
///
/// # Errors
///
/// When the store cannot be read.
pub fn find(
    store: &Store,
    workspace: Option<&Path>,
    key: &SessionKey,
) -> Result<Result<Entry, NotFound>, SessionError> {
    let of_key = || SessionFilter { key: Some((key.channel(), key.chat())), ..SessionFilter::default() };
    let mut found = entries(store, workspace, of_key())?;
    if found.len() == 1
        && let Some(entry) = found.pop()
    {
        return Ok(Ok(entry));
    }
    let everywhere = entries(store, None, of_key())?;
    let workspaces = everywhere.into_iter().map(|entry| entry.workspace).collect();
    Ok(Err(NotFound { key: key.clone(), workspaces }))
}

/// The session at the terminal in which something was said last, in a workspace.
///
/// # Errors
///
/// When the store cannot be read.
pub fn newest(store: &Store, workspace: &Path) -> Result<Option<SessionKey>, SessionError> {
    let all = list(store, Some(workspace))?;
    Ok(all.into_iter().map(|entry| entry.key).find(|key| key.channel() == TERMINAL))
}

/// Removes a session with its messages, its background runs that have ended, and its letters. Audit rows and usage stay.
/// Whether it was there.
///
/// # Errors
///
/// When it cannot be removed.
pub fn remove(store: &Store, entry: &Entry) -> Result<bool, SessionError> {
    Ok(store.remove_session(entry.id)?)
}

fn entry(row: SessionRow) -> Entry {
    Entry {
        key: SessionKey::new(&row.channel, &row.chat),
        workspace: row.workspace,
        title: row.title,
        created: row.created,
        updated: row.updated,
        messages: row.messages,
        id: row.id,
    }
}
