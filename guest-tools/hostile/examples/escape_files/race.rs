//! Opening one path again and again, while somebody swaps what it names.

use hostile::{answer, raw, raw::following, tool};
use serde::{Deserialize, Serialize};
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags};

tool!(Read, "race_read", "Reads a path many times.", ReadMany, |asked| answer(&read_many(&asked)));
tool!(Write, "race_write", "Writes a path many times.", WriteMany, |asked| answer(&write_many(&asked)));

#[derive(Deserialize)]
pub(crate) struct ReadMany {
    path: String,
    tries: u32,
    /// What must never be seen.
    secret: String,
    /// What the file inside holds.
    honest: String,
}

#[derive(Default, Serialize)]
struct Reads {
    tries: u32,
    secret: u32,
    honest: u32,
    other: u32,
    refused: u32,
}

fn read_many(asked: &ReadMany) -> Result<Reads, String> {
    let dir = raw::preopen(0).map_err(|code| code.name().to_owned())?;
    let mut reads = Reads::default();
    for turn in 0..asked.tries {
        reads.tries += 1;
        let opened =
            dir.open_at(following(turn % 2 == 0), &asked.path, OpenFlags::empty(), DescriptorFlags::READ);
        match opened.ok().and_then(|file| raw::read(&file)) {
            Some(text) if text.contains(&asked.secret) => reads.secret += 1,
            Some(text) if text.contains(&asked.honest) => reads.honest += 1,
            Some(_) => reads.other += 1,
            None => reads.refused += 1,
        }
    }
    Ok(reads)
}

#[derive(Deserialize)]
pub(crate) struct WriteMany {
    path: String,
    tries: u32,
    text: String,
}

#[derive(Default, Serialize)]
struct Writes {
    tries: u32,
    written: u32,
    refused: u32,
}

/// Ways to open for writing that together reach an existing file and create a missing one.
const WAYS: [OpenFlags; 3] =
    [OpenFlags::empty(), OpenFlags::CREATE, OpenFlags::CREATE.union(OpenFlags::TRUNCATE)];

fn write_many(asked: &WriteMany) -> Result<Writes, String> {
    let dir = raw::preopen(0).map_err(|code| code.name().to_owned())?;
    let mut writes = Writes::default();
    for (turn, flags) in (0..asked.tries).zip(WAYS.into_iter().cycle()) {
        writes.tries += 1;
        match write_once(&dir, asked, turn % 2 == 0, flags) {
            Ok(_) => writes.written += 1,
            Err(_) => writes.refused += 1,
        }
    }
    Ok(writes)
}

fn write_once(dir: &Descriptor, asked: &WriteMany, follow: bool, flags: OpenFlags) -> Result<u64, ErrorCode> {
    dir.open_at(following(follow), &asked.path, flags, DescriptorFlags::WRITE)?
        .write(asked.text.as_bytes(), 0)
}
