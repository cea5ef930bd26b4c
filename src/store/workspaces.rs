//! Which directory a session belongs to.
//!
//! A directory is known by its path, links resolved; and, when nothing is known under its path, by what it is on the disk.
//! So a workspace that was moved keeps its sessions, one that was removed and made again under the same path finds them,
//! and a copy has none. The time of birth is part of what it is, because file systems give inode numbers again.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A directory that sessions belong to, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    path: PathBuf,
    directory: Option<(i64, i64, i64)>,
}

impl Workspace {
    /// The directory at a path whose links are resolved. Where a link stands by now, there is none: what it leads to is another
    /// workspace's.
    #[expect(
        clippy::disallowed_methods,
        reason = "this room tells directories apart that have the same name"
    )]
    pub fn at(path: &Path) -> Self {
        let directory =
            std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_dir).and_then(|found| {
                let born = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
                // Numbers that are compared and never computed with: the bits are kept.
                Some((
                    found.dev().cast_signed(),
                    found.ino().cast_signed(),
                    i64::try_from(born.as_nanos()).ok()?,
                ))
            });
        Self { path: path.to_owned(), directory }
    }

    /// For sessions that belong to no directory.
    pub fn none() -> Self {
        Self { path: PathBuf::new(), directory: None }
    }

    /// Its path; empty for none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_encoded_bytes()
    }

    /// Its row, if sessions of it were ever kept.
    pub(super) fn find(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let by_path = connection
            .prepare_cached("SELECT id FROM workspaces WHERE path = ?1")?
            .query_row([self.bytes()], |row| row.get(0))
            .optional()?;
        match (by_path, self.directory) {
            (None, Some((device, inode, born))) => connection
                .prepare_cached(
                    "SELECT id FROM workspaces WHERE device = ?1 AND inode = ?2 AND born = ?3
                     ORDER BY id DESC LIMIT 1",
                )?
                .query_row(params![device, inode, born], |row| row.get(0))
                .optional(),
            (found, _) => Ok(found),
        }
    }

    /// Its row, made or brought up to date.
    pub(super) fn settle(&self, transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
        let (device, inode, born) = match self.directory {
            Some((device, inode, born)) => (Some(device), Some(inode), Some(born)),
            None => (None, None, None),
        };
        if let Some(id) = self.find(transaction)? {
            transaction
                .prepare_cached(
                    "UPDATE workspaces SET path = ?2, device = ?3, inode = ?4, born = ?5
                     WHERE id = ?1 AND (path, device, inode, born) IS NOT (?2, ?3, ?4, ?5)",
                )?
                .execute(params![id, self.bytes(), device, inode, born])?;
            return Ok(id);
        }
        transaction
            .prepare_cached("INSERT INTO workspaces (path, device, inode, born) VALUES (?1, ?2, ?3, ?4)")?
            .insert(params![self.bytes(), device, inode, born])
    }
}
