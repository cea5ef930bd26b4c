//! The file of the database: whose it is, and who may look into it.

use super::StoreError;
use crate::config;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The turn of this process to open a database. It ends when it is dropped, or with the process.
///
/// Opening is one at a time because two steps of it bear no company: going over to the write-ahead log, and closing the
/// handle that made the file (the system drops *all* locks of a process on a file when it closes *any* handle on it).
pub(super) struct Turn(#[expect(dead_code, reason = "held, not read")] std::os::fd::OwnedFd);

/// Where the database is, with links in its directory resolved. The directory is made if need be.
pub(super) fn settle(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path.file_name().ok_or_else(|| not_ours(path, "is no name of a file"))?;
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let io = |source| StoreError::Io { path: dir.to_owned(), source };
    config::create_private_dir(dir).map_err(io)?;
    let dir = config::canonical(dir).map_err(io)?;
    let stat = rustix::fs::stat(&dir).map_err(|errno| failed(&dir, errno))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(not_ours(&dir, "belongs to another user"));
    }
    if stat.st_mode & 0o022 != 0 {
        return Err(StoreError::Exposed { path: dir });
    }
    Ok(dir.join(name))
}

/// Waits for the turn to open this database.
pub(super) fn take_turn(path: &Path, patience: Duration) -> Result<Turn, StoreError> {
    let lock = beside(path, ".lock");
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        rustix::fs::open(&lock, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| failed(&lock, errno))?;
    let deadline = Instant::now() + patience;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Turn(file)),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(StoreError::Busy { path: path.to_owned() }),
            Err(errno) => return Err(failed(&lock, errno)),
        }
    }
}

/// Makes the file, or sees that the one that is there is this user's own. It is not opened for that: closing it again
/// would drop the locks of a connection that this process has already.
pub(super) fn claim(path: &Path) -> Result<(), StoreError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(failed(path, errno)),
    }
    let stat = look(path)?.ok_or_else(|| failed(path, Errno::NOENT))?;
    check(path, &stat)?;
    for suffix in ["-wal", "-shm"] {
        let path = beside(path, suffix);
        if let Some(stat) = look(&path)? {
            check(&path, &stat)?;
        }
    }
    if stat.st_mode & 0o077 != 0 {
        rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR).map_err(|errno| failed(path, errno))?;
    }
    Ok(())
}

/// Whether something is there.
pub(super) fn exists(path: &Path) -> Result<bool, StoreError> {
    look(path).map(|stat| stat.is_some())
}

fn look(path: &Path) -> Result<Option<Stat>, StoreError> {
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(errno) => Err(failed(path, errno)),
    }
}

fn check(path: &Path, stat: &Stat) -> Result<(), StoreError> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    let wrong = if kind == FileType::Symlink {
        "is a link"
    } else if kind != FileType::RegularFile {
        "is not a regular file"
    } else if stat.st_uid != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if stat.st_nlink != 1 {
        "has another name elsewhere (a hard link)"
    } else {
        return Ok(());
    };
    Err(not_ours(path, wrong))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn not_ours(path: &Path, reason: &'static str) -> StoreError {
    StoreError::NotOurs { path: path.to_owned(), reason }
}

fn failed(path: &Path, errno: Errno) -> StoreError {
    StoreError::Io { path: path.to_owned(), source: errno.into() }
}
