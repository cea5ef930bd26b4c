//! From calls of tools and of models to rows in the store.

use crate::provider::{Provider, Usage};
use crate::session::SessionKey;
use crate::store::{self, Store};
use crate::toolbox::{AuditRow, AuditSink};
use std::sync::Arc;

/// Writes rows under a session.
#[derive(Debug)]
pub struct Recorder {
    store: Arc<Store>,
    session: String,
}

impl Recorder {
    /// Under the session of that key.
    pub fn new(store: Arc<Store>, session: &SessionKey) -> Self {
        Self { store, session: session.to_string() }
    }
}

impl AuditSink for Recorder {
    fn row(&self, row: &AuditRow) {
        let kept = store::AuditRow {
            at: 0,
            session: self.session.clone(),
            who: row.who.clone(),
            role: row.role.clone(),
            tool: row.tool.clone(),
            package: row.package.clone(),
            grant: row.grant.clone(),
            outcome: row.outcome.to_owned(),
            kind: row.kind.map(str::to_owned),
            ms: row.ms,
            bytes: row.bytes,
            refusals: row.refusals,
            walls: row.walls.clone(),
        };
        if let Err(error) = self.store.add_audit(&kept) {
            tracing::warn!("a call of {} left no audit row: {error}", row.tool);
        }
    }
}

/// Writes a row for every model call: what it took.
#[derive(Clone, Copy)]
pub(super) struct Ledger<'a> {
    pub(super) store: &'a Store,
    pub(super) session: &'a SessionKey,
    pub(super) provider: &'a dyn Provider,
}

impl Ledger<'_> {
    pub(super) fn row(&self, usage: Usage) {
        let row = store::UsageRow {
            session: self.session.to_string(),
            provider: self.provider.name().to_owned(),
            model: self.provider.model().to_owned(),
            input: usage.input,
            cached: usage.cached,
            output: usage.output,
            cost: self.provider.cost(usage),
        };
        if let Err(error) = self.store.add_usage(&row) {
            tracing::warn!("a model call left no row of what it took: {error}");
        }
    }
}
