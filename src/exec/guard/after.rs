//! What a command left: what it made where nothing of its may stand is moved away, links that it changed are put back, and
//! what runs later elsewhere is told.

use super::copies::Copies;
use super::files::{self, Identity};
use super::git;
use super::names::What;
use super::quarantine::{Quarantine, Taken};
use super::view::{Place, Sort, View};
use super::walk::walk;
use super::{Finding, Findings};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Findings that are kept.
const MOST_FINDINGS: usize = 100;

/// Entries of a directory of hooks that are looked at one by one; where there are more, it is moved away as it is.
const MOST_HOOKS: usize = 1_000;

/// What a directory is called that a command closed.
const UNREADABLE: What = "directory that cannot be read";

struct After<'a> {
    workspace: &'a OwnedFd,
    before: &'a View,
    quarantine: Quarantine<'a>,
    found: BTreeMap<PathBuf, Finding>,
}

/// Looks again, and does what is to be done.
pub(super) fn after(before: &View, copies: &Copies, workspace: &OwnedFd, quarantine: &Path) -> Findings {
    let quarantine = Quarantine::new(workspace, quarantine);
    let mut after = After { workspace, before, quarantine, found: BTreeMap::new() };
    after.put_links_back();
    for back in copies.put_back(workspace, &mut after.quarantine) {
        let what = after.what(&back.path);
        after.tell(&back.path, what, back.was, back.taken);
    }
    let partial = match walk(workspace, Some(before)) {
        Ok(now) => {
            after.compare(&now);
            now.partial
        }
        Err(_) => true,
    };
    told(after.found, partial || before.partial)
}

impl After<'_> {
    fn tell(&mut self, path: &Path, what: What, changed: bool, taken: Taken) {
        let moved_to = match taken {
            Taken::To(to) => Some(to),
            Taken::Gone | Taken::Stuck => None,
        };
        let finding = Finding { path: path.to_owned(), what, changed, moved_to };
        self.found.entry(path.to_owned()).or_insert(finding);
    }

    /// What was at a path, or around it.
    fn what(&self, path: &Path) -> What {
        let at = |path: &Path| {
            let place = self.before.places.get(path).map(|place| place.what);
            place.or_else(|| self.before.links.get(path).map(|(_, what)| *what))
        };
        path.ancestors().find_map(at).unwrap_or("directory of protected files")
    }

    /// Links that decide what is at a protected place say again what they said.
    fn put_links_back(&mut self) {
        let before = self.before;
        for (path, (text, what)) in &before.links {
            let Ok((dir, name)) = files::parent(self.workspace, path) else {
                self.tell(path, what, true, Taken::Gone);
                continue;
            };
            let there = files::at(&dir, name).ok().flatten();
            let same = there.is_some_and(|there| there.kind == FileType::Symlink)
                && files::link(&dir, name).is_ok_and(|now| now == *text);
            if !same {
                let taken = self.quarantine.take(path, None);
                let made = files::writing(&dir, || Ok(rustix::fs::symlinkat(text, &dir, name)?));
                self.tell(path, what, true, if made.is_ok() { taken } else { Taken::Stuck });
            }
        }
    }

    fn compare(&mut self, now: &View) {
        let before = self.before;
        for (path, place) in now.places.iter().filter(|(_, place)| place.guarded) {
            match before.places.get(path) {
                None => self.judge(path, place),
                Some(old) => {
                    let same = match place.stamp.kind {
                        FileType::Directory => old.stamp.identity == place.stamp.identity,
                        FileType::Symlink if before.links.contains_key(path) => true,
                        _ => old.stamp == place.stamp,
                    };
                    if !same {
                        self.tell(path, place.what, true, Taken::Gone);
                    }
                }
            }
        }
        for (path, listed) in &now.listed {
            let old = before.listed.get(path);
            if old.is_none_or(|old| old.stamp != listed.stamp) && !before.links.contains_key(path) {
                self.tell(path, listed.what, old.is_some(), Taken::Gone);
            }
        }
        for path in now.unreadable.difference(&before.unreadable) {
            self.tell(path, UNREADABLE, false, Taken::Gone);
        }
        if now.partial || before.partial {
            return;
        }
        let places =
            before.places.iter().filter(|(path, place)| place.guarded && !now.places.contains_key(*path));
        let inner = before.listed.iter().filter(|(path, old)| old.inner && !now.listed.contains_key(*path));
        let gone =
            places.map(|(path, place)| (path, place.what)).chain(inner.map(|(path, old)| (path, old.what)));
        for (path, what) in gone {
            self.tell(path, what, true, Taken::Gone);
        }
    }

    /// Something new at a protected place.
    fn judge(&mut self, path: &Path, place: &Place) {
        let stays = match (place.sort, place.stamp.kind) {
            (Sort::Configuration, FileType::RegularFile) => self.is_harmless(path, place.stamp.identity),
            (Sort::Hooks, FileType::Directory) => self.take_hooks(path, place.what),
            _ => false,
        };
        if !stays {
            match self.quarantine.take(path, Some(place.stamp.identity)) {
                // With what was around it, or by somebody else.
                Taken::Gone => {}
                taken => self.tell(path, place.what, false, taken),
            }
        }
    }

    /// Whether a configuration says nothing but what is harmless, and is changed by no other name.
    fn is_harmless(&self, path: &Path, identity: Identity) -> bool {
        let read = || {
            let (dir, name) = files::parent(self.workspace, path)?;
            let (file, stamp) = files::file(&dir, name)?;
            let mut text = Vec::new();
            std::fs::File::from(file).take(git::MOST + 1).read_to_end(&mut text)?;
            std::io::Result::Ok((text, stamp))
        };
        read()
            .is_ok_and(|(text, stamp)| stamp.identity == identity && stamp.names == 1 && git::harmless(&text))
    }

    /// Moves away what git would run of a new directory of hooks. Whether the rest may stay.
    fn take_hooks(&mut self, path: &Path, what: What) -> bool {
        let Ok(dir) = files::below(self.workspace, path) else { return false };
        let Ok(names) = files::names(&dir, MOST_HOOKS) else { return false };
        for name in names {
            let Ok(Some(stamp)) = files::at(&dir, &name) else { continue };
            if runs(&name) && !stamp.is_directory() {
                let path = path.join(&name);
                match self.quarantine.take(&path, Some(stamp.identity)) {
                    Taken::Gone => {}
                    taken => self.tell(&path, what, false, taken),
                }
            }
        }
        true
    }
}

/// Whether git would run a hook of that name.
fn runs(name: &OsStr) -> bool {
    !name.as_bytes().ends_with(b".sample")
}

/// As many findings as are kept, those first that were moved away or could not be.
fn told(found: BTreeMap<PathBuf, Finding>, partial: bool) -> Findings {
    let mut files: Vec<Finding> = found.into_values().collect();
    files.sort_by_key(|finding| finding.moved_to.is_none());
    let more = files.len().saturating_sub(MOST_FINDINGS);
    files.truncate(MOST_FINDINGS);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Findings { files, more, partial }
}
