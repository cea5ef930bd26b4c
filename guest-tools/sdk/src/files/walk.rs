//! Walking a directory and what is below it: in order of names, without following links, and with an end.

use super::{Entry, Kind, Place};
use crate::Error;
use crate::sheet::count;
use wasip2::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

/// Directories that hold other people's files, or files that can be made again. They are judged by their own name and
/// only below the directory that a walk starts in: who names one as the start gets it, and what lies above never counts.
const IGNORED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".cache",
    "htmlcov",
    "dist",
    "build",
];

/// A file by which build tools mark a directory as a cache; `target` of cargo is recognised by it, not by its name.
const CACHE_MARK: &str = "CACHEDIR.TAG";

/// Entries that one walk looks at.
const MAX_ENTRIES: usize = 200_000;

/// Bytes of names that one walk holds.
const MAX_NAMES: usize = 12 * 1024 * 1024;

/// Directories below each other.
const MAX_DEPTH: usize = 128;

/// Something that a walk came by.
#[derive(Debug)]
pub struct Found<'w> {
    /// Where it is.
    pub place: Place<'w>,
    /// Its kind; a link is not followed.
    pub kind: Kind,
}

/// What a walk left out.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Omitted {
    /// Directories that are ignored by their name or by the mark in them.
    pub ignored: usize,
    /// Entries that cannot be opened: names that are not UTF-8, directories that refuse.
    pub unreadable: usize,
    /// Directories below too many others.
    pub too_deep: usize,
    /// Whether the walk ended at its bound.
    pub stopped: bool,
}

/// A walk through a directory. Directories come before what is in them.
#[derive(Debug)]
pub struct Walk<'w> {
    start: Place<'w>,
    levels: Vec<Level<'w>>,
    recursive: bool,
    budget: Budget,
    omitted: Omitted,
}

#[derive(Debug)]
struct Level<'w> {
    dir: Place<'w>,
    entries: std::vec::IntoIter<Entry>,
}

#[derive(Debug)]
struct Budget {
    entries: usize,
    names: usize,
}

impl<'w> Walk<'w> {
    /// Starts in a directory; `recursive` goes below it.
    ///
    /// # Errors
    ///
    /// When there is no directory, or the host refuses it.
    pub fn through(start: &Place<'w>, recursive: bool) -> Result<Self, Error> {
        let mut walk = Self {
            start: start.clone(),
            levels: Vec::new(),
            recursive,
            budget: Budget { entries: MAX_ENTRIES, names: MAX_NAMES },
            omitted: Omitted::default(),
        };
        let entries = walk.read(start)?;
        walk.levels.push(Level { dir: start.clone(), entries: entries.into_iter() });
        Ok(walk)
    }

    /// What was left out so far.
    pub fn omitted(&self) -> Omitted {
        self.omitted
    }

    /// The path of something found, relative to where the walk started.
    pub fn relative<'p>(&self, place: &'p Place<'_>) -> &'p str {
        let path = place.relative();
        match self.start.relative() {
            "." => path,
            start => path.strip_prefix(start).and_then(|p| p.strip_prefix('/')).unwrap_or(path),
        }
    }

    /// Goes into a directory that was found, unless it is to be left out. `false` when it is an ignored one.
    fn enter(&mut self, dir: &Place<'w>) -> bool {
        if self.levels.len() >= MAX_DEPTH {
            self.omitted.too_deep += 1;
            return true;
        }
        match self.read(dir) {
            Ok(entries) if entries.iter().any(|e| e.name == CACHE_MARK) => return false,
            Ok(entries) => self.levels.push(Level { dir: dir.clone(), entries: entries.into_iter() }),
            Err(_) => self.omitted.unreadable += 1,
        }
        true
    }

    /// The entries of a directory by name, as far as the budget goes.
    fn read(&mut self, place: &Place<'w>) -> Result<Vec<Entry>, Error> {
        // Only the start may be a link; a directory that has become one since it was found is left alone.
        let links = if self.levels.is_empty() { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() };
        let opened =
            place.dir()?.open_at(links, place.relative(), OpenFlags::DIRECTORY, DescriptorFlags::READ);
        let dir = opened.map_err(|code| place.error(code))?;
        let stream = dir.read_directory().map_err(|code| place.error(code))?;
        let mut entries = Vec::new();
        loop {
            if self.budget.entries == 0 || self.budget.names == 0 {
                // Only what was not read is missing, so ask whether there is anything.
                self.omitted.stopped |= !matches!(stream.read_directory_entry(), Ok(None));
                break;
            }
            self.budget.entries -= 1;
            match stream.read_directory_entry() {
                Ok(Some(entry)) => {
                    self.budget.names = self.budget.names.saturating_sub(entry.name.len());
                    entries.push(Entry { name: entry.name, kind: entry.type_.into() });
                }
                Ok(None) => {
                    self.budget.entries += 1;
                    break;
                }
                // A host may refuse a name that is not UTF-8; the names after it are still good.
                Err(ErrorCode::IllegalByteSequence) => self.omitted.unreadable += 1,
                Err(code) => return Err(place.error(code)),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

impl<'w> Iterator for Walk<'w> {
    type Item = Found<'w>;

    fn next(&mut self) -> Option<Found<'w>> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(entry) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            if entry.name.contains(char::REPLACEMENT_CHARACTER) {
                self.omitted.unreadable += 1;
                continue;
            }
            let place = level.dir.child(&entry.name);
            let kind = match entry.kind {
                // Some file systems do not tell the kind with the name.
                Kind::Special => place.try_stat().ok().flatten().map_or(Kind::Special, |stat| stat.kind),
                kind => kind,
            };
            if kind == Kind::Directory {
                let ignored = IGNORED.contains(&entry.name.as_str());
                if ignored || (self.recursive && !self.enter(&place)) {
                    self.omitted.ignored += 1;
                    continue;
                }
            }
            return Some(Found { place, kind });
        }
    }
}

impl Omitted {
    /// What a reader of the result has to know, for a note; empty when nothing was left out but ignored directories.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.unreadable > 0 {
            remarks.push(format!("{} skipped: cannot be read", count(self.unreadable, "entry", "entries")));
        }
        if self.too_deep > 0 {
            let directories = count(self.too_deep, "directory", "directories");
            remarks.push(format!("{directories} skipped: more than {MAX_DEPTH} levels down"));
        }
        if self.stopped {
            remarks.push(
                "stopped at the bound for one walk, so there is more; name a directory further down".into(),
            );
        }
        remarks
    }

    /// What to say of ignored directories; `None` when there were none. They are not named, so that a result holds only
    /// names that were asked for.
    pub fn ignored_remark(&self) -> Option<String> {
        (self.ignored > 0)
            .then(|| format!("{} left out", count(self.ignored, "ignored directory", "ignored directories")))
    }
}
