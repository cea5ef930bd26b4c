//! Places outside that arguments name, judged by their text alone.

use crate::authority::{Access, Directories};
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
    /// The first path among the arguments that names a place where less than `wanted` is held.
    pub(super) fn lacking(self, arguments: &Value, wanted: Access) -> Option<String> {
        let lacks =
            |path: &&str| self.place(path).is_none_or(|at| self.directories.access(&at) < Some(wanted));
        paths(arguments, DEPTH).into_iter().find(lacks).map(str::to_owned)
    }

    /// Every place that the arguments name.
    pub(super) fn places(self, arguments: &Value) -> Vec<PathBuf> {
        paths(arguments, DEPTH).into_iter().filter_map(|path| self.place(path)).collect()
    }

    /// Where a path argument leads by its text. A home directory is no place: nothing here expands `~`.
    pub(super) fn place(self, path: &str) -> Option<PathBuf> {
        if path == "~" || path.starts_with("~/") { None } else { normalise(&self.workspace.join(path)) }
    }
}

/// The path among the arguments for which a tool made a temporary file: the first one beside it, or the first of all.
pub(super) fn meant(arguments: &Value, temporary: &str) -> Option<String> {
    let named = paths(arguments, DEPTH);
    let beside = |path: &&&str| Path::new(path).parent() == Path::new(temporary).parent();
    named.iter().find(beside).or(named.first()).map(|path| (*path).to_owned())
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
