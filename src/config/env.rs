//! Every environment variable that this program reads, each declared once.

use secrecy::zeroize::Zeroizing;
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

/// The model service, by name.
pub const PROVIDER: Variable = Variable {
    name: "RINGFENCE_PROVIDER",
    help: "the model service to ask, by its name in the configuration",
};

/// The model.
pub const MODEL: Variable =
    Variable { name: "RINGFENCE_MODEL", help: "the model to ask, as its service calls it" };

/// A key.
pub const ANTHROPIC_KEY: Variable = Variable { name: "ANTHROPIC_API_KEY", help: "the key of `anthropic`" };

/// An address.
pub const ANTHROPIC_URL: Variable = Variable {
    name: "ANTHROPIC_BASE_URL",
    help: "another address of `anthropic`, where it is not configured",
};

/// A key.
pub const OPENAI_KEY: Variable = Variable { name: "OPENAI_API_KEY", help: "the key of `openai`" };

/// An address.
pub const OPENAI_URL: Variable =
    Variable { name: "OPENAI_BASE_URL", help: "another address of `openai`, where it is not configured" };

/// A key.
pub const OPENROUTER_KEY: Variable = Variable { name: "OPENROUTER_API_KEY", help: "the key of `openrouter`" };

/// All of them.
pub const ALL: &[Variable] = &[
    HOME,
    CACHE_DIR,
    LOG,
    PROVIDER,
    MODEL,
    ANTHROPIC_KEY,
    ANTHROPIC_URL,
    OPENAI_KEY,
    OPENAI_URL,
    OPENROUTER_KEY,
];

impl Variable {
    /// Its value, where it is set and not empty.
    #[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
    pub fn get(self) -> Option<OsString> {
        std::env::var_os(self.name).filter(|value| !value.is_empty())
    }

    /// The same, where it is text.
    pub fn text(self) -> Option<String> {
        self.get().and_then(|value| value.into_string().ok())
    }
}

/// A directory variable of the system, where it is set to an absolute path, as the XDG specification asks.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub(super) fn system_dir(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The value of a variable that the configuration names as the place of a key.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub(super) fn secret(name: &str) -> Option<Zeroizing<String>> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).map(Zeroizing::new)
}

/// The variables of these names that are set, with their values: those that the configuration passes on to commands.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub fn passed(names: &[String]) -> Vec<(String, OsString)> {
    names.iter().filter_map(|name| Some((name.clone(), std::env::var_os(name)?))).collect()
}

/// Whether a variable of this program's environment holds that very text.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub fn holds(name: &str, text: &OsString) -> bool {
    !text.is_empty() && std::env::var_os(name).is_some_and(|value| value == *text)
}

/// Where the person's own commands are looked for.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// The person's home directory, where there is one.
pub fn home() -> Option<PathBuf> {
    system_dir("HOME")
}

/// The person's time zone, where a variable says it.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub fn zone() -> Option<OsString> {
    std::env::var_os("TZ").filter(|zone| !zone.is_empty())
}

/// Whether a variable is set that somebody else's file names.
#[expect(clippy::disallowed_methods, reason = "this room reads the environment")]
pub(super) fn is_set(name: &str) -> bool {
    !name.is_empty() && std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
