//! The last look before the command: what must hold is read back from the kernel, not believed.

use super::{At as _, Step, wrong};
use crate::exec::wire::{Namespaces, Plan};
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// Namespaces that a command must not share with who started it.
const KINDS: [&str; 7] = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/// The namespaces of who starts commands.
#[derive(Debug, Default)]
pub(crate) struct Outside(Vec<(&'static str, PathBuf)>);

impl Outside {
    /// Those of this process.
    pub(crate) fn here() -> Self {
        Self(KINDS.into_iter().filter_map(|kind| Some((kind, own(kind)?))).collect())
    }
}

#[expect(clippy::disallowed_methods, reason = "the kernel's own files, in a process that does nothing else")]
fn own(kind: &str) -> Option<PathBuf> {
    fs::read_link(Path::new("/proc/self/ns").join(kind)).ok()
}

/// Everything that the level promises.
pub(super) fn all(plan: &Plan, outside: &Outside) -> Step {
    status()?;
    if plan.namespaces != Namespaces::None {
        for (kind, theirs) in &outside.0 {
            let shared = *kind == "user" && plan.namespaces == Namespaces::AsRoot;
            match own(kind) {
                Some(ours) if ours != *theirs || shared => {}
                Some(_) => return wrong("check", format!("the {kind} namespace is the host's")),
                None => return wrong("check", format!("the {kind} namespace cannot be told")),
            }
        }
    }
    // A file that would be new, at places where nothing must be written.
    let mut places = vec![Path::new("/"), Path::new("/usr"), Path::new("/etc"), Path::new("/proc/sys")];
    places.extend(plan.places.iter().filter(|place| !place.writable).map(|place| place.path.as_path()));
    for place in places {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let new = rustix::fs::open(place.join(".ringfence-check"), flags, Mode::RUSR);
        if new.is_ok() {
            return wrong("check", format!("{} can be written to", place.display()));
        }
    }
    Ok(())
}

/// Capabilities, privileges and filters, as the kernel tells them.
#[expect(clippy::disallowed_methods, reason = "the kernel's own files, in a process that does nothing else")]
fn status() -> Step {
    let status = fs::read_to_string("/proc/self/status").at("check")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        if field(set).and_then(|value| u64::from_str_radix(value, 16).ok()) != Some(0) {
            return wrong("check", format!("{set} is {}", field(set).unwrap_or("unknown")));
        }
    }
    if field("NoNewPrivs") != Some("1") {
        return wrong("check", "new privileges are possible");
    }
    if field("Seccomp") != Some("2") {
        return wrong("check", "no filter of system calls stands");
    }
    Ok(())
}
