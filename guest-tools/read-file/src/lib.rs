//! The `read_file` tool: lines of a text file, numbered.
//!
//! A file is read once from start to end, piece by piece: its fingerprint and its number of lines need all of it, but only
//! the lines asked for are held.

mod format;
mod page;
mod scan;

use ringfence_tool::files::{Kind, Place, Workspace};
use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, ErrorKind, Output, Tool};
use scan::Scan;

/// Bytes of a file. Larger ones are refused before anything is read.
const MAX_BYTES: u64 = 100 * 1024 * 1024;

struct ReadFile;

/// `force` is not here: it tells the host to show again what it would only call unchanged.
#[derive(serde::Deserialize)]
struct Arguments {
    path: String,
    #[serde(default = "first_line")]
    offset: u64,
    #[serde(default = "limit")]
    limit: u64,
}

fn first_line() -> u64 {
    1
}

fn limit() -> u64 {
    2000
}

impl Tool for ReadFile {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let place = workspace.locate(&arguments.path)?;
        check(&place)?;
        if let Some(what) = format::not_readable_yet(place.name()) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{}: {what} are not readable yet; only text files are", place.shown()),
            ));
        }
        let scan = scan(&place, arguments.offset, arguments.limit)?;
        if !scan.is_text() && !format::is_text_name(place.name()) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{} is a binary file; only text files can be read", place.shown()),
            ));
        }
        let shown = one_line(&place.shown()).into_owned();
        let page = page::show(&scan, &shown)?;
        Ok(Output::text(page.text).structured(serde_json::json!({
            "path": place.shown(),
            "fingerprint": scan.fingerprint(),
            "first_line": page.first,
            "last_line": page.last,
            "total_lines": scan.total_lines(),
        })))
    }
}

/// Refuses what is not to be opened at all.
fn check(place: &Place<'_>) -> Result<(), Error> {
    let stat = place.stat()?;
    match stat.kind {
        Kind::File if stat.size > MAX_BYTES => Err(place.too_large(stat.size, MAX_BYTES)),
        Kind::File => Ok(()),
        Kind::Directory => Err(Error::new(
            ErrorKind::Unsupported,
            format!("{} is a directory, not a file; use list_dir to see what is in it", place.shown()),
        )),
        // Opening it fails, and the host sees for itself what was tried.
        Kind::Link | Kind::Special => Ok(()),
    }
}

fn scan(place: &Place<'_>, offset: u64, limit: u64) -> Result<Scan, Error> {
    let mut reader = place.open()?;
    let mut scan = Scan::new(offset, limit);
    let mut piece = vec![0; 64 * 1024];
    let mut read: u64 = 0;
    loop {
        let count = std::io::Read::read(&mut reader, &mut piece).map_err(|e| place.io_error(&e))?;
        if count == 0 {
            break;
        }
        read += count as u64;
        // The file may grow while it is read.
        if read > MAX_BYTES {
            return Err(place.too_large(read, MAX_BYTES));
        }
        scan.add(piece.get(..count).unwrap_or_default());
    }
    scan.end();
    Ok(scan)
}

ringfence_tool::export_tool!(ReadFile);
