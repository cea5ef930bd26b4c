//! Results that are too long to be shown: kept in a directory of the host's own, one for each session, which the session's
//! tools may read and nobody may write through a tool.

use crate::config;
use crate::sandbox::{Digest, OwnReadOnly};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// How long a result is kept.
const AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Bytes of all results of all sessions together.
const MOST: u64 = 256 << 20;

/// Bytes after which it is looked again what is too much.
const STEP: u64 = 16 << 20;

/// How often it is looked what is old, over all processes: looking takes the longer the more sessions there are.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// The file whose time says when that was.
const LOOKED: &str = ".looked";

/// Characters of a line. A longer one is broken, so that a page of it can be read.
const LINE: usize = 2_000;

/// The results of one session that are too long to be shown.
#[derive(Debug)]
pub struct Spill {
    root: PathBuf,
    directory: Arc<OwnReadOnly>,
    next: AtomicU64,
    written: AtomicU64,
    passing: bool,
    single: bool,
}

/// A result that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spilled {
    /// The file.
    pub path: PathBuf,
    /// Its lines.
    pub lines: usize,
}

impl Spill {
    /// The directory of a session below `root`, which is made where it is not there. Now and then, what is old or too much
    /// is removed, whichever session it belongs to.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn open(root: &Path, session: &str) -> io::Result<Self> {
        config::create_private_dir(root)?;
        let root = config::canonical(root)?;
        let path = root.join(name_of(session));
        config::create_private_dir(&path)?;
        if is_due(&root) {
            prune(&root, Limits { age: AGE, most: MOST })?;
        }
        let directory = Arc::new(OwnReadOnly::open(&path)?);
        Ok(Self {
            root,
            directory,
            next: AtomicU64::new(1),
            written: AtomicU64::new(0),
            passing: false,
            single: false,
        })
    }

    /// The same for a session that nobody else opens: where nothing was kept, nothing is left of it.
    #[must_use]
    pub fn single(mut self) -> Self {
        self.single = true;
        self
    }

    /// The same, whose results go when it does.
    #[must_use]
    pub fn passing(mut self) -> Self {
        self.passing = true;
        self
    }

    /// Removes the results of a session that is removed itself.
    ///
    /// # Errors
    ///
    /// When they cannot be removed.
    pub fn forget(root: &Path, session: &str) -> io::Result<()> {
        let root = match Dir::open_ambient_dir(root, ambient_authority()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            root => root?,
        };
        match root.remove_dir_all(name_of(session)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// The directory, for the tools of the session.
    pub fn directory(&self) -> Arc<OwnReadOnly> {
        Arc::clone(&self.directory)
    }

    /// Keeps a result in a file of its own, which only this user can read and whose name cannot be guessed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn keep(&self, text: &str) -> io::Result<Spilled> {
        let (text, lines) = broken(text);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut file = tempfile::Builder::new()
            .prefix(&format!("{number}-"))
            .suffix(".txt")
            .rand_bytes(16)
            .tempfile_in(self.directory.path())?;
        file.write_all(text.as_bytes())?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        let before = self.written.fetch_add(text.len() as u64, Ordering::Relaxed);
        if before / STEP != (before + text.len() as u64) / STEP {
            prune(&self.root, Limits { age: AGE, most: MOST })?;
        }
        Ok(Spilled { path, lines })
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let root = || Dir::open_ambient_dir(&self.root, ambient_authority());
        let name = self.directory.path().file_name().unwrap_or_default();
        if !self.passing {
            if self.single
                && let Ok(root) = root()
            {
                // Only one with nothing in it goes.
                let _ = root.remove_dir(name);
            }
            return;
        }
        let root = root();
        if let Err(error) = root.and_then(|root| root.remove_dir_all(name)) {
            tracing::warn!("long results of a conversation that is not kept are still there: {error}");
        }
    }
}

/// What the directory of a session is called.
fn name_of(session: &str) -> String {
    Digest::of(session.as_bytes()).to_string().chars().take(32).collect()
}

/// The text with its long lines broken, and how many lines it has then.
fn broken(text: &str) -> (String, usize) {
    let mut whole = String::with_capacity(text.len() + text.len() / LINE + 1);
    let mut lines = 0;
    for line in text.lines() {
        let mut rest = line;
        loop {
            let end = rest.char_indices().nth(LINE).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            whole.push_str(piece);
            whole.push('\n');
            lines += 1;
            if after.is_empty() {
                break;
            }
            rest = after;
        }
    }
    (whole, lines)
}

/// What may be kept.
#[derive(Debug, Clone, Copy)]
struct Limits {
    age: Duration,
    most: u64,
}

/// Whether it is time to look at what is old. Whoever asks first looks.
fn is_due(root: &Path) -> bool {
    let Ok(dir) = Dir::open_ambient_dir(root, ambient_authority()) else { return true };
    let looked = dir.symlink_metadata(LOOKED).and_then(|stat| stat.modified());
    if looked.is_ok_and(|at| SystemTime::now().duration_since(at.into_std()).is_ok_and(|past| past < AGAIN)) {
        return false;
    }
    // Made anew, so that its time is now. Where it cannot be made, it is looked each time.
    let _ = dir.remove_file(LOOKED);
    let _ = dir.open_with(LOOKED, OpenOptions::new().write(true).create_new(true).mode(0o600));
    true
}

/// Removes what is older than may be kept and, oldest first, what is too much; then directories with nothing in them. A file
/// that is gone already was removed by another process.
fn prune(root: &Path, limits: Limits) -> io::Result<()> {
    let root = Dir::open_ambient_dir(root, ambient_authority())?;
    let now = SystemTime::now();
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for session in root.entries()?.flatten() {
        let name = PathBuf::from(session.file_name());
        let Ok(dir) = session.open_dir() else { continue };
        let mut files = 0;
        for file in dir.entries()?.flatten() {
            files += 1;
            let Ok(stat) = file.metadata() else { continue };
            let modified = stat.modified().map_or(now, |time| time.into_std());
            let path = name.join(file.file_name());
            if now.duration_since(modified).is_ok_and(|age| age > limits.age) {
                let _ = root.remove_file(&path);
            } else {
                kept.push((modified, stat.len(), path));
            }
        }
        let quiet = dir.dir_metadata().and_then(|stat| stat.modified()).map_or(now, |time| time.into_std());
        if files == 0 && now.duration_since(quiet).is_ok_and(|age| age > limits.age) {
            let _ = root.remove_dir(&name);
        }
    }
    kept.sort_unstable();
    let mut total: u64 = kept.iter().map(|(_, size, _)| *size).sum();
    for (_, size, path) in &kept {
        if total <= limits.most {
            break;
        }
        let _ = root.remove_file(path);
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at the world from outside of the walls")]
mod tests {
    use super::*;

    fn files(root: &Path) -> usize {
        let sessions = std::fs::read_dir(root).unwrap().map(|session| session.unwrap().path());
        sessions.filter(|path| path.is_dir()).map(|path| std::fs::read_dir(path).unwrap().count()).sum()
    }

    #[test]
    fn what_is_old_goes_first_and_what_is_too_much_after_it() {
        let root = tempfile::tempdir().unwrap();
        let spill = Spill::open(root.path(), "a").unwrap();
        let old = spill.keep("old").unwrap();
        let week = SystemTime::now() - AGE - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&old.path).unwrap().set_modified(week).unwrap();
        let first = spill.keep(&"x".repeat(1000)).unwrap();
        let minute = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(&first.path).unwrap().set_modified(minute).unwrap();
        let second = spill.keep(&"y".repeat(1000)).unwrap();
        assert_eq!(files(root.path()), 3);
        // It was looked at a moment ago.
        Spill::open(root.path(), "another session").unwrap();
        assert!(old.path.exists());
        let looked = std::fs::File::options().write(true).open(root.path().join(LOOKED)).unwrap();
        looked.set_modified(SystemTime::now() - AGAIN).unwrap();
        Spill::open(root.path(), "another session").unwrap();
        assert!(!old.path.exists() && first.path.exists() && second.path.exists());
        prune(root.path(), Limits { age: AGE, most: 1500 }).unwrap();
        assert!(!first.path.exists() && second.path.exists());
    }

    #[test]
    fn long_lines_are_broken_so_that_they_can_be_paged_through() {
        let (text, lines) = broken(&format!("short\n{}\n\nend", "é".repeat(LINE + 1)));
        assert_eq!(lines, 5);
        assert_eq!(text, format!("short\n{}\né\n\nend\n", "é".repeat(LINE)));
    }

    #[test]
    fn files_are_private_and_their_names_cannot_be_guessed() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let spill = Spill::open(&root.path().join("spill"), "a").unwrap();
        let (one, two) = (spill.keep("a").unwrap(), spill.keep("a").unwrap());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&one.path), 0o600);
        assert_eq!(mode(one.path.parent().unwrap()), 0o700);
        assert_eq!(mode(&root.path().join("spill")), 0o700);
        let random = |path: &Path| path.file_stem().unwrap().to_str().unwrap()[2..].to_owned();
        assert_ne!(random(&one.path), random(&two.path));
    }
}
