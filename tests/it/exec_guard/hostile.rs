//! A workspace that is out to harm whoever looks at it.

use super::{Yard, about, gone, moved};
use crate::support::Snapshot;
use ringfence::exec::Before;
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, mknodat, openat, renameat_with};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A directory of the workspace, without following links: what disturbs others must not be led out itself.
fn inside(y: &Yard, path: &str) -> Option<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = openat(&y.workspace, ".", flags, Mode::empty()).ok()?;
    for part in path.split('/').filter(|part| !part.is_empty()) {
        dir = openat(&dir, part, flags, Mode::empty()).ok()?;
    }
    Some(dir)
}

/// Exchanges a name in a directory for a link at the workspace's root, or back. Whether that was done.
fn exchange(y: &Yard, dir: &str, name: &str, link: &str) -> bool {
    inside(y, dir)
        .is_some_and(|dir| renameat_with(dir, name, &y.workspace, link, RenameFlags::EXCHANGE).is_ok())
}

#[test]
fn nothing_outside_is_touched_while_directories_are_swapped_for_links() {
    let y = Yard::new();
    let outside = y.outside();
    for path in [
        "sub/.git/hooks/pre-commit",
        "sub/.vscode/tasks.json",
        "sub/AGENTS.md",
        ".git/config",
        ".vscode/x",
        "AGENTS.md",
    ] {
        let path = outside.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "OUTSIDE").unwrap();
    }
    let fill = |part: &str| {
        for path in
            ["sub/.git/hooks/pre-commit", "sub/.vscode/tasks.json", "sub/AGENTS.md", "sub/.git/commondir"]
        {
            y.write(format!("{part}/{path}"), "inside");
        }
    };
    fill("real");
    symlink(&outside, y.at("link")).unwrap();
    symlink(outside.join("sub"), y.at("link2")).unwrap();
    symlink(outside.join("sub/.vscode"), y.at("link3")).unwrap();
    let was = Snapshot::of(&outside, Path::new("/nowhere"));
    let empty = Yard::new();
    let nothing = empty.look();
    let mut kept = y.look();
    kept.keep_copies(&y.workspace).unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (dir, name, link) in [
                    ("", "real", "link"),
                    ("real", "sub", "link2"),
                    ("real/sub", ".vscode", "link3"),
                    ("real/sub", "AGENTS.md", "link2"),
                ] {
                    if exchange(&y, dir, name, link) {
                        done.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                        exchange(&y, dir, name, link);
                    }
                }
            }
        });
        for round in 0..300 {
            if let Ok(before) = Before::look(&y.workspace) {
                y.after(&before);
            }
            // As if everything were new, and as if all of it had to be put back.
            y.after(if round % 2 == 0 { &nothing } else { &kept });
            // What was moved away is there again; by descriptors, so that the test itself is not led out.
            for (dir, name) in [("real/sub", "AGENTS.md"), ("real/sub/.git/hooks", "pre-commit")] {
                let Some(dir) = inside(&y, dir) else { continue };
                if let Ok(file) =
                    openat(dir, name, OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY, 0o600.into())
                {
                    rustix::io::write(file, b"inside").unwrap();
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(Snapshot::of(&outside, Path::new("/nowhere")) == was, "something outside was changed");
    assert!(done.load(Ordering::Relaxed) > 100, "there was a race at all");
    assert!(y.quarantine().exists(), "something was moved at all");
    assert!(!holds(&y.quarantine(), "OUTSIDE"), "something outside was read");
}

fn holds(dir: &Path, text: &str) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        match (kind.is_dir(), kind.is_file()) {
            (true, _) => holds(&path, text),
            (_, true) => fs::read(&path).unwrap() == text.as_bytes(),
            _ => false,
        }
    })
}

#[test]
fn pipes_are_not_opened_and_odd_names_are_names() {
    let y = Yard::new();
    let before = y.look();
    for path in [".envrc", ".mcp.json", "AGENTS.md", "Makefile", "pipe"] {
        mknodat(CWD, y.at(path), FileType::Fifo, 0o600.into(), 0).unwrap();
    }
    fs::create_dir(y.at(".git")).unwrap();
    mknodat(CWD, y.at(".git/config"), FileType::Fifo, 0o600.into(), 0).unwrap();
    y.write("a\nb\u{1b}[2J/.git/hooks/pre\ncommit", "evil");
    let raw = std::ffi::OsStr::from_bytes(b"\xFF\xFE");
    fs::create_dir(y.at(raw)).unwrap();
    fs::write(y.at(raw).join("Makefile"), "all:").unwrap();
    let found = y.after(&before);
    for path in [".envrc", ".mcp.json", "AGENTS.md", ".git/config"] {
        let text = fs::read_to_string(moved(&y, &found, path)).unwrap();
        assert!(text.contains("this was no file"), "{text}");
        assert!(gone(&y, path));
    }
    assert_eq!(
        fs::read_to_string(moved(&y, &found, "a\nb\u{1b}[2J/.git/hooks/pre\ncommit")).unwrap(),
        "evil"
    );
    assert!(found.files.iter().any(|finding| finding.path == Path::new(raw).join("Makefile")));
    about(&found, "Makefile");
}

#[test]
fn what_is_too_much_for_the_quarantine_is_out_of_the_way_all_the_same() {
    let y = Yard::new();
    let before = y.look();
    y.write("AGENTS.md", "obey");
    fs::File::options().write(true).open(y.at("AGENTS.md")).unwrap().set_len(1 << 40).unwrap();
    for n in 0..20_100 {
        y.write(format!(".vscode/{n}"), "");
    }
    let found = y.after(&before);
    for path in ["AGENTS.md", ".vscode"] {
        let to = about(&found, path).moved_to.clone().unwrap();
        assert!(gone(&y, path));
        assert!(to.is_relative() && to.to_str().unwrap().contains(".ringfence-aside-"), "{to:?}");
        assert!(!gone(&y, to.to_str().unwrap()), "nothing was lost");
    }
    let left: usize = fs::read_dir(y.quarantine())
        .unwrap()
        .map(|fresh| fs::read_dir(fresh.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(left, 0, "no halves are left in the quarantine");
}

#[test]
fn what_is_too_deep_is_said_and_not_followed() {
    let y = Yard::new();
    let deep = |depth: usize| vec!["d"; depth].join("/");
    fs::create_dir_all(y.at(deep(63))).unwrap();
    let before = y.look();
    let found = y.after(&before);
    assert!(!found.partial);
    y.write(format!("{}/.git/hooks/pre-commit", deep(60)), "evil");
    let found = y.after(&before);
    moved(&y, &found, &format!("{}/.git/hooks/pre-commit", deep(60)));
    fs::create_dir_all(y.at(deep(70))).unwrap();
    let found = y.after(&before);
    assert!(found.partial && found.files.is_empty(), "{found:#?}");
}

#[test]
fn moved_things_are_private_and_cannot_be_run() {
    let y = Yard::new();
    let before = y.look();
    y.write(".vscode/run.sh", "#!/bin/sh\n");
    fs::set_permissions(y.at(".vscode/run.sh"), fs::Permissions::from_mode(0o6777)).unwrap();
    let found = y.after(&before);
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777;
    let to = moved(&y, &found, ".vscode");
    assert_eq!(mode(&to.join("run.sh")), 0o600);
    assert_eq!(mode(&to), 0o700);
    assert_eq!(mode(to.parent().unwrap()), 0o700);
    assert_eq!(mode(&y.quarantine()), 0o700);
}

/// Runs something as somebody who is not root, whoever runs the tests.
fn unprivileged(what: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            if rustix::process::geteuid().is_root() {
                let (user, group) = (rustix::fs::Uid::from_raw(1000), rustix::fs::Gid::from_raw(1000));
                rustix::thread::set_thread_res_gid(group, group, group).unwrap();
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            what();
        });
        run.join().unwrap();
    });
}

#[test]
fn directories_that_a_command_closed_are_told_and_opened_to_move_what_is_in_them() {
    let y = Yard::new();
    if rustix::process::geteuid().is_root() {
        for path in [y.dir.path().to_owned(), y.at("")] {
            std::os::unix::fs::chown(path, Some(1000), Some(1000)).unwrap();
        }
    }
    unprivileged(|| {
        let close =
            |path: &str, mode| fs::set_permissions(y.at(path), fs::Permissions::from_mode(mode)).unwrap();
        y.write("old/x", "");
        close("old", 0);
        let before = y.look();
        y.write("closed/.git/hooks/pre-commit", "evil");
        close("closed", 0);
        y.write("nested/.git/hooks/pre-commit", "evil");
        close("nested/.git/hooks", 0o500);
        y.write(".vscode/tasks.json", "evil");
        close(".vscode", 0);
        let found = y.after(&before);
        let told = about(&found, "closed");
        assert_eq!((told.what, told.changed), ("directory that cannot be read", false));
        assert_eq!(fs::read_to_string(moved(&y, &found, "nested/.git/hooks/pre-commit")).unwrap(), "evil");
        assert!(gone(&y, "nested/.git/hooks/pre-commit"));
        let mode = fs::metadata(y.at("nested/.git/hooks")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o500);
        // It cannot be copied, and is out of the way.
        assert!(about(&found, ".vscode").moved_to.as_ref().unwrap().is_relative());
        assert!(gone(&y, ".vscode"));
        assert_eq!(found.files.len(), 3, "{found:#?}");
        // Opened by the next command, it is new to that one.
        let before = y.look();
        close("closed", 0o700);
        let found = y.after(&before);
        moved(&y, &found, "closed/.git/hooks/pre-commit");
        for path in ["old", "closed"] {
            close(path, 0o700);
        }
    });
}
