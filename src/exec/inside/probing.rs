//! What there is on this machine, tried out: each step of the sandbox once, in a process that is thrown away.

use super::{At as _, Failure, Step, filters, identity, landlock, sys, view};
use crate::exec::probe::{Feature, Found, Missing};
use crate::exec::spec::Most;
use crate::exec::wire::{Namespaces, Plan};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// The bits of `clone` for a set of namespaces.
pub(in crate::exec) fn clone_flags(namespaces: Namespaces) -> u64 {
    let bits = |flags: &[libc::c_int]| flags.iter().map(|flag| u64::from(flag.unsigned_abs())).sum::<u64>();
    let view = bits(&[
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ]);
    match namespaces {
        Namespaces::All => view + bits(&[libc::CLONE_NEWUSER]),
        Namespaces::AsRoot => view,
        Namespaces::None => 0,
    }
}

/// Everything but control groups, which the host looks for itself.
pub(in crate::exec) fn probe() -> Vec<Found> {
    let mut found = trial(Namespaces::All);
    if found.iter().any(|found| found.feature == Feature::UserNamespace && found.state.is_err()) {
        // Root of a container has another way.
        let as_root = trial(Namespaces::AsRoot);
        let user = found.into_iter().filter(|found| found.feature == Feature::UserNamespace);
        found =
            user.chain(as_root.into_iter().filter(|found| found.feature != Feature::UserNamespace)).collect();
    }
    let landlock = match sys::landlock_version() {
        Ok(version) if version >= landlock::LEAST => Ok(format!("ABI {version}")),
        Ok(version) => Err(missing("version", Errno::NOSYS, format!("ABI {version} is too old"))),
        Err(error) => Err(missing("landlock_create_ruleset", error, String::new())),
    };
    found.push(Found { feature: Feature::Landlock, state: landlock });
    found
}

fn missing(step: &str, errno: Errno, cause: String) -> Missing {
    Missing { errno: errno.raw_os_error(), step: step.to_owned(), cause, fix: String::new() }
}

/// Tries the steps within one process; what it found comes through a pipe.
fn trial(namespaces: Namespaces) -> Vec<Found> {
    let namespace = match namespaces {
        Namespaces::All => Feature::UserNamespace,
        _ => Feature::Namespaces,
    };
    let all = |missing: &Missing| {
        [
            namespace,
            Feature::Namespaces,
            Feature::ReadOnlyMounts,
            Feature::PrivateProc,
            Feature::Seccomp,
            Feature::ProcessBound,
        ]
        .into_iter()
        .map(|feature| Found { feature, state: Err(missing.clone()) })
        .collect::<Vec<_>>()
    };
    let Ok((read, write)) = rustix::pipe::pipe() else {
        return all(&missing("pipe", Errno::MFILE, String::new()));
    };
    let outside = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    match sys::fork(clone_flags(namespaces), None) {
        Err(error) => {
            let mut found = all(&missing("clone", error, String::new()));
            // Filters need no namespace, and are tried on their own.
            found.retain(|found| found.feature != Feature::Seccomp);
            found.push(Found { feature: Feature::Seccomp, state: filters_alone() });
            found
        }
        Ok(sys::Forked::Child) => {
            drop(read);
            let found = steps(namespaces, outside);
            let text = serde_json::to_vec(&found).unwrap_or_default();
            let _ = rustix::io::write(&write, &text);
            sys::leave(0)
        }
        Ok(sys::Forked::Parent { .. }) => {
            drop(write);
            let text = read_all(&read);
            serde_json::from_slice(&text)
                .unwrap_or_else(|_| all(&missing("probe", Errno::IO, "the trial ended early".to_owned())))
        }
    }
}

fn read_all(from: &OwnedFd) -> Vec<u8> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = rustix::io::read(from, &mut part) {
        text.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    text
}

fn filters_alone() -> Result<String, Missing> {
    let Ok((read, write)) = rustix::pipe::pipe() else {
        return Err(missing("pipe", Errno::MFILE, String::new()));
    };
    match sys::fork(0, None) {
        Err(error) => Err(missing("fork", error, String::new())),
        Ok(sys::Forked::Child) => {
            drop(read);
            let _ = rustix::io::write(
                &write,
                &serde_json::to_vec(&filter(&plan(Namespaces::None))).unwrap_or_default(),
            );
            sys::leave(0)
        }
        Ok(sys::Forked::Parent { .. }) => {
            drop(write);
            serde_json::from_slice(&read_all(&read))
                .unwrap_or_else(|_| Err(missing("probe", Errno::IO, "the trial ended early".to_owned())))
        }
    }
}

fn filter(plan: &Plan) -> Result<String, Missing> {
    let stood =
        rustix::thread::set_no_new_privs(true).at("no-new-privileges").and_then(|()| filters::stand(plan));
    stood.map(|()| "filters".to_owned()).map_err(|failure| told(&failure))
}

fn told(failure: &Failure) -> Missing {
    missing(failure.step, failure.errno, failure.detail.clone())
}

/// A plan of nothing, for trying.
fn plan(namespaces: Namespaces) -> Plan {
    Plan {
        namespaces,
        landlock: false,
        filters: true,
        group: false,
        home: PathBuf::from("/home/agent"),
        places: Vec::new(),
        argv: Vec::new(),
        directory: PathBuf::from("/"),
        environment: Vec::new(),
        most: Most::default(),
        terminal: false,
        outside: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        owner: (0, 0),
    }
}

fn steps(namespaces: Namespaces, outside: (u32, u32)) -> Vec<Found> {
    let plan = Plan { outside, ..plan(namespaces) };
    let mut found = Vec::new();
    let mut note = |feature: Feature, step: Step<String>| {
        let state = step.map_err(|failure| told(&failure));
        let held = state.is_ok();
        found.push(Found { feature, state });
        held
    };
    if namespaces == Namespaces::All
        && !note(Feature::UserNamespace, identity::map(&plan).map(|()| format!("uid {}", identity::INSIDE)))
    {
        let not = || Failure { step: "uid-map", errno: Errno::PERM, detail: String::new() };
        for feature in
            [Feature::Namespaces, Feature::ReadOnlyMounts, Feature::PrivateProc, Feature::ProcessBound]
        {
            note(feature, Err(not()));
        }
        note(Feature::Seccomp, filters::stand(&plan).map(|()| "filters".to_owned()));
        return found;
    }
    note(Feature::Namespaces, Ok("mnt pid net ipc uts cgroup".to_owned()));
    let proc = proc_trial();
    note(Feature::ReadOnlyMounts, mount_trial().map(|()| "mount_setattr, recursive".to_owned()));
    let bound = proc.as_ref().is_ok_and(|proc| view::bound_processes(proc, 400));
    note(Feature::PrivateProc, proc.map(|_| "own processes alone".to_owned()));
    let old = || Failure { step: "pid-max", errno: Errno::PERM, detail: String::new() };
    note(Feature::ProcessBound, if bound { Ok("pid_max of the namespace".to_owned()) } else { Err(old()) });
    let filtered =
        rustix::thread::set_no_new_privs(true).at("no-new-privileges").and_then(|()| filters::stand(&plan));
    note(Feature::Seccomp, filtered.map(|()| "filters".to_owned()));
    found
}

fn proc_trial() -> Step<OwnedFd> {
    view::filesystem("proc", &[], MountAttrFlags::MOUNT_ATTR_NOSUID)
}

fn mount_trial() -> Step {
    use rustix::mount::{MountPropagationFlags, OpenTreeFlags};
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).at("mounts-private")?;
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let usr = rustix::mount::open_tree(rustix::fs::CWD, Path::new("/usr"), flags).at("open_tree")?;
    sys::set_mount(usr.as_fd(), sys::RDONLY, true).at("mount_setattr")
}
