//! Opening.

use super::{Fence, paths};
use crate::authority::DenialKind;
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{FileType, OFlags};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::{FsPerms, OpenMode};

/// What a guest asked to open.
pub(super) struct Wanted {
    pub(super) follow: PathFlags,
    pub(super) open: OpenFlags,
    pub(super) flags: DescriptorFlags,
    /// Whether it is opened for its times to be set, which is a change like another.
    pub(super) dates: bool,
}

impl Fence<'_> {
    /// Opens a path below `dir`: a directory, or a regular file with one name.
    pub(super) fn open_below(&mut self, dir: &Dir, path: &str, wanted: &Wanted) -> FsResult<Descriptor> {
        let (plain, slash) = paths::plain(path)?;
        let creates = wanted.open.contains(OpenFlags::CREATE);
        let truncates = wanted.open.contains(OpenFlags::TRUNCATE);
        let writes = creates || truncates || wanted.flags.contains(DescriptorFlags::WRITE);
        let directory = slash || wanted.open.contains(OpenFlags::DIRECTORY);
        if directory && (creates || truncates) {
            return Err(ErrorCode::Invalid.into());
        }
        if wanted.flags.intersects(
            DescriptorFlags::FILE_INTEGRITY_SYNC
                | DescriptorFlags::DATA_INTEGRITY_SYNC
                | DescriptorFlags::REQUESTED_WRITE_SYNC,
        ) {
            return Err(ErrorCode::Unsupported.into());
        }
        let reads = wanted.flags.contains(DescriptorFlags::READ) || !writes;
        let new = creates && wanted.open.contains(OpenFlags::EXCLUSIVE);
        let mut options = OpenOptions::new();
        options.read(reads).write(writes);
        if creates {
            if new {
                options.create_new(true);
            } else {
                options.create(true);
            }
        }
        let follow = wanted.follow.contains(PathFlags::SYMLINK_FOLLOW);
        options._cap_fs_ext_follow(if follow { FollowSymlinks::Yes } else { FollowSymlinks::No });
        // Never wait for the other end of a pipe, and never truncate before it is known what was opened.
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        // What ends in no name is a directory, whose times are judged by its handle.
        let (file, spot) = if writes || (wanted.dates && paths::last(plain).is_some()) {
            let (file, spot) = self.open_spot(dir, plain, path, &mut options, (follow, new))?;
            (file, Some(spot))
        } else {
            let opened = cap_primitives::fs::open(&dir.dir, plain.as_ref(), &options);
            (opened.map_err(|error| self.failed(&error, path))?, None)
        };
        let stat = rustix::fs::fstat(&file).map_err(std::io::Error::from)?;
        let mode = if writes { OpenMode::READ | OpenMode::WRITE } else { OpenMode::READ };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Descriptor::Dir(Dir::new(file, dir.perms, mode, true))),
            _ if directory => Err(ErrorCode::NotDirectory.into()),
            FileType::RegularFile if stat.st_nlink > 1 => Err(self.refuse(DenialKind::HardLink, path)),
            FileType::RegularFile => {
                // Root may write what nobody may; a tool is to respect the mark all the same.
                if writes && stat.st_mode & 0o222 == 0 {
                    return Err(ErrorCode::Access.into());
                }
                if creates && let Some(spot) = &spot {
                    self.temporaries.created(spot);
                }
                if truncates {
                    file.set_len(0)?;
                }
                // What was opened for reading was not judged, and through it nothing changes.
                let judged = spot.is_some() || self.preopens.directing.is_none();
                let perms = if judged { dir.perms } else { FsPerms::ReadOnly };
                Ok(Descriptor::File(File::new(file, perms, mode, true)))
            }
            _ => Err(self.refuse(DenialKind::SpecialFile, path)),
        }
    }
}
