//! Who calls: a role or profile, what this run leaves it, what stands behind its interfaces, and what it has read.

use super::recall::Recall;
use crate::authority::{Ceiling, Effective, Flags, Grant, Profile, Role};
use crate::sandbox::ports::{MainPorts, SharedPorts};
use std::path::Path;
use std::sync::Arc;

/// What stands behind the interfaces of a role.
#[derive(Clone)]
pub enum Ports {
    /// Of main.
    Main(Arc<MainPorts>),
    /// Of a subagent.
    Subagent(Arc<SharedPorts>),
}

impl Ports {
    /// The role that they are for.
    pub fn role(&self) -> Role {
        match self {
            Self::Main(_) => Role::Main,
            Self::Subagent(_) => Role::Subagent,
        }
    }
}

/// One caller of tools. What it has read belongs to it alone; another one starts afresh.
pub struct Agent {
    /// What it is called in audit rows.
    pub id: String,
    /// Its role, or the profile that narrows it.
    pub profile: Profile,
    pub(super) ceiling: Ceiling,
    pub(super) flags: Flags,
    parent: Option<Effective>,
    pub(super) ports: Ports,
    pub(super) recall: Recall,
}

/// A profile and ports of two roles.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("profile `{profile}` narrows role {wanted}, but was given what belongs to role {given}")]
pub struct RoleMismatch {
    /// The profile.
    pub profile: String,
    /// Its role.
    pub wanted: Role,
    /// The role of the ports.
    pub given: Role,
}

impl Agent {
    /// A caller in `workspace`, with what `flags` leave it.
    ///
    /// # Errors
    ///
    /// When profile and ports are of two roles.
    pub fn new(
        id: impl Into<String>,
        profile: Profile,
        workspace: &Path,
        flags: Flags,
        ports: Ports,
    ) -> Result<Self, RoleMismatch> {
        if profile.role != ports.role() {
            return Err(RoleMismatch { profile: profile.name, wanted: profile.role, given: ports.role() });
        }
        let ceiling = Ceiling::of(profile.role, workspace);
        Ok(Self { id: id.into(), profile, ceiling, flags, parent: None, ports, recall: Recall::default() })
    }

    /// The same caller, holding no more than a parent does.
    #[must_use]
    pub fn under(mut self, parent: Effective) -> Self {
        self.parent = Some(parent);
        self
    }

    /// What it holds through a tool with this grant.
    pub fn effective(&self, grant: &Grant) -> Effective {
        Effective::of(&self.ceiling, grant, self.parent.as_ref(), &self.flags).within(&self.profile)
    }

    /// What this run leaves.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    /// What of this run's rights is left by flags and parent together.
    pub(super) fn left(&self) -> Flags {
        match &self.parent {
            Some(parent) => Flags(self.flags.0.meet(parent.rights())),
            None => self.flags.clone(),
        }
    }
}
