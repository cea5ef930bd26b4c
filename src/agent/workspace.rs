//! What the host itself reads in a workspace: one directory handle, regular files with one name, bounded.
//!
//! A link that leads outside is not followed, a file with several names may be somebody else's, and a pipe or device would
//! hold up the program. None of these is read.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// A directory that the host reads in.
#[derive(Debug)]
pub struct WorkspaceReader {
    path: PathBuf,
    dir: Dir,
}

/// The beginning of a text file, or all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The text. What is not UTF-8 in it is replaced.
    pub text: String,
    /// Whether there is more than the bound.
    pub cut: bool,
}

/// A file that is not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none.
    #[error("it is not there")]
    Missing,
    /// A link in its path leads outside.
    #[error("it leads out of the directory and is not read")]
    Outside,
    /// It has other names.
    #[error("it has several names (hard links) and is not read")]
    HardLink,
    /// It is a directory, a device, a pipe or a socket.
    #[error("it is no regular file and is not read")]
    NotAFile,
    /// The system does not let it be read.
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        // A refusal to leave the directory has no number of the system's.
        let escape = error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none();
        match error.kind() {
            _ if escape => Self::Outside,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Self::NotAFile,
            _ => Self::Io(error),
        }
    }
}

impl WorkspaceReader {
    /// Opens a directory. What is at its path later does not matter.
    ///
    /// # Errors
    ///
    /// When it is no directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        // The path as tools know it: links resolved.
        let path = crate::config::canonical(path)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { path, dir })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Looks at a file that is to be handed on: a regular file with one name, inside. Its size in bytes.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not to be handed on.
    pub fn size(&self, path: impl AsRef<Path>) -> Result<u64, ReadError> {
        self.open_file(path).map(|(_, size)| size)
    }

    /// Reads a file, at most `most` bytes of it.
    ///
    /// # Errors
    ///
    /// When there is none, or it is not to be read.
    pub fn read(&self, path: impl AsRef<Path>, most: usize) -> Result<Read, ReadError> {
        let (file, _) = self.open_file(path)?;
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes)?;
        let cut = bytes.len() > most;
        bytes.truncate(most);
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if cut {
            // The bound may lie within a character.
            text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
        }
        if let Some(rest) = text.strip_prefix('\u{feff}') {
            text = rest.to_owned();
        }
        Ok(Read { text, cut })
    }

    /// Opens a regular file with one name.
    fn open_file(&self, path: impl AsRef<Path>) -> Result<(File, u64), ReadError> {
        let mut options = OpenOptions::new();
        // Never wait for the other end of a pipe.
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let file = self.dir.open_with(path, &options)?;
        let stat = file.metadata()?;
        if !stat.is_file() {
            return Err(ReadError::NotAFile);
        }
        if stat.nlink() > 1 {
            return Err(ReadError::HardLink);
        }
        Ok((file, stat.len()))
    }

    /// The names of the directories below one, sorted, at most `most`; none where it is not there. Links are left out.
    pub fn directories(&self, path: impl AsRef<Path>, most: usize) -> Vec<String> {
        let Ok(entries) = self.dir.read_dir(path) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .take(most.saturating_mul(8))
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names.truncate(most);
        names
    }
}
