//! One call, from a name and a text to a reply.

use super::agent::{Agent, Ports};
use super::audit::Row;
use super::name::{escape_controls, one_line};
use super::outcome::{Outcome, Reply};
use super::outside::{self, Held};
use super::package::{Origin, Package};
use super::{Toolbox, arguments};
use crate::authority::{Access, Capability, Denial, DenialKind, Effective, Grant, Remedy, Rights, Role};
use crate::sandbox::ports::Bearer;
use crate::sandbox::{
    Asker, Call, CallError, Called, Component, Content, ErrorKind, Limits, Note, Preopens, Refusals,
    TEMPORARY, ToolError, objections,
};
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

impl Toolbox {
    /// Calls a tool by name with the text of its arguments. Exactly one audit row is written, before this returns or when
    /// it is dropped.
    pub async fn call(&self, agent: &Agent, tool: &str, arguments: &str) -> Reply {
        let mut row = Row::begin(agent, tool);
        let Some((package, definition)) = self.find(tool) else {
            let near = super::name::nearest(tool, self.names()).map(str::to_owned);
            let unknown = Outcome::Unknown { tool: one_line(super::name::start(tool)), near };
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
                return finish(row, Outcome::Ended(CallError::Directories(error.to_string())));
            }
        };
        let limits = self.limits_of(package);
        let call = (tool, prepared.to_string());
        let called = self.enter(agent, component, &effective, preopens, &limits, call).await;
        row.refusals = called.refusals.count;
        row.walls = called.walls;
        let directories = &effective.rights().directories;
        let held = Held { workspace: self.opened.workspace(), directories };
        let context = Context { agent, grant: &package.grant, tool, held, arguments: &prepared };
        let outcome = match called.answer {
            Ok(Ok(mut output)) => {
                output.content.iter_mut().for_each(plain);
                if package.origin == Origin::BuiltIn {
                    agent.recall.note(tool, &prepared, &mut output);
                }
                Outcome::Done(output)
            }
            Ok(Err(error)) => context.failed(error, &called.refusals),
            Err(CallError::Denied(denial)) => Outcome::Denied(denial),
            Err(error) => Outcome::Ended(error),
        };
        let mut notes = called.notes;
        if called.notes_dropped > 0 {
            let message = format!("{} more lines were dropped", called.notes_dropped);
            notes.push(Note { level: "warn", message });
        }
        let reply = Reply { outcome, notes, time: row.elapsed() };
        row.end(&reply);
        reply
    }

    /// Writes the row of a call that is not made, because a turn has made it often enough.
    pub fn refused(&self, agent: &Agent, tool: &str, kind: &'static str) {
        Row::begin(agent, tool).refused(kind);
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
    ) -> Result<Arc<Preopens>, crate::sandbox::SetupError> {
        if !effective.holds(Capability::Files) {
            return Ok(Arc::default());
        }
        self.opened.preopens(&effective.rights().directories, &agent.own, agent.is_main_itself())
    }

    /// The limits of a call: the same for all, but for the clock of a tool that waits.
    fn limits_of(&self, package: &Package) -> Cow<'_, Limits> {
        match package.clock {
            Some(time) if time > self.limits.time => Cow::Owned(Limits { time, ..self.limits.clone() }),
            _ => Cow::Borrowed(&self.limits),
        }
    }

    async fn enter(
        &self,
        agent: &Agent,
        component: &Component,
        effective: &Effective,
        preopens: Arc<Preopens>,
        limits: &Limits,
        (tool, arguments): (&str, String),
    ) -> Called {
        let capabilities = effective.rights().capabilities;
        let held = agent.holds().rights().clone();
        let bearer = Arc::new(Bearer { agent: agent.id.clone(), rights: held });
        match &agent.ports {
            Ports::Main(ports) => {
                let ports = Arc::clone(ports);
                self.sandbox
                    .call_main(Call {
                        component,
                        capabilities,
                        preopens,
                        ports,
                        bearer,
                        limits,
                        tool,
                        arguments,
                    })
                    .await
            }
            Ports::Subagent(ports) => {
                let ports = Arc::clone(ports);
                self.sandbox
                    .call_subagent(Call {
                        component,
                        capabilities,
                        preopens,
                        ports,
                        bearer,
                        limits,
                        tool,
                        arguments,
                    })
                    .await
            }
        }
    }
}

/// Leaves nothing in a guest's answer that a terminal would act on; what is no text is shown within a line.
fn plain(content: &mut Content) {
    match content {
        Content::Text(text) => *text = escape_controls(text),
        Content::Image { mime_type, .. } => *mime_type = one_line(mime_type),
        Content::ResourceLink { uri, name, mime_type } => {
            for part in [Some(uri), Some(name), mime_type.as_mut()].into_iter().flatten() {
                *part = one_line(part);
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
    grant: &'a Grant,
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
        let lacking = |wanted| self.held.lacking(self.arguments, wanted);
        let named = || lacking(Access::ReadOnly).map(|path| (DenialKind::OutsideWorkspace, path));
        let Some((kind, mut path)) = seen.or_else(named) else { return Outcome::Failed(error) };
        // What a guest writes to may be a temporary file, or named from within another directory: what was asked for says
        // more to a person.
        if kind == DenialKind::ReadOnly {
            path = lacking(Access::ReadWrite).unwrap_or(path);
        }
        if path.contains(TEMPORARY) {
            path = outside::meant(self.arguments, &path).unwrap_or(path);
        }
        let remedy = self.remedy(kind, &path);
        Outcome::Denied(Box::new(Denial {
            kind,
            tool: self.tool.to_owned(),
            role: self.agent.profile.name.clone(),
            // The guest's own text, in a line of the host's.
            subject: one_line(&path),
            capability: Some(Capability::Files),
            remedy,
        }))
    }

    fn remedy(&self, kind: DenialKind, path: &str) -> Remedy {
        let nothing = |why: &str| Remedy::Nothing(why.to_owned());
        match kind {
            DenialKind::OutsideWorkspace | DenialKind::ReadOnly => {
                let Some(place) = self.held.place(path) else {
                    return nothing("`~` is not expanded here; write the whole path");
                };
                if self.agent.own_directories().any(|own| place.starts_with(own)) {
                    return nothing("what the host keeps for its tools to read is never written through one");
                }
                let writes = self.grant.0.directories.iter().any(|(_, access)| access == Access::ReadWrite);
                let wanted = if writes { Access::ReadWrite } else { Access::ReadOnly };
                let inside = self.held.directories.access(&place).is_some();
                if inside && kind == DenialKind::OutsideWorkspace {
                    nothing("links that lead outside are never followed")
                } else {
                    self.lift(&place, wanted)
                }
            }
            DenialKind::HardLink => nothing("replace the file by a copy of itself"),
            DenialKind::SpecialFile => nothing("only regular files are opened"),
            DenialKind::Directing if self.agent.has_parent() && self.agent.profile.role != Role::Main => {
                nothing("say in your answer what it should be, and let the main agent write it")
            }
            DenialKind::Directing => Remedy::UseRole(Role::Main),
            _ => nothing("tools make no such links"),
        }
    }

    /// What would give the access that is missing at a place: told by the first of run, role and profile that lacks it.
    fn lift(&self, place: &Path, wanted: Access) -> Remedy {
        let gives = |rights: &Rights| rights.directories.access(place) >= Some(wanted);
        let run = self.agent.left().0;
        if gives(&run) && gives(&self.agent.ceiling.0) {
            if gives(&self.agent.profile.rights) {
                Remedy::Nothing("the tool was granted reading alone".to_owned())
            } else {
                Remedy::UseRole(self.agent.profile.role)
            }
        } else if place.starts_with(self.held.workspace) {
            Remedy::Unwithhold("writing".to_owned())
        } else {
            Remedy::AllowDirectory(place.to_owned(), wanted)
        }
    }
}
