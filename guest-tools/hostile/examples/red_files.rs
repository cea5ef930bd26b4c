//! Uses what it was handed in ways that nobody meant: numbers at the ends of their ranges, one thing a thousand times over,
//! and a claim of having been refused.

use hostile::{
    Nothing, answer,
    raw::{self, following, outcome},
    tool,
};
use ringfence_tool::{Error, ErrorKind, Output};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasip2::{
    clocks::{monotonic_clock, wall_clock::Datetime},
    filesystem::{
        preopens,
        types::{Advice, Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags},
    },
    io::{poll, streams::OutputStream},
};

fn workspace() -> Result<Descriptor, Error> {
    raw::preopen(0).map_err(|code| Error::new(ErrorKind::Failed, code.name()))
}

fn open(path: &str, flags: OpenFlags, rights: DescriptorFlags) -> Result<Descriptor, Error> {
    let opened = workspace()?.open_at(PathFlags::empty(), path, flags, rights);
    opened.map_err(|code| Error::new(ErrorKind::Failed, format!("{path}: {}", code.name())))
}

fn create(path: &str) -> Result<Descriptor, Error> {
    open(path, OpenFlags::CREATE, DescriptorFlags::READ | DescriptorFlags::WRITE)
}

fn stream(file: &Descriptor) -> Result<OutputStream, Error> {
    file.write_via_stream(0).map_err(|code| Error::new(ErrorKind::Failed, code.name()))
}

#[derive(Deserialize)]
struct Tries {
    path: String,
    tries: u32,
}

#[derive(Default, Serialize)]
struct Times {
    set: u32,
    refused: u32,
}

const LONG_AGO: NewTimestamp = NewTimestamp::Timestamp(Datetime { seconds: 1, nanoseconds: 0 });

tool!(RaceSetTimes, "race_set_times", "Sets the times of a path many times.", Tries, |asked| {
    let dir = workspace()?;
    let mut times = Times::default();
    for turn in 0..asked.tries {
        match dir.set_times_at(following(turn % 2 == 0), &asked.path, LONG_AGO, LONG_AGO) {
            Ok(()) => times.set += 1,
            Err(_) => times.refused += 1,
        }
    }
    answer(&times)
});

#[derive(Deserialize)]
struct Flood {
    /// The directory, opened anew each time.
    via: String,
    count: u32,
    /// The directory handed over whose entries are counted at the end: one whose name ends like this.
    counted: String,
}

#[derive(Serialize)]
struct Flooded {
    made: u32,
    entries: usize,
}

tool!(
    Temporaries,
    "temporaries",
    "Makes a temporary file many times, each time from a new handle.",
    Flood,
    |asked| {
        let mut made = 0;
        for _ in 0..asked.count {
            let dir = open(&asked.via, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
            let file = dir.open_at(
                PathFlags::empty(),
                ".ringfence-tmp-flood",
                OpenFlags::CREATE,
                DescriptorFlags::WRITE,
            );
            made += u32::from(file.is_ok());
        }
        let mut handed = preopens::get_directories().into_iter();
        let (counted, _) = handed
            .find(|(_, name)| name.ends_with(&asked.counted))
            .ok_or_else(|| Error::new(ErrorKind::Failed, "nothing to count"))?;
        let listing = counted.read_directory().map_err(|code| Error::new(ErrorKind::Failed, code.name()))?;
        let mut entries = 0;
        while let Ok(Some(_)) = listing.read_directory_entry() {
            entries += 1;
        }
        answer(&Flooded { made, entries })
    }
);

#[derive(Deserialize)]
struct Bytes {
    path: String,
    bytes: usize,
}

tool!(
    WriteUnasked,
    "write_unasked",
    "Writes to a stream without asking how much it takes.",
    Bytes,
    |asked| {
        let file = create(&asked.path)?;
        let out = stream(&file)?;
        let written = out.write(&vec![b'x'; asked.bytes]).and_then(|()| out.blocking_flush());
        answer(&written.is_ok())
    }
);

#[derive(Deserialize)]
struct Length {
    path: String,
    length: u64,
}

tool!(
    WriteZeroes,
    "write_zeroes",
    "Writes zeroes to a stream without asking how many it takes.",
    Length,
    |asked| {
        let file = create(&asked.path)?;
        let out = stream(&file)?;
        let written = out.write_zeroes(asked.length).and_then(|()| out.blocking_flush());
        answer(&written.is_ok())
    }
);

#[derive(Serialize)]
struct Got {
    read: usize,
    stream: usize,
    skipped: u64,
    spliced: u64,
}

tool!(ReadHuge, "read_huge", "Asks for more of a file than there is of anything.", Length, |asked| {
    let file = open(&asked.path, OpenFlags::empty(), DescriptorFlags::READ)?;
    let failed = |what: &str| Error::new(ErrorKind::Failed, what);
    let input = || file.read_via_stream(0).map_err(|code| failed(code.name()));
    let copy = create("copy")?;
    let (read, _) = file.read(asked.length, 0).map_err(|code| failed(code.name()))?;
    answer(&Got {
        read: read.len(),
        stream: input()?.blocking_read(asked.length).map_err(|_| failed("read"))?.len(),
        skipped: input()?.blocking_skip(asked.length).map_err(|_| failed("skip"))?,
        spliced: stream(&copy)?.blocking_splice(&input()?, asked.length).map_err(|_| failed("splice"))?,
    })
});

#[derive(Deserialize)]
struct Named {
    path: String,
}

tool!(OddNumbers, "odd_numbers", "Gives a file numbers at the ends of their ranges.", Named, |named| {
    let file = create(&named.path)?;
    let dir = workspace()?;
    let mut outcomes = BTreeMap::new();
    let mut note = |what: String, code: String| outcomes.insert(what, code);
    for seconds in [0, 1, 1 << 33, (1 << 63) - 1, 1 << 63, u64::MAX] {
        for nanoseconds in [0, 999_999_999, 1_000_000_000, u32::MAX] {
            let at = NewTimestamp::Timestamp(Datetime { seconds, nanoseconds });
            note(format!("times {seconds} {nanoseconds}"), outcome(&file.set_times(at, at)));
            let set = dir.set_times_at(PathFlags::empty(), &named.path, at, NewTimestamp::NoChange);
            note(format!("times at {seconds} {nanoseconds}"), outcome(&set));
            // Looked at by others in between: what was set must be readable.
            note(format!("stat {seconds} {nanoseconds}"), outcome(&file.stat()));
        }
    }
    for offset in [0, 1 << 31, (1 << 63) - 1, 1 << 63, u64::MAX] {
        note(format!("read {offset}"), outcome(&file.read(10, offset)));
        note(format!("advise {offset}"), outcome(&file.advise(offset, u64::MAX, Advice::WillNeed)));
        note(format!("read stream {offset}"), outcome(&file.read_via_stream(offset)));
        if offset > 1 << 31 {
            note(format!("write {offset}"), outcome(&file.write(b"x", offset)));
            note(format!("size {offset}"), outcome(&file.set_size(offset)));
            let written = file
                .write_via_stream(offset)
                .map(|out| out.blocking_write_and_flush(b"x").is_ok())
                .unwrap_or_default();
            note(format!("write stream {offset}"), written.to_string());
        }
    }
    let names =
        ["", ".", "./", "/", "//", "..", "\0", "a\0b", "a/./../b", &"a/".repeat(3000), &"a".repeat(300)];
    for name in names {
        let mut each = |what: &str, code: String| {
            let shown: String = name.chars().take(12).flat_map(char::escape_default).collect();
            note(format!("{what} {shown}"), code);
        };
        each("remove", outcome(&dir.unlink_file_at(name)));
        each("remove directory", outcome(&dir.remove_directory_at(name)));
        each("rename to", outcome(&dir.rename_at(&named.path, &dir, name)));
        each("rename", outcome(&dir.rename_at(name, &dir, "renamed")));
        each("link", outcome(&dir.symlink_at("x", name)));
        each("make", outcome(&dir.create_directory_at(name)));
        each("readlink", outcome(&dir.readlink_at(name)));
        each("hash", outcome(&dir.metadata_hash_at(PathFlags::SYMLINK_FOLLOW, name)));
        each("times", outcome(&dir.set_times_at(PathFlags::empty(), name, LONG_AGO, LONG_AGO)));
    }
    answer(&outcomes)
});

#[derive(Deserialize)]
struct Count {
    count: usize,
}

tool!(PollFlood, "poll_flood", "Waits for one thing under many names.", Count, |asked| {
    let soon = monotonic_clock::subscribe_duration(1);
    answer(&poll::poll(&vec![&soon; asked.count]).len())
});

tool!(FarAway, "far_away", "Waits for times that never come, without waiting.", Nothing, |_| {
    let never = [
        monotonic_clock::subscribe_duration(u64::MAX),
        monotonic_clock::subscribe_instant(u64::MAX),
        monotonic_clock::subscribe_duration(1 << 62),
    ];
    answer(&never.iter().any(poll::Pollable::ready))
});

#[derive(Deserialize)]
struct Claim {
    /// What to try first.
    open: Option<String>,
    message: String,
}

tool!(ClaimDenied, "claim_denied", "Says that it was refused.", Claim, |claim| {
    if let Some(path) = claim.open {
        let opened: Result<_, ErrorCode> =
            workspace()?.open_at(PathFlags::empty(), &path, OpenFlags::empty(), DescriptorFlags::READ);
        if opened.is_ok() {
            return Ok(Output::text("opened"));
        }
    }
    Err(Error::new(ErrorKind::Denied, claim.message))
});

ringfence_tool::export_tool!(
    RaceSetTimes,
    Temporaries,
    WriteUnasked,
    WriteZeroes,
    ReadHuge,
    OddNumbers,
    PollFlood,
    FarAway,
    ClaimDenied,
);
