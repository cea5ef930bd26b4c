//! Names of things that are new, and which processes of this program are alive.

use super::{Dirs, create_private_dir};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::PathBuf;

/// How often a name is drawn again that is taken.
const DRAWS: usize = 16;

/// A new name: eight characters, without letters that are taken for digits; 40 bits in all.
pub fn fresh_id() -> String {
    // The seed of a hash map comes from the system and differs each time.
    let mut bits = RandomState::new().build_hasher().finish();
    let mut id = String::new();
    for _ in 0..8 {
        let letter = b"abcdefghjkmnpqrstuvwxyz023456789".get((bits % 32) as usize).copied();
        id.push(char::from(letter.unwrap_or(b'a')));
        bits /= 32;
    }
    id
}

/// This process, as others can see that it is there: a lock file that it holds. However the process ends, the lock ends with
/// it; so does it with this value.
#[derive(Debug)]
pub struct Presence {
    id: String,
    path: PathBuf,
    _lock: File,
}

impl Presence {
    /// Makes this process known under a new name.
    ///
    /// # Errors
    ///
    /// When there can be no lock file.
    pub fn announce(dirs: &Dirs) -> io::Result<Self> {
        create_private_dir(&dirs.data)?;
        let dir = dirs.data.join(DIR);
        create_private_dir(&dir)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..DRAWS {
            let id = fresh_id();
            let path = dir.join(&id);
            let lock = match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => File::from(file),
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno.into()),
            };
            // Whoever clears away may have come between the two.
            match lock.try_lock() {
                Ok(()) if rustix::fs::fstat(&lock)?.st_nlink > 0 => {
                    return Ok(Self { id, path, _lock: lock });
                }
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(format!("{} has no free name left", dir.display())))
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Removes what processes left that ended before anybody heard of them, so that nobody asks whether they are gone.
    ///
    /// # Errors
    ///
    /// When it cannot be looked.
    #[expect(clippy::disallowed_methods, reason = "this room looks at its own files")]
    pub fn clear_away(dirs: &Dirs) -> io::Result<()> {
        for entry in std::fs::read_dir(dirs.data.join(DIR))? {
            if let Some(id) = entry?.file_name().to_str() {
                Self::is_gone(dirs, id);
            }
        }
        Ok(())
    }

    /// Whether the process of that name is gone: it has no lock file, or does not hold it. What it left of that is removed.
    /// One of which nothing can be known is not said to be gone.
    pub fn is_gone(dirs: &Dirs, id: &str) -> bool {
        // Others than these were never given.
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return true;
        }
        let path = dirs.data.join(DIR).join(id);
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(errno) => return errno == Errno::NOENT,
        };
        match file.try_lock() {
            Ok(()) => {
                // Without it the answer is the same, and sooner.
                let _ = rustix::fs::unlink(&path);
                true
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // The lock goes with the file's handle, with or without its name.
        let _ = rustix::fs::unlink(&self.path);
    }
}

/// Where the lock files are, in the data directory.
const DIR: &str = "alive";
