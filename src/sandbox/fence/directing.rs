//! Judging whether a change is main's alone to make: by the directory that was opened for it, wherever its path went.

use super::held::{Held, pass};
use super::preopen::{Identity, identity_of};
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Directories that are climbed through to the root of the file system, at most.
const MOST_DEEP: usize = 4096;

/// The workspace in which some places direct main, for a call that may not change them.
#[derive(Debug)]
pub(super) struct Directing {
    workspace: Arc<OwnedFd>,
    identity: Identity,
}

/// Where a directory stands.
enum Stands {
    /// Below a directory that is held whole, or it is one.
    Held,
    /// The workspace, or below it.
    Within,
    /// Elsewhere: the workspace may lie below it.
    Elsewhere,
}

impl Directing {
    pub(super) fn new(workspace: OwnedFd, identity: Identity) -> Self {
        Self { workspace: Arc::new(workspace), identity }
    }

    /// Whose change it is to make, remove, replace or rewrite `name`, a single name, in `dir`: `None` where it is main's
    /// alone, or else which directory that is.
    ///
    /// Nothing that it says can be undone by another call that is judged too: those cannot change any of the names that it
    /// followed, nor move a directory into or out of one that is held.
    pub(super) fn judge(&self, dir: &File, name: &str) -> io::Result<Option<Identity>> {
        let held = Held::of(&self.workspace, self.identity)?;
        let at = identity_of(dir)?;
        let stands = self.stands(dir, at, &held)?;
        if matches!(stands, Stands::Held) || held.name(at, name) {
            return Ok(None);
        }
        let there = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => (stat.st_dev, stat.st_ino),
            Err(Errno::NOENT) => return Ok(Some(at)),
            Err(error) => return Err(error.into()),
        };
        // Whatever holds the workspace is held too, or another directory could be put in its place.
        let taken = held.thing(there) || matches!(stands, Stands::Elsewhere) && self.is_above(there)?;
        Ok((!taken).then_some(at))
    }

    /// Whether a directory is held with all below it.
    pub(super) fn whole(&self, dir: &File) -> io::Result<bool> {
        let held = Held::of(&self.workspace, self.identity)?;
        Ok(matches!(self.stands(dir, identity_of(dir)?, &held)?, Stands::Held))
    }

    fn stands(&self, dir: &File, at: Identity, held: &Held) -> io::Result<Stands> {
        let mut standing = Stands::Elsewhere;
        climb(dir, at, |identity| {
            if held.whole(identity) {
                standing = Stands::Held;
            } else if identity == self.identity {
                standing = Stands::Within;
            }
            matches!(standing, Stands::Elsewhere)
        })?;
        Ok(standing)
    }

    /// Whether it is the workspace or a directory above it.
    fn is_above(&self, there: Identity) -> io::Result<bool> {
        let mut found = false;
        climb(&*self.workspace, self.identity, |identity| {
            found = identity == there;
            !found
        })?;
        Ok(found)
    }
}

/// Shows a directory and those above it, one after the other, until `on` has seen enough. By handle: a path could lead
/// elsewhere in between.
fn climb(dir: &impl AsFd, at: Identity, mut on: impl FnMut(Identity) -> bool) -> io::Result<()> {
    if !on(at) {
        return Ok(());
    }
    let mut below = at;
    let mut here = pass(dir, Path::new(".."))?;
    for _ in 0..MOST_DEEP {
        let identity = identity_of(&here)?;
        if identity == below || !on(identity) {
            return Ok(());
        }
        below = identity;
        here = pass(&here, Path::new(".."))?;
    }
    Err(io::Error::other("it lies too deep"))
}
