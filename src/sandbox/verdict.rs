//! What each import means, and whether a role may have it.

use super::survey::{Extern, Survey};
use crate::authority::{
    Capability, CapabilitySet, Ceiling, Denial, DenialKind, Flags, Grant, Profile, Remedy, Role,
};

/// What an import is, whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportClass {
    /// A request for a capability.
    Request(Capability),
    /// What a language runtime imports whatever the tool does. Linked, with nothing behind it.
    Leftover,
    /// Types only: there is nothing to call.
    Types,
    /// Known here, at another version only.
    OtherVersion,
    /// Never heard of.
    Unknown,
}

/// The interfaces that language runtimes import, without version.
const LEFTOVERS: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// The interfaces that stand for a capability, without version.
const REQUESTS: &[(&str, Capability)] = &[
    ("wasi:filesystem/preopens", Capability::Files),
    ("wasi:filesystem/types", Capability::Files),
    ("wasi:http/outgoing-handler", Capability::Network),
    ("wasi:http/types", Capability::Network),
    ("ringfence:host/cron", Capability::Cron),
    ("ringfence:host/exec", Capability::Exec),
    ("ringfence:host/log", Capability::Log),
    ("ringfence:host/message", Capability::Message),
    ("ringfence:host/spawn", Capability::Spawn),
    ("ringfence:host/tasks", Capability::Tasks),
];

/// Interfaces without functions.
const TYPES: &[&str] = &["ringfence:host/types"];

/// What the linkers provide. `network` waits for the one module that may open connections.
pub const PROVIDED: CapabilitySet = CapabilitySet::ALL.without(Capability::Network);

impl ImportClass {
    /// Classes one import.
    pub fn of(import: &Extern) -> Self {
        let name = import.name.as_str();
        let class = if let Some((_, capability)) = REQUESTS.iter().find(|(known, _)| *known == name) {
            Self::Request(*capability)
        } else if LEFTOVERS.contains(&name) {
            Self::Leftover
        } else if TYPES.contains(&name) {
            Self::Types
        } else {
            // A known package at an unknown interface is still unknown: another version may have had it.
            return Self::Unknown;
        };
        let served = if name.starts_with("wasi:") { "0.2." } else { "0.1." };
        match import.version.as_deref().and_then(|version| version.strip_prefix(served)) {
            Some(patch) if patch.bytes().all(|b| b.is_ascii_digit()) && !patch.is_empty() => class,
            _ => Self::OtherVersion,
        }
    }
}

/// The capabilities that a component asks for.
pub fn requests(survey: &Survey) -> CapabilitySet {
    survey
        .imports
        .iter()
        .filter_map(|import| match ImportClass::of(import) {
            ImportClass::Request(capability) => Some(capability),
            _ => None,
        })
        .collect()
}

/// As whom and with what a component would be linked.
#[derive(Debug, Clone, Copy)]
pub struct Asker<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The profile.
    pub profile: &'a Profile,
    /// The most that its role can have.
    pub ceiling: &'a Ceiling,
    /// What the tool was granted.
    pub grant: &'a Grant,
    /// What this run leaves.
    pub flags: &'a Flags,
}

/// Compares what a component imports with what it would be given; everything that stands in the way, in order.
pub fn objections(survey: &Survey, asker: Asker<'_>) -> Vec<Denial> {
    let mut seen = CapabilitySet::NONE;
    let mut objections = Vec::new();
    for import in &survey.imports {
        let (kind, capability) = match ImportClass::of(import) {
            ImportClass::Leftover | ImportClass::Types => continue,
            ImportClass::OtherVersion => (DenialKind::OtherVersion, None),
            ImportClass::Unknown => (DenialKind::UnknownImport, None),
            ImportClass::Request(capability) => {
                // `types` and `preopens`, say, are one request.
                if seen.contains(capability) {
                    continue;
                }
                seen = seen.with(capability);
                match asker.missing(capability) {
                    Some(kind) => (kind, Some(capability)),
                    None => continue,
                }
            }
        };
        objections.push(Denial {
            kind,
            tool: asker.tool.to_owned(),
            role: asker.profile.name.clone(),
            subject: import.to_string(),
            capability,
            remedy: asker.remedy(kind, capability),
        });
    }
    objections
}

impl Asker<'_> {
    fn missing(&self, capability: Capability) -> Option<DenialKind> {
        if !PROVIDED.contains(capability) {
            return Some(DenialKind::NotProvided);
        }
        let narrowed = Flags(self.flags.0.meet(&self.profile.rights));
        crate::authority::missing(capability, self.ceiling, self.grant, &narrowed)
    }

    fn remedy(&self, kind: DenialKind, capability: Option<Capability>) -> Remedy {
        match (kind, capability) {
            (DenialKind::NotForRole, Some(capability)) => Role::holding(capability)
                .next()
                .map_or_else(|| Remedy::Nothing("no role has it".to_owned()), Remedy::UseRole),
            (DenialKind::NotGranted, Some(capability)) => Remedy::Allow(capability),
            (DenialKind::Withheld, Some(capability)) => {
                let by_profile = !self.profile.rights.capabilities.contains(capability);
                if by_profile {
                    Remedy::UseRole(self.profile.role)
                } else {
                    Remedy::Unwithhold(capability.name().to_owned())
                }
            }
            (DenialKind::NotProvided, _) => {
                Remedy::Nothing("this build opens no network connections for tools".to_owned())
            }
            (DenialKind::OtherVersion, _) => {
                Remedy::Nothing("build the tool against ringfence:host@0.1 and WASI 0.2".to_owned())
            }
            _ => Remedy::Nothing("build the tool without this import".to_owned()),
        }
    }
}
