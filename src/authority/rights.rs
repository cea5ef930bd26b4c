//! Rights: capabilities with their parameters.

use super::{Access, CapabilitySet, Directories, Hosts};
use std::path::Path;

/// A bundle of rights. Every ceiling, grant and effective authority is one; they combine by [`Rights::meet`] alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// Which interfaces may be linked.
    pub capabilities: CapabilitySet,
    /// Which directories may be handed over, and how.
    pub directories: Directories,
    /// Which hosts may be spoken to.
    pub hosts: Hosts,
}

impl Rights {
    /// Nothing at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Everything there is.
    pub fn all() -> Self {
        Self {
            capabilities: CapabilitySet::ALL,
            directories: Directories::everywhere(Access::ReadWrite),
            hosts: Hosts::everywhere(),
        }
    }

    /// What both give. There is no way to combine rights that gives more than either.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        Self {
            capabilities: self.capabilities.meet(other.capabilities),
            directories: self.directories.meet(&other.directories),
            hosts: self.hosts.meet(&other.hosts),
        }
    }

    /// These rights, and to read one directory more. Only the host adds one, and only of its own: what was too long of a
    /// caller's results, or the user's skills.
    #[must_use]
    pub fn reading(mut self, own: &Path) -> Self {
        self.directories = self.directories.with(own.to_owned(), Access::ReadOnly);
        self
    }

    /// Whether `other` gives everything that this gives.
    pub fn is_within(&self, other: &Self) -> bool {
        self.capabilities.is_within(other.capabilities)
            && self.directories.is_within(&other.directories)
            && self.hosts.is_within(&other.hosts)
    }
}
