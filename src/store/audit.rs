//! One row for every tool call.

use super::{Store, StoreError, count, kept, now};
use rusqlite::{Row, params};

/// A tool call and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// When its row was written, in milliseconds since the epoch.
    pub at: i64,
    /// The key of the session that it was made in.
    pub session: String,
    /// Who called.
    pub who: String,
    /// As which role or profile.
    pub role: String,
    /// The tool, by the name that was asked for.
    pub tool: String,
    /// The digest of the component, where one was found.
    pub package: Option<String>,
    /// What was held during the call.
    pub grant: String,
    /// How it ended.
    pub outcome: String,
    /// The kind within that, where it did not work.
    pub kind: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// Bytes of its result.
    pub bytes: u64,
    /// How often the host refused something on the way.
    pub refusals: u64,
    /// Which walls stood around native commands, where there were any.
    pub walls: Option<String>,
}

/// Which rows to look at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Those of one session, by key.
    pub session: Option<String>,
    /// Those of one tool.
    pub tool: Option<String>,
    /// Those of calls that were denied, and of calls during which the host refused something.
    pub denied: bool,
    /// The newest so many.
    pub limit: Option<u64>,
}

impl Store {
    /// Adds a row; its time is now.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add_audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO audit (at, session, who, role, tool, package, granted, outcome, kind, ms, bytes,
                     refusals, walls) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
                )?
                .execute(params![
                    now(),
                    row.session,
                    row.who,
                    row.role,
                    row.tool,
                    row.package,
                    row.grant,
                    row.outcome,
                    row.kind,
                    kept(row.ms),
                    kept(row.bytes),
                    kept(row.refusals),
                    row.walls,
                ])
                .map(drop)
        })
    }

    /// The rows that pass a filter, oldest first.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        let limit = filter.limit.map_or(-1, kept);
        let mut rows = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT at, session, who, role, tool, package, granted, outcome, kind, ms, bytes, refusals, walls
                     FROM audit WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR tool = ?2)
                     AND (NOT ?3 OR outcome = 'denied' OR refusals > 0) ORDER BY id DESC LIMIT ?4",
                )?
                .query_map(params![filter.session, filter.tool, filter.denied, limit], audit_row)?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        rows.reverse();
        Ok(rows)
    }
}

fn audit_row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        at: row.get(0)?,
        session: row.get(1)?,
        who: row.get(2)?,
        role: row.get(3)?,
        tool: row.get(4)?,
        package: row.get(5)?,
        grant: row.get(6)?,
        outcome: row.get(7)?,
        kind: row.get(8)?,
        ms: count(row, 9)?,
        bytes: count(row, 10)?,
        refusals: count(row, 11)?,
        walls: row.get(12)?,
    })
}
