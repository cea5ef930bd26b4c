//! Where a change is made: judged, and then made at what was judged.

use super::preopen::Identity;
use super::{Fence, TEMPORARY, paths};
use crate::authority::{DenialKind, folded};
use cap_primitives::fs::{FollowSymlinks, OpenOptions};
use std::borrow::Cow;
use std::fs::File;
use std::sync::Arc;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Links that are followed from one path, as the system does.
const MOST_LINKS: usize = 40;

/// A path below a directory at which something is to change.
pub(super) struct Spot<'p> {
    pub(super) dir: Arc<File>,
    pub(super) name: Cow<'p, str>,
    /// Which directory it is, where it was judged. Then the name is a single one, and not resolved again.
    pub(super) judged: Option<Identity>,
}

impl Spot<'_> {
    pub(super) fn path(&self) -> &std::path::Path {
        self.name.as_ref().as_ref()
    }
}

impl Fence<'_> {
    /// Where the change of `plain` below `dir` is made. For whoever may change everything that is the two as they are; for
    /// others the directory is opened, and it is judged whether the change is main's alone.
    pub(super) fn spot<'p>(&mut self, dir: &Dir, plain: &'p str, path: &str) -> FsResult<Spot<'p>> {
        self.spot_for(dir, Cow::Borrowed(plain), path, false)
    }

    /// The same; `new` says that the change can only be to make a file that is not there.
    fn spot_for<'p>(&mut self, dir: &Dir, plain: Cow<'p, str>, path: &str, new: bool) -> FsResult<Spot<'p>> {
        if dir.perms == FsPerms::ReadOnly {
            return Err(self.refuse(DenialKind::ReadOnly, path));
        }
        let Some(directing) = &self.preopens.directing else {
            return Ok(Spot { dir: Arc::clone(&dir.dir), name: plain, judged: None });
        };
        // `.` and `..` are directories that are there: none of them is made, removed or written.
        let (above, name) = paths::last(&plain).ok_or(ErrorCode::Invalid)?;
        let parent = match above {
            "" => Arc::clone(&dir.dir),
            above => match cap_primitives::fs::open_dir(&dir.dir, above.as_ref()) {
                Ok(parent) => Arc::new(parent),
                Err(error) => return Err(self.failed(&error, path)),
            },
        };
        let judged = directing.judge(&parent, name)?;
        let theirs = |at| new || self.temporaries.has(at, name) || !folded(name).starts_with(TEMPORARY);
        match judged {
            // A temporary file may become what directs main: it is its maker's alone.
            Some(at) if theirs(at) => {
                let name = Cow::Owned(name.to_owned());
                Ok(Spot { dir: parent, name, judged })
            }
            _ => Err(self.refuse(DenialKind::Directing, path)),
        }
    }

    /// Opens a path for a change, and says where it was opened. Whoever may not change everything gets no link followed by
    /// the system: what each leads to is judged before it is opened.
    pub(super) fn open_spot<'p>(
        &mut self,
        dir: &Dir,
        plain: &'p str,
        path: &str,
        options: &mut OpenOptions,
        (follow, new): (bool, bool),
    ) -> FsResult<(File, Spot<'p>)> {
        let mut plain = Cow::Borrowed(plain);
        for _ in 0..MOST_LINKS {
            let spot = self.spot_for(dir, plain.clone(), path, new)?;
            let judged = spot.judged.is_some();
            if judged {
                options._cap_fs_ext_follow(FollowSymlinks::No);
            }
            let error = match cap_primitives::fs::open(&spot.dir, spot.path(), options) {
                Ok(file) => return Ok((file, spot)),
                Err(error) => error,
            };
            let link = judged
                && follow
                && !new
                && cap_primitives::fs::stat(&spot.dir, spot.path(), FollowSymlinks::No)
                    .is_ok_and(|stat| stat.is_symlink());
            if !link {
                return Err(self.failed(&error, path));
            }
            let target = cap_primitives::fs::read_link_contents(&spot.dir, spot.path());
            let target = target.map_err(|error| self.failed(&error, path))?;
            let target = target.to_str().ok_or(ErrorCode::IllegalByteSequence)?;
            let target = paths::of_file(target)?;
            plain = Cow::Owned(match paths::last(&plain) {
                Some((above, _)) if !above.is_empty() && !target.starts_with('/') => {
                    format!("{above}/{target}")
                }
                _ => target.to_owned(),
            });
        }
        Err(ErrorCode::Loop.into())
    }
}
