//! One walk through a workspace: which protected places are there, and which files run later. Whatever it holds is hostile: no
//! link is followed but within the workspace and name by name, nothing is opened but directories, and all of it is bounded.

mod protected;

use super::files::{self, Room};
use super::names::{self, CONFIGURATION, Class, HOOK, Nest, POINTER, Part, What};
use super::view::{Sort, View};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// Entries that are looked at in one walk.
const MOST_ENTRIES: usize = 1_000_000;

/// Bytes of paths that are remembered, and of names that wait for their turn.
const MOST_BYTES: usize = 64 << 20;

/// Where the walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Plain,
    /// Only repositories count.
    Quiet,
    /// Every file counts.
    Below(What),
    /// A repository's own directory.
    Repository,
    /// What holds the directories of its working trees.
    Worktrees,
    /// What holds those of its modules, one in another.
    Modules,
    /// What holds its objects or references.
    Objects,
    /// A directory some parts of which count, and whether it is at a root.
    Nest(Nest, bool),
}

/// An entry that is kept until its directory was read.
#[derive(Clone, Copy)]
struct Entry {
    name: (usize, usize),
    kind: FileType,
    class: Option<Class>,
}

/// What is known of a directory once its names are.
#[derive(Clone, Copy)]
struct Around {
    within: Within,
    depth: usize,
    /// The root of the workspace.
    top: bool,
    /// The root of the workspace or of a repository.
    root: bool,
    /// A repository's own directory, by its place or by what is in it.
    inside: bool,
    /// As git knows one.
    head: bool,
}

/// Where a link leads that decides about a protected place.
#[derive(Clone, Copy)]
enum To {
    Place(What, Sort),
    Enter(What, Within),
}

struct Walk<'a> {
    top: &'a OwnedFd,
    known: Option<&'a View>,
    view: View,
    left: usize,
    bytes: usize,
    path: PathBuf,
    followed: BTreeSet<PathBuf>,
    // One each for the whole walk, so that little is allocated on the way.
    room: Room,
    names: Vec<u8>,
    entries: Vec<Entry>,
    folded: Vec<u8>,
}

/// Walks through a workspace. With a view from before, links are followed that were there then, and nothing new is looked into
/// that has a protected name: it is moved away as it is.
pub(super) fn walk(workspace: &OwnedFd, known: Option<&View>) -> io::Result<View> {
    let top = files::directory(workspace, OsStr::new("."))?;
    let mut walk = Walk {
        top: workspace,
        known,
        view: View::default(),
        left: MOST_ENTRIES,
        bytes: MOST_BYTES,
        path: PathBuf::new(),
        followed: BTreeSet::new(),
        room: Room::new(),
        names: Vec::new(),
        entries: Vec::new(),
        folded: Vec::new(),
    };
    walk.directory(&top, Within::Plain, 0)?;
    Ok(walk.view)
}

impl Walk<'_> {
    /// Everything in a directory that was just opened: first what has a name that counts, so that it is seen when there is more
    /// than is looked at.
    fn directory(&mut self, dir: &OwnedFd, within: Within, depth: usize) -> io::Result<()> {
        let start = (self.names.len(), self.entries.len());
        let read = self.read(dir, within);
        let found = self.entries.get(start.1..).unwrap_or_default();
        let has = |class| found.iter().any(|entry| entry.class == Some(class));
        let head = has(Class::Part(Part::Head));
        let parts = has(Class::Part(Part::Objects)) && has(Class::Part(Part::References));
        let bare = head && (parts || has(Class::Part(Part::CommonDirectory)));
        let top = self.path.as_os_str().is_empty();
        let around = Around {
            within,
            depth,
            top,
            root: top || has(Class::Repository),
            inside: bare || matches!(within, Within::Repository | Within::Modules),
            head: bare || within == Within::Repository,
        };
        for counts in [true, false] {
            for at in start.1..self.entries.len() {
                let Some(entry) = self.entries.get(at).copied().filter(|e| e.class.is_some() == counts)
                else {
                    continue;
                };
                let name = self.names.get(entry.name.0..entry.name.1).unwrap_or_default();
                let name = OsString::from_vec(name.to_vec());
                self.path.push(&name);
                self.entry(dir, &name, entry, around);
                self.path.pop();
            }
        }
        self.names.truncate(start.0);
        self.entries.truncate(start.1);
        read
    }

    /// Reads the names and keeps those that count, and directories.
    fn read(&mut self, dir: &OwnedFd, within: Within) -> io::Result<()> {
        let Self { room, names: kept, entries, folded, left, view, .. } = self;
        files::each(dir, room, |name, kind| {
            if *left == 0 || kept.len() > MOST_BYTES {
                view.partial = true;
                return false;
            }
            *left -= 1;
            let class = match within {
                Within::Nest(nest, _) => names::in_nest(nest, name, folded),
                _ => None,
            };
            let class = class.or_else(|| names::class(name, folded));
            let other = !matches!(kind, FileType::Directory | FileType::Unknown);
            if class.is_none() && other && !matches!(within, Within::Below(_)) {
                return true;
            }
            let from = kept.len();
            kept.extend_from_slice(name);
            entries.push(Entry { name: (from, kept.len()), kind, class });
            true
        })
    }

    fn entry(&mut self, dir: &OwnedFd, name: &OsStr, entry: Entry, around: Around) {
        let kind = match entry.kind {
            FileType::Unknown => match files::at(dir, name) {
                Ok(Some(stamp)) => stamp.kind,
                _ => return,
            },
            kind => kind,
        };
        let (within, directory) = (around.within, kind == FileType::Directory);
        let listing = matches!(within, Within::Plain | Within::Below(_) | Within::Nest(..));
        match entry.class {
            Some(Class::Repository) => {
                self.part(dir, name, kind, POINTER, Within::Repository, around);
            }
            Some(Class::Part(part)) if around.inside => match part {
                Part::Configuration => self.place(dir, name, To::Place(CONFIGURATION, Sort::Configuration)),
                Part::WorktreeConfiguration => self.place(dir, name, To::Place(CONFIGURATION, Sort::Other)),
                Part::Hooks => self.place(dir, name, To::Place(HOOK, Sort::Hooks)),
                Part::CommonDirectory | Part::Directory => {
                    self.place(dir, name, To::Place(POINTER, Sort::Other));
                }
                Part::Worktrees => self.part(dir, name, kind, POINTER, Within::Worktrees, around),
                Part::Modules => self.part(dir, name, kind, POINTER, Within::Modules, around),
                Part::Objects | Part::References if directory && around.head => {
                    self.enter(dir, name, Within::Objects, around.depth);
                }
                _ if directory => self.enter(dir, name, inherited(within), around.depth),
                _ => {}
            },
            Some(Class::Guarded(what)) if around.root || matches!(within, Within::Nest(_, true)) => {
                self.place(dir, name, To::Place(what, Sort::Other));
            }
            Some(Class::Own(what)) if around.top => self.place(dir, name, To::Place(what, Sort::Other)),
            Some(Class::Guarded(what)) if listing => {
                self.elsewhere(dir, name, what);
                if directory {
                    self.enter(dir, name, Within::Below(what), around.depth);
                }
            }
            Some(Class::Nest(nest)) if directory && listing => {
                self.enter(dir, name, Within::Nest(nest, around.root), around.depth);
            }
            Some(Class::Nest(nest)) if around.root && kind == FileType::Symlink => {
                self.place(dir, name, To::Enter(names::AGENTS, Within::Nest(nest, true)));
            }
            Some(Class::Below(what)) if directory && listing => {
                self.enter(dir, name, Within::Below(what), around.depth);
            }
            Some(Class::Listed(what) | Class::Below(what)) if !directory && listing => {
                self.list(dir, name, what)
            }
            Some(Class::Quiet) if directory => self.enter(dir, name, Within::Quiet, around.depth),
            _ if directory && !is_store(within, name) => {
                self.enter(dir, name, inherited(within), around.depth);
            }
            _ => match within {
                Within::Below(what) if !directory => self.list(dir, name, what),
                _ => {}
            },
        }
    }

    /// A directory of a repository's: it is walked through, and if it is something else, that must not be changed.
    fn part(&mut self, dir: &OwnedFd, name: &OsStr, kind: FileType, what: What, as_: Within, around: Around) {
        match kind {
            FileType::Directory => self.enter(dir, name, as_, around.depth),
            _ => self.place(dir, name, To::Enter(what, as_)),
        }
    }

    fn enter(&mut self, dir: &OwnedFd, name: &OsStr, within: Within, depth: usize) {
        if depth >= files::DEPTH || self.left == 0 {
            self.view.partial = true;
            return;
        }
        match files::directory(dir, name) {
            Ok(dir) => {
                if self.directory(&dir, within, depth + 1).is_err() {
                    self.unreadable();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.unreadable(),
            // It is something else by now.
            Err(_) => {}
        }
    }
}

/// What a directory of no name that counts is.
fn inherited(within: Within) -> Within {
    match within {
        Within::Repository => Within::Quiet,
        Within::Worktrees => Within::Repository,
        Within::Nest(..) => Within::Plain,
        same => same,
    }
}

/// Whether it holds objects and nothing else: `pack`, `info`, and one for each first byte.
fn is_store(within: Within, name: &OsStr) -> bool {
    let name = name.as_bytes();
    within == Within::Objects
        && (matches!(name, b"pack" | b"info") || (name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)))
}
