//! The entries of a directory, one after the other, so that a large directory costs the host no memory.

use cap_primitives::fs::ReadDir;
use std::fs::File;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, DirectoryEntryStream};

/// A directory that is being read.
struct Listing(ReadDir);

/// A guest's handle is one of ours under the type that WASI gives it.
fn own(stream: &Resource<DirectoryEntryStream>) -> Resource<Listing> {
    Resource::new_own(stream.rep())
}

/// Starts reading a directory.
pub(super) fn start(table: &mut ResourceTable, dir: &File) -> FsResult<Resource<DirectoryEntryStream>> {
    let listing = table.push(Listing(cap_primitives::fs::read_base_dir(dir)?))?;
    Ok(Resource::new_own(listing.rep()))
}

/// The next entry. A name that is not UTF-8 is shown, and cannot be opened by what is shown.
pub(super) fn next(
    table: &mut ResourceTable,
    stream: &Resource<DirectoryEntryStream>,
) -> FsResult<Option<DirectoryEntry>> {
    let Some(entry) = table.get_mut(&own(stream))?.0.next() else { return Ok(None) };
    let entry = entry?;
    let kind = entry.file_type()?;
    let type_ = if kind.is_dir() {
        DescriptorType::Directory
    } else if kind.is_symlink() {
        DescriptorType::SymbolicLink
    } else if kind.is_file() {
        DescriptorType::RegularFile
    } else {
        DescriptorType::Unknown
    };
    Ok(Some(DirectoryEntry { type_, name: entry.file_name().to_string_lossy().into_owned() }))
}

/// Ends reading a directory.
pub(super) fn end(
    table: &mut ResourceTable,
    stream: &Resource<DirectoryEntryStream>,
) -> wasmtime::Result<()> {
    table.delete(own(stream))?;
    Ok(())
}
