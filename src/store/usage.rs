//! One row for every model call.

use super::{Store, StoreError, count, kept, now};
use rusqlite::params;

/// What one model call took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The key of the session that it was made in.
    pub session: String,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Tokens sent.
    pub input: u64,
    /// Of these, taken from the provider's cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// Millionths of a dollar, where the price is known.
    pub cost: Option<u64>,
}

/// What several model calls took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageSum {
    /// Model calls.
    pub calls: u64,
    /// Tokens sent.
    pub input: u64,
    /// Of these, taken from the provider's cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// Millionths of a dollar of the calls whose price is known; `None` when none is.
    pub cost: Option<u64>,
}

impl Store {
    /// Adds a row; its time is now.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add_usage(&self, row: &UsageRow) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction
                .prepare_cached(
                    "INSERT INTO usage (at, session, provider, model, input, cached, output, cost)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    now(),
                    row.session,
                    row.provider,
                    row.model,
                    kept(row.input),
                    kept(row.cached),
                    kept(row.output),
                    row.cost.map(kept),
                ])
                .map(drop)
        })
    }

    /// What the model calls of a session took together.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn usage(&self, session: &str) -> Result<UsageSum, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT count(*), coalesce(sum(input), 0), coalesce(sum(cached), 0), coalesce(sum(output), 0),
                     sum(cost) FROM usage WHERE session = ?1",
                )?
                .query_row([session], |row| {
                    Ok(UsageSum {
                        calls: count(row, 0)?,
                        input: count(row, 1)?,
                        cached: count(row, 2)?,
                        output: count(row, 3)?,
                        cost: row.get::<_, Option<i64>>(4)?.and_then(|cost| u64::try_from(cost).ok()),
                    })
                })
        })
    }
}
