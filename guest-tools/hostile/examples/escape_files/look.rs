//! Opening and looking at things.

use hostile::{
    Nothing, answer,
    raw::{self, Attempt, Opened, following, outcome, preopen},
    tool,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wasip2::filesystem::{
    preopens,
    types::{Descriptor, DescriptorFlags, DescriptorStat, ErrorCode, OpenFlags, PathFlags},
};

tool!(Context, "raw_context", "Tells what the host hands over besides the arguments.", Nothing, |_| context(
));
tool!(Open, "raw_open", "Opens one path as asked.", Attempt, |attempt| answer(&raw::open(&attempt)));
tool!(OpenAll, "raw_open_all", "Opens one path in every way.", EveryWay, |ways| answer(&open_all(&ways)));
tool!(Stat, "raw_stat", "Looks at one path without opening it.", Named, |named| answer(&stat(&named)));

#[derive(Serialize)]
struct HandedOver {
    preopens: Vec<String>,
    environment: Vec<(String, String)>,
    arguments: Vec<String>,
    cwd: Option<String>,
    stdin: String,
    terminal: bool,
}

fn context() -> ringfence_tool::Result {
    let stdin = wasip2::cli::stdin::get_stdin().blocking_read(4096).unwrap_or_default();
    answer(&HandedOver {
        preopens: preopens::get_directories().into_iter().map(|(_, name)| name).collect(),
        environment: wasip2::cli::environment::get_environment(),
        arguments: wasip2::cli::environment::get_arguments(),
        cwd: wasip2::cli::environment::initial_cwd(),
        stdin: String::from_utf8_lossy(&stdin).into_owned(),
        terminal: wasip2::cli::terminal_stdin::get_terminal_stdin().is_some(),
    })
}

#[derive(Deserialize)]
pub(crate) struct EveryWay {
    #[serde(default)]
    preopen: usize,
    via: Option<String>,
    path: String,
    /// Written through every handle that takes it; without it, only ways that change nothing are tried.
    mark: Option<String>,
}

/// What came of all ways together.
#[derive(Default, Serialize)]
struct Ways {
    tried: u32,
    opened: u32,
    written: u32,
    /// Every text and list of names that was seen.
    seen: BTreeSet<String>,
    /// How often each outcome came.
    outcomes: BTreeMap<String, u32>,
}

fn open_all(asked: &EveryWay) -> Ways {
    let mut ways = Ways::default();
    let dir = match raw::start(asked.preopen, asked.via.as_deref()) {
        Ok(dir) => dir,
        Err(code) => {
            ways.outcomes.insert(code.name().to_owned(), 1);
            return ways;
        }
    };
    let changing_flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
    let changing_rights = DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY;
    for follow in [true, false] {
        for flags in (0..16).map(OpenFlags::from_bits_truncate) {
            for rights in (0..64).map(DescriptorFlags::from_bits_truncate) {
                let changing = flags.intersects(changing_flags) || rights.intersects(changing_rights);
                if asked.mark.is_some() || !changing {
                    let opened = dir.open_at(following(follow), &asked.path, flags, rights);
                    ways.count(opened, asked.mark.as_deref());
                }
            }
        }
    }
    ways
}

impl Ways {
    fn count(&mut self, opened: Result<Descriptor, ErrorCode>, mark: Option<&str>) {
        self.tried += 1;
        *self.outcomes.entry(outcome(&opened)).or_default() += 1;
        let Ok(handle) = opened else { return };
        self.opened += 1;
        self.seen.extend(raw::read(&handle).filter(|text| !text.is_empty()));
        self.seen.extend(raw::entries(&handle).map(|names| names.join("\n")));
        if let Some(mark) = mark {
            self.written += u32::from(handle.write(mark.as_bytes(), 0).is_ok());
            let inside = handle.open_at(
                PathFlags::empty(),
                mark,
                OpenFlags::CREATE,
                DescriptorFlags::WRITE | DescriptorFlags::READ,
            );
            self.written += u32::from(inside.is_ok());
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Named {
    #[serde(default)]
    preopen: usize,
    path: String,
}

#[derive(Serialize)]
struct Seen {
    followed: Opened,
    itself: Opened,
    hash_followed: String,
    hash_itself: String,
    readlink: String,
    target: Option<String>,
    size: Option<u64>,
}

fn stat(named: &Named) -> Result<Seen, String> {
    let dir = preopen(named.preopen).map_err(|code| code.name().to_owned())?;
    let look = |follow| dir.stat_at(following(follow), &named.path);
    let hash = |follow| outcome(&dir.metadata_hash_at(following(follow), &named.path));
    let link = dir.readlink_at(&named.path);
    Ok(Seen {
        followed: brief(&look(true)),
        itself: brief(&look(false)),
        hash_followed: hash(true),
        hash_itself: hash(false),
        readlink: outcome(&link),
        target: link.ok(),
        size: look(true).ok().map(|stat| stat.size),
    })
}

fn brief(stat: &Result<DescriptorStat, ErrorCode>) -> Opened {
    Opened {
        outcome: outcome(stat),
        kind: stat.as_ref().ok().map(|stat| raw::kind_name(stat.type_).to_owned()),
        ..Opened::default()
    }
}
