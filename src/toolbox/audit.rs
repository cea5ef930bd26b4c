//! One row for every call, whatever became of it.

use super::agent::Agent;
use super::name::one_line;
use super::outcome::{Outcome, Reply};
use crate::authority::Effective;
use crate::sandbox::Digest;

/// Where the rows go: a target of its own, so that they can be had alone.
pub const TARGET: &str = "ringfence::audit";

/// What is known of a call beside its reply.
pub(super) struct Row<'a> {
    pub(super) agent: &'a Agent,
    pub(super) tool: &'a str,
    pub(super) package: Option<Digest>,
    pub(super) effective: Option<&'a Effective>,
    pub(super) refusals: u64,
}

pub(super) fn write(row: &Row<'_>, reply: &Reply) {
    let bytes = match &reply.outcome {
        Outcome::Done(output) => super::outcome::text_of(&output.content).len(),
        _ => 0,
    };
    // As text fields, which a log shows in quotes: what a model or a guest wrote forges neither a row nor a field of one.
    let tool = one_line(row.tool);
    let who = one_line(&row.agent.id);
    let grant =
        row.effective.map(|effective| effective.rights().capabilities.to_string()).unwrap_or_default();
    tracing::info!(
        target: TARGET,
        who = who.as_str(),
        role = row.agent.profile.name.as_str(),
        tool = tool.as_str(),
        package = %row.package.map(|digest| digest.to_string()).unwrap_or_default(),
        grant = %grant,
        outcome = reply.outcome.name(),
        kind = reply.outcome.kind().unwrap_or(""),
        refusals = row.refusals,
        ms = u64::try_from(reply.time.as_millis()).unwrap_or(u64::MAX),
        bytes,
        "call"
    );
    for note in &reply.notes {
        let line = one_line(&note.message);
        tracing::info!(target: "ringfence::guest", tool = tool.as_str(), level = note.level, line = line.as_str());
    }
}
