//! Values of rows. Text that is no UTF-8 is read as far as it is: one damaged row must not hide the others.

use rusqlite::Row;
use rusqlite::types::{ToSql, Type, ValueRef};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// A count as the database keeps it.
pub(super) fn kept(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count of a row.
pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(count_if(row, column)?.unwrap_or(0))
}

/// A count of a row that need not have one.
pub(super) fn count_if(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    let kept: Option<i64> = row.get(column)?;
    Ok(kept.map(|kept| u64::try_from(kept).unwrap_or(0)))
}

/// A small count of a row.
pub(super) fn small(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    Ok(u32::try_from(count(row, column)?).unwrap_or(u32::MAX))
}

/// Text of a row.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(text_if(row, column)?.unwrap_or_default())
}

/// Text of a row that need not have any.
pub(super) fn text_if(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}

/// A path of a row; empty where there is none.
pub(super) fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<PathBuf> {
    Ok(path_if(row, column)?.unwrap_or_default())
}

/// A path of a row that need not have one.
pub(super) fn path_if(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<PathBuf>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Some(PathBuf::from(OsString::from_vec(bytes.to_vec()))),
        _ => None,
    })
}

/// One of a closed set, by its name.
pub(super) fn named<T>(
    row: &Row<'_>,
    column: usize,
    of: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let name = text(row, column)?;
    let unknown = || {
        let problem = format!("`{name}` is none of the states that are known");
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, problem.into())
    };
    of(&name).ok_or_else(unknown)
}

/// Narrows a query to a workspace and a session, where a filter names them. `false`: there is nothing of that workspace.
pub(super) fn narrow<'v>(
    query: &mut String,
    values: &mut Vec<(&'static str, &'v dyn ToSql)>,
    workspace: &'v Option<Option<i64>>,
    session: &'v Option<(String, String)>,
) -> bool {
    match workspace {
        Some(None) => return false,
        Some(Some(id)) => {
            query.push_str(" AND workspace = :workspace");
            values.push((":workspace", id));
        }
        None => {}
    }
    if let Some((channel, chat)) = session {
        query.push_str(" AND channel = :channel AND chat = :chat");
        values.push((":channel", channel));
        values.push((":chat", chat));
    }
    true
}
