//! Renaming: a file that replaces another takes over its permissions.

use super::spot::Spot;
use super::{Fence, paths};
use crate::authority::DenialKind;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::os::unix::fs::MetadataExt as _;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

impl Fence<'_> {
    /// Renames `from` below `dir` to `to` below `into`.
    pub(super) fn rename_below(&mut self, dir: &Dir, from: &str, into: &Dir, to: &str) -> FsResult<()> {
        let (plain_from, plain_to) = (paths::of_file(from)?, paths::of_file(to)?);
        let (source_at, target_at) = (self.spot(dir, plain_from, from)?, self.spot(into, plain_to, to)?);
        let source = self.stat_nofollow(&source_at, from)?.ok_or(ErrorCode::NoEntry)?;
        if source.is_symlink() {
            let target = cap_primitives::fs::read_link_contents(&source_at.dir, source_at.path());
            let target = target.map_err(|error| self.failed(&error, from))?;
            if !target.to_str().is_some_and(paths::stays_below) {
                return Err(self.refuse(DenialKind::LinkRefused, from));
            }
        }
        match self.stat_nofollow(&target_at, to)? {
            Some(target) if target.is_file() && source.is_file() => {
                use cap_primitives::fs::MetadataExt as _;
                if target.mode() & 0o222 == 0 {
                    return Err(ErrorCode::Access.into());
                }
                self.take_over(&source_at, from, (target.mode(), target.uid(), target.gid()))?;
            }
            _ => {}
        }
        cap_primitives::fs::rename(&source_at.dir, source_at.path(), &target_at.dir, target_at.path())
            .map_err(|error| self.failed(&error, to))?;
        self.temporaries.gone(&source_at);
        Ok(())
    }

    /// Gives the file at `path` the permissions, and where this process may, the owner of the file that it replaces.
    fn take_over(&mut self, spot: &Spot<'_>, path: &str, (mode, uid, gid): (u32, u32, u32)) -> FsResult<()> {
        let mut options = OpenOptions::new();
        options.read(true);
        options._cap_fs_ext_follow(FollowSymlinks::No);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = cap_primitives::fs::open(&spot.dir, spot.path(), &options);
        let file = file.map_err(|error| self.failed(&error, path))?;
        let own = file.metadata()?;
        if !own.is_file() || own.nlink() > 1 {
            return Err(self.refuse(DenialKind::HardLink, path));
        }
        if (own.uid(), own.gid()) != (uid, gid) {
            // Only root can, and for others the file stays theirs, as with any editor.
            let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        }
        // No set-user-id and the like: new content does not inherit those.
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode & 0o777)).map_err(std::io::Error::from)?;
        Ok(())
    }
}
