//! Renaming: a file that replaces another takes over its permissions.

use super::{Fence, paths};
use crate::authority::DenialKind;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use std::os::unix::fs::MetadataExt as _;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

impl Fence<'_> {
    /// Renames `from` below `dir` to `to` below `into`.
    pub(super) fn rename_below(&mut self, dir: &Dir, from: &str, into: &Dir, to: &str) -> FsResult<()> {
        let (plain_from, plain_to) = (paths::of_file(from)?, paths::of_file(to)?);
        if dir.perms == FsPerms::ReadOnly {
            return Err(self.refuse(DenialKind::ReadOnly, from));
        }
        if into.perms == FsPerms::ReadOnly {
            return Err(self.refuse(DenialKind::ReadOnly, to));
        }
        let source = self.stat_nofollow(dir, plain_from, from)?.ok_or(ErrorCode::NoEntry)?;
        if source.is_symlink() {
            let target = cap_primitives::fs::read_link_contents(&dir.dir, plain_from.as_ref());
            let target = target.map_err(|error| self.failed(&error, from))?;
            if !target.to_str().is_some_and(paths::stays_below) {
                return Err(self.refuse(DenialKind::LinkRefused, from));
            }
        }
        match self.stat_nofollow(into, plain_to, to)? {
            Some(target) if target.is_file() && source.is_file() => {
                use cap_primitives::fs::MetadataExt as _;
                if target.mode() & 0o222 == 0 {
                    return Err(ErrorCode::Access.into());
                }
                self.take_over(dir, plain_from, from, (target.mode(), target.uid(), target.gid()))?;
            }
            _ => {}
        }
        cap_primitives::fs::rename(&dir.dir, plain_from.as_ref(), &into.dir, plain_to.as_ref())
            .map_err(|error| self.failed(&error, to))?;
        self.temporaries.gone(&dir.dir, plain_from);
        Ok(())
    }

    /// Gives the file at `path` the permissions, and where this process may, the owner of the file that it replaces.
    fn take_over(
        &mut self,
        dir: &Dir,
        plain: &str,
        path: &str,
        (mode, uid, gid): (u32, u32, u32),
    ) -> FsResult<()> {
        let mut options = OpenOptions::new();
        options.read(true);
        options._cap_fs_ext_follow(FollowSymlinks::No);
        options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = cap_primitives::fs::open(&dir.dir, plain.as_ref(), &options);
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
