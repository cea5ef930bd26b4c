//! Protected places on the walk: what stands there is remembered with all that is in it, and links are followed, since what one
//! leads to is as protected as if it stood there.

use super::{To, Walk};
use crate::exec::guard::files;
use crate::exec::guard::links;
use crate::exec::guard::names::What;
use crate::exec::guard::view::{Listed, Place, Sort};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

impl Walk<'_> {
    /// Something at a protected place.
    pub(super) fn place(&mut self, dir: &OwnedFd, name: &OsStr, to: To) {
        let Ok(Some(stamp)) = files::at(dir, name) else { return };
        let (what, sort) = match to {
            To::Place(what, sort) => (what, sort),
            To::Enter(what, _) => (what, Sort::Other),
        };
        let old = self.known.is_none_or(|known| known.places.contains_key(&self.path));
        self.put(Place { what, sort, stamp, guarded: true });
        match stamp.kind {
            FileType::Directory if old => self.inner(dir, name, what, 0),
            FileType::Symlink => self.follow(dir, name, to),
            _ => {}
        }
    }

    /// A protected name where it is not protected.
    pub(super) fn elsewhere(&mut self, dir: &OwnedFd, name: &OsStr, what: What) {
        let Ok(Some(stamp)) = files::at(dir, name) else { return };
        self.put(Place { what, sort: Sort::Other, stamp, guarded: false });
        if !stamp.is_directory() {
            self.list(dir, name, what);
        }
    }

    fn put(&mut self, place: Place) {
        // A link may have led here before.
        let guarded = self.view.places.get(&self.path).is_some_and(|place| place.guarded);
        if (place.guarded || !guarded) && self.counted() {
            self.view.places.insert(self.path.clone(), place);
        }
    }

    pub(super) fn list(&mut self, dir: &OwnedFd, name: &OsStr, what: What) {
        if let Ok(Some(stamp)) = files::at(dir, name)
            && self.counted()
            && !self.view.listed.get(&self.path).is_some_and(|listed| listed.inner)
        {
            self.view.listed.insert(self.path.clone(), Listed { what, stamp, inner: false });
        }
    }

    pub(super) fn unreadable(&mut self) {
        if self.counted() {
            self.view.unreadable.insert(self.path.clone());
        }
    }

    /// Whether there is room to remember the path.
    fn counted(&mut self) -> bool {
        let left = self.bytes.checked_sub(self.path.as_os_str().len() + size_of::<Listed>());
        self.view.partial |= left.is_none();
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }

    /// Everything within a protected directory, so that it can be said what was changed there.
    fn inner(&mut self, dir: &OwnedFd, name: &OsStr, what: What, depth: usize) {
        let dir = match files::directory(dir, name) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return self.unreadable(),
            Err(_) => return,
        };
        if depth >= files::DEPTH {
            self.view.partial = true;
            return;
        }
        let Ok(names) = files::names(&dir, self.left) else {
            self.view.partial = true;
            return;
        };
        self.left -= names.len().min(self.left);
        for name in names {
            self.path.push(&name);
            match files::at(&dir, &name) {
                Ok(Some(stamp)) if stamp.is_directory() => self.inner(&dir, &name, what, depth + 1),
                Ok(Some(stamp)) if self.counted() => {
                    self.view.listed.insert(self.path.clone(), Listed { what, stamp, inner: true });
                    if stamp.kind == FileType::Symlink {
                        self.follow(&dir, &name, To::Place(what, Sort::Other));
                    }
                }
                _ => {}
            }
            self.path.pop();
        }
    }

    /// Follows a link that decides what is at a protected place: what it leads to is as protected as if it stood there.
    fn follow(&mut self, dir: &OwnedFd, name: &OsStr, to: To) {
        let (To::Place(what, _) | To::Enter(what, _)) = to;
        let Ok(text) = files::link(dir, name) else { return };
        let link = self.path.clone();
        if !self.expected(&link, &text, what) {
            return;
        }
        let way = links::follow(self.top, &link, &text);
        for (path, text) in way.links {
            if !self.expected(&path, &text, what) {
                // A link that was put in the way: it is what must not be there.
                if let Ok((dir, name)) = files::parent(self.top, &path)
                    && let Ok(Some(stamp)) = files::at(&dir, name)
                {
                    self.at(path.clone(), |walk| {
                        walk.put(Place { what, sort: Sort::Other, stamp, guarded: true })
                    });
                }
                return;
            }
        }
        let Some((path, stamp)) = way.end else { return };
        if !self.followed.insert(path.clone()) {
            return;
        }
        match to {
            // Who names the whole workspace, or what it lies in, names nothing that could be held.
            To::Place(..) if link.starts_with(&path) => {}
            To::Place(what, sort) => self.at(path.clone(), |walk| {
                let old = walk.known.is_none_or(|known| known.places.contains_key(&path));
                walk.put(Place { what, sort, stamp, guarded: true });
                if stamp.is_directory()
                    && old
                    && let Ok((dir, name)) = files::parent(walk.top, &path)
                {
                    walk.inner(&dir, name, what, 0);
                }
            }),
            To::Enter(_, within) => {
                if let Ok(dir) = files::below(self.top, &path) {
                    let depth = path.components().count();
                    self.at(path, |walk| {
                        let _ = walk.directory(&dir, within, depth);
                    });
                }
            }
        }
    }

    /// Whether a link is followed: it is remembered, or is what was remembered.
    fn expected(&mut self, link: &Path, text: &Path, what: What) -> bool {
        match self.known {
            Some(known) => known.links.get(link).is_some_and(|(before, _)| before == text),
            None => {
                self.view.links.insert(link.to_owned(), (text.to_owned(), what));
                true
            }
        }
    }

    /// Does something at another path.
    fn at(&mut self, path: PathBuf, what: impl FnOnce(&mut Self)) {
        let here = std::mem::replace(&mut self.path, path);
        what(self);
        self.path = here;
    }
}
