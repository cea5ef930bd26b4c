//! Files below the directories that the host hands over.
//!
//! A path argument is workspace-relative, or absolute below one of the directories handed over; [`Workspace::locate`]
//! turns it into a [`Place`]. The check here is for clear messages: what cannot be reached is decided by the host, which
//! hands over nothing else.

#[cfg(feature = "search")]
mod filter;
#[cfg(feature = "search")]
mod newest;
mod place;
mod reader;
mod target;
mod walk;
mod write;

#[cfg(feature = "search")]
pub use filter::Filter;
#[cfg(feature = "search")]
pub use newest::Newest;
pub use place::{Entry, Kind, Place, Stat};
pub use reader::{Fingerprint, Reader, fingerprint};
pub use target::{Change, Identity, Target};
pub use walk::{Found, Omitted, Walk};

use crate::{Error, ErrorKind};
use wasip2::filesystem::{preopens, types::Descriptor};

/// The directories that the host hands over.
#[derive(Debug)]
pub struct Workspace {
    /// The workspace's absolute path on the host: where relative paths begin.
    start: String,
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    /// Its absolute path on the host.
    name: String,
    dir: Descriptor,
}

impl Workspace {
    /// Asks the host what it hands over, and where relative paths begin.
    ///
    /// # Errors
    ///
    /// When the host hands over no directory.
    pub fn open() -> Result<Self, Error> {
        let roots: Vec<Root> =
            preopens::get_directories().into_iter().map(|(dir, name)| Root { name, dir }).collect();
        let Some(first) = roots.first() else {
            return Err(Error::new(ErrorKind::Denied, "denied: this tool holds no directory"));
        };
        let start = wasip2::cli::environment::initial_cwd().unwrap_or_else(|| first.name.clone());
        Ok(Self { start: start.trim_end_matches('/').to_owned(), roots })
    }

    /// The place that a path argument names.
    ///
    /// # Errors
    ///
    /// When the path is empty or not a path, or lies outside of what the host hands over.
    pub fn locate(&self, path: &str) -> Result<Place<'_>, Error> {
        if path.is_empty() {
            return Err(Error::invalid("path is empty; name a file or directory of the workspace"));
        }
        if path.contains('\0') {
            return Err(Error::invalid("path contains a NUL character"));
        }
        let outside = || {
            let start = &self.start;
            Error::new(
                ErrorKind::Denied,
                format!(
                    "denied: {path} lies outside the workspace ({start}); only paths inside it can be used"
                ),
            )
        };
        if path == "~" || path.starts_with("~/") {
            return Err(outside());
        }
        let absolute = match path.strip_prefix('/') {
            Some(absolute) => normalise(absolute),
            None => normalise(&format!("{}/{path}", self.start)),
        };
        let absolute = absolute.ok_or_else(outside)?;
        // The deepest directory that contains the path: directories handed over never overlap with different rights.
        let best = self
            .roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| {
                let name = root.name.trim_matches('/');
                let rest = match absolute.strip_prefix(name)? {
                    "" => "",
                    rest if name.is_empty() => rest,
                    rest => rest.strip_prefix('/')?,
                };
                Some((name.len(), index, rest.to_owned()))
            })
            .max_by_key(|(length, ..)| *length);
        let (_, index, relative) = best.ok_or_else(outside)?;
        Ok(Place::new(self, index, if relative.is_empty() { ".".into() } else { relative }))
    }

    /// A path as people and models write it: relative to the workspace where it lies in it.
    fn shown(&self, root: &Root, relative: &str) -> String {
        let name = root.name.trim_end_matches('/');
        let absolute = if relative == "." { name.to_owned() } else { format!("{name}/{relative}") };
        match absolute.strip_prefix(&self.start) {
            Some("") => ".".to_owned(),
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/').to_owned(),
            _ => absolute,
        }
    }

    fn root(&self, index: usize) -> Option<&Root> {
        self.roots.get(index)
    }
}

/// Folds `.`, `..` and doubled slashes by the text alone. `None` when it would leave the start; `.` for nothing left.
fn normalise(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(if parts.is_empty() { ".".into() } else { parts.join("/") })
}
