//! Rights to directories.

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// What may be done below a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Read and list.
    ReadOnly,
    /// Read, list, create, change and remove.
    ReadWrite,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
        })
    }
}

/// Directories and what may be done below each. The access at a path is the greatest that any entry above it gives.
///
/// Kept in one normal form, so that equal rights are equal values: sorted, without entries that another one covers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Directories(Vec<(PathBuf, Access)>);

impl Directories {
    /// No directory.
    pub fn none() -> Self {
        Self::default()
    }

    /// Every directory, with at most this access.
    pub fn everywhere(access: Access) -> Self {
        Self(vec![(PathBuf::from("/"), access)])
    }

    /// These directories. A path that is not absolute or contains `..` gives nothing: it names no place.
    pub fn of(entries: impl IntoIterator<Item = (PathBuf, Access)>) -> Self {
        let mut kept: Vec<(PathBuf, Access)> = Vec::new();
        let mut entries: Vec<_> = entries.into_iter().filter(|(path, _)| names_a_place(path)).collect();
        // Short paths first and, among equal ones, the greater access: what comes later is covered or it counts.
        entries.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
        for (path, access) in entries {
            let covered = kept.iter().any(|(above, most)| path.starts_with(above) && *most >= access);
            if !covered {
                kept.push((path, access));
            }
        }
        Self(kept)
    }

    /// These directories and one more.
    #[must_use]
    pub fn with(self, path: PathBuf, access: Access) -> Self {
        Self::of(self.0.into_iter().chain([(path, access)]))
    }

    /// What may be done at `path`, judged by its text. `None` is nothing, and what a path with `..` in it gets.
    pub fn access(&self, path: &Path) -> Option<Access> {
        if !names_a_place(path) {
            return None;
        }
        self.0.iter().filter(|(above, _)| path.starts_with(above)).map(|(_, access)| *access).max()
    }

    /// What both give: of two entries the deeper path, if one lies in the other, with the lesser access.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a, b)));
        Self::of(pairs.filter_map(|((a, most_a), (b, most_b))| {
            let deeper = if a.starts_with(b) {
                a
            } else if b.starts_with(a) {
                b
            } else {
                return None;
            };
            Some((deeper.clone(), *most_a.min(most_b)))
        }))
    }

    /// Whether `other` gives everything that this gives.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|(path, access)| other.access(path) >= Some(*access))
    }

    /// The entries, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.0.iter().map(|(path, access)| (path.as_path(), *access))
    }

    /// Whether it gives nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Two entries that overlap with different rights, where there are any: such trees are never handed over together.
    pub fn overlap(&self) -> Option<(&Path, &Path)> {
        self.0.iter().enumerate().find_map(|(index, (above, _))| {
            let below = self.0.iter().skip(index + 1).find(|(path, _)| path.starts_with(above))?;
            Some((above.as_path(), below.0.as_path()))
        })
    }
}

/// Where `..` leads is decided by the links on the way, so that no text with it in it names a place.
fn names_a_place(path: &Path) -> bool {
    path.is_absolute() && path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)))
}
