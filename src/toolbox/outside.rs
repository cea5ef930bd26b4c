//! Places outside that arguments name, judged by their text alone.

use crate::authority::Effective;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// How deep arguments are searched.
const DEPTH: usize = 4;

/// The first path among the arguments that names a place outside of what is held.
pub(super) fn named(arguments: &Value, effective: &Effective) -> Option<String> {
    paths(arguments, DEPTH)
        .into_iter()
        .find(|path| directory_of(path, effective).is_some())
        .map(str::to_owned)
}

/// The directory that would have to be granted for `path`, if it names a place outside of what is held.
pub(super) fn directory_of(path: &str, effective: &Effective) -> Option<PathBuf> {
    let directories = &effective.rights().directories;
    let workspace = directories.iter().next().map(|(path, _)| path)?;
    if path == "~" || path.starts_with("~/") {
        return None;
    }
    let absolute = normalise(&workspace.join(path))?;
    if directories.access(&absolute).is_some() {
        return None;
    }
    absolute.parent().map(Path::to_owned)
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
