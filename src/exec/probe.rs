//! What this machine can do for a sandbox, tried out: each feature with the error and its cause where it is missing.

use crate::authority::Level;
use serde::{Deserialize, Serialize};

/// One thing that the sandbox is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Feature {
    /// A user namespace with an identity of its own, mapped to a number that is not root's.
    UserNamespace,
    /// Mount, process, network, IPC, host name and control group namespaces.
    Namespaces,
    /// Mounts that are read-only with everything below them.
    ReadOnlyMounts,
    /// A view of processes that holds the command's own alone.
    PrivateProc,
    /// Landlock, in a version that knows truncation (3) at least.
    Landlock,
    /// System call filters.
    Seccomp,
    /// A control group for the tree's memory and processes.
    ControlGroup,
    /// A bound on processes within the process namespace.
    ProcessBound,
}

impl Feature {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::UserNamespace,
        Self::Namespaces,
        Self::ReadOnlyMounts,
        Self::PrivateProc,
        Self::Landlock,
        Self::Seccomp,
        Self::ControlGroup,
        Self::ProcessBound,
    ];

    /// Its name, as it is typed and printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserNamespace => "user-namespace",
            Self::Namespaces => "namespaces",
            Self::ReadOnlyMounts => "read-only-mounts",
            Self::PrivateProc => "private-proc",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::ControlGroup => "control-group",
            Self::ProcessBound => "process-bound",
        }
    }
}

/// Why something is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The number of the system's error; 0 where it was not an error but masked or of no use.
    pub errno: i32,
    /// The step that failed, such as `clone` or `uid_map`.
    pub step: String,
    /// What forbids it, as far as can be told.
    pub cause: String,
    /// What a person can do, a command where there is one.
    pub fix: String,
}

/// A feature as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which.
    pub feature: Feature,
    /// What is there, in a few words (`ABI 7`, `cgroup v2`), or why it is not.
    pub state: Result<String, Missing>,
}

/// A machine as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// Every feature, in the order of [`Feature::ALL`].
    pub features: Vec<Found>,
}

impl Machine {
    /// Whether it has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.iter().any(|found| found.feature == feature && found.state.is_ok())
    }

    /// The same machine, as if it had not these features: for trying out the ladder.
    #[must_use]
    pub fn without(mut self, masked: &[Feature]) -> Self {
        for found in self.features.iter_mut().filter(|found| masked.contains(&found.feature)) {
            found.state = Err(Missing {
                errno: 0,
                step: "masked".to_owned(),
                cause: "it was masked".to_owned(),
                fix: "leave the mask away".to_owned(),
            });
        }
        self
    }

    /// The level that it gives; `None` where commands are never run.
    pub fn level(&self) -> Option<Level> {
        let has = |feature| self.has(feature);
        if !has(Feature::Seccomp) {
            return None;
        }
        let view = has(Feature::Namespaces) && has(Feature::ReadOnlyMounts) && has(Feature::PrivateProc);
        match (view, has(Feature::UserNamespace), has(Feature::Landlock)) {
            (true, true, true) if has(Feature::ControlGroup) => Some(Level::Full),
            (true, true, true) => Some(Level::NoCgroup),
            (true, true, false) => Some(Level::NoLandlock),
            (true, false, true) => Some(Level::NoUserns),
            (false, _, true) => Some(Level::Landlock),
            _ => None,
        }
    }

    /// The first feature that keeps it from a higher level, with the reason.
    pub fn first_missing(&self) -> Option<(Feature, &Missing)> {
        self.features
            .iter()
            .find_map(|found| found.state.as_ref().err().map(|missing| (found.feature, missing)))
    }
}
