//! Parity rows F25 to F50, as far as they concern `write_file` and `edit_file`.

use crate::support::{Reply, World};
use ringfence::authority::Access;
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn write(w: &World, path: &str, content: &str) -> Reply {
    w.call("write_file", json!({ "path": path, "content": content }))
}

fn edit(w: &World, path: &str, old: &str, new: &str) -> Reply {
    edit_with(w, path, old, new, json!({}))
}

/// An edit with further arguments.
fn edit_with(w: &World, path: &str, old: &str, new: &str, more: Value) -> Reply {
    let mut arguments = json!({ "path": path, "old_text": old, "new_text": new });
    if let (Some(all), Value::Object(more)) = (arguments.as_object_mut(), more) {
        all.extend(more);
    }
    w.call("edit_file", arguments)
}

/// A workspace with one file.
fn world(path: &str, content: &str) -> World {
    let w = World::new();
    w.file(path, content);
    w
}

#[track_caller]
fn assert_has(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn parity_f14_written_text_is_read_back_in_full() {
    let w = World::new();
    let reply = write(&w, "new/dir/a.txt", "one\ntwo\n");
    assert_has(&reply.text(), &["new/dir/a.txt", "8 characters"]);
    let change = reply.structured().unwrap()["changes"][0].clone();
    assert_eq!((&change["path"], &change["before"]), (&json!("new/dir/a.txt"), &Value::Null));
    assert_eq!(w.read("new/dir/a.txt"), "one\ntwo\n");
    let read = w.call("read_file", json!({ "path": "new/dir/a.txt" })).text();
    assert_has(&read, &["1| one", "2| two"]);
}

#[test]
fn parity_f14_writing_again_replaces_the_whole() {
    let w = world("a.txt", "a much longer text than the next\n");
    let first = write(&w, "a.txt", "short\n").structured().unwrap();
    let second = write(&w, "./a.txt", "other\n").structured().unwrap();
    assert_eq!(w.read("a.txt"), "other\n");
    assert_eq!(first["changes"][0]["after"], second["changes"][0]["before"]);
    assert_eq!(second["changes"][0]["path"], json!("a.txt"));
}

#[test]
fn parity_f25_absolute_paths_outside_are_refused() {
    let w = World::new();
    let victim = w.outside().join("victim.txt");
    fs::write(&victim, "secret words\n").unwrap();
    let before = w.snapshot_outside();
    for reply in [write(&w, text(&victim), "x"), edit(&w, text(&victim), "secret", "x")] {
        let message = reply.refused();
        assert_has(&message, &["outside"]);
        assert!(!message.contains("words"), "{message}");
    }
    write(&w, text(&w.outside().join("new.txt")), "x").refused();
    w.assert_outside_unchanged(&before);
    // The same by a path within.
    write(&w, text(&w.root().join("in.txt")), "x").text();
    assert_eq!(w.read("in.txt"), "x");
}

#[test]
fn parity_f26_a_directory_granted_for_reading_is_not_written() {
    let w = World::new();
    let shared = w.outside().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("a.txt"), "words\n").unwrap();
    let w = w.with_directory(&shared, Access::ReadOnly);
    let before = w.snapshot_outside();
    let file = shared.join("a.txt");
    assert_has(&w.call("read_file", json!({ "path": text(&file) })).text(), &["words"]);
    write(&w, text(&file), "x").refused();
    write(&w, text(&shared.join("new/b.txt")), "x").refused();
    edit(&w, text(&file), "words", "x").refused();
    w.assert_outside_unchanged(&before);
}

#[test]
fn parity_f28_what_is_granted_for_writing_is_written_and_nothing_beside_it() {
    let w = World::new();
    let shared = w.outside().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("a.txt"), "words\n").unwrap();
    fs::write(w.outside().join("sibling.txt"), "words\n").unwrap();
    let w = w.with_directory(&shared, Access::ReadWrite);
    edit(&w, text(&shared.join("a.txt")), "words", "changed").text();
    assert_eq!(fs::read_to_string(shared.join("a.txt")).unwrap(), "changed\n");
    let before = w.snapshot_outside();
    edit(&w, text(&w.outside().join("sibling.txt")), "words", "x").refused();
    write(&w, &format!("{}/../sibling.txt", text(&shared)), "x").refused();
    w.assert_outside_unchanged(&before);
}

#[test]
fn parity_f29_paths_that_climb_out_are_refused() {
    let w = world("src/a.txt", "words\n");
    fs::write(w.outside().join("secret"), "words\n").unwrap();
    let before = w.snapshot_outside();
    let outside = w.outside().file_name().and_then(|n| n.to_str()).unwrap();
    let climbing = [
        format!("../{outside}/secret"),
        format!("src/../../{outside}/secret"),
        format!("{}/src/../../{outside}/secret", text(w.root())),
    ];
    for path in &climbing {
        write(&w, path, "x").refused();
        edit(&w, path, "words", "x").refused();
        edit(&w, &format!("{path}.new"), "", "x").refused();
    }
    w.assert_outside_unchanged(&before);
    edit(&w, "src/../src/a.txt", "words", "fine").text();
    assert_eq!(w.read("src/a.txt"), "fine\n");
}

#[test]
fn parity_f31_links_that_lead_outside_are_refused() {
    let w = World::new();
    fs::write(w.outside().join("secret"), "words\n").unwrap();
    symlink(w.outside().join("secret"), w.path("absolute")).unwrap();
    symlink("../outside/secret", w.path("relative")).unwrap();
    symlink(w.outside().join("absent"), w.path("dangling")).unwrap();
    let before = w.snapshot_outside();
    for path in ["absolute", "relative", "dangling"] {
        write(&w, path, "x").refused();
        edit(&w, path, "words", "x").refused();
        edit(&w, path, "", "x").refused();
    }
    w.assert_outside_unchanged(&before);
    assert!(fs::symlink_metadata(w.path("absolute")).unwrap().is_symlink());
}

#[test]
fn parity_f32_a_granted_file_is_not_reached_through_a_linked_directory() {
    let w = World::new();
    let shared = w.outside().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("a.txt"), "words\n").unwrap();
    symlink(&shared, w.path("link")).unwrap();
    let w = w.with_directory(&shared, Access::ReadWrite);
    let before = w.snapshot_outside();
    write(&w, "link/a.txt", "x").refused();
    edit(&w, "link/a.txt", "words", "x").refused();
    w.assert_outside_unchanged(&before);
    edit(&w, text(&shared.join("a.txt")), "words", "direct").text();
    assert_eq!(fs::read_to_string(shared.join("a.txt")).unwrap(), "direct\n");
}

#[test]
fn parity_f34_same_old_and_new_text_is_an_error() {
    let w = world("a.txt", "hello\n");
    let (kind, message) = edit(&w, "a.txt", "hello", "hello").error();
    assert_eq!(kind, ErrorKind::InvalidArguments);
    assert_has(&message, &["a.txt", "same"]);
    assert_eq!(w.read("a.txt"), "hello\n");
}

#[test]
fn parity_f35_lf_text_is_found_in_a_crlf_file_and_crlf_kept() {
    let w = world("a.txt", "one\r\ntwo\r\nthree\r\n");
    edit(&w, "a.txt", "one\ntwo", "1\n2").text();
    assert_eq!(w.read("a.txt"), "1\r\n2\r\nthree\r\n");
}

#[test]
fn parity_f37_two_matches_are_not_guessed_between() {
    let w = world("a.txt", "x = 1\ny\nx = 1\n");
    let (kind, message) = edit(&w, "a.txt", "x = 1", "x = 2").error();
    assert_eq!(kind, ErrorKind::Conflict);
    assert_has(&message, &["a.txt", "2 times", "lines 1 and 3", "replace_all", "occurrence"]);
    assert_eq!(w.read("a.txt"), "x = 1\ny\nx = 1\n");
}

#[test]
fn parity_f38_replace_all_replaces_all() {
    let w = world("a.txt", "x y x\nx\n");
    let reply = edit_with(&w, "a.txt", "x", "z", json!({ "replace_all": true }));
    assert_has(&reply.text(), &["3 replacements"]);
    assert_eq!(w.read("a.txt"), "z y z\nz\n");
}

#[test]
fn parity_f38_each_match_keeps_its_own_indentation() {
    let w = world("a.py", "if a:\n    go()\n    stop()\nif b:\n        go()\n        stop()\n");
    edit_with(&w, "a.py", "  go()\n  stop()", "  run()\n  halt()", json!({ "replace_all": true })).text();
    assert_eq!(w.read("a.py"), "if a:\n    run()\n    halt()\nif b:\n        run()\n        halt()\n");
}

#[test]
fn parity_f40_occurrence_picks_one() {
    let w = world("a.txt", "x\nx\nx\n");
    edit_with(&w, "a.txt", "x", "z", json!({ "occurrence": 2 })).text();
    assert_eq!(w.read("a.txt"), "x\nz\nx\n");
    edit_with(&w, "a.txt", "x", "z", json!({ "occurrence": 0 })).refused();
    edit_with(&w, "a.txt", "x", "z", json!({ "occurrence": 3 })).refused();
    let both = json!({ "occurrence": 1, "replace_all": true });
    assert_has(&edit_with(&w, "a.txt", "x", "z", both).refused(), &["occurrence", "replace_all"]);
    assert_eq!(w.read("a.txt"), "x\nz\nx\n");
}

#[test]
fn parity_f40_expected_replacements_are_counted_first() {
    let w = world("a.txt", "x\nx\n");
    let three = json!({ "replace_all": true, "expected_replacements": 3 });
    assert_has(&edit_with(&w, "a.txt", "x", "z", three).refused(), &["a.txt", "3", "2"]);
    assert_eq!(w.read("a.txt"), "x\nx\n");
    edit_with(&w, "a.txt", "x", "z", json!({ "replace_all": true, "expected_replacements": 2 })).text();
    assert_eq!(w.read("a.txt"), "z\nz\n");
}

#[test]
fn parity_f41_line_hint_picks_the_match_on_that_line() {
    let w = world("a.txt", "a\nx\nb\nx\n");
    edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 4 })).text();
    assert_eq!(w.read("a.txt"), "a\nx\nb\nz\n");
    let elsewhere = edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 4 })).refused();
    assert_has(&elsewhere, &["line 4", "line 2"]);
    edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 0 })).refused();
    edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 2, "occurrence": 1 })).refused();
    edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 2, "replace_all": true })).refused();
    assert_eq!(w.read("a.txt"), "a\nx\nb\nz\n");
}

#[test]
fn parity_f41_line_hint_may_point_inside_a_match() {
    let w = world("a.txt", "0\na\nb\nc\n1\n");
    edit_with(&w, "a.txt", "a\nb\nc", "z", json!({ "line_hint": 3 })).text();
    assert_eq!(w.read("a.txt"), "0\nz\n1\n");
}

#[test]
fn parity_f41_two_matches_on_the_hinted_line_are_ambiguous() {
    let w = world("a.txt", "x x\nx\n");
    let message = edit_with(&w, "a.txt", "x", "z", json!({ "line_hint": 1 })).refused();
    assert_has(&message, &["ambiguous", "2"]);
    assert_eq!(w.read("a.txt"), "x x\nx\n");
}

#[test]
fn parity_f43_curly_quotes_are_found_and_kept() {
    let w = world("a.txt", "He said \u{201c}hello\u{201d} and it\u{2019}s fine.\n");
    edit(&w, "a.txt", "said \"hello\"", "said \"goodbye\"").text();
    assert_eq!(w.read("a.txt"), "He said \u{201c}goodbye\u{201d} and it\u{2019}s fine.\n");
    edit(&w, "a.txt", "it's fine", "that's good").text();
    assert_eq!(w.read("a.txt"), "He said \u{201c}goodbye\u{201d} and that\u{2019}s good.\n");
}

#[test]
fn parity_f44_deleting_a_line_leaves_no_blank_line() {
    let w = world("a.txt", "line1\nline2\nline3\n");
    edit(&w, "a.txt", "line2", "").text();
    assert_eq!(w.read("a.txt"), "line1\nline3\n");
    w.file("b.txt", "one two three\nfour\n");
    edit(&w, "b.txt", "two ", "").text();
    assert_eq!(w.read("b.txt"), "one three\nfour\n");
}

#[test]
fn parity_f44_blanks_at_line_ends_go_but_in_markdown() {
    let w = world("a.txt", "x\n");
    edit(&w, "a.txt", "x", "y  \nz\t").text();
    assert_eq!(w.read("a.txt"), "y\nz\n");
    w.file("a.md", "x\n");
    edit(&w, "a.md", "x", "y  \nz").text();
    assert_eq!(w.read("a.md"), "y  \nz\n");
}

#[test]
fn parity_f46_an_empty_old_text_creates() {
    let w = World::new();
    let reply = edit(&w, "new/dir/a.txt", "", "made\n");
    assert_eq!(reply.structured().unwrap()["changes"][0]["before"], Value::Null);
    assert_eq!(w.read("new/dir/a.txt"), "made\n");
    let (kind, message) = edit(&w, "new/dir/a.txt", "", "again\n").error();
    assert_eq!(kind, ErrorKind::Conflict);
    assert_has(&message, &["new/dir/a.txt", "exists"]);
    assert_eq!(w.read("new/dir/a.txt"), "made\n");
    w.file("empty.txt", "");
    edit(&w, "empty.txt", "", "filled\n").text();
    assert_eq!(w.read("empty.txt"), "filled\n");
}

#[test]
fn parity_f47_editing_without_reading_works_and_warns() {
    let w = world("a.txt", "one\n");
    let reply = edit(&w, "a.txt", "one", "two").text();
    assert_has(&reply.to_lowercase(), &["without reading"]);
    assert_eq!(w.read("a.txt"), "two\n");
}

#[test]
fn parity_f47_editing_after_reading_does_not_warn() {
    let w = world("a.txt", "one\n");
    w.call("read_file", json!({ "path": "a.txt" })).text();
    let reply = edit(&w, "a.txt", "one", "two").text().to_lowercase();
    assert!(!reply.contains("without reading") && !reply.contains("changed since"), "{reply}");
}

#[test]
fn parity_f47_a_file_changed_since_it_was_read_is_edited_with_a_warning() {
    let w = world("a.txt", "one\n");
    w.call("read_file", json!({ "path": "a.txt" })).text();
    w.file("a.txt", "one\nmore\n");
    assert_has(&edit(&w, "a.txt", "one", "two").text().to_lowercase(), &["changed since"]);
    assert_eq!(w.read("a.txt"), "two\nmore\n");
}

#[test]
fn parity_f47_a_new_time_alone_is_no_change() {
    let w = world("a.txt", "one\n");
    w.call("read_file", json!({ "path": "a.txt" })).text();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(w.path("a.txt")).unwrap().set_modified(later).unwrap();
    let reply = edit(&w, "a.txt", "one", "two").text().to_lowercase();
    assert!(!reply.contains("changed since"), "{reply}");
}

#[test]
fn parity_f49_a_mistyped_path_gets_a_suggestion() {
    let w = world("config.py", "x = 1\n");
    let (kind, message) = edit(&w, "conifg.py", "x = 1", "x = 2").error();
    assert_eq!(kind, ErrorKind::NotFound);
    assert_has(&message, &["conifg.py", "config.py"]);
    assert!(!w.exists("conifg.py"));
}

#[test]
fn parity_f50_a_missing_new_text_is_named() {
    let w = world("a.txt", "x\n");
    let message = w.call("edit_file", json!({ "path": "a.txt", "old_text": "x" })).argument_error();
    assert_has(&message, &["new_text"]);
    assert_eq!(w.read("a.txt"), "x\n");
}
