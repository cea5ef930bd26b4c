//! Places outside that arguments name, judged by their text alone.

use crate::authority::Directories;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// How deep arguments are searched.
const DEPTH: usize = 4;

/// What a call holds, and where its relative paths begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held<'a> {
    pub(super) workspace: &'a Path,
    pub(super) directories: &'a Directories,
}

impl Held<'_> {
    /// The first path among the arguments that names a place outside of what is held.
    pub(super) fn outside(self, arguments: &Value) -> Option<String> {
        paths(arguments, DEPTH).into_iter().find(|path| self.is_outside(path)).map(str::to_owned)
    }

    /// The directory that would have to be granted for `path`, if it names a place outside of what is held.
    pub(super) fn missing_directory(self, path: &str) -> Option<PathBuf> {
        if is_home(path) || !self.is_outside(path) {
            return None;
        }
        self.place(path)?.parent().map(Path::to_owned)
    }

    fn is_outside(self, path: &str) -> bool {
        is_home(path) || self.place(path).is_some_and(|at| self.directories.access(&at).is_none())
    }

    /// Every place that the arguments name.
    pub(super) fn places(self, arguments: &Value) -> Vec<PathBuf> {
        paths(arguments, DEPTH).into_iter().filter_map(|path| self.place(path)).collect()
    }

    /// Where a path argument leads by its text.
    pub(super) fn place(self, path: &str) -> Option<PathBuf> {
        normalise(&self.workspace.join(path))
    }
}

/// A home directory is never a part of the workspace, whatever is in it.
fn is_home(path: &str) -> bool {
    path == "~" || path.starts_with("~/")
}

fn paths(value: &Value, depth: usize) -> Vec<&str> {
    match value {
        _ if depth == 0 => Vec::new(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, inner)| match inner {
                Value::String(text) if key == "path" => vec![text.as_str()],
                inner => paths(inner, depth - 1),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(|item| paths(item, depth - 1)).collect(),
        _ => Vec::new(),
    }
}

/// Folds `.` and `..` by the text alone.
fn normalise(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain.is_absolute().then_some(plain)
}
