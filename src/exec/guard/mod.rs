//! Files of a workspace that run later elsewhere, or that direct somebody: what a command must not change, and what it made
//! or changed that a person should look at.

mod after;
mod copies;
mod files;
mod git;
mod links;
mod names;
mod quarantine;
mod view;
mod walk;

use copies::Copies;
use rustix::fs::FileType;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use view::View;

/// Places that are pinned at most.
const MOST_PINS: usize = 4_096;

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
    /// What is to be pinned, in the order of their paths, none within another.
    pub pins: Vec<Pin>,
    view: View,
    copies: Copies,
}

/// A file that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Below the workspace. It is a name that a command chose: anything may stand in it, new lines too.
    pub path: PathBuf,
    /// What it is, such as `git hook` or `CI workflow`.
    pub what: &'static str,
    /// Whether it was there before.
    pub changed: bool,
    /// Where it lies now, if it was moved away, or what lay in its stead: a place in the quarantine; or, where that could not
    /// take it, a path below the workspace beside the old one, under a name that means nothing to anybody.
    pub moved_to: Option<PathBuf>,
}

/// What a command left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Findings {
    /// Files, in the order of their paths; at most 100, those first that were moved away.
    pub files: Vec<Finding>,
    /// How many more there are.
    pub more: usize,
    /// Whether the workspace was too large to be looked at as a whole: more than 1,000,000 entries, or deeper than 64
    /// directories.
    pub partial: bool,
}

impl Findings {
    /// What a person should look at, a line each. Names are written so that nothing in them acts.
    pub fn lines(&self) -> Vec<String> {
        let line = |finding: &Finding| {
            let path = finding.path.to_string_lossy().escape_debug().to_string();
            let did = if finding.changed { "changed" } else { "made" };
            match &finding.moved_to {
                Some(to) => {
                    let to = to.to_string_lossy().escape_debug().to_string();
                    format!(
                        "a command {did} {path} ({}), which no command may; it was moved to {to}",
                        finding.what
                    )
                }
                None => {
                    format!(
                        "a command {did} {path} ({}), which may run or be believed elsewhere",
                        finding.what
                    )
                }
            }
        };
        let mut lines: Vec<String> = self.files.iter().map(line).collect();
        if self.more > 0 {
            lines.push(format!("and {} more such files", self.more));
        }
        if self.partial {
            lines.push(
                "the workspace is too large to be looked at as a whole: such files may be elsewhere in it"
                    .to_owned(),
            );
        }
        lines
    }
}

impl Before {
    /// Looks at a workspace. Files are neither opened nor read, but for protected ones with several names: what such a file says
    /// could be changed by another of its names, and is put back then.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or has more than 4,096 protected places.
    pub fn look(workspace: &OwnedFd) -> io::Result<Self> {
        let view = walk::walk(workspace, None)?;
        let mut pins: Vec<Pin> = Vec::new();
        for (path, place) in &view.places {
            // A link cannot be held, but what it leads to is, and it is put back. The order of paths has what is in a directory
            // right behind it.
            let held = pins.last().is_some_and(|last| last.directory && path.starts_with(&last.path));
            if !place.guarded || place.stamp.kind == FileType::Symlink || held {
                continue;
            }
            if pins.len() == MOST_PINS {
                return Err(io::Error::other(format!(
                    "the workspace has more than {MOST_PINS} places that a command must not change, such as the settings of \
                     repositories in it; take a smaller directory as the workspace"
                )));
            }
            let directory = place.stamp.is_directory();
            pins.push(Pin { path: path.clone(), identity: place.stamp.identity, directory });
        }
        let copies = Copies::of_linked(workspace, &view);
        Ok(Self { pins, view, copies })
    }

    /// Keeps copies of everything protected, for a level at which no mount holds it: [`Self::after`] puts back what is not as it
    /// was then.
    ///
    /// # Errors
    ///
    /// When something protected cannot be read, or is more than is kept: 1 MiB of one file, 32 MiB in all, 5,000 files.
    pub fn keep_copies(&mut self, workspace: &OwnedFd) -> io::Result<()> {
        self.copies = Copies::of(workspace, &self.view)?;
        Ok(())
    }

    /// Looks again after the command. What it made at protected places is moved to a new directory below `quarantine`, but for
    /// what `git init`, `git clone` and `git commit` make and nobody is harmed by; links that decide what is at such a place are
    /// put back, and so is whatever copies were kept of. What runs later elsewhere and is new or changed is listed.
    pub fn after(&self, workspace: &OwnedFd, quarantine: &Path) -> Findings {
        after::after(&self.view, &self.copies, workspace, quarantine)
    }
}
