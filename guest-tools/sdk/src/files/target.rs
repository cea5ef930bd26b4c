//! A file that a call is about to create or change, and the record of what was done to it.

use super::{Fingerprint, Place, Reader, Workspace, fingerprint};
use crate::{Error, ErrorKind, Output};
use std::io::Read as _;
use wasip2::filesystem::types::PathFlags;

/// Up to here a file is read to tell its content; `read_file` reads none that are larger.
const MAX_MARKED: u64 = 100 * 1024 * 1024;

/// A file that a call is about to create or change.
#[derive(Debug, Clone)]
pub struct Target<'w> {
    named: Place<'w>,
    place: Place<'w>,
    exists: bool,
}

/// Which file a target is, however it is spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The file itself, or the nearest directory above it that exists.
    known: (u64, u64),
    /// What is still to be made below that.
    rest: String,
}

/// What was done to one file.
#[derive(Debug)]
pub struct Change {
    /// The file, as people and models write it.
    pub path: String,
    /// The mark of its content before; `None` when it was created.
    pub before: Option<String>,
    /// The mark of its content now.
    pub after: String,
}

impl Workspace {
    /// The file that a path argument names, for writing.
    ///
    /// # Errors
    ///
    /// As [`Workspace::locate`], and when something other than a regular file with one name is there.
    pub fn target(&self, path: &str) -> Result<Target<'_>, Error> {
        let named = self.locate(path)?;
        if path.ends_with('/') || named.relative() == "." {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{path} names a directory; name a file in it"),
            ));
        }
        let place = named.resolve()?;
        place.check_replaceable()?;
        let exists = place.try_stat()?.is_some();
        Ok(Target { named, place, exists })
    }
}

impl<'w> Target<'w> {
    /// The path as people and models write it.
    pub fn shown(&self) -> String {
        self.named.shown()
    }

    /// Where the file is, links followed.
    pub fn place(&self) -> &Place<'w> {
        &self.place
    }

    /// Whether there is a file.
    pub fn exists(&self) -> bool {
        self.exists
    }

    /// The file's text.
    ///
    /// # Errors
    ///
    /// When there is no file, it is larger than `limit` bytes, or not UTF-8.
    pub fn read_text(&self, limit: u64) -> Result<String, Error> {
        String::from_utf8(self.named.read(limit)?).map_err(|error| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{} is not UTF-8 text (byte {} is not); it was not changed. Only UTF-8 files can be edited",
                    self.shown(),
                    error.utf8_error().valid_up_to()
                ),
            )
        })
    }

    /// The mark of the file's content; `None` when there is no file. The same as [`fingerprint`], without holding it.
    ///
    /// # Errors
    ///
    /// When the host refuses to read it.
    pub fn mark(&self) -> Result<Option<String>, Error> {
        if !self.exists {
            return Ok(None);
        }
        let mut reader: Reader = self.named.open()?;
        let size = reader.stat().size;
        if size > MAX_MARKED {
            // Different from every mark of a content that was read, which is all that it has to be.
            return Ok(Some(format!("unread-{size}")));
        }
        let mut mark = Fingerprint::default();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let count = reader.read(&mut piece).map_err(|e| self.named.io_error(&e))?;
            if count == 0 {
                return Ok(Some(mark.finish()));
            }
            mark.add(piece.get(..count).unwrap_or_default());
        }
    }

    /// Writes the file and records the change.
    ///
    /// # Errors
    ///
    /// As [`Place::write`].
    pub fn write(&self, before: Option<String>, content: &[u8]) -> Result<Change, Error> {
        self.place.write(content)?;
        Ok(Change { path: self.shown(), before, after: fingerprint(content) })
    }

    /// Which file this is: two spellings of one path, or two links to one file, are the same.
    ///
    /// # Errors
    ///
    /// When the host does not tell.
    pub fn identity(&self) -> Result<Identity, Error> {
        let mut place = self.place.clone();
        let mut rest = Vec::new();
        loop {
            if place.try_stat()?.is_some() {
                let hash = place
                    .dir()?
                    .metadata_hash_at(PathFlags::SYMLINK_FOLLOW, place.relative())
                    .map_err(|code| place.error(code))?;
                rest.reverse();
                return Ok(Identity { known: (hash.lower, hash.upper), rest: rest.join("/") });
            }
            rest.push(place.name().to_owned());
            place = place
                .parent()
                .ok_or_else(|| self.place.error(wasip2::filesystem::types::ErrorCode::NoEntry))?;
        }
    }
}

impl Output {
    /// One text, and what was done to files as the part for programs.
    pub fn changed(text: impl Into<String>, changes: &[Change]) -> Self {
        let changes: Vec<_> = changes
            .iter()
            .map(|c| serde_json::json!({ "path": c.path, "before": c.before, "after": c.after }))
            .collect();
        Self::text(text).structured(serde_json::json!({ "changes": changes }))
    }
}
