//! The tables, as the list of steps that made them. A step that was released is never changed, only followed by another.

use super::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// Marks a file as this program's (`PRAGMA application_id`): "RgFc".
const APPLICATION: i64 = 0x5267_4663;

/// From no tables to the newest; step `n` leads from schema `n` to `n + 1`.
const STEPS: &[&str] =
    &[include_str!("schema_1.sql"), include_str!("schema_2.sql"), include_str!("schema_3.sql")];

/// The newest schema that is known here.
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Refuses a database that is not this program's, or newer than it. Changes nothing.
pub(super) fn admit(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    look(connection, path).map(drop)
}

/// Brings the tables up to date, in one transaction: a process killed on the way leaves them as they were.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    if look(connection, path)? == KNOWN {
        return Ok(());
    }
    let sql = |error: rusqlite::Error| StoreError::of(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    // Looked at again: it may have changed before the lock was there.
    let found = look(&transaction, path)?;
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step).map_err(sql)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(sql)?;
    transaction.pragma_update(None, "user_version", KNOWN).map_err(sql)?;
    transaction.commit().map_err(sql)
}

/// The schema that is there, if it can be used.
fn look(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let number = |query: &str| {
        let found: rusqlite::Result<i64> = connection.query_row(query, [], |row| row.get(0));
        found.map_err(|error| StoreError::of(path, &error))
    };
    let found = number("PRAGMA user_version")?;
    let application = number("PRAGMA application_id")?;
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let path = path.to_owned();
    match (application, found) {
        (0, 0) if tables == 0 => Ok(0),
        (APPLICATION, 1..=KNOWN) => Ok(found),
        (APPLICATION, _) if found > KNOWN => Err(StoreError::Newer { path, found, known: KNOWN }),
        _ => Err(StoreError::NotOurs { path, reason: "is another program's database" }),
    }
}
