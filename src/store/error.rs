//! Why the store cannot be used.

use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// The store cannot be opened, read or written. Whatever was in it is still in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file, or its directory, cannot be reached.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something is there that this program did not put there.
    #[error(
        "{path} {reason} and is left as it is; move it away, or set RINGFENCE_HOME to another directory",
        path = path.display()
    )]
    NotOurs {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Others could put a file of theirs in its place.
    #[error("{path} can be changed by other users; to end that: chmod go-w {quoted}", path = path.display(), quoted = quoted(path))]
    Exposed {
        /// The directory.
        path: PathBuf,
    },
    /// Written by a newer version of this program.
    #[error(
        "{path} was written by a newer ringfence (schema {found}; this one knows {known}) and is left as it is; \
         install the newer one, or set RINGFENCE_HOME to another directory",
        path = path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that is known here.
        known: i64,
    },
    /// Not readable as a database.
    #[error(
        "{path} is damaged ({problem}) and is left as it is; put a backup in its place, or begin anew with: \
         mv {quoted} {quoted}.damaged",
        path = path.display(),
        quoted = quoted(path)
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
    /// Another process kept it to itself for too long.
    #[error("{path} is in use by another process that does not let go of it; try again", path = path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// Anything else: a full disk, a read-only file.
    #[error("{path}: {problem}", path = path.display())]
    Failed {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        problem: String,
    },
}

impl StoreError {
    /// What an error of SQLite means to people.
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged { path, problem: error.to_string() }
            }
            _ => Self::Failed { path, problem: error.to_string() },
        }
    }
}

/// A path as a word for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    shlex::try_quote(&text).map(std::borrow::Cow::into_owned).unwrap_or(text)
}
