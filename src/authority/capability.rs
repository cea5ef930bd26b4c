//! Capabilities: what the host can give, one interface each.

use std::fmt;

/// One thing that the host can give to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Files below directories that are handed over (`wasi:filesystem`).
    Files,
    /// HTTP to hosts that are granted (`wasi:http`).
    Network,
    /// Native commands in the operating system's sandbox (`ringfence:host/exec`).
    Exec,
    /// Notes for the operator (`ringfence:host/log`).
    Log,
    /// Messages to people (`ringfence:host/message`).
    Message,
    /// Starting background agents (`ringfence:host/spawn`).
    Spawn,
    /// Looking after background agents (`ringfence:host/tasks`).
    Tasks,
    /// Scheduling turns for later (`ringfence:host/cron`).
    Cron,
}

impl Capability {
    /// Every capability there is.
    pub const ALL: [Self; 8] = [
        Self::Files,
        Self::Network,
        Self::Exec,
        Self::Log,
        Self::Message,
        Self::Spawn,
        Self::Tasks,
        Self::Cron,
    ];

    /// Its name on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Network => "network",
            Self::Exec => "exec",
            Self::Log => "log",
            Self::Message => "message",
            Self::Spawn => "spawn",
            Self::Tasks => "tasks",
            Self::Cron => "cron",
        }
    }

    /// What a tool that asks for it wants to do, to follow "may".
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Files => "use files below the directories that it is given",
            Self::Network => "speak HTTP to the hosts that it is granted",
            Self::Exec => "run native commands in the operating system's sandbox",
            Self::Log => "leave notes for the operator",
            Self::Message => "send messages to people",
            Self::Spawn => "start background agents",
            Self::Tasks => "look after background agents",
            Self::Cron => "schedule work for later",
        }
    }

    /// The capability of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CapabilitySet(u8);

impl CapabilitySet {
    /// No capability.
    pub const NONE: Self = Self(0);
    /// Every capability.
    pub const ALL: Self = Self(u8::MAX);

    /// The set with these members.
    pub const fn of(members: &[Capability]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < members.len() {
            bits |= 1 << members[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// The set whose members are the bits of `bits`, in the order of [`Capability::ALL`].
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Whether it holds `capability`.
    pub const fn contains(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    /// What both hold.
    #[must_use]
    pub const fn meet(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | 1 << capability as u8)
    }

    /// This set without one.
    #[must_use]
    pub const fn without(self, capability: Capability) -> Self {
        Self(self.0 & !(1 << capability as u8))
    }

    /// Whether `other` holds everything that this holds.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Its members.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |c| self.contains(*c))
    }
}

impl fmt::Display for CapabilitySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Capability::name).collect();
        f.write_str(if names.is_empty() { "nothing" } else { "" })?;
        f.write_str(&names.join(", "))
    }
}

impl FromIterator<Capability> for CapabilitySet {
    fn from_iter<I: IntoIterator<Item = Capability>>(members: I) -> Self {
        members.into_iter().fold(Self::NONE, Self::with)
    }
}
