//! The law of narrowing.

use super::{Access, Capability, DenialKind, Directories, Hosts, Profile, Rights, Role};
use std::path::Path;

/// The most that an agent of a role or profile can ever have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ceiling(pub Rights);

impl Ceiling {
    /// The ceiling of a role: main may hold whatever the user grants, a subagent the workspace and nothing that talks to
    /// people, starts agents or schedules.
    pub fn of(role: Role, workspace: &Path) -> Self {
        let directories = match role {
            Role::Main => Directories::everywhere(Access::ReadWrite),
            Role::Subagent => Directories::of([(workspace.to_owned(), Access::ReadWrite)]),
        };
        Self(Rights { capabilities: role.capabilities(), directories, hosts: Hosts::everywhere() })
    }
}

/// What the operator gave a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant(pub Rights);

/// What this run leaves: the workspace and directories named for it, less what its flags take away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags(pub Rights);

/// What a tool holds in one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective(Rights);

impl Effective {
    /// `ceiling ∩ grant ∩ parent ∩ flags`. A missing parent is the user, who takes nothing away.
    pub fn of(ceiling: &Ceiling, grant: &Grant, parent: Option<&Self>, flags: &Flags) -> Self {
        let rights = ceiling.0.meet(&grant.0).meet(&flags.0);
        Self(parent.map_or_else(|| rights.clone(), |parent| rights.meet(&parent.0)))
    }

    /// The same, within a profile as well.
    #[must_use]
    pub fn within(&self, profile: &Profile) -> Self {
        Self(self.0.meet(&profile.rights))
    }

    /// The same, with a directory of the host's own that its holder may read.
    #[must_use]
    pub fn reading(&self, own: &Path) -> Self {
        Self(self.0.clone().reading(own))
    }

    /// The rights.
    pub fn rights(&self) -> &Rights {
        &self.0
    }

    /// Whether it holds `capability`.
    pub fn holds(&self, capability: Capability) -> bool {
        self.0.capabilities.contains(capability)
    }
}

/// Why a capability is missing: the first of role, flags, and grant that does not give it. `None` when all do.
pub(crate) fn missing(
    capability: Capability,
    ceiling: &Ceiling,
    grant: &Grant,
    flags: &Flags,
) -> Option<DenialKind> {
    let lacks = |rights: &Rights| !rights.capabilities.contains(capability);
    if lacks(&ceiling.0) {
        Some(DenialKind::NotForRole)
    } else if lacks(&flags.0) {
        Some(DenialKind::Withheld)
    } else if lacks(&grant.0) {
        Some(DenialKind::NotGranted)
    } else {
        None
    }
}
