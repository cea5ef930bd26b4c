//! The methods of a descriptor: those that the fence decides, and those that it hands on.

use super::open::Wanted;
use super::spot::Spot;
use super::{Fence, listing, paths, stream};
use crate::authority::DenialKind;
use cap_primitives::fs::{DirOptions, FollowSymlinks, Metadata};
use wasmtime::component::Resource;
use wasmtime_wasi::FsPerms;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream, ErrorCode, Filesize,
    HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult};

type Handle = Resource<Descriptor>;

impl Fence<'_> {
    /// Writes a refusal down; the guest hears "not permitted".
    pub(super) fn refuse(&mut self, kind: DenialKind, path: &str) -> FsError {
        self.refusals.note(kind, path);
        ErrorCode::NotPermitted.into()
    }

    /// A failed operation. `cap-primitives` reports an attempt to leave the directory as a permission error of its own,
    /// without a number from the system.
    pub(super) fn failed(&mut self, error: &std::io::Error, path: &str) -> FsError {
        let escape = error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        if escape {
            return self.refuse(DenialKind::OutsideWorkspace, path);
        }
        // A pipe without a reader, or a socket: neither can be opened, and neither is a file.
        if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
            return self.refuse(DenialKind::SpecialFile, path);
        }
        ErrorCode::from(error).into()
    }

    /// What is at a path, without following a link; `None` for nothing.
    pub(super) fn stat_nofollow(&mut self, spot: &Spot<'_>, path: &str) -> FsResult<Option<Metadata>> {
        match cap_primitives::fs::stat(&spot.dir, spot.path(), FollowSymlinks::No) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error, path)),
        }
    }

    /// Notes what looking by the library below refused.
    fn seen<T>(&mut self, result: FsResult<T>, path: &str) -> FsResult<T> {
        result.inspect_err(|error| {
            if matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted)) {
                self.refusals.note(DenialKind::OutsideWorkspace, path);
            }
        })
    }
}

impl HostDescriptor for Fence<'_> {
    async fn open_at(
        &mut self,
        handle: Handle,
        follow: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let dir = self.dir(&handle)?;
        let opened = self.open_below(&dir, &path, &Wanted { follow, open, flags, dates: false })?;
        Ok(self.wasi.table.push(opened)?)
    }

    async fn read_directory(&mut self, handle: Handle) -> FsResult<Resource<DirectoryEntryStream>> {
        let dir = self.dir(&handle)?;
        listing::start(self.wasi.table, &dir.dir)
    }

    async fn rename_at(&mut self, handle: Handle, from: String, into: Handle, to: String) -> FsResult<()> {
        let (dir, into) = (self.dir(&handle)?, self.dir(&into)?);
        self.rename_below(&dir, &from, &into, &to)
    }

    async fn link_at(
        &mut self,
        _: Handle,
        _: PathFlags,
        from: String,
        _: Handle,
        to: String,
    ) -> FsResult<()> {
        Err(self.refuse(DenialKind::LinkRefused, &format!("{to} -> {from}")))
    }

    async fn symlink_at(&mut self, handle: Handle, target: String, path: String) -> FsResult<()> {
        let dir = self.dir(&handle)?;
        let plain = paths::of_file(&path)?;
        if !paths::stays_below(&target) {
            return Err(self.refuse(DenialKind::LinkRefused, &format!("{path} -> {target}")));
        }
        let spot = self.spot(&dir, plain, &path)?;
        let made = cap_primitives::fs::symlink(target.as_ref(), &spot.dir, spot.path());
        made.map_err(|error| self.failed(&error, &path))
    }

    async fn create_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let dir = self.dir(&handle)?;
        let spot = self.spot(&dir, paths::plain(&path)?.0, &path)?;
        let made = cap_primitives::fs::create_dir(&spot.dir, spot.path(), &DirOptions::new());
        made.map_err(|error| self.failed(&error, &path))
    }

    async fn remove_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let dir = self.dir(&handle)?;
        let spot = self.spot(&dir, paths::plain(&path)?.0, &path)?;
        let removed = cap_primitives::fs::remove_dir(&spot.dir, spot.path());
        removed.map_err(|error| self.failed(&error, &path))
    }

    async fn unlink_file_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let dir = self.dir(&handle)?;
        let spot = self.spot(&dir, paths::of_file(&path)?, &path)?;
        self.temporaries.gone(&spot);
        let removed = cap_primitives::fs::remove_file(&spot.dir, spot.path());
        removed.map_err(|error| self.failed(&error, &path))
    }

    async fn set_times_at(
        &mut self,
        handle: Handle,
        follow: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let dir = self.dir(&handle)?;
        if dir.perms == FsPerms::ReadOnly {
            return Err(self.refuse(DenialKind::ReadOnly, &path));
        }
        // Opened and judged as for reading, and then set on what was opened: by its path it could be another file by then, and
        // a pipe would keep whoever opens it waiting. So the times of a link itself cannot be set.
        let wanted = Wanted { follow, open: OpenFlags::empty(), flags: DescriptorFlags::READ, dates: true };
        let opened = self.open_below(&dir, &path, &wanted)?;
        let opened = self.wasi.table.push(opened)?;
        let set = self.set_times(Resource::new_own(opened.rep()), accessed, modified).await;
        self.wasi.table.delete(opened)?;
        set
    }

    async fn stat_at(&mut self, handle: Handle, follow: PathFlags, path: String) -> FsResult<DescriptorStat> {
        let (plain, slash) = paths::plain(&path)?;
        // `link/` means what the link leads to.
        let follow = if slash { PathFlags::SYMLINK_FOLLOW } else { follow };
        let stat = self.wasi.stat_at(handle, follow, plain.to_owned()).await;
        let stat = self.seen(stat, &path)?;
        if slash && stat.type_ != DescriptorType::Directory {
            return Err(ErrorCode::NotDirectory.into());
        }
        Ok(stat)
    }

    async fn readlink_at(&mut self, handle: Handle, path: String) -> FsResult<String> {
        let plain = paths::of_file(&path)?.to_owned();
        let target = self.wasi.readlink_at(handle, plain).await;
        self.seen(target, &path)
    }

    async fn metadata_hash_at(
        &mut self,
        handle: Handle,
        follow: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let plain = paths::plain(&path)?.0.to_owned();
        let hash = self.wasi.metadata_hash_at(handle, follow, plain).await;
        self.seen(hash, &path)
    }

    // What works on something that is open already is handed on: it was judged when it was opened.

    async fn advise(
        &mut self,
        handle: Handle,
        offset: Filesize,
        length: Filesize,
        advice: Advice,
    ) -> FsResult<()> {
        self.wasi.advise(handle, offset, length, advice).await
    }

    async fn sync_data(&mut self, handle: Handle) -> FsResult<()> {
        self.wasi.sync_data(handle).await
    }

    async fn get_flags(&mut self, handle: Handle) -> FsResult<DescriptorFlags> {
        self.wasi.get_flags(handle).await
    }

    async fn get_type(&mut self, handle: Handle) -> FsResult<DescriptorType> {
        self.wasi.get_type(handle).await
    }

    async fn set_size(&mut self, handle: Handle, size: Filesize) -> FsResult<()> {
        self.wasi.set_size(handle, size).await
    }

    async fn set_times(
        &mut self,
        handle: Handle,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        // A directory is opened for changes below it that are judged one by one; its own are judged here.
        if let Some(directing) = &self.preopens.directing
            && let Descriptor::Dir(dir) = self.wasi.table.get(&handle)?
            && directing.whole(&dir.dir)?
        {
            return Err(self.refuse(DenialKind::Directing, "."));
        }
        self.wasi.set_times(handle, accessed, modified).await
    }

    async fn read(
        &mut self,
        handle: Handle,
        length: Filesize,
        offset: Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.wasi.read(handle, length, offset).await
    }

    async fn write(&mut self, handle: Handle, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.wasi.write(handle, bytes, offset).await
    }

    async fn sync(&mut self, handle: Handle) -> FsResult<()> {
        self.wasi.sync(handle).await
    }

    async fn stat(&mut self, handle: Handle) -> FsResult<DescriptorStat> {
        self.wasi.stat(handle).await
    }

    async fn is_same_object(&mut self, one: Handle, other: Handle) -> wasmtime::Result<bool> {
        self.wasi.is_same_object(one, other).await
    }

    async fn metadata_hash(&mut self, handle: Handle) -> FsResult<MetadataHashValue> {
        self.wasi.metadata_hash(handle).await
    }

    fn read_via_stream(&mut self, handle: Handle, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.wasi.read_via_stream(handle, offset)
    }

    fn write_via_stream(&mut self, handle: Handle, offset: Filesize) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.write_via_stream(handle, offset)?;
        Ok(stream::bound(self.wasi.table, stream)?)
    }

    fn append_via_stream(&mut self, handle: Handle) -> FsResult<Resource<DynOutputStream>> {
        let stream = self.wasi.append_via_stream(handle)?;
        Ok(stream::bound(self.wasi.table, stream)?)
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.wasi, handle)
    }
}
