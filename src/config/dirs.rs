//! Where things are kept.

use super::env;
use std::io;
use std::path::{Path, PathBuf};

/// The directories of this program's own state. None of them is ever handed to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Holds `config.toml`.
    pub config: PathBuf,
    /// Holds what must not be lost.
    pub data: PathBuf,
    /// Holds what can be made again.
    pub cache: PathBuf,
}

impl Dirs {
    /// The directories of this user. `None` when there is no home directory and no variable that names another place.
    pub fn of_user() -> Option<Self> {
        let mut dirs = match env::HOME.get() {
            Some(home) => {
                let home = absolute(Path::new(&home)).ok()?;
                Self { config: home.join("config"), data: home.join("data"), cache: home.join("cache") }
            }
            None => {
                let home = env::system_dir("HOME");
                let dir = |variable: &str, below: &str| {
                    let base =
                        env::system_dir(variable).or_else(|| home.as_ref().map(|home| home.join(below)))?;
                    Some(base.join("ringfence"))
                };
                Self {
                    config: dir("XDG_CONFIG_HOME", ".config")?,
                    data: dir("XDG_DATA_HOME", ".local/share")?,
                    cache: dir("XDG_CACHE_HOME", ".cache")?,
                }
            }
        };
        if let Some(cache) = env::CACHE_DIR.get() {
            dirs.cache = absolute(Path::new(&cache)).ok()?;
        }
        Some(dirs)
    }

    /// The places of this program's own state, each under its real name: a link to one is no way around it.
    pub fn places(&self) -> Vec<PathBuf> {
        let file = self.config.join("config.toml");
        [&self.config, &self.data, &self.cache, &file]
            .into_iter()
            .map(|place| absolute(place).unwrap_or_else(|_| place.clone()))
            .collect()
    }
}

/// The binary of this very process, even when another one lies at its path by now.
pub fn own_program() -> Option<PathBuf> {
    if cfg!(target_os = "linux") {
        return Some(PathBuf::from("/proc/self/exe"));
    }
    std::env::current_exe().ok()
}

/// A path in the configuration: `~/` is the user's home.
pub(super) fn of_person(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::system_dir("HOME")) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

/// A path from where this process is, with links resolved: the one name of a directory from here on.
///
/// # Errors
///
/// When nothing is there.
#[expect(clippy::disallowed_methods, reason = "this room turns what people type into places")]
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// The same for a path that may not be there yet: its links are resolved as far as it is there.
///
/// # Errors
///
/// When the current directory is gone.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let known = path.ancestors().find_map(|above| {
        let real = canonical(above).ok()?;
        let rest = path.strip_prefix(above).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    });
    Ok(known.unwrap_or(path))
}

/// The names in a directory that are text, in no order; none where it cannot be read.
#[expect(
    clippy::disallowed_methods,
    reason = "this room looks at the places that people and the configuration name"
)]
pub fn names_in(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Who may look into a directory of this program's own, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// It is not there yet.
    Absent,
    /// Only this user can enter it.
    Private,
    /// It belongs to somebody else.
    Foreign,
    /// Others can enter it, or even change it.
    Open {
        /// Its permissions.
        mode: u32,
    },
}

/// How private a directory is.
///
/// # Errors
///
/// When it cannot be looked at, or is no directory.
#[expect(
    clippy::disallowed_methods,
    reason = "this room looks at the directories of this program's own state"
)]
pub fn privacy(dir: &Path) -> io::Result<Privacy> {
    use std::os::unix::fs::MetadataExt as _;
    let about = match std::fs::metadata(dir) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Privacy::Absent),
        Err(error) => return Err(error),
    };
    if !about.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mode = about.mode() & 0o777;
    Ok(if about.uid() != rustix::process::geteuid().as_raw() {
        Privacy::Foreign
    } else if mode & 0o077 != 0 {
        Privacy::Open { mode }
    } else {
        Privacy::Private
    })
}

/// Makes a directory, and those above it, that only this user can enter. One that is there is left as it is.
///
/// # Errors
///
/// When it cannot be made.
#[expect(clippy::disallowed_types, reason = "this room makes the directories of this program's own state")]
pub fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

/// The bytes of a component file that a person named, at most `most` and one more.
///
/// # Errors
///
/// When it cannot be read, or is not a regular file.
#[expect(
    clippy::disallowed_methods,
    reason = "this room reads the files that people name on the command line"
)]
pub fn read_component(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes of a script, at most.
const SCRIPT: u64 = 4 << 20;

/// The text of a script of replies that the configuration or a person names.
///
/// # Errors
///
/// When it cannot be read, is not text, or is too long.
#[expect(clippy::disallowed_methods, reason = "this room reads the files that the configuration names")]
pub fn read_script(path: &Path) -> io::Result<String> {
    use std::io::Read as _;
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(SCRIPT + 1).read_to_string(&mut text)?;
    if read as u64 > SCRIPT { Err(io::Error::other("it is longer than 4 MiB")) } else { Ok(text) }
}
