//! Operations of `wasi:filesystem` exactly as asked, without any check of a path.

use serde::{Deserialize, Serialize};
use wasip2::filesystem::{
    preopens,
    types::{Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags},
};

/// Bytes that an attempt reads at most: enough to see a secret, little enough for an endless device.
const PIECE: u64 = 4096;

/// Entries that an attempt lists at most.
const ENTRIES: usize = 64;

/// How one operation went: `ok`, or the name of the code that the host answered with.
pub fn outcome<T>(result: &Result<T, ErrorCode>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(code) => code.name().to_owned(),
    }
}

/// The `index`th directory that the host hands over; the workspace is the first.
///
/// # Errors
///
/// `no-entry` when it hands over fewer.
pub fn preopen(index: usize) -> Result<Descriptor, ErrorCode> {
    // Where relative paths begin is the workspace; the order that the host hands over says nothing about it.
    let cwd = wasip2::cli::environment::initial_cwd();
    let mut directories = preopens::get_directories();
    directories.sort_by_key(|(_, name)| cwd.as_ref() != Some(name));
    directories.into_iter().nth(index).map(|(dir, _)| dir).ok_or(ErrorCode::NoEntry)
}

/// Whether a last link is followed.
pub fn following(follow: bool) -> PathFlags {
    if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() }
}

/// The four open flags by name; an unknown name sets nothing.
pub fn open_flags(names: &[String]) -> OpenFlags {
    names.iter().fold(OpenFlags::empty(), |flags, name| {
        flags
            | match name.as_str() {
                "create" => OpenFlags::CREATE,
                "directory" => OpenFlags::DIRECTORY,
                "exclusive" => OpenFlags::EXCLUSIVE,
                "truncate" => OpenFlags::TRUNCATE,
                _ => OpenFlags::empty(),
            }
    })
}

/// The rights of a handle by name; an unknown name sets nothing.
pub fn rights(names: &[String]) -> DescriptorFlags {
    names.iter().fold(DescriptorFlags::empty(), |flags, name| {
        flags
            | match name.as_str() {
                "read" => DescriptorFlags::READ,
                "write" => DescriptorFlags::WRITE,
                "mutate" => DescriptorFlags::MUTATE_DIRECTORY,
                _ => DescriptorFlags::empty(),
            }
    })
}

/// What to open, and how.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Attempt {
    /// Which directory handed over.
    #[serde(default)]
    pub preopen: usize,
    /// A directory to open first; the path is then relative to its handle.
    pub via: Option<String>,
    /// The path, as it is.
    pub path: String,
    /// Whether to follow a last link.
    #[serde(default)]
    pub follow: bool,
    /// Open flags: `create`, `directory`, `exclusive`, `truncate`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Rights asked for: `read`, `write`, `mutate`.
    #[serde(default)]
    pub rights: Vec<String>,
    /// What to write into it once it is open.
    pub write: Option<String>,
}

/// What came of opening something.
#[derive(Debug, Default, Serialize)]
pub struct Opened {
    /// How opening went.
    pub outcome: String,
    /// What it is.
    pub kind: Option<String>,
    /// The first bytes of it.
    pub text: Option<String>,
    /// Names in it.
    pub entries: Option<Vec<String>>,
    /// How writing went, where asked for.
    pub written: Option<String>,
}

/// Opens the directory that an attempt starts from.
///
/// # Errors
///
/// What the host answers.
pub fn start(index: usize, via: Option<&str>) -> Result<Descriptor, ErrorCode> {
    let root = preopen(index)?;
    let Some(via) = via else { return Ok(root) };
    let open = |rights| root.open_at(PathFlags::SYMLINK_FOLLOW, via, OpenFlags::DIRECTORY, rights);
    // A handle that may change its directory is the better start; a read-only one will do.
    open(DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY).or_else(|_| open(DescriptorFlags::READ))
}

/// Opens as asked, reads what can be read, writes where asked to.
pub fn open(attempt: &Attempt) -> Opened {
    let opened = start(attempt.preopen, attempt.via.as_deref()).and_then(|dir| {
        dir.open_at(
            following(attempt.follow),
            &attempt.path,
            open_flags(&attempt.flags),
            rights(&attempt.rights),
        )
    });
    let mut result = Opened { outcome: outcome(&opened), ..Opened::default() };
    let Ok(handle) = opened else { return result };
    result.kind = handle.get_type().ok().map(|kind| kind_name(kind).to_owned());
    result.text = read(&handle);
    result.entries = entries(&handle);
    result.written = attempt.write.as_ref().map(|text| outcome(&handle.write(text.as_bytes(), 0)));
    result
}

/// The first bytes behind a handle, where it gives any.
pub fn read(handle: &Descriptor) -> Option<String> {
    let (bytes, _) = handle.read(PIECE, 0).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Names behind a handle, where it is a directory.
pub fn entries(handle: &Descriptor) -> Option<Vec<String>> {
    let stream = handle.read_directory().ok()?;
    let mut names = Vec::new();
    while names.len() < ENTRIES {
        match stream.read_directory_entry() {
            Ok(Some(entry)) => names.push(entry.name),
            Ok(None) | Err(_) => break,
        }
    }
    names.sort();
    Some(names)
}

/// What a thing is, in a word.
pub fn kind_name(kind: DescriptorType) -> &'static str {
    match kind {
        DescriptorType::Unknown => "unknown",
        DescriptorType::BlockDevice => "block-device",
        DescriptorType::CharacterDevice => "character-device",
        DescriptorType::Directory => "directory",
        DescriptorType::Fifo => "fifo",
        DescriptorType::SymbolicLink => "symbolic-link",
        DescriptorType::RegularFile => "regular-file",
        DescriptorType::Socket => "socket",
    }
}
