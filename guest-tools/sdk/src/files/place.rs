//! One place below a directory handed over, and what can be done there.

use super::{Reader, Workspace};
use crate::{Error, ErrorKind};
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

/// Links in a row that are followed before giving up.
const MAX_LINKS: usize = 40;

/// A path that lies, by its text, below a directory handed over.
#[derive(Debug, Clone)]
pub struct Place<'w> {
    workspace: &'w Workspace,
    root: usize,
    relative: String,
}

/// What kind of thing is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, pipe or socket.
    Special,
}

/// What is known of a thing without opening it.
#[derive(Debug, Clone, Copy)]
pub struct Stat {
    /// Its kind.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
    /// How many names it has.
    pub links: u64,
    /// When it was last changed: seconds and nanoseconds since 1970, zero where unknown.
    pub modified: (u64, u32),
}

/// One entry of a directory.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name; what is not UTF-8 in it is shown as U+FFFD, and such an entry cannot be opened.
    pub name: String,
    /// Its kind; a link is not followed.
    pub kind: Kind,
}

impl<'w> Place<'w> {
    pub(super) fn new(workspace: &'w Workspace, root: usize, relative: String) -> Self {
        Self { workspace, root, relative }
    }

    /// The path relative to its directory, `.` for the directory itself.
    pub fn relative(&self) -> &str {
        &self.relative
    }

    /// The path as people and models write it: relative to the workspace, or absolute in another directory.
    pub fn shown(&self) -> String {
        match self.workspace.root(self.root) {
            Some(root) => self.workspace.shown(root, &self.relative),
            None => self.relative.clone(),
        }
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.relative.rsplit('/').next().unwrap_or_default()
    }

    /// The place of an entry of this directory.
    pub fn child(&self, name: &str) -> Self {
        let relative =
            if self.relative == "." { name.to_owned() } else { format!("{}/{name}", self.relative) };
        Self { workspace: self.workspace, root: self.root, relative }
    }

    /// The directory that holds this place; `None` for a directory handed over.
    pub fn parent(&self) -> Option<Self> {
        let relative = match self.relative.rsplit_once('/') {
            Some((parent, _)) => parent.to_owned(),
            None if self.relative == "." => return None,
            None => ".".to_owned(),
        };
        Some(Self { workspace: self.workspace, root: self.root, relative })
    }

    pub(super) fn dir(&self) -> Result<&'w Descriptor, Error> {
        // Places are only made by `locate` and by walking from one.
        self.workspace
            .root(self.root)
            .map(|r| &r.dir)
            .ok_or_else(|| Error::new(ErrorKind::Failed, "no such directory handed over"))
    }

    /// What is here, following links.
    ///
    /// # Errors
    ///
    /// When nothing is here, or the host refuses.
    pub fn stat(&self) -> Result<Stat, Error> {
        match self.dir()?.stat_at(PathFlags::SYMLINK_FOLLOW, &self.relative) {
            Ok(stat) => Ok(stat.into()),
            Err(code) => Err(self.error(code)),
        }
    }

    /// What is here; a link is not followed. `None` when nothing is here.
    ///
    /// # Errors
    ///
    /// When the host refuses.
    pub fn try_stat(&self) -> Result<Option<Stat>, Error> {
        match self.dir()?.stat_at(PathFlags::empty(), &self.relative) {
            Ok(stat) => Ok(Some(stat.into())),
            Err(ErrorCode::NoEntry) => Ok(None),
            Err(code) => Err(self.error(code)),
        }
    }

    /// Follows the links at this place to where they lead, as far as that lies in the same directory handed over.
    ///
    /// # Errors
    ///
    /// When a link leads elsewhere, or in circles.
    pub fn resolve(&self) -> Result<Self, Error> {
        let mut place = self.clone();
        for _ in 0..MAX_LINKS {
            match place.try_stat()? {
                Some(Stat { kind: Kind::Link, .. }) => {}
                _ => return Ok(place),
            }
            let target = place.dir()?.readlink_at(&place.relative).map_err(|code| place.error(code))?;
            let outside = || {
                Error::new(
                    ErrorKind::Denied,
                    format!("denied: {} is a link that leads outside the workspace", self.shown()),
                )
            };
            if target.starts_with('/') {
                return Err(outside());
            }
            let base = place.parent().map(|p| p.relative).unwrap_or_default();
            let relative = super::normalise(&format!("{base}/{target}")).ok_or_else(outside)?;
            place = Self { workspace: self.workspace, root: self.root, relative };
        }
        Err(self.error(ErrorCode::Loop))
    }

    /// Opens the file that is here for reading, following links.
    ///
    /// # Errors
    ///
    /// When there is no regular file here, or the host refuses.
    pub fn open(&self) -> Result<Reader, Error> {
        let opened = self.dir()?.open_at(
            PathFlags::SYMLINK_FOLLOW,
            &self.relative,
            OpenFlags::empty(),
            DescriptorFlags::READ,
        );
        let file = opened.map_err(|code| self.error(code))?;
        let stat: Stat = file.stat().map_err(|code| self.error(code))?.into();
        match stat.kind {
            Kind::File => Ok(Reader::new(file, stat)),
            Kind::Directory => Err(self.error(ErrorCode::IsDirectory)),
            Kind::Link | Kind::Special => Err(self.not_regular()),
        }
    }

    /// All bytes of the file that is here.
    ///
    /// # Errors
    ///
    /// As [`Place::open`], and when the file is larger than `limit` bytes.
    pub fn read(&self, limit: u64) -> Result<Vec<u8>, Error> {
        let mut reader = self.open()?;
        if reader.stat().size > limit {
            return Err(self.too_large(reader.stat().size, limit));
        }
        let mut bytes = Vec::with_capacity(reader.stat().size as usize);
        std::io::copy(&mut std::io::Read::take(&mut reader, limit + 1), &mut bytes)
            .map_err(|e| self.io_error(&e))?;
        if bytes.len() as u64 > limit {
            return Err(self.too_large(bytes.len() as u64, limit));
        }
        Ok(bytes)
    }

    /// The entries of the directory that is here, by name.
    ///
    /// # Errors
    ///
    /// When there is no directory here, or the host refuses.
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        let opened = self.dir()?.open_at(
            PathFlags::SYMLINK_FOLLOW,
            &self.relative,
            OpenFlags::DIRECTORY,
            DescriptorFlags::READ,
        );
        let dir = opened.map_err(|code| self.error(code))?;
        let stream = dir.read_directory().map_err(|code| self.error(code))?;
        let mut entries = Vec::new();
        while let Some(entry) = stream.read_directory_entry().map_err(|code| self.error(code))? {
            entries.push(Entry { name: entry.name, kind: entry.type_.into() });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// One clear line for what the host answered.
    pub fn error(&self, code: ErrorCode) -> Error {
        let shown = self.shown();
        let (kind, message) = match code {
            ErrorCode::NoEntry => (ErrorKind::NotFound, self.missing()),
            ErrorCode::NotPermitted => {
                (ErrorKind::Denied, format!("denied: {shown}: not within what this tool holds"))
            }
            ErrorCode::Access => (
                ErrorKind::Denied,
                format!(
                    "denied: {shown}: the file system does not permit it (read-only file, or another user's)"
                ),
            ),
            ErrorCode::ReadOnly => (ErrorKind::Denied, format!("denied: {shown}: read-only file system")),
            ErrorCode::IsDirectory => (ErrorKind::Unsupported, format!("{shown} is a directory, not a file")),
            ErrorCode::NotDirectory => {
                (ErrorKind::NotFound, format!("{shown}: a part of this path is a file, not a directory"))
            }
            ErrorCode::Exist => (ErrorKind::Conflict, format!("{shown} exists already")),
            ErrorCode::InsufficientSpace | ErrorCode::Quota => {
                (ErrorKind::Failed, format!("{shown}: no space left on the device; nothing was changed"))
            }
            ErrorCode::FileTooLarge => {
                (ErrorKind::TooLarge, format!("{shown}: larger than the file system permits"))
            }
            ErrorCode::NameTooLong => (ErrorKind::InvalidArguments, format!("{shown}: the name is too long")),
            ErrorCode::Loop => (ErrorKind::Failed, format!("{shown}: links lead in circles")),
            ErrorCode::Invalid | ErrorCode::IllegalByteSequence => {
                (ErrorKind::InvalidArguments, format!("{shown}: not a usable path"))
            }
            code => (ErrorKind::Failed, format!("{shown}: {}", code.message())),
        };
        Error::new(kind, message)
    }

    /// One clear line for a failed read.
    pub fn io_error(&self, error: &std::io::Error) -> Error {
        Error::new(ErrorKind::Failed, format!("{}: {error}", self.shown()))
    }

    /// The line for something that is neither file nor directory.
    pub fn not_regular(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!("{} is a device, pipe or socket; only regular files can be used", self.shown()),
        )
    }

    /// The line for a file over a limit.
    pub fn too_large(&self, size: u64, limit: u64) -> Error {
        Error::new(
            ErrorKind::TooLarge,
            format!("{} has {size} bytes; the limit here is {limit} bytes", self.shown()),
        )
    }

    /// The line for nothing there, with the nearest name that is.
    fn missing(&self) -> String {
        let shown = self.shown();
        match self.nearest() {
            Some(near) => format!("{shown} does not exist; did you mean {near}?"),
            None => format!("{shown} does not exist"),
        }
    }

    /// The entry beside this place whose name is most like it.
    fn nearest(&self) -> Option<String> {
        let parent = self.parent()?;
        let name = self.name();
        let (score, entry) = parent
            .entries()
            .ok()?
            .into_iter()
            .map(|e| (strsim::damerau_levenshtein(&e.name.to_lowercase(), &name.to_lowercase()), e))
            .min_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)))?;
        (score <= 1 + name.chars().count() / 4).then(|| parent.child(&entry.name).shown())
    }
}

impl From<DescriptorStat> for Stat {
    fn from(stat: DescriptorStat) -> Self {
        Self {
            kind: stat.type_.into(),
            size: stat.size,
            links: stat.link_count,
            modified: stat
                .data_modification_timestamp
                .map(|t| (t.seconds, t.nanoseconds))
                .unwrap_or_default(),
        }
    }
}

impl From<DescriptorType> for Kind {
    fn from(kind: DescriptorType) -> Self {
        match kind {
            DescriptorType::RegularFile => Self::File,
            DescriptorType::Directory => Self::Directory,
            DescriptorType::SymbolicLink => Self::Link,
            _ => Self::Special,
        }
    }
}
