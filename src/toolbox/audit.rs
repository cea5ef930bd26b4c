//! One row for every call, whatever became of it.

use super::agent::Agent;
use super::name::one_line;
use super::outcome::{Outcome, Reply};
use crate::sandbox::Digest;
use std::time::{Duration, Instant};

/// Where the rows go in the log: a target of its own, so that they can be had alone.
pub const TARGET: &str = "ringfence::audit";

/// Characters of a name that are kept. A model may write any name.
const NAME: usize = 128;

/// A call that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Who called: the agent's id.
    pub who: String,
    /// As which role or profile.
    pub role: String,
    /// The tool, by the name that was asked for; its beginning, if it is long. Control characters are written out.
    pub tool: String,
    /// The component's digest, where there was one.
    pub package: Option<String>,
    /// The capabilities that were held during the call.
    pub grant: String,
    /// [`Outcome::name`], `cancelled` for a call that was not waited for, or `refused` for one that a turn
    /// had made often enough.
    pub outcome: &'static str,
    /// [`Outcome::kind`].
    pub kind: Option<&'static str>,
    /// Milliseconds.
    pub ms: u64,
    /// Bytes of the result.
    pub bytes: u64,
    /// How often the host refused something on the way.
    pub refusals: u64,
    /// Which walls stood around native commands, where there were any.
    pub walls: Option<String>,
}

/// Keeps rows. It is handed each before its caller sees the result.
///
/// A row that cannot be kept is the sink's to warn of. It does not undo the call: what the call did is done, and a model
/// that was not told so would do it again.
pub trait AuditSink: Send + Sync {
    /// Keeps a row.
    fn row(&self, row: &AuditRow);
}

/// What is known of a call so far. When it is dropped before the call is over, that is its row.
pub(super) struct Row<'a> {
    agent: &'a Agent,
    tool: &'a str,
    started: Instant,
    written: bool,
    pub(super) package: Option<Digest>,
    pub(super) grant: String,
    pub(super) refusals: u64,
    pub(super) walls: Option<String>,
}

impl<'a> Row<'a> {
    pub(super) fn begin(agent: &'a Agent, tool: &'a str) -> Self {
        let (started, written) = (Instant::now(), false);
        Self { agent, tool, started, written, package: None, grant: String::new(), refusals: 0, walls: None }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The call is over.
    pub(super) fn end(mut self, reply: &Reply) {
        let bytes = match &reply.outcome {
            Outcome::Done(output) => super::outcome::text_of(&output.content).len(),
            _ => 0,
        };
        self.write(reply.outcome.name(), reply.outcome.kind(), reply.time, bytes);
        for note in &reply.notes {
            let (tool, line) = (one_line(&self.named()), one_line(&note.message));
            tracing::info!(target: "ringfence::guest", tool = tool.as_str(), level = note.level, line = line.as_str());
        }
    }

    /// The beginning of the name that was asked for.
    fn named(&self) -> String {
        self.tool.chars().take(NAME).collect()
    }

    /// The call was refused before it was made.
    pub(super) fn refused(mut self, kind: &'static str) {
        self.write("refused", Some(kind), Duration::ZERO, 0);
    }

    fn write(&mut self, outcome: &'static str, kind: Option<&'static str>, time: Duration, bytes: usize) {
        self.written = true;
        let row = AuditRow {
            who: one_line(&self.agent.id),
            role: self.agent.profile.name.clone(),
            tool: one_line(&self.named()),
            package: self.package.map(|digest| format!("{digest:?}")),
            grant: self.grant.clone(),
            outcome,
            kind,
            ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            bytes: bytes as u64,
            refusals: self.refusals,
            walls: self.walls.take(),
        };
        if let Some(sink) = &self.agent.sink {
            sink.row(&row);
        }
        // As text fields, which a log shows in quotes: what a model or a guest wrote forges neither a row nor a field of one.
        tracing::info!(
            target: TARGET,
            who = row.who.as_str(),
            role = row.role.as_str(),
            tool = row.tool.as_str(),
            package = row.package.as_deref().unwrap_or(""),
            grant = %row.grant,
            outcome = row.outcome,
            kind = row.kind.unwrap_or(""),
            refusals = row.refusals,
            walls = row.walls.as_deref().unwrap_or(""),
            ms = row.ms,
            bytes = row.bytes,
            "call"
        );
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        if !self.written {
            self.write("cancelled", None, self.elapsed(), 0);
        }
    }
}
