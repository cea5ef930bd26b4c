//! Copies of what is protected, for where no mount holds it: what a command changed all the same is put back from them.

use super::files::{self, Identity, Stamp};
use super::quarantine::{Quarantine, Taken};
use super::view::View;
use rustix::fs::{FileType, Mode};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Bytes of one file.
const MOST_FILE: u64 = 1 << 20;

/// Bytes of all files.
const MOST_BYTES: u64 = 32 << 20;

/// Files, directories and links.
const MOST_FILES: usize = 5_000;

/// Entries of a protected directory that are moved away one by one.
const MOST_NEW: usize = 20_000;

/// What was there.
#[derive(Debug)]
enum Kept {
    File {
        bytes: Vec<u8>,
        mode: u32,
        identity: Identity,
    },
    Directory {
        mode: u32,
    },
    Link(PathBuf),
    /// No file: it is not read, and not made again.
    Other(FileType),
}

/// Copies, by path: directories before what is in them.
#[derive(Debug, Default)]
pub(super) struct Copies {
    kept: BTreeMap<PathBuf, Kept>,
    bytes: u64,
    /// Whether everything protected is here; otherwise only files with several names, which are changed by another one although
    /// a mount holds this one.
    whole: bool,
}

/// Something that was put back, or could not be.
pub(super) struct Back {
    pub(super) path: PathBuf,
    /// Whether it was there before.
    pub(super) was: bool,
    /// Where what replaced it is.
    pub(super) taken: Taken,
}

impl Copies {
    /// Of everything protected.
    ///
    /// # Errors
    ///
    /// When something cannot be read, or is more than is kept.
    pub(super) fn of(workspace: &OwnedFd, view: &View) -> io::Result<Self> {
        let mut copies = Self { whole: true, ..Self::default() };
        for (path, place) in &view.places {
            if place.guarded {
                let (dir, name) = files::parent(workspace, path)?;
                copies.keep(&dir, name, path, 0)?;
            }
        }
        Ok(copies)
    }

    /// Of the protected files that have several names, as far as there is room.
    pub(super) fn of_linked(workspace: &OwnedFd, view: &View) -> Self {
        let mut copies = Self::default();
        let guarded =
            view.places.iter().filter(|(_, place)| place.guarded).map(|(path, place)| (path, place.stamp));
        let inner =
            view.listed.iter().filter(|(_, listed)| listed.inner).map(|(path, listed)| (path, listed.stamp));
        for (path, stamp) in guarded.chain(inner) {
            if stamp.kind == FileType::RegularFile
                && stamp.names > 1
                && let Ok((dir, name)) = files::parent(workspace, path)
            {
                // Where there is no room, a change is still told.
                let _ = copies.keep(&dir, name, path, 0);
            }
        }
        copies
    }

    fn keep(&mut self, dir: &OwnedFd, name: &OsStr, path: &Path, depth: usize) -> io::Result<()> {
        let too_much = |what| Err(io::Error::other(format!("{}: {what}", path.display())));
        if self.kept.contains_key(path) {
            return Ok(());
        }
        if self.kept.len() >= MOST_FILES || depth > files::DEPTH {
            return too_much("more protected files than are kept at this level of the sandbox");
        }
        let Some(stamp) = files::at(dir, name)? else { return Ok(()) };
        let kept = match stamp.kind {
            FileType::RegularFile => {
                let (bytes, stamp) = read(dir, name)?;
                self.bytes = self.bytes.saturating_add(bytes.len() as u64);
                if bytes.len() as u64 > MOST_FILE || self.bytes > MOST_BYTES {
                    self.bytes = self.bytes.saturating_sub(bytes.len() as u64);
                    return too_much("more than is kept of protected files at this level of the sandbox");
                }
                Kept::File { bytes, mode: stamp.mode, identity: stamp.identity }
            }
            FileType::Directory => Kept::Directory { mode: stamp.mode },
            FileType::Symlink => Kept::Link(files::link(dir, name)?),
            kind => Kept::Other(kind),
        };
        let directory = matches!(kept, Kept::Directory { .. });
        self.kept.insert(path.to_owned(), kept);
        if directory {
            let dir = files::directory(dir, name)?;
            for name in files::names(&dir, MOST_FILES)? {
                self.keep(&dir, &name, &path.join(&name), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Puts back what is not as it was; what replaced it is moved away.
    pub(super) fn put_back(&self, workspace: &OwnedFd, quarantine: &mut Quarantine<'_>) -> Vec<Back> {
        let mut done = Vec::new();
        for (path, kept) in &self.kept {
            if self.whole {
                way(workspace, path, quarantine, &mut done);
            }
            let Ok((dir, name)) = files::parent(workspace, path) else {
                if self.whole {
                    done.push(Back { path: path.clone(), was: true, taken: Taken::Stuck });
                }
                continue;
            };
            let there = files::at(&dir, name).ok().flatten();
            if self.is_as_it_was(&dir, name, there, kept) {
                continue;
            }
            if let (Kept::Directory { mode }, Some(FileType::Directory)) =
                (kept, there.map(|there| there.kind))
                && self.put_directory_back(&dir, name, path, *mode, quarantine, &mut done).is_ok()
            {
                continue;
            }
            let taken = quarantine.take(path, None);
            let stuck = taken == Taken::Stuck || files::writing(&dir, || make(&dir, name, kept)).is_err();
            done.push(Back {
                path: path.clone(),
                was: true,
                taken: if stuck { Taken::Stuck } else { taken },
            });
        }
        done
    }

    fn is_as_it_was(&self, dir: &OwnedFd, name: &OsStr, there: Option<Stamp>, kept: &Kept) -> bool {
        let Some(there) = there else { return !self.whole };
        match (kept, there.kind) {
            // A file that somebody put there is not the one that was changed by another of its names.
            (Kept::File { identity, .. }, _) if !self.whole && *identity != there.identity => true,
            (Kept::File { bytes, mode, .. }, FileType::RegularFile) => {
                (there.mode == *mode || !self.whole)
                    && there.size == bytes.len() as u64
                    && read(dir, name).is_ok_and(|(now, _)| now == *bytes)
            }
            (Kept::Link(text), FileType::Symlink) => files::link(dir, name).is_ok_and(|now| now == *text),
            (Kept::Other(kind), now) => *kind == now,
            _ => false,
        }
    }

    /// Gives a protected directory its mode again, and moves away what is new in it. Where that cannot be, all of it is replaced.
    fn put_directory_back(
        &self,
        dir: &OwnedFd,
        name: &OsStr,
        path: &Path,
        mode: u32,
        quarantine: &mut Quarantine<'_>,
        done: &mut Vec<Back>,
    ) -> io::Result<()> {
        let here = files::directory(dir, name)?;
        if files::of(&here)?.mode != mode {
            rustix::fs::fchmod(&here, Mode::from_raw_mode((mode & 0o7777) as _))?;
            done.push(Back { path: path.to_owned(), was: true, taken: Taken::Gone });
        }
        for name in files::names(&here, MOST_NEW)? {
            let path = path.join(name);
            if !self.kept.contains_key(&path) {
                let taken = quarantine.take(&path, None);
                done.push(Back { path, was: false, taken });
            }
        }
        Ok(())
    }
}

/// At most one byte more than is kept of a file.
fn read(dir: &OwnedFd, name: &OsStr) -> io::Result<(Vec<u8>, Stamp)> {
    let (file, stamp) = files::file(dir, name)?;
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(MOST_FILE + 1).read_to_end(&mut bytes)?;
    Ok((bytes, stamp))
}

/// Makes the directories on the way to a path where they are missing; what stands in the way is moved away.
fn way(workspace: &OwnedFd, path: &Path, quarantine: &mut Quarantine<'_>, done: &mut Vec<Back>) {
    let mut ancestors: Vec<&Path> =
        path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
    while let Some(ancestor) = ancestors.pop() {
        let Ok((dir, name)) = files::parent(workspace, ancestor) else { return };
        let there = files::at(&dir, name).ok().flatten();
        if there.is_some_and(|there| there.is_directory()) {
            continue;
        }
        if there.is_some() {
            done.push(Back { path: ancestor.to_owned(), was: true, taken: quarantine.take(ancestor, None) });
        }
        let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        if files::writing(&dir, || Ok(rustix::fs::mkdirat(&dir, name, mode)?)).is_err() {
            return;
        }
    }
}

/// Makes something anew where nothing is.
fn make(dir: &OwnedFd, name: &OsStr, kept: &Kept) -> io::Result<()> {
    match kept {
        Kept::File { bytes, mode, .. } => {
            let mut file = files::new_file(dir, name)?;
            file.write_all(bytes)?;
            Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode((*mode & 0o777) as _))?)
        }
        Kept::Directory { mode } => {
            rustix::fs::mkdirat(dir, name, Mode::RWXU)?;
            let new = files::directory(dir, name)?;
            Ok(rustix::fs::fchmod(&new, Mode::from_raw_mode((*mode & 0o7777) as _))?)
        }
        Kept::Link(text) => Ok(rustix::fs::symlinkat(text, dir, name)?),
        Kept::Other(_) => Err(io::Error::other("it was no file")),
    }
}
