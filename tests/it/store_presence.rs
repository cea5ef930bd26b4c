//! Which processes are alive: told by a lock that ends with the process, however it ends.

use ringfence::config::{Dirs, Presence, fresh_id};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

fn dirs(root: &Path) -> Dirs {
    Dirs { config: root.join("config"), data: root.join("data"), cache: root.join("cache") }
}

/// Where a process that is started below finds its directory.
const ORDERS: &str = "TEST_PRESENT";

/// Not a test of its own: the process that another test starts. It says its name and waits for its end.
#[test]
fn present_process() {
    let Ok(root) = std::env::var(ORDERS) else { return };
    let presence = Presence::announce(&dirs(Path::new(&root))).unwrap();
    println!("\nname {}", presence.id());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_process_is_there_until_it_is_killed() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = dirs(temp.path());
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_presence::present_process", "--nocapture", "--test-threads=1"])
        .env(ORDERS, temp.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let id =
        lines.map(Result::unwrap).find_map(|line| line.strip_prefix("name ").map(str::to_owned)).unwrap();
    let file = dirs.data.join("alive").join(&id);
    assert!(!Presence::is_gone(&dirs, &id));
    assert!(file.exists());
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(file.exists(), "it had no time to tidy up");
    assert!(Presence::is_gone(&dirs, &id));
    assert!(!file.exists());
    assert!(Presence::is_gone(&dirs, &id));
}

#[test]
fn a_process_that_ends_in_order_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = dirs(temp.path());
    let (one, two) = (Presence::announce(&dirs).unwrap(), Presence::announce(&dirs).unwrap());
    assert_ne!(one.id(), two.id());
    let id = one.id().to_owned();
    let file = dirs.data.join("alive").join(&id);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!Presence::is_gone(&dirs, &id));
    drop(one);
    assert!(!file.exists());
    assert!(Presence::is_gone(&dirs, &id));
    assert!(!Presence::is_gone(&dirs, two.id()));
}

#[test]
fn a_name_that_was_never_given_is_gone_and_touches_no_file() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = dirs(temp.path());
    let presence = Presence::announce(&dirs).unwrap();
    let outside = dirs.data.join("state");
    fs::write(&outside, "mine").unwrap();
    for id in ["", ".", "..", "../state", "/etc/passwd", "a\0b", "nobody00"] {
        assert!(Presence::is_gone(&dirs, id), "{id:?}");
    }
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    // A link is nobody's lock, and what it leads to stays.
    let link = dirs.data.join("alive/linked00");
    symlink(&outside, &link).unwrap();
    assert!(!Presence::is_gone(&dirs, "linked00"));
    assert!(link.is_symlink() && outside.exists());
    assert!(!Presence::is_gone(&dirs, presence.id()));
}

#[test]
fn names_are_eight_characters_and_come_once() {
    let names: BTreeSet<String> = (0..1_000).map(|_| fresh_id()).collect();
    assert_eq!(names.len(), 1_000);
    let known = |byte: u8| b"abcdefghjkmnpqrstuvwxyz023456789".contains(&byte);
    assert!(names.iter().all(|name| name.len() == 8 && name.bytes().all(known)));
}

#[test]
fn whoever_clears_away_takes_nobody_who_comes_for_gone() {
    let temp = tempfile::tempdir().unwrap();
    let dirs = dirs(temp.path());
    let first = Presence::announce(&dirs).unwrap();
    let left = dirs.data.join("alive/zzzzzzzz");
    fs::write(&left, "").unwrap();
    std::thread::scope(|scope| {
        let comes = || {
            for _ in 0..300 {
                let presence = Presence::announce(&dirs).unwrap();
                assert!(!Presence::is_gone(&dirs, presence.id()));
            }
        };
        let coming = [scope.spawn(comes), scope.spawn(comes)];
        while !coming.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            Presence::clear_away(&dirs).unwrap();
        }
    });
    assert!(!left.exists());
    assert!(!Presence::is_gone(&dirs, first.id()));
}
