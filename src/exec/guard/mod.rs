//! Files of a workspace that run later elsewhere, or that direct somebody: what a command must not change, and what it made
//! or changed that a person should look at.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A place that a command sees and cannot change, move or remove.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Pin {
    /// Below the workspace, no links on the way.
    pub path: PathBuf,
    /// What it is now, so that nothing else is pinned in its stead: device and inode.
    pub identity: (u64, u64),
    /// Whether it is a directory, which is held with all below it.
    pub directory: bool,
}

/// What a workspace was like before a command.
#[derive(Debug)]
pub struct Before {
    /// What is to be pinned.
    pub pins: Vec<Pin>,
}

/// A file that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Below the workspace.
    pub path: PathBuf,
    /// What it is, such as `git hook` or `CI workflow`.
    pub what: &'static str,
    /// Whether it was there before.
    pub changed: bool,
    /// Where it lies now, if it was moved away.
    pub moved_to: Option<PathBuf>,
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Files, in the order of their paths.
    pub files: Vec<Finding>,
    /// Whether the workspace was too large to be looked at as a whole.
    pub partial: bool,
}

impl Before {
    /// Looks at a workspace.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or has more protected places than can be pinned.
    pub fn look(_workspace: &OwnedFd) -> std::io::Result<Self> {
        Ok(Self { pins: Vec::new() })
    }

    /// Looks again after the command, moves what it made at protected places to a new directory below `quarantine`, and puts
    /// links back that it changed.
    pub fn after(&self, _workspace: &OwnedFd, _quarantine: &Path) -> Findings {
        Findings::default()
    }
}
