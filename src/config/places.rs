//! Files at places that people named, files of this program that only its user may read, and locks between processes.

use super::{Dirs, create_private_dir};
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lock files that there are at most; two names that share one wait for each other.
const LOCKS: u16 = 4_096;

/// How often a lock that another process holds is tried.
const AGAIN: Duration = Duration::from_millis(50);

/// Whether the terminal can do no more than print: `TERM` is `dumb`.
pub fn dumb_terminal() -> bool {
    super::env::Variable { name: "TERM", help: "" }.get().is_some_and(|term| term == "dumb")
}

/// Whether a variable of that name is set.
pub fn is_variable(name: &str) -> bool {
    // A name with `=` or a NUL names nothing.
    !name.contains(['=', '\0']) && super::env::is_set(name)
}

/// Whether `PATH` has a program of that name.
#[expect(clippy::disallowed_methods, reason = "this room looks at the environment and what it names")]
pub fn is_program(name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let path = super::env::Variable { name: "PATH", help: "" }.get().unwrap_or_default();
    !name.contains('/')
        && std::env::split_paths(&path).any(|dir| {
            let found = std::fs::metadata(dir.join(name));
            found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        })
}

/// A file of this program that only this user can read, made where it is not there.
///
/// # Errors
///
/// When it cannot be made, or is a link.
pub fn private_file(path: &Path) -> io::Result<PathBuf> {
    if let Some(dir) = path.parent() {
        create_private_dir(dir)?;
    }
    let flags = OFlags::CREATE | OFlags::APPEND | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    Ok(path.to_owned())
}

/// A file that a person named, to be written later: its directory is opened now, and nothing that happens in between leads
/// the writing elsewhere.
#[derive(Debug)]
pub struct Named {
    dir: OwnedFd,
    name: OsString,
}

impl Named {
    /// Opens the directory of the file.
    ///
    /// # Errors
    ///
    /// When there is no such directory, or the path names no file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?.to_owned();
        let dir = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self { dir: rustix::fs::open(dir, flags, Mode::empty())?, name })
    }

    /// Writes it whole: a file or link that has its name is replaced, not followed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let mut temporary = OsString::from(format!(".ringfence-{}-", std::process::id()));
        temporary.push(&self.name);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let mut file = File::from(rustix::fs::openat(&self.dir, &temporary, flags, mode)?);
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| Ok(rustix::fs::renameat(&self.dir, &temporary, &self.dir, &self.name)?));
        if written.is_err() {
            // What is left of it is of no use; that it cannot be removed either says nothing new.
            let _ = rustix::fs::unlinkat(&self.dir, &temporary, rustix::fs::AtFlags::empty());
        }
        written
    }
}

/// A lock that one process at a time holds. It ends with this value, or with the process.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock is held as long as the file is open")] File);

impl Lock {
    /// Takes the lock of that name, where nobody holds it.
    ///
    /// # Errors
    ///
    /// When there can be no lock file.
    pub fn try_take(dirs: &Dirs, name: &str) -> io::Result<Option<Self>> {
        let digest = Sha256::digest(name.as_bytes());
        let bucket = digest.iter().take(2).fold(0_u16, |all, byte| (all << 8) | u16::from(*byte)) % LOCKS;
        let path = private_file(&dirs.data.join("locks").join(format!("{bucket:03x}")))?;
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// Waits for the lock of that name; `busy` is told once that it has to.
    ///
    /// # Errors
    ///
    /// When there can be no lock file.
    pub async fn take(dirs: &Dirs, name: &str, busy: impl FnOnce()) -> io::Result<Self> {
        let mut busy = Some(busy);
        loop {
            if let Some(lock) = Self::try_take(dirs, name)? {
                return Ok(lock);
            }
            if let Some(busy) = busy.take() {
                busy();
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
