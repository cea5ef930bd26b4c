//! Who calls: a role or profile, what this run leaves it, what stands behind its interfaces, and what it has read.

use super::audit::AuditSink;
use super::recall::Recall;
use super::spill::Spill;
use crate::authority::{Ceiling, Effective, Flags, Grant, Profile, Rights, Role};
use crate::sandbox::OwnReadOnly;
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
    pub(super) own: Vec<Arc<OwnReadOnly>>,
    spill: Option<Arc<Spill>>,
    pub(super) sink: Option<Arc<dyn AuditSink>>,
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
        let (parent, recall, own, spill, sink) = (None, Recall::default(), Vec::new(), None, None);
        Ok(Self { id: id.into(), profile, ceiling, flags, parent, ports, recall, own, spill, sink })
    }

    /// The same caller, holding no more than a parent does.
    #[must_use]
    pub fn under(mut self, parent: Effective) -> Self {
        self.parent = Some(parent);
        self
    }

    /// The same caller, which may read one more directory: one of the host's own, and nothing beside or above it. Tools that
    /// are granted files everywhere are handed it read-only; all others are not.
    #[must_use]
    pub fn reading(mut self, own: Arc<OwnReadOnly>) -> Self {
        self.own.push(own);
        self
    }

    /// The same caller, whose results that are too long to be shown are kept in `spill`, which it may read.
    #[must_use]
    pub fn spilling(mut self, spill: Arc<Spill>) -> Self {
        self = self.reading(spill.directory());
        self.spill = Some(spill);
        self
    }

    /// The same caller, a row of each of whose calls is handed to `sink`, beside the log.
    #[must_use]
    pub fn recording(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Puts other ports behind its interfaces: what they are bound to changes with every turn.
    ///
    /// # Errors
    ///
    /// When they belong to another role. It keeps those that it had.
    pub fn rebind(&mut self, ports: Ports) -> Result<(), RoleMismatch> {
        if self.profile.role != ports.role() {
            let profile = self.profile.name.clone();
            return Err(RoleMismatch { profile, wanted: self.profile.role, given: ports.role() });
        }
        self.ports = ports;
        Ok(())
    }

    /// What it holds at most, whichever tool it calls: what a child of its is held to.
    pub fn holds(&self) -> Effective {
        Effective::of(&self.ceiling, &Grant(Rights::all()), self.parent.as_ref(), &self.flags)
            .within(&self.profile)
    }

    /// The host's own directories that it may read.
    pub fn own_directories(&self) -> impl Iterator<Item = &Path> {
        self.own.iter().map(|own| own.path())
    }

    /// Where its long results go.
    pub fn spill(&self) -> Option<&Spill> {
        self.spill.as_deref()
    }

    /// What it holds through a tool with this grant.
    ///
    /// A directory of the host's own stands in everything but the grant, so that what comes out is still no more than each.
    pub fn effective(&self, grant: &Grant) -> Effective {
        if self.own.is_empty() {
            return Effective::of(&self.ceiling, grant, self.parent.as_ref(), &self.flags)
                .within(&self.profile);
        }
        let with_own =
            |rights: &Rights| self.own.iter().fold(rights.clone(), |rights, own| rights.reading(own.path()));
        let ceiling = Ceiling(with_own(&self.ceiling.0));
        let flags = Flags(with_own(&self.flags.0));
        let profile = Profile { rights: with_own(&self.profile.rights), ..self.profile.clone() };
        let parent = self.parent.clone();
        let parent =
            parent.map(|parent| self.own.iter().fold(parent, |parent, own| parent.reading(own.path())));
        Effective::of(&ceiling, grant, parent.as_ref(), &flags).within(&profile)
    }

    /// Whether it is main itself, and nobody's helper: only then it may change what directs main.
    pub fn is_main_itself(&self) -> bool {
        self.parent.is_none() && self.profile.is_main_itself()
    }

    /// Whether somebody else's rights bound it.
    pub(super) fn has_parent(&self) -> bool {
        self.parent.is_some()
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
