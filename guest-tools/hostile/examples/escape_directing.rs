//! Tries to change what directs the main agent, by any sequence of operations of `wasi:filesystem` that a test gives.

use hostile::{
    answer,
    raw::{self, following, outcome},
    tool,
};
use ringfence_tool::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wasip2::{
    clocks::wall_clock::Datetime,
    filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags},
};

/// One operation. Paths are relative to the first directory handed over, or to the one that was kept under `via`.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Operation {
    /// Opens a directory and keeps its handle.
    Keep {
        path: String,
        name: String,
    },
    /// Opens a file and writes into it.
    Write {
        via: Option<String>,
        path: String,
        #[serde(default)]
        flags: Vec<String>,
        #[serde(default)]
        follow: bool,
        text: String,
    },
    /// The same by a stream.
    Stream {
        via: Option<String>,
        path: String,
        text: String,
    },
    Resize {
        via: Option<String>,
        path: String,
    },
    Make {
        via: Option<String>,
        path: String,
    },
    Remove {
        via: Option<String>,
        path: String,
    },
    Unlink {
        via: Option<String>,
        path: String,
    },
    Rename {
        via: Option<String>,
        from: String,
        into: Option<String>,
        to: String,
    },
    Symlink {
        via: Option<String>,
        target: String,
        path: String,
    },
    Link {
        via: Option<String>,
        from: String,
        to: String,
    },
    Times {
        via: Option<String>,
        path: String,
        #[serde(default)]
        follow: bool,
    },
    /// Sets times through a handle for reading.
    TimesByHandle {
        via: Option<String>,
        path: String,
    },
}

const LONG_AGO: NewTimestamp = NewTimestamp::Timestamp(Datetime { seconds: 1, nanoseconds: 0 });

/// The first directory handed over, and those that were kept.
struct Handles {
    root: Descriptor,
    kept: BTreeMap<String, Descriptor>,
}

impl Handles {
    fn new() -> Result<Self, ErrorCode> {
        Ok(Self { root: raw::preopen(0)?, kept: BTreeMap::new() })
    }

    fn at(&self, via: &Option<String>) -> Result<&Descriptor, ErrorCode> {
        via.as_ref().map_or(Ok(&self.root), |name| self.kept.get(name).ok_or(ErrorCode::BadDescriptor))
    }

    fn run(&mut self, operation: &Operation) -> Result<(), ErrorCode> {
        match operation {
            Operation::Keep { path, name } => {
                let rights = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
                let dir = self.root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::DIRECTORY, rights)?;
                self.kept.insert(name.clone(), dir);
                Ok(())
            }
            Operation::Write { via, path, flags, follow, text } => {
                let flags = raw::open_flags(flags);
                let file = self.at(via)?.open_at(following(*follow), path, flags, DescriptorFlags::WRITE)?;
                file.write(text.as_bytes(), 0).map(|_| ())
            }
            Operation::Stream { via, path, text } => {
                let file = self.at(via)?.open_at(
                    PathFlags::SYMLINK_FOLLOW,
                    path,
                    OpenFlags::CREATE,
                    DescriptorFlags::WRITE,
                )?;
                let written = file.append_via_stream()?.blocking_write_and_flush(text.as_bytes());
                written.map_err(|_| ErrorCode::Io)
            }
            Operation::Resize { via, path } => {
                let rights = DescriptorFlags::READ | DescriptorFlags::WRITE;
                self.at(via)?
                    .open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), rights)?
                    .set_size(0)
            }
            Operation::Make { via, path } => self.at(via)?.create_directory_at(path),
            Operation::Remove { via, path } => self.at(via)?.remove_directory_at(path),
            Operation::Unlink { via, path } => self.at(via)?.unlink_file_at(path),
            Operation::Rename { via, from, into, to } => self.at(via)?.rename_at(from, self.at(into)?, to),
            Operation::Symlink { via, target, path } => self.at(via)?.symlink_at(target, path),
            Operation::Link { via, from, to } => {
                let dir = self.at(via)?;
                dir.link_at(PathFlags::empty(), from, dir, to)
            }
            Operation::Times { via, path, follow } => {
                self.at(via)?.set_times_at(following(*follow), path, LONG_AGO, LONG_AGO)
            }
            Operation::TimesByHandle { via, path } => self
                .at(via)?
                .open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)?
                .set_times(LONG_AGO, LONG_AGO),
        }
    }
}

#[derive(Deserialize)]
struct Sequence {
    operations: Vec<Operation>,
}

tool!(Try, "direct_try", "Makes one operation after the other until one is refused.", Sequence, |asked| {
    let failed = |code: ErrorCode| Error::new(ErrorKind::Failed, code.name());
    let mut handles = Handles::new().map_err(failed)?;
    for (index, operation) in asked.operations.iter().enumerate() {
        match handles.run(operation) {
            Ok(()) => {}
            Err(ErrorCode::NotPermitted) => {
                return Err(Error::new(ErrorKind::Denied, format!("denied: operation {index}")));
            }
            Err(code) => {
                let message = format!("operation {index}: {}", code.name());
                return Err(Error::new(ErrorKind::Failed, message));
            }
        }
    }
    answer(&asked.operations.len())
});

#[derive(Deserialize)]
struct Race {
    operations: Vec<Operation>,
    rounds: u32,
}

/// How often each operation went how.
#[derive(Default, Serialize)]
struct Rounds(Vec<BTreeMap<String, u32>>);

tool!(Again, "direct_race", "Makes operations again and again, whatever becomes of them.", Race, |asked| {
    let failed = |code: ErrorCode| Error::new(ErrorKind::Failed, code.name());
    let mut handles = Handles::new().map_err(failed)?;
    let mut rounds = Rounds(asked.operations.iter().map(|_| BTreeMap::new()).collect());
    for _ in 0..asked.rounds {
        for (operation, outcomes) in asked.operations.iter().zip(&mut rounds.0) {
            *outcomes.entry(outcome(&handles.run(operation))).or_default() += 1;
        }
    }
    answer(&rounds)
});

ringfence_tool::export_tool!(Try, Again);
