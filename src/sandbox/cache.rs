//! Native code on disk, so that a component is compiled once.
//!
//! Loading native code runs it, so an entry is believed only when its directory and its file belong to this user and
//! nobody else can write them, when its name carries the component's digest and this engine's compatibility mark, and when
//! the checksum in front of the code fits. Anything else is compiled anew and replaced. A stranger with this user's own
//! rights is beyond what a check here could hold against.

use super::digest::Digest;
use rustix::fs::{FileType, Mode, OFlags};
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use wasmtime::Engine;
use wasmtime::component::Component;

/// In front of the checksum, so that a change of this layout makes old entries strangers.
const MAGIC: &[u8; 16] = b"ringfence code 2";

/// The directory of native code. Without a usable directory nothing is kept, and everything still works.
#[derive(Debug)]
pub(super) struct CodeCache {
    dir: Option<PathBuf>,
    engine_mark: String,
}

/// Why a directory cannot hold native code.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("{0}: {1}")]
    Io(PathBuf, std::io::Error),
    #[error("{0} is not a directory of this user that only this user can write")]
    NotOurs(PathBuf),
}

impl CodeCache {
    pub(super) fn open(dir: Option<&Path>, engine: &Engine) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        MAGIC.hash(&mut hasher);
        let engine_mark = format!("{:016x}", hasher.finish());
        let dir = dir.and_then(|dir| match own_directory(dir) {
            Ok(()) => Some(dir.to_owned()),
            Err(error) => {
                tracing::warn!("native code is not cached: {error}");
                None
            }
        });
        Self { dir, engine_mark }
    }

    fn path(&self, digest: &Digest) -> Option<PathBuf> {
        self.dir.as_ref().map(|dir| dir.join(format!("{digest}-{}.code", self.engine_mark)))
    }

    /// The compiled component, if there is an entry that can be believed.
    pub(super) fn load(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let path = self.path(digest)?;
        let entry = match read_own(&path) {
            Ok(entry) => entry?,
            Err(error) => {
                tracing::warn!("ignoring {}: {error}", path.display());
                return None;
            }
        };
        let Some(code) = self.checked(digest, &entry) else {
            tracing::warn!("{} is damaged; compiling anew", path.display());
            return None;
        };
        // SAFETY: the file belongs to this user and only this user can write it and its directory, it was written by
        // `store` for this engine's compatibility mark, and its checksum fits.
        let loaded = unsafe { Component::deserialize(engine, code) };
        loaded.inspect_err(|error| tracing::warn!("{} does not load: {error:#}", path.display())).ok()
    }

    /// Keeps the code of a compiled component. A failure costs the next start its time and nothing else.
    pub(super) fn store(&self, digest: &Digest, code: &[u8]) {
        let (Some(dir), Some(path)) = (&self.dir, self.path(digest)) else { return };
        let write = || {
            let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(dir)?;
            file.write_all(MAGIC)?;
            file.write_all(self.sum(digest, code).as_bytes())?;
            file.write_all(code)?;
            file.persist(&path)?;
            Ok::<(), std::io::Error>(())
        };
        if let Err(error) = write() {
            tracing::warn!("{} was not written: {error}", path.display());
        }
    }

    /// The checksum of an entry: of the code, and of what it is the code of, so that an entry under another name is a
    /// stranger.
    fn sum(&self, digest: &Digest, code: &[u8]) -> Digest {
        Digest::of_parts(&[digest.as_bytes(), self.engine_mark.as_bytes(), code])
    }

    /// The code behind an entry's checksum, if it fits.
    fn checked<'e>(&self, digest: &Digest, entry: &'e [u8]) -> Option<&'e [u8]> {
        let (sum, code) = entry.strip_prefix(MAGIC)?.split_at_checked(32)?;
        (self.sum(digest, code).as_bytes() == sum).then_some(code)
    }
}

/// Makes `dir` where it is missing, and checks that it is ours alone.
fn own_directory(dir: &Path) -> Result<(), Unusable> {
    let io = |error: std::io::Error| Unusable::Io(dir.to_owned(), error);
    crate::config::create_private_dir(dir).map_err(io)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let opened = rustix::fs::open(dir, flags, Mode::empty()).map_err(|e| io(e.into()))?;
    let stat = rustix::fs::fstat(&opened).map_err(|e| io(e.into()))?;
    if ours_alone(&stat, FileType::Directory) { Ok(()) } else { Err(Unusable::NotOurs(dir.to_owned())) }
}

/// The bytes of a file that is ours alone; `None` when there is none.
fn read_own(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NONBLOCK;
    let opened = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !ours_alone(&rustix::fs::fstat(&opened)?, FileType::RegularFile) {
        return Err(std::io::Error::other("it is not a file of this user that only this user can write"));
    }
    let mut bytes = Vec::new();
    std::fs::File::from(opened).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn ours_alone(stat: &rustix::fs::Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
        && stat.st_uid == rustix::process::geteuid().as_raw()
        && stat.st_mode & 0o022 == 0
}
