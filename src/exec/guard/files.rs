//! The file system by descriptors: a name is looked at in the directory that holds it, and no link is followed.

use crate::config::fresh_id;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

/// How deep anything is followed.
pub(super) const DEPTH: usize = 64;

/// Bytes that entries of a directory are read into at once.
const ROOM: usize = 64 * 1024;

/// How a directory is opened to be read.
const READING: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What something is: device and inode.
pub(super) type Identity = (u64, u64);

/// What can be seen of a file without opening it, and differs after it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) identity: Identity,
    pub(super) kind: FileType,
    pub(super) mode: u32,
    pub(super) names: u64,
    pub(super) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    #[allow(
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        clippy::cast_possible_wrap,
        clippy::useless_conversion,
        reason = "the fields differ from system to system"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            identity: (stat.st_dev as u64, stat.st_ino as u64),
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: (stat.st_mode as u32) & 0o7777,
            names: stat.st_nlink as u64,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    pub(super) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }
}

/// What has a name in a directory; nothing is not an error.
pub(super) fn at(dir: &OwnedFd, name: &OsStr) -> io::Result<Option<Stamp>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What is open.
pub(super) fn of(file: &OwnedFd) -> io::Result<Stamp> {
    Ok(Stamp::of(&rustix::fs::fstat(file)?))
}

/// A directory by its one name in another.
pub(super) fn directory(dir: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(dir, name, READING, Mode::empty())?)
}

/// A directory by its path below another, no links on the way.
pub(super) fn below(top: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut dir = directory(top, OsStr::new("."))?;
    for part in path.components() {
        let Component::Normal(name) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        dir = directory(&dir, name)?;
    }
    Ok(dir)
}

/// The directory that holds a path's last name, and that name.
pub(super) fn parent<'a>(top: &OwnedFd, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((below(top, path.parent().unwrap_or(Path::new("")))?, name))
}

/// Where a link leads, as it says.
pub(super) fn link(dir: &OwnedFd, name: &OsStr) -> io::Result<PathBuf> {
    let text = rustix::fs::readlinkat(dir, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(text.into_bytes())))
}

/// A regular file, opened to be read. A pipe is not waited for.
pub(super) fn file(dir: &OwnedFd, name: &OsStr) -> io::Result<(OwnedFd, Stamp)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Opening alone does something where it is a device: it is looked at first, and again when it is open.
    if at(dir, name)?.is_none_or(|there| there.kind != FileType::RegularFile) {
        return Err(io::Error::other("it is not a regular file"));
    }
    let file = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let stamp = of(&file)?;
    if stamp.kind != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((file, stamp))
}

/// A new regular file. Whatever has the name already is left alone.
pub(super) fn new_file(dir: &OwnedFd, name: &OsStr) -> io::Result<std::fs::File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// A name that nobody knows and that means nothing to anybody.
pub(super) fn aside() -> OsString {
    OsString::from(format!(".ringfence-aside-{}{}", fresh_id(), fresh_id()))
}

/// Gives something another name in its directory. What has that name already is kept where the system can say so.
pub(super) fn rename(dir: &OwnedFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    match rustix::fs::renameat_with(dir, from, dir, to, rustix::fs::RenameFlags::NOREPLACE) {
        // File systems that do not know it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return Ok(done?),
    }
    Ok(rustix::fs::renameat(dir, from, dir, to)?)
}

/// Does something in a directory, whose owner may not write there at first: a command takes the right away as it likes.
pub(super) fn writing<T>(dir: &OwnedFd, mut what: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let first = match what() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
        done => return done,
    };
    let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode & 0o7777);
    if mode.contains(Mode::RWXU) || rustix::fs::fchmod(dir, mode | Mode::RWXU).is_err() {
        return Err(first);
    }
    let done = what();
    // Where it is not put back, the owner has a right more than before.
    let _ = rustix::fs::fchmod(dir, mode);
    done
}

/// Calls `with` for each entry of a directory that was just opened, until it says no. The name is not to be kept.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn each(
    dir: &OwnedFd,
    room: &mut Room,
    mut with: impl FnMut(&[u8], FileType) -> bool,
) -> io::Result<()> {
    let mut entries = rustix::fs::RawDir::new(dir, room.0.as_mut_slice());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") && !with(name, entry.file_type()) {
            break;
        }
    }
    Ok(())
}

/// Calls `with` for each entry of a directory that was just opened, until it says no. The name is not to be kept.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn each(
    dir: &OwnedFd,
    _room: &mut Room,
    mut with: impl FnMut(&[u8], FileType) -> bool,
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") && !with(name, entry.file_type()) {
            break;
        }
    }
    Ok(())
}

/// Where entries are read into.
pub(super) struct Room(Vec<std::mem::MaybeUninit<u8>>);

impl Room {
    pub(super) fn new() -> Self {
        Self(vec![std::mem::MaybeUninit::uninit(); ROOM])
    }
}

/// The names in a directory that was just opened, at most so many.
pub(super) fn names(dir: &OwnedFd, most: usize) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    let mut more = false;
    each(dir, &mut Room::new(), |name, _| {
        more = names.len() >= most;
        if !more {
            names.push(OsString::from_vec(name.to_vec()));
        }
        !more
    })?;
    match more {
        true => Err(io::Error::other("a directory has too many entries")),
        false => Ok(names),
    }
}
