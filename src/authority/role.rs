//! Roles, and the profiles that narrow them.

use super::{CapabilitySet, Rights, capability::Capability};
use std::fmt;

/// Who an agent is. A role decides which Rust type stands behind its tools, what is linked, and what it can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Talks to the user; may send messages, start subagents and schedule work.
    Main,
    /// Works in the background on one task, with the workspace alone.
    Subagent,
}

impl Role {
    /// Every role there is.
    pub const ALL: [Self; 2] = [Self::Main, Self::Subagent];

    /// Its name on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
        }
    }

    /// The role of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.name() == name)
    }

    /// The most that this role can ever hold.
    pub const fn capabilities(self) -> CapabilitySet {
        match self {
            Self::Main => CapabilitySet::ALL,
            Self::Subagent => CapabilitySet::of(&[
                Capability::Files,
                Capability::Network,
                Capability::Exec,
                Capability::Log,
            ]),
        }
    }

    /// The roles that can hold `capability`.
    pub fn holding(capability: Capability) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |r| r.capabilities().contains(capability))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A configured role: a base role and what it is narrowed to. It can only narrow, since it is only ever met with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What people call it.
    pub name: String,
    /// The role that it narrows.
    pub role: Role,
    /// The most that it leaves.
    pub rights: Rights,
    /// The only tools that it leaves, where it names any.
    pub tools: Option<Vec<String>>,
}

/// The name of [`Profile::cron`].
const CRON: &str = "cron";

impl Profile {
    /// The names that mean the same everywhere and that nobody can configure: the roles, and `cron`.
    pub const BUILT_IN: [&str; 3] = [Role::Main.name(), Role::Subagent.name(), CRON];

    /// What one of these names means.
    pub fn built_in(name: &str) -> Option<Self> {
        match Role::from_name(name) {
            Some(role) => Some(Self::plain(role)),
            None => (name == CRON).then(Self::cron),
        }
    }

    /// What a scheduled turn runs as: main, which cannot schedule.
    pub fn cron() -> Self {
        let capabilities = CapabilitySet::ALL.without(Capability::Cron);
        let rights = Rights { capabilities, ..Rights::all() };
        Self { name: CRON.to_owned(), role: Role::Main, rights, tools: None }
    }

    /// The role itself, not narrowed.
    pub fn plain(role: Role) -> Self {
        Self { name: role.name().to_owned(), role, rights: Rights::all(), tools: None }
    }

    /// Whether it is main itself, narrowed by nothing: the only one that may change what directs main.
    pub fn is_main_itself(&self) -> bool {
        *self == Self::plain(Role::Main)
    }

    /// Whether it leaves the tool of that name.
    pub fn leaves(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|t| t == tool))
    }
}
