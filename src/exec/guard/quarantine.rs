//! Moving away what must not stand where it does. It gets a name that means nothing first, in its own directory, so that it is
//! out of the way at once; then it is copied, since the quarantine may be on another file system and a file may have other
//! names; then it is removed.

use super::files::{self, Identity, Stamp};
use crate::config::{create_private_dir, fresh_id};
use rustix::fs::{AtFlags, FileType, Mode};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Bytes that are copied after one command.
const MOST_BYTES: u64 = 256 << 20;

/// Entries that are copied after one command.
const MOST_ENTRIES: usize = 20_000;

/// What became of something that was to be moved away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Taken {
    /// It lies here: in the quarantine, or, being too much to be copied, below the workspace under a name that means nothing.
    To(PathBuf),
    /// Nothing was there.
    Gone,
    /// It could not be moved.
    Stuck,
}

/// Where things are moved to.
pub(super) struct Quarantine<'a> {
    workspace: &'a OwnedFd,
    base: &'a Path,
    fresh: Option<(PathBuf, OwnedFd)>,
    bytes: u64,
    entries: usize,
}

impl<'a> Quarantine<'a> {
    /// Below a directory that need not be there yet. Nothing is made before something is moved.
    pub(super) fn new(workspace: &'a OwnedFd, base: &'a Path) -> Self {
        Self { workspace, base, fresh: None, bytes: MOST_BYTES, entries: MOST_ENTRIES }
    }

    /// Moves away what is at a path; with `expected`, only if it is that.
    pub(super) fn take(&mut self, path: &Path, expected: Option<Identity>) -> Taken {
        let Ok((dir, name)) = files::parent(self.workspace, path) else { return Taken::Gone };
        match files::at(&dir, name) {
            Ok(Some(there)) if expected.is_none_or(|expected| expected == there.identity) => {
                self.take_from(&dir, name, there, path)
            }
            Ok(_) => Taken::Gone,
            Err(_) => Taken::Stuck,
        }
    }

    fn take_from(&mut self, dir: &OwnedFd, name: &OsStr, there: Stamp, path: &Path) -> Taken {
        let aside = files::aside();
        if files::writing(dir, || files::rename(dir, name, &aside)).is_err() {
            return Taken::Stuck;
        }
        match files::at(dir, &aside) {
            Ok(Some(now)) if now.identity == there.identity => {}
            // Somebody put another thing there meanwhile, which was not meant.
            _ => {
                let _ = files::writing(dir, || files::rename(dir, &aside, name));
                return Taken::Stuck;
            }
        }
        match self.keep(dir, &aside, path) {
            Ok(to) => {
                // It is out of the way, and copied. What cannot be removed stays under a name that means nothing.
                let _ = remove(dir, &aside, there.identity.0, 0);
                Taken::To(to)
            }
            Err(_) => Taken::To(path.with_file_name(aside)),
        }
    }

    /// Copies what has the name into the quarantine, as `path` there.
    fn keep(&mut self, dir: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<PathBuf> {
        let (base, top) = match self.fresh.take() {
            Some(fresh) => fresh,
            None => fresh(self.base)?,
        };
        let place = base.join(path);
        let done = self.keep_below(&top, dir, name, path);
        self.fresh = Some((base, top));
        done.map(|()| place)
    }

    fn keep_below(&mut self, top: &OwnedFd, dir: &OwnedFd, name: &OsStr, path: &Path) -> io::Result<()> {
        let mut to = files::directory(top, OsStr::new("."))?;
        for part in path.parent().unwrap_or(Path::new("")).components() {
            let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            match rustix::fs::mkdirat(&to, part, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            to = files::directory(&to, part)?;
        }
        let last = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        if files::at(&to, last)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let done = self.copy(dir, name, &to, last, 0);
        if done.is_err() {
            let device = files::of(&to)?.identity.0;
            let _ = remove(&to, last, device, 0);
        }
        done
    }

    fn copy(
        &mut self,
        from: &OwnedFd,
        name: &OsStr,
        to: &OwnedFd,
        new: &OsStr,
        depth: usize,
    ) -> io::Result<()> {
        let Some(left) = self.entries.checked_sub(1) else { return Err(too_much()) };
        self.entries = left;
        let stamp = files::at(from, name)?.ok_or(io::ErrorKind::NotFound)?;
        match stamp.kind {
            FileType::RegularFile => {
                let (file, stamp) = files::file(from, name)?;
                if stamp.size > self.bytes {
                    return Err(too_much());
                }
                let mut new = files::new_file(to, new)?;
                let copied = io::copy(&mut std::fs::File::from(file).take(self.bytes + 1), &mut new)?;
                self.bytes = self.bytes.checked_sub(copied).ok_or_else(too_much)?;
                Ok(())
            }
            FileType::Directory if depth < files::DEPTH => {
                let from = files::directory(from, name)?;
                rustix::fs::mkdirat(to, new, Mode::RWXU)?;
                let to = files::directory(to, new)?;
                for name in files::names(&from, self.entries)? {
                    self.copy(&from, &name, &to, &name, depth + 1)?;
                }
                Ok(())
            }
            FileType::Directory => Err(too_much()),
            FileType::Symlink => Ok(rustix::fs::symlinkat(files::link(from, name)?, to, new)?),
            kind => Ok(writeln!(files::new_file(to, new)?, "this was no file: {kind:?}")?),
        }
    }
}

fn too_much() -> io::Error {
    io::Error::other("it is too much to be copied")
}

/// A new directory below the quarantine.
fn fresh(base: &Path) -> io::Result<(PathBuf, OwnedFd)> {
    create_private_dir(base)?;
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let top = rustix::fs::open(base, flags, Mode::empty())?;
    let name = OsString::from(format!("{}{}", fresh_id(), fresh_id()));
    rustix::fs::mkdirat(&top, &name, Mode::RWXU)?;
    Ok((base.join(&name), files::directory(&top, &name)?))
}

/// Removes what has a name, with all below it on the same device.
pub(super) fn remove(dir: &OwnedFd, name: &OsStr, device: u64, depth: usize) -> io::Result<()> {
    let stamp = files::at(dir, name)?.ok_or(io::ErrorKind::NotFound)?;
    if !stamp.is_directory() {
        return files::writing(dir, || Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?));
    }
    let inside = files::directory(dir, name)?;
    if depth > files::DEPTH || files::of(&inside)?.identity.0 != device {
        return Err(too_much());
    }
    for name in files::names(&inside, MOST_ENTRIES)? {
        remove(&inside, &name, device, depth + 1)?;
    }
    files::writing(dir, || Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?))
}
