//! Keeps handles: what is opened is never dropped. And hands the host more bytes at once than it should copy.

use hostile::{answer, raw, tool};
use serde::{Deserialize, Serialize};
use std::mem::forget;
use wasip2::{
    clocks::monotonic_clock,
    filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags},
};

#[derive(Deserialize)]
struct Many {
    path: String,
    count: u32,
}

#[derive(Serialize)]
struct Kept {
    kept: u32,
    refused: Option<String>,
}

tool!(LeakFiles, "leak_files", "Opens a path many times.", Many, |many| keep(&many, OpenFlags::empty()));
tool!(LeakDirectories, "leak_directories", "Opens a directory many times.", Many, |many| {
    keep(&many, OpenFlags::DIRECTORY)
});

fn keep(many: &Many, flags: OpenFlags) -> ringfence_tool::Result {
    let dir = raw::preopen(0);
    let mut kept = Kept { kept: 0, refused: None };
    while kept.kept < many.count {
        let opened = match &dir {
            Ok(dir) => dir.open_at(PathFlags::empty(), &many.path, flags, DescriptorFlags::READ),
            Err(code) => Err(*code),
        };
        match opened {
            Ok(handle) => forget(handle),
            Err(code) => {
                kept.refused = Some(code.name().to_owned());
                break;
            }
        }
        kept.kept += 1;
    }
    answer(&kept)
}

#[derive(Deserialize)]
struct Count {
    count: u32,
}

tool!(LeakPollables, "leak_pollables", "Asks for many pollables.", Count, |asked| {
    for _ in 0..asked.count {
        forget(monotonic_clock::subscribe_duration(1));
    }
    answer(&asked.count)
});

tool!(LeakStreams, "leak_streams", "Asks for standard output many times.", Count, |asked| {
    for _ in 0..asked.count {
        forget(wasip2::cli::stdout::get_stdout());
    }
    answer(&asked.count)
});

#[derive(Deserialize)]
struct Bulk {
    path: String,
    mib: usize,
}

tool!(CopyToFile, "copy_to_file", "Writes many bytes in one host call.", Bulk, |bulk| {
    let bytes = vec![b'x'; bulk.mib << 20];
    answer(&copy(&bulk.path, &bytes).map_err(|code| code.name()))
});

fn copy(path: &str, bytes: &[u8]) -> Result<u64, ErrorCode> {
    raw::preopen(0)?
        .open_at(PathFlags::empty(), path, OpenFlags::CREATE, DescriptorFlags::WRITE)?
        .write(bytes, 0)
}

ringfence_tool::export_tool!(LeakFiles, LeakDirectories, LeakPollables, LeakStreams, CopyToFile);
