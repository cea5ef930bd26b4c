//! A native thread swaps a path between something honest and a link to the outside, as fast as it can, while a component
//! opens that path again and again. Not one try may reach the outside, and enough must reach the honest file.

use crate::attack::{MARK, SECRET, raw, raw_world};
use crate::support::World;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Tries of one kind in all.
const TRIES: u64 = 10_000;

/// Tries of one call, so that a call stays well within its time.
const AT_A_TIME: u64 = 1_000;

/// Exchanges two names while `work` runs; gives how often.
pub(crate) fn while_swapping<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> (T, u64) {
    let over = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Also when the work fails, or the thread would never end.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        over.store(true, Ordering::Relaxed);
        result
    });
    match result {
        Ok(result) => (result, swaps.into_inner()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A world whose `dir` and `other` are a directory with `file.txt` and a link to a directory outside with `file.txt`, and
/// whose `leaf` and `other-leaf` are a file and a link to that file outside.
fn swapped_world() -> World {
    let w = raw_world();
    fs::write(w.outside().join("file.txt"), SECRET).unwrap();
    w.file("dir/file.txt", "honest");
    symlink(w.outside(), w.path("other")).unwrap();
    w.file("leaf", "honest");
    symlink(w.outside().join("file.txt"), w.path("other-leaf")).unwrap();
    w
}

/// Adds up the numbers of one answer.
fn add(sums: &mut Value, answer: &Value) {
    for (key, number) in answer["Ok"].as_object().expect("the directory is there") {
        sums[key] = json!(sums[key].as_u64().unwrap_or(0) + number.as_u64().unwrap_or(0));
    }
}

fn read_race(path: &str, one: &str, other: &str) {
    let w = swapped_world();
    let before = w.snapshot_outside();
    let (sums, swaps) = while_swapping(&w.path(one), &w.path(other), || {
        let mut sums = json!({});
        for _ in 0..TRIES / AT_A_TIME {
            let asked = json!({ "path": path, "tries": AT_A_TIME, "secret": SECRET, "honest": "honest" });
            add(&mut sums, &raw(&w, "race_read", asked));
        }
        sums
    });
    assert!(sums["tries"].as_u64() >= Some(TRIES), "{sums}");
    assert_eq!(sums["secret"], 0, "{sums} in {swaps} swaps");
    assert_eq!(sums["other"], 0, "{sums} in {swaps} swaps");
    // Neither side slept: the honest file was read, the link was met, and names were swapped all along.
    assert!(sums["honest"].as_u64() > Some(0), "{sums} in {swaps} swaps");
    assert!(sums["refused"].as_u64() > Some(0), "{sums} in {swaps} swaps");
    assert!(swaps > 100, "{swaps} swaps");
    w.assert_outside_unchanged(&before);
}

fn write_race(path: &str, one: &str, other: &str) {
    let w = swapped_world();
    let before = w.snapshot_outside();
    let (sums, swaps) = while_swapping(&w.path(one), &w.path(other), || {
        let mut sums = json!({});
        for _ in 0..TRIES / AT_A_TIME {
            add(&mut sums, &raw(&w, "race_write", json!({ "path": path, "tries": AT_A_TIME, "text": MARK })));
        }
        sums
    });
    assert!(sums["tries"].as_u64() >= Some(TRIES), "{sums}");
    assert!(sums["written"].as_u64() > Some(0), "{sums} in {swaps} swaps");
    assert!(sums["refused"].as_u64() > Some(0), "{sums} in {swaps} swaps");
    assert!(swaps > 100, "{swaps} swaps");
    w.assert_outside_unchanged(&before);
    assert_eq!(fs::read_to_string(w.outside().join("file.txt")).unwrap(), SECRET);
}

#[test]
fn reading_through_a_directory_that_is_swapped_reaches_nothing_outside() {
    read_race("dir/file.txt", "dir", "other");
}

#[test]
fn reading_a_file_that_is_swapped_reaches_nothing_outside() {
    read_race("leaf", "leaf", "other-leaf");
}

#[test]
fn writing_through_a_directory_that_is_swapped_reaches_nothing_outside() {
    write_race("dir/file.txt", "dir", "other");
}

#[test]
fn writing_a_file_that_is_swapped_reaches_nothing_outside() {
    write_race("leaf", "leaf", "other-leaf");
}

/// The same by the tools that people use: they look first and act then, and each step must stand on its own.
#[test]
fn the_built_in_tools_stay_inside_while_a_directory_is_swapped() {
    let w = swapped_world();
    let before = w.snapshot_outside();
    let ((read, written), swaps) = while_swapping(&w.path("dir"), &w.path("other"), || {
        let mut counts = (0, 0);
        for turn in 0..1_000 {
            let read = w.call("read_file", json!({ "path": "dir/file.txt", "force": true }));
            if read.outcome() == "ok" {
                assert!(!read.text().contains(SECRET));
                counts.0 += 1;
            }
            let content = format!("honest {turn}");
            let write = match turn % 3 {
                0 => w.call("write_file", json!({ "path": "dir/file.txt", "content": content })),
                1 => w.call("write_file", json!({ "path": "dir/new/file.txt", "content": content })),
                _ => {
                    let edit = json!({ "path": "dir/file.txt", "action": "add", "new_text": "x" });
                    w.call("apply_patch", json!({ "edits": [edit] }))
                }
            };
            counts.1 += u32::from(write.outcome() == "ok");
            let found = w.call("grep", json!({ "pattern": SECRET, "output_mode": "content" }));
            assert!(found.outcome() != "ok" || !found.text().contains(&format!("| {SECRET}")));
        }
        counts
    });
    w.assert_outside_unchanged(&before);
    assert!(read > 0 && written > 0, "{read} read, {written} written in {swaps} swaps");
}
