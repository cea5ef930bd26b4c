//! What is outside of a workspace, so that a test can say that nothing there changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Every entry below a directory: mode, names, target or bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, (u32, u64, Vec<u8>)>);

impl Snapshot {
    /// Of everything below `dir` but `without`.
    pub fn of(dir: &Path, without: &Path) -> Self {
        let mut seen = BTreeMap::new();
        visit(dir, without, &mut seen);
        Self(seen)
    }
}

fn visit(dir: &Path, without: &Path, seen: &mut BTreeMap<PathBuf, (u32, u64, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path == without {
            continue;
        }
        let stat = fs::symlink_metadata(&path).unwrap();
        let kind = stat.file_type();
        let bytes = if kind.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if kind.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        // A directory's number of names changes with its children, which are listed themselves.
        let names = if kind.is_dir() { 0 } else { stat.nlink() };
        seen.insert(path.clone(), (stat.mode(), names, bytes));
        if kind.is_dir() {
            visit(&path, without, seen);
        }
    }
}
