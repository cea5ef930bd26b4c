//! Following a link within a workspace, name by name, as the system would: what it leads to, and the links on the way, each of
//! which decides as much as the first.

use super::files::{self, Stamp};
use rustix::fs::FileType;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

/// Links that are followed on the way to one place.
const MOST_LINKS: usize = 40;

/// Where a link leads.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// Links on the way, with what they say; not the first one.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// What is there, by its path below the workspace without links. `None` when nothing is, or when it lies outside.
    pub(super) end: Option<(PathBuf, Stamp)>,
}

/// Follows the link at a path, which says `text`.
pub(super) fn follow(top: &OwnedFd, link: &Path, text: &Path) -> Way {
    let mut way = Way::default();
    way.end = go(top, link, text, &mut way.links);
    way
}

fn go(
    top: &OwnedFd,
    link: &Path,
    text: &Path,
    links: &mut Vec<(PathBuf, PathBuf)>,
) -> Option<(PathBuf, Stamp)> {
    // The directories that were passed, the workspace first.
    let mut passed: Vec<(OwnedFd, PathBuf)> =
        vec![(files::directory(top, OsStr::new(".")).ok()?, PathBuf::new())];
    let mut ahead: Vec<OsString> = Vec::new();
    put(top, text, &mut ahead, &mut passed)?;
    if !text.is_absolute() {
        ahead.extend(parts(link.parent()?));
    }
    while let Some(part) = ahead.pop() {
        if part == ".." {
            passed.pop();
            passed.last()?;
            continue;
        }
        let (dir, at) = passed.last()?;
        let path = at.join(&part);
        let there = files::at(dir, &part).ok()??;
        match there.kind {
            FileType::Directory => {
                let next = files::directory(dir, &part).ok()?;
                passed.push((next, path));
                if passed.len() > files::DEPTH {
                    return None;
                }
            }
            FileType::Symlink => {
                let text = files::link(dir, &part).ok()?;
                links.push((path, text.clone()));
                if links.len() > MOST_LINKS {
                    return None;
                }
                put(top, &text, &mut ahead, &mut passed)?;
            }
            _ if ahead.is_empty() => return Some((path, there)),
            _ => return None,
        }
    }
    let (dir, path) = passed.pop()?;
    Some((path, files::of(&dir).ok()?))
}

/// Puts a link's parts ahead. One that begins at the root of the system is taken where it names the workspace.
fn put(
    top: &OwnedFd,
    text: &Path,
    ahead: &mut Vec<OsString>,
    passed: &mut Vec<(OwnedFd, PathBuf)>,
) -> Option<()> {
    if text.is_absolute() {
        let inside = text.strip_prefix(path_of(top)?).ok()?;
        passed.truncate(1);
        ahead.extend(parts(inside));
    } else {
        ahead.extend(parts(text));
    }
    Some(())
}

/// The workspace's own path: as text only, to compare with.
fn path_of(top: &OwnedFd) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStringExt as _;
    if !cfg!(target_os = "linux") {
        return None;
    }
    let path = rustix::fs::readlink(format!("/proc/self/fd/{}", top.as_raw_fd()), Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named =
        path.components().rev().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).collect()
}
