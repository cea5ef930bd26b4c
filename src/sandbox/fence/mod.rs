//! The fence around files: the one implementation of `wasi:filesystem` that is linked.
//!
//! Resolving a path below a directory handle is the work of `cap-primitives`; the fence adds what a file tool must not do
//! although it stays inside: open files with several names or devices, follow what would block, make links, or change what
//! directs main without being main. Each refusal is written down with its kind, so that the host knows of a denial by its own
//! observation and not by a guest's word.

mod descriptor;
mod directing;
mod held;
mod listing;
mod open;
mod paths;
mod preopen;
mod refusals;
mod rename;
mod spot;
mod stream;
mod temporary;

pub use preopen::{Opened, OwnReadOnly, Preopens};
pub use refusals::{Refusal, Refusals};
pub use temporary::TEMPORARY;
pub(super) use temporary::Temporaries;

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{DirectoryEntry, DirectoryEntryStream, ErrorCode};
use wasmtime_wasi::p2::bindings::filesystem::types::{Host, HostDirectoryEntryStream};
use wasmtime_wasi::p2::{FsError, FsResult};

/// Files, as one call sees them.
pub(super) struct Fence<'a> {
    pub(super) wasi: WasiFilesystemCtxView<'a>,
    pub(super) preopens: &'a Preopens,
    pub(super) refusals: &'a mut Refusals,
    pub(super) temporaries: &'a mut Temporaries,
}

/// Names [`Fence`] for the linkers.
pub(super) struct Fenced;

impl HasData for Fenced {
    type Data<'a> = Fence<'a>;
}

impl Fence<'_> {
    /// The directory behind a handle.
    fn dir(&self, handle: &Resource<Descriptor>) -> FsResult<Dir> {
        match self.wasi.table.get(handle)? {
            Descriptor::Dir(dir) => Ok(dir.clone()),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }
}

impl preopens::Host for Fence<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let mut directories = Vec::with_capacity(self.preopens.dirs.len());
        for preopen in &self.preopens.dirs {
            let handle = self.wasi.table.push(Descriptor::Dir(preopen.dir.clone()))?;
            directories.push((handle, preopen.name.clone()));
        }
        Ok(directories)
    }
}

impl Host for Fence<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.wasi.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.wasi.filesystem_error_code(error)
    }
}

impl HostDirectoryEntryStream for Fence<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        listing::next(self.wasi.table, &stream)
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        listing::end(self.wasi.table, &stream)
    }
}
