//! Parity rows F64 to F73: `apply_patch`.

use crate::support::{Reply, World};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn patch(w: &World, edits: Value) -> Reply {
    w.call("apply_patch", json!({ "edits": edits }))
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "action": "replace", "old_text": old, "new_text": new })
}

fn add(path: &str, new: &str) -> Value {
    json!({ "path": path, "action": "add", "new_text": new })
}

fn world(files: &[(&str, &str)]) -> World {
    let w = World::new();
    for (path, content) in files {
        w.file(path, content);
    }
    w
}

#[track_caller]
fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn parity_f64_one_line_is_replaced() {
    let w = world(&[("a.txt", "one\ntwo\nthree\n")]);
    let reply = patch(&w, json!([replace("a.txt", "two", "2")]));
    assert_has(&reply.text(), &["update file", "a.txt", "+1", "-1"]);
    assert_eq!(reply.structured().unwrap()["changes"][0]["path"], json!("a.txt"));
    assert_eq!(w.read("a.txt"), "one\n2\nthree\n");
}

#[test]
fn parity_f64_crlf_is_kept() {
    let w = world(&[("a.txt", "one\r\ntwo\r\n")]);
    patch(&w, json!([replace("a.txt", "one\ntwo", "1\n2")])).text();
    assert_eq!(w.read("a.txt"), "1\r\n2\r\n");
}

#[test]
fn parity_f65_added_files_end_with_a_line_break() {
    let w = World::new();
    let reply = patch(&w, json!([add("new/a.txt", "one\ntwo"), add("b.txt", "one\n\n")]));
    assert_has(&reply.text(), &["add file", "new/a.txt", "b.txt", "+2"]);
    assert_eq!(w.read("new/a.txt"), "one\ntwo\n");
    assert_eq!(w.read("b.txt"), "one\n\n");
    assert_eq!(reply.structured().unwrap()["changes"][0]["before"], Value::Null);
}

#[test]
fn parity_f65_adding_to_a_file_appends_on_a_line_of_its_own() {
    let w = world(&[("a.txt", "one"), ("b.txt", "one\r\n")]);
    patch(&w, json!([add("a.txt", "two"), add("b.txt", "two\nthree")])).text();
    assert_eq!(w.read("a.txt"), "one\ntwo\n");
    assert_eq!(w.read("b.txt"), "one\r\ntwo\r\nthree\r\n");
}

#[test]
fn parity_f67_two_files_are_patched() {
    let w = world(&[("a.txt", "one\n"), ("src/b.txt", "two\n")]);
    let reply = patch(&w, json!([replace("a.txt", "one", "1"), replace("src/b.txt", "two", "2")]));
    assert_has(&reply.text(), &["a.txt", "src/b.txt"]);
    assert_eq!((w.read("a.txt"), w.read("src/b.txt")), ("1\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn parity_f67_edits_of_one_file_see_each_other() {
    let w = world(&[("a.txt", "one\n")]);
    symlink("a.txt", w.path("link.txt")).unwrap();
    let reply = patch(
        &w,
        json!([
            replace("a.txt", "one", "two"),
            replace("./a.txt", "two", "three"),
            replace("link.txt", "three", "four")
        ]),
    );
    assert_eq!(reply.structured().unwrap()["changes"].as_array().map(Vec::len), Some(1));
    assert_eq!(w.read("a.txt"), "four\n");
    assert!(fs::symlink_metadata(w.path("link.txt")).unwrap().is_symlink());
}

#[test]
fn parity_f67_a_file_that_the_patch_adds_can_be_edited_by_it() {
    let w = World::new();
    patch(
        &w,
        json!([add("new/a.txt", "one\n"), replace("new/./a.txt", "one", "two"), add("new/a.txt", "end")]),
    )
    .text();
    assert_eq!(w.read("new/a.txt"), "two\nend\n");
}

#[test]
fn parity_f68_two_matches_are_refused() {
    let w = world(&[("a.txt", "x\ny\nx\n"), ("b.txt", "one\n")]);
    let (kind, message) =
        patch(&w, json!([replace("b.txt", "one", "1"), replace("a.txt", "x", "z")])).error();
    assert_eq!(kind, ErrorKind::Conflict);
    assert_has(&message, &["a.txt", "2 times", "1, 3"]);
    assert_eq!((w.read("a.txt"), w.read("b.txt")), ("x\ny\nx\n".to_owned(), "one\n".to_owned()));
}

#[test]
fn parity_f68_delete_is_an_unknown_action() {
    let w = world(&[("a.txt", "x\n")]);
    let message = patch(&w, json!([{ "path": "a.txt", "action": "delete" }])).refused();
    assert_has(&message, &["action"]);
    assert_eq!(w.read("a.txt"), "x\n");
}

#[test]
fn parity_f68_what_is_not_there_to_the_letter_is_not_replaced() {
    let w = world(&[("a.txt", "  x\n")]);
    let (kind, message) = patch(&w, json!([replace("a.txt", "x\n\n", "y")])).error();
    assert_eq!(kind, ErrorKind::NotFound);
    assert_has(&message, &["a.txt", "not found"]);
    let (kind, _) = patch(&w, json!([replace("absent.txt", "x", "y")])).error();
    assert_eq!(kind, ErrorKind::NotFound);
    assert_eq!(w.read("a.txt"), "  x\n");
    assert!(!w.exists("absent.txt"));
}

#[test]
fn parity_f68_an_edit_that_changes_nothing_is_refused() {
    let w = world(&[("a.txt", "x\n")]);
    patch(&w, json!([replace("a.txt", "x", "x")])).refused();
    patch(&w, json!([])).refused();
    assert_eq!(w.read("a.txt"), "x\n");
}

#[test]
fn parity_f68_twenty_edits_are_the_most() {
    let w = World::new();
    let edits = |count: usize| -> Value { (0..count).map(|n| add(&format!("{n}.txt"), "x")).collect() };
    patch(&w, edits(21)).refused();
    assert!(!w.exists("0.txt"));
    patch(&w, edits(20)).text();
    assert_eq!(w.read("19.txt"), "x\n");
}

/// That the last file is read-only shows only when it is replaced.
#[test]
fn parity_f70_what_was_written_before_a_late_failure_is_restored() {
    let w = world(&[("a.txt", "one\n"), ("locked.txt", "two\n")]);
    fs::set_permissions(w.path("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(w.path("locked.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    let message = patch(
        &w,
        json!([
            replace("a.txt", "one", "1"),
            add("new/dir/b.txt", "made"),
            replace("locked.txt", "two", "2")
        ]),
    )
    .refused();
    assert_has(&message, &["locked.txt", "restored", "a.txt"]);
    assert_eq!((w.read("a.txt"), w.read("locked.txt")), ("one\n".to_owned(), "two\n".to_owned()));
    assert!(!w.exists("new"), "a directory made for the patch stays");
    let mode = |path: &str| fs::metadata(w.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a.txt"), mode("locked.txt")), (0o640, 0o444));
}

#[test]
fn parity_f70_a_late_edit_that_does_not_apply_leaves_all_as_it_was() {
    let w = world(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let message = patch(
        &w,
        json!([replace("a.txt", "one", "1"), add("new/c.txt", "made"), replace("b.txt", "absent", "2")]),
    )
    .refused();
    assert_has(&message, &["b.txt", "edit 3 of 3", "nothing was written"]);
    assert_eq!((w.read("a.txt"), w.read("b.txt")), ("one\n".to_owned(), "two\n".to_owned()));
    assert!(!w.exists("new"));
}

#[test]
fn parity_f70_a_dry_run_writes_nothing() {
    let w = world(&[("a.txt", "one\n")]);
    let edits = json!([replace("a.txt", "one", "1"), add("new/b.txt", "made")]);
    let reply = w.call("apply_patch", json!({ "edits": edits, "dry_run": true }));
    assert_has(&reply.text(), &["dry run", "update file a.txt", "add file new/b.txt"]);
    assert_eq!(w.read("a.txt"), "one\n");
    assert!(!w.exists("new"));
    let failing = json!({ "edits": [replace("a.txt", "absent", "1")], "dry_run": true });
    w.call("apply_patch", failing).refused();
}

#[test]
fn parity_f71_paths_outside_are_refused_and_nothing_is_made() {
    let w = world(&[("a.txt", "one\n")]);
    fs::write(w.outside().join("secret"), "words\n").unwrap();
    let before = w.snapshot_outside();
    let outside = w.outside().to_str().unwrap();
    let name = w.outside().file_name().and_then(|n| n.to_str()).unwrap();
    for place in [outside.to_owned(), format!("../{name}")] {
        patch(&w, json!([replace("a.txt", "one", "1"), add(&format!("{place}/new.txt"), "x")])).refused();
        patch(&w, json!([replace("a.txt", "one", "1"), replace(&format!("{place}/secret"), "words", "x")]))
            .refused();
    }
    w.assert_outside_unchanged(&before);
    assert_eq!(w.read("a.txt"), "one\n");
}

#[test]
fn parity_f73_climbing_out_is_refused_by_default() {
    let w = World::new();
    let before = w.snapshot_outside();
    let name = w.outside().file_name().and_then(|n| n.to_str()).unwrap();
    assert_has(&patch(&w, json!([add(&format!("../{name}/x"), "x")])).refused(), &["outside"]);
    w.assert_outside_unchanged(&before);
}
