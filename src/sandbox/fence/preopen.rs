//! Directories to hand over, opened once: what is at the path later does not matter.

use super::directing::Directing;
use crate::authority::{Access, Directories};
use crate::sandbox::error::SetupError;
use rustix::fs::{FileType, Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

/// One directory, as a guest is handed it.
#[derive(Clone)]
pub(in crate::sandbox) struct Preopen {
    /// Its absolute path on the host: guests and people name files the same way.
    pub(super) name: String,
    pub(super) dir: Dir,
}

impl std::fmt::Debug for Preopen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Preopen({} {:?})", self.name, self.dir.perms)
    }
}

/// What a call is handed.
#[derive(Debug, Default)]
pub struct Preopens {
    /// Where relative paths begin: the workspace, whether or not it is among the directories.
    pub(in crate::sandbox) cwd: Option<String>,
    pub(in crate::sandbox) dirs: Vec<Preopen>,
    /// What the call may not change although it lies in these directories; `None` for main itself.
    pub(super) directing: Option<Arc<Directing>>,
}

/// A device and an inode: what a directory is, whatever it is called.
pub(super) type Identity = (u64, u64);

/// The directories that this process may hand over, each held open.
#[derive(Debug, Default)]
pub struct Opened {
    held: BTreeMap<PathBuf, (OwnedFd, Identity)>,
    workspace: PathBuf,
    directing: Option<Arc<Directing>>,
}

/// A directory of the host's own that one caller may read: results of its that were too long to be shown, say. It is never
/// handed over for writing, whatever the rights say, and nothing beside it or above it comes with it.
#[derive(Debug)]
pub struct OwnReadOnly {
    path: PathBuf,
    held: (OwnedFd, Identity),
}

impl OwnReadOnly {
    /// Opens it. `path` is absolute and has its links resolved.
    ///
    /// # Errors
    ///
    /// When it is not a directory.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        if path.to_str().is_none() || !path.is_absolute() {
            return Err(std::io::Error::other("its path is not absolute, or not UTF-8"));
        }
        let opened = open_dir(path)?;
        let identity = identity_of(&opened)?;
        Ok(Self { path: path.to_owned(), held: (opened, identity) })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Opened {
    /// Opens the workspace and the other directories. `state` are places that hold the host's own state.
    ///
    /// # Errors
    ///
    /// When one is not a directory, cannot be named in UTF-8, or contains, or lies in, one of the host's own.
    pub fn open(workspace: &Path, others: &[PathBuf], state: &[PathBuf]) -> Result<Self, SetupError> {
        let mut held = BTreeMap::new();
        for path in std::iter::once(workspace).chain(others.iter().map(PathBuf::as_path)) {
            let error = |reason: String| SetupError::Directory { path: path.display().to_string(), reason };
            if path.to_str().is_none() {
                return Err(error("its path is not UTF-8".to_owned()));
            }
            let opened =
                open_dir(path).map_err(|e| error(format!("it cannot be opened as a directory: {e}")))?;
            let identity = identity_of(&opened).map_err(|e| error(e.to_string()))?;
            for own in state {
                let Some(relation) = related(path, identity, own) else { continue };
                return Err(error(format!(
                    "it {relation} {}, where this program keeps its own state; use another directory",
                    own.display()
                )));
            }
            held.insert(path.to_owned(), (opened, identity));
        }
        let directing = match held.get(workspace) {
            Some((opened, identity)) => {
                let opened = opened.try_clone().map_err(|e| SetupError::Directory {
                    path: workspace.display().to_string(),
                    reason: e.to_string(),
                })?;
                Some(Arc::new(Directing::new(opened, *identity)))
            }
            None => None,
        };
        Ok(Self { held, workspace: workspace.to_owned(), directing })
    }

    /// The workspace's path.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// What a call with these rights is handed. `own` are the host's directories that its caller may read, as far as the
    /// rights name them. `main` says that it is main itself who calls: everybody else can only read what directs main.
    ///
    /// # Errors
    ///
    /// When two trees overlap with different rights, or a right is to a directory that is not held.
    pub fn preopens(
        &self,
        rights: &Directories,
        own: &[Arc<OwnReadOnly>],
        main: bool,
    ) -> Result<Arc<Preopens>, SetupError> {
        if let Some((above, below)) = rights.overlap() {
            return Err(overlapping(above, below));
        }
        let mut preopens = Preopens {
            cwd: self.workspace.to_str().map(str::to_owned),
            dirs: Vec::new(),
            directing: self.directing.clone().filter(|_| !main),
        };
        let mut seen: Vec<(Identity, &Path, Access)> = Vec::new();
        for (path, access) in rights.iter() {
            let error = |reason: String| SetupError::Directory { path: path.display().to_string(), reason };
            let mine = own.iter().find(|own| own.path == path);
            let access = if mine.is_some() { Access::ReadOnly } else { access };
            let opened = match mine {
                Some(own) => own.held.0.try_clone().map(|held| (File::from(held), own.held.1)),
                None => self.handle(path),
            };
            let (handle, identity) = opened.map_err(|e| error(e.to_string()))?;
            // The same directory under another name (a bind mount) must not have other rights there.
            if let Some((_, other, _)) =
                seen.iter().find(|(known, _, most)| *known == identity && *most != access)
            {
                return Err(overlapping(other, path));
            }
            seen.push((identity, path, access));
            let name = path.to_str().ok_or_else(|| error("its path is not UTF-8".to_owned()))?.to_owned();
            let (perms, mode) = match access {
                Access::ReadOnly => (FsPerms::ReadOnly, OpenMode::READ),
                Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
            };
            preopens.dirs.push(Preopen { name, dir: Dir::new(handle, perms, mode, true) });
        }
        Ok(Arc::new(preopens))
    }

    /// A handle to a directory that is held, or that lies in one that is: narrower rights need not be named when the
    /// program starts. It is looked up below the handle that is held, one name after the other and without following links:
    /// a link in the workspace must not make the right to one directory the right to another.
    fn handle(&self, path: &Path) -> std::io::Result<(File, Identity)> {
        if let Some((held, identity)) = self.held.get(path) {
            return Ok((held.try_clone()?.into(), *identity));
        }
        let above =
            path.ancestors().find_map(|above| Some((self.held.get(above)?, path.strip_prefix(above).ok()?)));
        let ((held, _), below) = above.ok_or_else(|| std::io::Error::other("it is not held"))?;
        let opened = below.components().try_fold(File::from(held.try_clone()?), |dir, part| {
            cap_primitives::fs::open_dir_nofollow(&dir, part.as_ref())
        })?;
        let identity = identity_of(&opened)?;
        Ok((opened, identity))
    }
}

fn overlapping(above: &Path, below: &Path) -> SetupError {
    SetupError::Directory {
        path: below.display().to_string(),
        reason: format!("it overlaps with {}, which has other rights; give one of the two", above.display()),
    }
}

fn open_dir(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

pub(super) fn identity_of(fd: &impl AsFd) -> std::io::Result<Identity> {
    let stat = rustix::fs::fstat(fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(std::io::Error::from(std::io::ErrorKind::NotADirectory));
    }
    Ok((stat.st_dev, stat.st_ino))
}

/// How `path` stands to the host's own directory `own`, compared by device and inode all the way up, since names lie.
fn related(path: &Path, identity: Identity, own: &Path) -> Option<&'static str> {
    let id_of = |path: &Path| rustix::fs::stat(path).ok().map(|s| (s.st_dev, s.st_ino));
    let own_id = id_of(own);
    if own_id == Some(identity) {
        Some("is")
    } else if own.ancestors().any(|above| id_of(above) == Some(identity)) {
        Some("contains")
    } else if own_id.is_some() && path.ancestors().any(|above| id_of(above) == own_id) {
        Some("lies in")
    } else {
        None
    }
}
