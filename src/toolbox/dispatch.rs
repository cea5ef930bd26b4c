//! One call, from a name and a text to a reply.

use super::agent::{Agent, Ports};
use super::audit::Row;
use super::name::escape_controls;
use super::outcome::{Outcome, Reply};
use super::outside::Held;
use super::package::{Origin, Package};
use super::{Toolbox, arguments};
use crate::authority::{Access, Capability, Denial, DenialKind, Effective, Remedy};
use crate::sandbox::{
    Asker, Call, CallError, Called, Component, Content, ErrorKind, Limits, Preopen, Refusals, ToolError,
    objections,
};
use serde_json::Value;
use std::sync::Arc;

/// What tools call their temporary files.
const TEMPORARY: &str = ".ringfence-tmp-";

impl Toolbox {
    /// Calls a tool by name with the text of its arguments. Exactly one audit row is written, before this returns or when
    /// it is dropped.
    pub async fn call(&self, agent: &Agent, tool: &str, arguments: &str) -> Reply {
        let mut row = Row::begin(self.audit.as_deref(), agent, tool);
        let Some((package, definition)) = self.find(tool) else {
            let near = super::name::nearest(tool, self.names()).map(str::to_owned);
            let unknown = Outcome::Unknown { tool: escape_controls(tool), near };
            return finish(row, unknown);
        };
        let effective = agent.effective(&package.grant);
        row.grant = effective.rights().capabilities.to_string();
        let component = match package.component() {
            Ok(component) => component,
            Err(error) => return finish(row, Outcome::Ended(CallError::Load(error))),
        };
        row.package = Some(component.survey.digest);
        if let Some(denial) = self.objections(agent, package, tool, component).into_iter().next() {
            return finish(row, Outcome::Denied(Box::new(denial)));
        }
        let prepared = match arguments::prepare(definition, arguments) {
            Ok(prepared) => prepared,
            Err(error) => return finish(row, Outcome::Arguments(error)),
        };
        let preopens = match self.preopens(agent, &effective) {
            Ok(preopens) => preopens,
            Err(error) => {
                return finish(row, Outcome::Ended(CallError::Host(error.to_string())));
            }
        };
        let called = self.enter(agent, component, &effective, preopens, tool, prepared.to_string()).await;
        row.refusals = called.refusals.count;
        let directories = &effective.rights().directories;
        let held = Held { workspace: self.opened.workspace(), directories };
        let context = Context { agent, tool, held, arguments: &prepared };
        let outcome = match called.answer {
            Ok(Ok(mut output)) => {
                for content in &mut output.content {
                    if let Content::Text(text) = content {
                        *text = escape_controls(text);
                    }
                }
                if package.origin == Origin::BuiltIn {
                    agent.recall.note(tool, &prepared, &mut output);
                }
                Outcome::Done(output)
            }
            Ok(Err(error)) => context.failed(error, &called.refusals),
            Err(CallError::Denied(denial)) => Outcome::Denied(denial),
            Err(error) => Outcome::Ended(error),
        };
        let reply = Reply { outcome, notes: called.notes, time: row.elapsed() };
        row.end(&reply);
        reply
    }

    /// Writes the row of a call that is not made, because a turn has made it often enough.
    pub fn refused(&self, agent: &Agent, tool: &str, kind: &'static str) {
        Row::begin(self.audit.as_deref(), agent, tool).refused(kind);
    }

    /// Everything that stands between an agent and a tool, before anything runs.
    pub(super) fn objections(
        &self,
        agent: &Agent,
        package: &Package,
        tool: &str,
        component: &Component,
    ) -> Vec<Denial> {
        if !agent.profile.leaves(tool) {
            return vec![Denial {
                kind: DenialKind::Withheld,
                tool: tool.to_owned(),
                role: agent.profile.name.clone(),
                subject: "to be among the profile's tools".to_owned(),
                capability: None,
                remedy: Remedy::UseRole(agent.profile.role),
            }];
        }
        let flags = agent.left();
        let (profile, ceiling, grant) = (&agent.profile, &agent.ceiling, &package.grant);
        objections(&component.survey, Asker { tool, profile, ceiling, grant, flags: &flags })
    }

    fn preopens(
        &self,
        agent: &Agent,
        effective: &Effective,
    ) -> Result<Arc<[Preopen]>, crate::sandbox::SetupError> {
        if !effective.holds(Capability::Files) {
            return Ok(Arc::default());
        }
        self.opened.preopens(&effective.rights().directories, &agent.own)
    }

    async fn enter(
        &self,
        agent: &Agent,
        component: &Component,
        effective: &Effective,
        preopens: Arc<[Preopen]>,
        tool: &str,
        arguments: String,
    ) -> Called {
        let capabilities = effective.rights().capabilities;
        let limits: &Limits = &self.limits;
        match &agent.ports {
            Ports::Main(ports) => {
                let ports = Arc::clone(ports);
                self.sandbox
                    .call_main(Call { component, capabilities, preopens, ports, limits, tool, arguments })
                    .await
            }
            Ports::Subagent(ports) => {
                let ports = Arc::clone(ports);
                self.sandbox
                    .call_subagent(Call { component, capabilities, preopens, ports, limits, tool, arguments })
                    .await
            }
        }
    }
}

fn finish(row: Row<'_>, outcome: Outcome) -> Reply {
    let reply = Reply { outcome, notes: Vec::new(), time: row.elapsed() };
    row.end(&reply);
    reply
}

struct Context<'a> {
    agent: &'a Agent,
    tool: &'a str,
    held: Held<'a>,
    arguments: &'a Value,
}

impl Context<'_> {
    /// What a tool's own error means. That it was a denial is believed when the host saw it: the fence refused, or an
    /// argument names a place outside.
    fn failed(&self, error: ToolError, refusals: &Refusals) -> Outcome {
        let error = ToolError { message: escape_controls(&error.message), ..error };
        if error.kind != ErrorKind::Denied {
            return Outcome::Failed(error);
        }
        let seen = refusals.kept.first().map(|refusal| (refusal.kind, refusal.path.clone()));
        let named = || self.held.outside(self.arguments).map(|p| (DenialKind::OutsideWorkspace, p));
        let Some((kind, mut path)) = seen.or_else(named) else { return Outcome::Failed(error) };
        // A write begins with a temporary file beside its target; the target is what was asked for.
        if path.contains(TEMPORARY) {
            path = path.rsplit_once('/').map_or(".", |(directory, _)| directory).to_owned();
        }
        let remedy = self.remedy(kind, &path);
        Outcome::Denied(Box::new(Denial {
            kind,
            tool: self.tool.to_owned(),
            role: self.agent.profile.name.clone(),
            subject: escape_controls(&path),
            capability: Some(Capability::Files),
            remedy,
        }))
    }

    fn remedy(&self, kind: DenialKind, path: &str) -> Remedy {
        let nothing = |why: &str| Remedy::Nothing(why.to_owned());
        match kind {
            DenialKind::OutsideWorkspace => match self.held.missing_directory(path) {
                Some(directory) => {
                    let writes = self.held.directories.iter().any(|(_, a)| a == Access::ReadWrite);
                    Remedy::AllowDirectory(
                        directory,
                        if writes { Access::ReadWrite } else { Access::ReadOnly },
                    )
                }
                None => nothing("links that lead outside are never followed"),
            },
            DenialKind::ReadOnly => Remedy::Unwithhold("writing".to_owned()),
            DenialKind::HardLink => nothing("replace the file by a copy of itself"),
            DenialKind::SpecialFile => nothing("only regular files are opened"),
            _ => nothing("tools make no such links"),
        }
    }
}
