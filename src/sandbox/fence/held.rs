//! What is held against everybody but main: found anew for each change, by following every name from the workspace to what
//! directs main, links included.

use super::preopen::{Identity, identity_of};
use crate::authority::{DIRECTORIES, INSTRUCTIONS, SKILL, SKILLS, folded};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Links that are followed on the way to one place.
const MOST_LINKS: usize = 40;

/// How a directory is opened to be walked through and not to be read.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PASSING: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PASSING: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a directory by its one name in another, to walk through it.
pub(super) fn pass(dir: &impl AsFd, name: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(dir, name, PASSING, Mode::empty())?)
}

/// Names that nobody but main makes, changes, removes or replaces, what has these names now, and directories that are held with
/// all below them.
#[derive(Debug, Default)]
pub(super) struct Held {
    names: Vec<(Identity, String)>,
    things: Vec<Identity>,
    whole: Vec<Identity>,
}

/// A directory on the way, and those above it up to the workspace.
type Way = Vec<(Arc<OwnedFd>, Identity)>;

impl Held {
    /// What is held in a workspace as it is now. A way ends where something is missing, is no directory or leads out of the
    /// workspace; the name at which it ends is held like the others, since whoever makes it decides how the way goes on.
    pub(super) fn of(workspace: &Arc<OwnedFd>, identity: Identity) -> io::Result<Self> {
        let mut held = Self::default();
        let root: Way = vec![(Arc::clone(workspace), identity)];
        held.follow(root.clone(), Path::new(INSTRUCTIONS))?;
        for place in DIRECTORIES {
            if let Some(way) = held.follow(root.clone(), Path::new(place))? {
                held.whole.extend(way.last().map(|(_, identity)| *identity));
            }
        }
        for place in SKILLS {
            if let Some(way) = held.follow(root.clone(), Path::new(place))? {
                held.whole.extend(way.last().map(|(_, identity)| *identity));
                held.linked_skills(&way)?;
            }
        }
        Ok(held)
    }

    /// Whether the name in that directory is held.
    pub(super) fn name(&self, dir: Identity, name: &str) -> bool {
        let name = folded(name);
        self.names.iter().any(|(at, held)| *at == dir && *held == name)
    }

    /// Whether what is there has a held name as well: by another spelling that the file system takes for it, or by a hard link.
    /// A file with two names is not read, but would be once it lost the other one.
    pub(super) fn thing(&self, there: Identity) -> bool {
        self.things.contains(&there)
    }

    /// Whether that directory is held with all below it.
    pub(super) fn whole(&self, dir: Identity) -> bool {
        self.whole.contains(&dir)
    }

    /// A skill's file may be a link to somewhere else in the workspace, or have another name there.
    fn linked_skills(&mut self, way: &Way) -> io::Result<()> {
        let Some((directory, _)) = way.last() else { return Ok(()) };
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = match rustix::fs::openat(directory, ".", flags, Mode::empty()) {
            Ok(readable) => readable,
            // Nor is it listed for its skills.
            Err(Errno::ACCESS) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for entry in Dir::read_from(readable)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            let skill = Path::new(&name).join(SKILL);
            if name == "." || name == ".." {
                continue;
            }
            match rustix::fs::statat(directory, &skill, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                    self.follow(way.clone(), &skill)?;
                }
                Ok(stat) => self.things.push((stat.st_dev, stat.st_ino)),
                // No skill then.
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Follows a path and holds each name on the way. What it leads to, where that is a directory.
    fn follow(&mut self, mut way: Way, path: &Path) -> io::Result<Option<Way>> {
        let mut links = 0;
        let mut ahead: Vec<PathBuf> = parts(path);
        while let Some(part) = ahead.pop() {
            if part.as_os_str() == ".." {
                way.pop();
                if way.is_empty() {
                    return Ok(None);
                }
                continue;
            }
            let Some((dir, identity)) = way.last() else { return Ok(None) };
            let (dir, identity) = (Arc::clone(dir), *identity);
            self.names.push((identity, folded(&part.to_string_lossy())));
            let stat = match rustix::fs::statat(&dir, &part, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // What this process may not look into, it does not read either.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::ACCESS) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            self.things.push((stat.st_dev, stat.st_ino));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    let next = pass(&dir, &part)?;
                    let identity = identity_of(&next)?;
                    way.push((Arc::new(next), identity));
                }
                FileType::Symlink => {
                    links += 1;
                    let target = rustix::fs::readlinkat(&dir, &part, Vec::new())?;
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if links > MOST_LINKS || target.is_absolute() {
                        return Ok(None);
                    }
                    ahead.extend(parts(&target));
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(way))
    }
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().rev().filter(|part| !matches!(part, Component::CurDir));
    named.map(|part| PathBuf::from(part.as_os_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_last_first_and_without_dots() {
        let shown: Vec<PathBuf> = parts(Path::new("./a/../b//c/"));
        assert_eq!(shown, ["c", "b", "..", "a"].map(PathBuf::from));
    }
}
