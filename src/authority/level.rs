//! Which walls stand around a command: the ladder of levels, and what each one lacks.

use std::fmt;

/// How much of the sandbox stands, from nothing upwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user took the sandbox away on the command line. No machine has it by itself, and no configuration allows it.
    Unsandboxed,
    /// No namespaces: Landlock and seccomp alone. Refused unless the user's configuration says `min_level = "landlock"`.
    Landlock,
    /// No user namespace, but root in a container: plain namespaces, and capabilities given up.
    NoUserns,
    /// No Landlock: mounts alone carry the rules for files.
    NoLandlock,
    /// No control group: limits of each process instead of the whole tree's, and a watched total of memory.
    NoCgroup,
    /// Everything.
    Full,
}

impl Level {
    /// All of them, from nothing upwards.
    pub const ALL: [Self; 6] =
        [Self::Unsandboxed, Self::Landlock, Self::NoUserns, Self::NoLandlock, Self::NoCgroup, Self::Full];

    /// The lowest level that a command runs at where the user's configuration says nothing.
    pub const LEAST: Self = Self::NoUserns;

    /// Its name, as it stands in results, audit rows and the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsandboxed => "none",
            Self::Landlock => "landlock",
            Self::NoUserns => "no-userns",
            Self::NoLandlock => "no-landlock",
            Self::NoCgroup => "no-cgroup",
            Self::Full => "full",
        }
    }

    /// What stands at this level, in a line for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Unsandboxed => "no sandbox at all: --dangerously-no-sandbox was given",
            Self::Landlock => "Landlock and seccomp alone: no private view of files, processes or network",
            Self::NoUserns => "namespaces made as root, capabilities given up; no user namespace",
            Self::NoLandlock => "namespaces, mounts and seccomp; no Landlock behind them",
            Self::NoCgroup => "every wall; limits hold for each process, and the tree's memory is watched",
            Self::Full => "every wall: namespaces, own root, Landlock, seccomp, limits on the whole tree",
        }
    }

    /// The level of that name, of those that a configuration may ask for as the least.
    pub fn least_named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().filter(|level| *level != Self::Unsandboxed).find(|level| level.name() == name)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
