//! Writing: into a temporary file beside the target, then a rename, so that no reader and no crash ever sees half.

use super::{Kind, Place};
use crate::{Error, ErrorKind};
use wasip2::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

/// What temporary files are called; the host removes those that a broken-off call left.
const TEMPORARY: &str = ".ringfence-tmp-";

/// Bytes that are handed over at once.
const CHUNK: usize = 256 * 1024;

impl Place<'_> {
    /// Replaces or creates the file at this place with `content`, making missing directories. A link is followed to
    /// where it leads; permissions are kept (by the host, at the rename).
    ///
    /// # Errors
    ///
    /// When something other than a regular file with one name is here, it is read-only, or the host refuses. What was
    /// here is then still here.
    pub fn write(&self, content: &[u8]) -> Result<(), Error> {
        let target = self.resolve()?;
        target.check_replaceable()?;
        let Some(parent) = target.parent() else {
            return Err(target.error(ErrorCode::IsDirectory));
        };
        let missing = parent.missing_directories()?;
        let written = parent.create_directories().and_then(|()| parent.replace(&target, content));
        if written.is_err() {
            parent.remove_directories(&missing);
        }
        written
    }

    /// Writes `content` beside `target`, which lies in this directory, and renames it over that.
    fn replace(&self, target: &Self, content: &[u8]) -> Result<(), Error> {
        let unlikely = wasip2::random::insecure::get_insecure_random_u64();
        let temporary = self.child(&format!("{TEMPORARY}{unlikely:016x}"));
        let written = temporary
            .write_new(content)
            // Nobody asked for the temporary file: what failed is the target.
            .map_err(|code| target.error(code))
            .and_then(|()| temporary.rename_over(target).map_err(|code| target.error(code)));
        if written.is_err() {
            // Best effort: the write's own error is what the caller needs to hear.
            let _ = temporary.remove();
        }
        written
    }

    /// Checks that [`Place::write`] may replace what is here.
    ///
    /// # Errors
    ///
    /// When something other than a regular file with one name is here.
    pub fn check_replaceable(&self) -> Result<(), Error> {
        let Some(stat) = self.try_stat()? else { return Ok(()) };
        match stat.kind {
            Kind::File if stat.links > 1 => Err(Error::new(
                ErrorKind::Denied,
                format!(
                    "denied: {} has {} names (hard links), one of which may lie outside the workspace",
                    self.shown(),
                    stat.links
                ),
            )),
            Kind::File => Ok(()),
            Kind::Directory => Err(self.error(ErrorCode::IsDirectory)),
            Kind::Link | Kind::Special => Err(self.not_regular()),
        }
    }

    /// Removes the file at this place.
    ///
    /// # Errors
    ///
    /// When there is none, or the host refuses.
    pub fn remove(&self) -> Result<(), Error> {
        self.dir()?.unlink_file_at(self.relative()).map_err(|code| self.error(code))
    }

    /// This directory and those above it, as far as they are missing: what [`Place::write`] would make. Deepest first.
    ///
    /// # Errors
    ///
    /// When the host refuses to look.
    pub fn missing_directories(&self) -> Result<Vec<Self>, Error> {
        let mut missing = Vec::new();
        let mut next = Some(self.clone());
        while let Some(place) = next {
            if place.try_stat()?.is_some() {
                break;
            }
            next = place.parent();
            missing.push(place);
        }
        Ok(missing)
    }

    /// Removes directories that a write made before it failed, as far as nobody has put anything in them.
    pub fn remove_directories(&self, made: &[Self]) {
        for place in made {
            if let Ok(dir) = place.dir() {
                // Best effort: one that is missing was never made, one that is not empty is somebody's by now.
                let _ = dir.remove_directory_at(place.relative());
            }
        }
    }

    /// Makes this directory and those above it, as far as they are missing.
    fn create_directories(&self) -> Result<(), Error> {
        match self.try_stat()? {
            Some(stat) if stat.kind == Kind::Directory => return Ok(()),
            Some(stat) if stat.kind == Kind::Link && self.stat()?.kind == Kind::Directory => return Ok(()),
            Some(_) => return Err(self.error(ErrorCode::NotDirectory)),
            None => {}
        }
        if let Some(parent) = self.parent() {
            parent.create_directories()?;
        }
        match self.dir()?.create_directory_at(self.relative()) {
            Ok(()) | Err(ErrorCode::Exist) => Ok(()),
            Err(code) => Err(self.error(code)),
        }
    }

    fn write_new(&self, content: &[u8]) -> Result<(), ErrorCode> {
        let file = self.dir().map_err(|_| ErrorCode::Io)?.open_at(
            PathFlags::empty(),
            self.relative(),
            OpenFlags::CREATE | OpenFlags::EXCLUSIVE,
            DescriptorFlags::WRITE,
        )?;
        let mut offset = 0;
        while offset < content.len() {
            let end = content.len().min(offset + CHUNK);
            let written = file.write(content.get(offset..end).unwrap_or_default(), offset as u64)?;
            if written == 0 {
                return Err(ErrorCode::InsufficientSpace);
            }
            offset += written as usize;
        }
        Ok(())
    }

    fn rename_over(&self, target: &Self) -> Result<(), ErrorCode> {
        let (Ok(from), Ok(to)) = (self.dir(), target.dir()) else { return Err(ErrorCode::Io) };
        from.rename_at(self.relative(), to, target.relative())
    }
}
