//! Denials: a refusal with its kind, what asked, for what, as whom, and what would change it.

use super::{Access, Capability, Role};
use std::fmt;
use std::path::PathBuf;

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DenialKind {
    /// The role never has it.
    NotForRole,
    /// The operator did not grant it to this tool.
    NotGranted,
    /// This run, a profile or the parent takes it away.
    Withheld,
    /// The component imports an interface that this host knows at another version only.
    OtherVersion,
    /// The component imports something that this host has never heard of.
    UnknownImport,
    /// The host knows the capability, but nothing in this build provides it.
    NotProvided,
    /// The path leaves the directories that were handed over.
    OutsideWorkspace,
    /// The directory may only be read.
    ReadOnly,
    /// The file has other names, which may lie outside.
    HardLink,
    /// Not a regular file or directory.
    SpecialFile,
    /// Links of this kind are not made by tools.
    LinkRefused,
    /// It directs the main agent, or would, and the caller is not main itself.
    Directing,
}

impl DenialKind {
    /// Its stable name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotForRole => "not-for-role",
            Self::NotGranted => "not-granted",
            Self::Withheld => "withheld",
            Self::OtherVersion => "other-version",
            Self::UnknownImport => "unknown-import",
            Self::NotProvided => "not-provided",
            Self::OutsideWorkspace => "outside-workspace",
            Self::ReadOnly => "read-only",
            Self::HardLink => "hard-link",
            Self::SpecialFile => "special-file",
            Self::LinkRefused => "link-refused",
            Self::Directing => "directing",
        }
    }

    /// Whether it stands before anything of the component has run.
    pub const fn at_link(self) -> bool {
        matches!(
            self,
            Self::NotForRole
                | Self::NotGranted
                | Self::Withheld
                | Self::OtherVersion
                | Self::UnknownImport
                | Self::NotProvided
        )
    }
}

/// What would lift a denial. The command line turns it into the exact command to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Run it under this role.
    UseRole(Role),
    /// Grant this capability to the tool.
    Allow(Capability),
    /// Grant this directory, or the one that holds this file: what is there is for others to look at.
    AllowDirectory(PathBuf, Access),
    /// Leave out what takes it away: the flag, in words that name it.
    Unwithhold(String),
    /// Nothing lifts it; why.
    Nothing(String),
}

/// A refusal. Nothing happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// Why.
    pub kind: DenialKind,
    /// The tool that asked.
    pub tool: String,
    /// The role, or profile, as which it ran.
    pub role: String,
    /// The interface, path or tool that was asked for.
    pub subject: String,
    /// The capability that it belongs to, where there is one.
    pub capability: Option<Capability>,
    /// What would lift it.
    pub remedy: Remedy,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, role, subject, .. } = self;
        write!(f, "denied: ")?;
        match self.kind {
            DenialKind::NotForRole => {
                write!(f, "tool `{tool}` needs {subject}, which role {role} never has")?;
                let mut holders = self.capability.into_iter().flat_map(Role::holding).peekable();
                if holders.peek().is_some() {
                    let holders: Vec<&str> = holders.map(Role::name).collect();
                    write!(f, " (it belongs to: {})", holders.join(", "))?;
                }
                Ok(())
            }
            DenialKind::NotGranted => {
                write!(
                    f,
                    "tool `{tool}` needs {subject}, which was not granted to it (role {role} could have it)"
                )
            }
            DenialKind::Withheld if self.capability.is_none() => {
                write!(f, "profile {role} leaves out the tool `{tool}`")
            }
            DenialKind::Withheld => {
                write!(f, "tool `{tool}` needs {subject}, which this run as {role} takes away")
            }
            DenialKind::OtherVersion => {
                write!(f, "tool `{tool}` imports {subject}, which this host has at another version")
            }
            DenialKind::UnknownImport => {
                write!(f, "tool `{tool}` imports {subject}, which this host does not know")
            }
            DenialKind::NotProvided => {
                write!(f, "tool `{tool}` needs {subject}, which nothing in this build provides")
            }
            DenialKind::OutsideWorkspace => {
                write!(f, "{subject} lies outside the directories that `{tool}` holds as {role}")
            }
            DenialKind::ReadOnly => write!(f, "{subject} may only be read by `{tool}` as {role}"),
            DenialKind::HardLink => {
                write!(f, "{subject} has several names (hard links), and one may lie outside the workspace")
            }
            DenialKind::SpecialFile => write!(f, "{subject} is a device, pipe or socket, not a regular file"),
            DenialKind::LinkRefused => {
                write!(f, "tools make no hard links, and no links that could lead outside: {subject}")
            }
            DenialKind::Directing => write!(
                f,
                "{subject} directs the main agent, or would: only main itself may change it, and `{tool}` ran as {role}"
            ),
        }
    }
}

impl std::error::Error for Denial {}
