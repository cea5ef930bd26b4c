//! Native code on disk: written so that nobody else can touch it, believed only when nobody else could have, and rebuilt
//! when it is damaged. An entry that is believed shows by its effect: the code in it runs.

use crate::support::World;
use serde_json::json;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

/// A world with a code cache of its own, not there yet.
struct Fresh {
    temp: tempfile::TempDir,
}

impl Fresh {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn dir(&self) -> PathBuf {
        self.temp.path().join("cache/code")
    }

    /// As a new process would: nothing is in memory yet.
    fn world(&self) -> World {
        let w = World::new().with_cache(self.dir());
        w.file("a.txt", "honest");
        w
    }

    /// The one entry.
    fn entry(&self) -> PathBuf {
        let entries = entries(&self.dir());
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries.into_iter().next().unwrap()
    }

    fn read_file(&self) -> String {
        self.world().call("read_file", json!({ "path": "a.txt" })).text()
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

/// Bytes in front of the code of an entry: the layout's name, and the checksum.
const FRONT: usize = 16 + 32;

/// An entry for the component and engine that `name` is for, in order in every way, with this code in it.
fn forged(name: &str, front: &[u8], code: &[u8]) -> Vec<u8> {
    use sha2::{Digest as _, Sha256};
    let (digest, mark) = name.trim_end_matches(".code").split_once('-').unwrap();
    let digest: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&digest[2 * i..2 * i + 2], 16).unwrap()).collect();
    let mut hasher = Sha256::new();
    for part in [&digest, mark.as_bytes(), code] {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    [&front[..16], &hasher.finalize()[..], code].concat()
}

fn name(entry: &Path) -> String {
    entry.file_name().unwrap().to_str().unwrap().to_owned()
}

/// A cache whose entry for `read_file` holds the code of `write_file`, with everything else in order.
fn swapped() -> (Fresh, PathBuf) {
    let fresh = Fresh::new();
    fresh.read_file();
    let entry = fresh.entry();
    let other = fs::read(entry_of_write_file(&Fresh::new())).unwrap();
    fs::write(&entry, forged(&name(&entry), &other, &other[FRONT..])).unwrap();
    (fresh, entry)
}

fn entry_of_write_file(other: &Fresh) -> PathBuf {
    other.world().call("write_file", json!({ "path": "b.txt", "content": "x" })).text();
    other.entry()
}

/// Asserts that the swapped code in a cache is not run, and that the honest code is.
fn assert_not_believed(fresh: &Fresh) {
    assert!(fresh.read_file().contains("honest"));
}

#[test]
fn code_is_written_once_and_for_this_user_alone() {
    let fresh = Fresh::new();
    assert!(fresh.read_file().contains("honest"));
    let entry = fresh.entry();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&fresh.dir()), 0o700);
    assert_eq!(mode(fresh.dir().parent().unwrap()), 0o700);
    assert_eq!(mode(&entry) & 0o077, 0);
    let before = (inode(&entry), fs::read(&entry).unwrap());
    assert!(fresh.read_file().contains("honest"));
    assert_eq!((inode(&entry), fs::read(&entry).unwrap()), before, "the second process compiled anew");
}

/// The other half of every test below: with nothing wrong about it, the code in the entry is what runs.
#[test]
fn an_entry_in_order_is_run() {
    let (fresh, _) = swapped();
    let reply = fresh.world().call("read_file", json!({ "path": "a.txt" }));
    assert!(reply.refused().contains("no tool `read_file`"), "{}", reply.refused());
}

#[test]
fn an_entry_under_another_name_is_a_stranger() {
    let fresh = Fresh::new();
    fresh.read_file();
    let other = Fresh::new();
    fs::copy(entry_of_write_file(&other), fresh.entry()).unwrap();
    assert_not_believed(&fresh);
}

#[test]
fn a_damaged_entry_is_rebuilt() {
    let fresh = Fresh::new();
    fresh.read_file();
    let entry = fresh.entry();
    let whole = fs::read(&entry).unwrap();
    let mut damaged: Vec<Vec<u8>> = [0, 1, 15, 16, 47, 48, 49, whole.len() / 2, whole.len() - 1]
        .into_iter()
        .map(|length| whole[..length].to_vec())
        .collect();
    for at in [0, 15, 16, 40, 48, 60, whole.len() / 3, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        damaged.push(flipped);
    }
    damaged.push([whole.as_slice(), b"more"].concat());
    for bytes in damaged {
        fs::write(&entry, &bytes).unwrap();
        assert_not_believed(&fresh);
        let rebuilt = fs::read(&entry).unwrap();
        assert_ne!(rebuilt, bytes, "{} bytes stayed", bytes.len());
        // And what was rebuilt is in order: the next process takes it as it is.
        let known = inode(&entry);
        assert_not_believed(&fresh);
        assert_eq!(inode(&entry), known);
    }
}

#[test]
fn an_entry_that_others_can_write_is_not_believed() {
    for mode in [0o620, 0o602, 0o666, 0o777] {
        let (fresh, entry) = swapped();
        fs::set_permissions(&entry, Permissions::from_mode(mode)).unwrap();
        assert_not_believed(&fresh);
    }
}

#[test]
fn an_entry_or_directory_of_another_user_is_not_believed() {
    if !rustix::process::geteuid().is_root() {
        // Only root can give files away; what a stranger's file looks like is then left to the tests of modes and links.
        return;
    }
    let (fresh, entry) = swapped();
    chown(&entry, Some(65_534), None).unwrap();
    assert_not_believed(&fresh);
    let (fresh, _) = swapped();
    chown(fresh.dir(), Some(65_534), None).unwrap();
    assert_not_believed(&fresh);
}

#[test]
fn a_directory_that_others_can_write_is_not_used_at_all() {
    for mode in [0o770, 0o702, 0o777] {
        let (fresh, entry) = swapped();
        fs::set_permissions(fresh.dir(), Permissions::from_mode(mode)).unwrap();
        let before = fs::read(&entry).unwrap();
        assert_not_believed(&fresh);
        assert_eq!(fs::read(&entry).unwrap(), before, "something was written into it");
    }
}

#[test]
fn links_are_not_followed_to_code() {
    let (fresh, entry) = swapped();
    let elsewhere = fresh.temp.path().join("elsewhere");
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    assert_not_believed(&fresh);
    let (fresh, _) = swapped();
    let elsewhere = fresh.temp.path().join("elsewhere");
    fs::rename(fresh.dir(), &elsewhere).unwrap();
    symlink(&elsewhere, fresh.dir()).unwrap();
    assert_not_believed(&fresh);
}

#[test]
fn an_entry_of_another_version_is_not_even_looked_at() {
    let (fresh, entry) = swapped();
    let name = name(&entry);
    let (digest, mark) = name.trim_end_matches(".code").split_once('-').unwrap();
    assert_eq!(mark.len(), 16, "{name}");
    let other = entry.with_file_name(format!("{digest}-0123456789abcdef.code"));
    fs::rename(&entry, &other).unwrap();
    let before = (inode(&other), fs::read(&other).unwrap());
    assert_not_believed(&fresh);
    assert_eq!((inode(&other), fs::read(&other).unwrap()), before);
    assert_eq!(entries(&fresh.dir()).len(), 2);
}

#[test]
fn a_place_where_nothing_can_be_kept_costs_nothing_but_time() {
    let fresh = Fresh::new();
    fs::write(fresh.temp.path().join("cache"), "a file, not a directory").unwrap();
    assert!(fresh.read_file().contains("honest"));
    assert_eq!(fs::read_to_string(fresh.temp.path().join("cache")).unwrap(), "a file, not a directory");
}
