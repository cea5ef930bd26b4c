//! What a call can do, judged by what it would hold, before it is made.

use super::agent::Agent;
use super::outside::Held;
use super::package::Origin;
use super::{Definition, Toolbox, arguments, builtin};
use crate::authority::{Access, Capability, CapabilitySet, Directories, Effective};
use serde_json::Value;
use std::path::PathBuf;

impl Toolbox {
    /// Whether a tool can do nothing but read when this agent calls it: it holds directories read-only and nothing else, or
    /// it is a built-in that lists what is there. Such calls do not get in each other's way.
    pub fn only_reads(&self, agent: &Agent, tool: &str) -> bool {
        self.find(tool).is_some_and(|(package, _)| {
            let lists = package.origin == Origin::BuiltIn && builtin::lists(tool);
            lists || only_reads(&agent.effective(&package.grant))
        })
    }

    /// Whether a tool only looks something up: it only reads files, or it is a built-in that fetches from the network and
    /// nothing else. What commands still run is none: they end by themselves, and asking again is how one learns of it.
    pub fn looks_up(&self, agent: &Agent, tool: &str) -> bool {
        self.find(tool).is_some_and(|(package, _)| {
            let effective = agent.effective(&package.grant);
            let fetches = CapabilitySet::of(&[Capability::Network]);
            let network = effective.rights().capabilities == fetches;
            only_reads(&effective) || (package.origin == Origin::BuiltIn && network)
        })
    }

    /// The arguments of a call in one form, whatever the order of their members and the blanks between them; `None` when
    /// the tool is not there or would not be given them.
    pub fn canonical(&self, tool: &str, text: &str) -> Option<Value> {
        let (_, definition): (_, &Definition) = self.find(tool)?;
        arguments::prepare(definition, text).ok().map(sorted)
    }

    /// The places that arguments name, by their text alone.
    pub fn places(&self, arguments: &Value) -> Vec<PathBuf> {
        let nothing = Directories::none();
        Held { workspace: self.opened.workspace(), directories: &nothing }.places(arguments)
    }

    /// The place that one path leads to, by its text alone.
    pub fn place(&self, path: &str) -> Option<PathBuf> {
        let nothing = Directories::none();
        Held { workspace: self.opened.workspace(), directories: &nothing }.place(path)
    }
}

fn only_reads(effective: &Effective) -> bool {
    let rights = effective.rights();
    rights.capabilities.is_within(CapabilitySet::of(&[Capability::Files]))
        && (!effective.holds(Capability::Files)
            || rights.directories.iter().all(|(_, access)| access == Access::ReadOnly))
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, inner)| (key, sorted(inner))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
