//! Every environment variable that this program reads, each declared once.

use std::ffi::OsString;
use std::path::PathBuf;

/// An environment variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, one line.
    pub help: &'static str,
}

/// Moves configuration, data and cache to one directory.
pub const HOME: Variable = Variable {
    name: "RINGFENCE_HOME",
    help: "directory for configuration, data and cache, instead of the XDG ones",
};

/// Moves the cache alone.
pub const CACHE_DIR: Variable = Variable {
    name: "RINGFENCE_CACHE_DIR",
    help: "directory for what can be made again (compiled code lies in `code` below it), instead of the cache's",
};

/// What is logged to stderr.
pub const LOG: Variable = Variable {
    name: "RINGFENCE_LOG",
    help: "what to log to stderr, such as `info` or `ringfence::audit=info` (default: warn)",
};

/// All of them.
pub const ALL: &[Variable] = &[HOME, CACHE_DIR, LOG];

impl Variable {
    /// Its value, where it is set and not empty.
    #[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
    pub fn get(self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }
}

/// A directory variable of the system, where it is set to an absolute path, as the XDG specification asks.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub(super) fn system_dir(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
