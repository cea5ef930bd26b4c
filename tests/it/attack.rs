//! What the tests of denials share: an outside with a secret, the raw file component, and how an attempt is judged.

use crate::support::{self, Reply, World};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// What lies outside and must never be seen.
pub(crate) const SECRET: &str = "the-secret-that-lies-outside";

/// What is written in every attempt to write.
pub(crate) const MARK: &str = "written-by-the-guest";

/// Outcomes that say "outside".
pub(crate) const OUTSIDE: &[&str] = &["outside-workspace", "denied"];

/// A workspace with an honest file and directory, an outside with a secret file, and nothing else.
pub(crate) fn world() -> World {
    let w = World::new();
    w.file("honest.txt", "honest");
    w.file("sub/honest.txt", "honest");
    fs::create_dir_all(w.outside()).unwrap();
    fs::write(w.outside().join("secret.txt"), SECRET).unwrap();
    w
}

/// The same with `escape_files` installed and files granted.
pub(crate) fn raw_world() -> World {
    with_raw_files(world())
}

/// Installs `escape_files` with files granted.
pub(crate) fn with_raw_files(w: World) -> World {
    w.component(&support::hostile("escape_files"), &["files"]);
    w
}

/// The path of the secret.
pub(crate) fn secret(w: &World) -> PathBuf {
    w.outside().join("secret.txt")
}

/// Calls a tool whose answer is JSON; the call itself must work.
pub(crate) fn raw(w: &World, tool: &str, arguments: Value) -> Value {
    let text = w.call(tool, arguments).text();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{tool} answered {text:?}: {e}"))
}

/// Everything that a reply says, whether it worked or not.
pub(crate) fn said(reply: &Reply) -> String {
    if reply.outcome() == "ok" { reply.text() } else { reply.refused() }
}

/// Asserts that a call was refused with one of these kinds, and that its message holds no secret.
pub(crate) fn assert_refused(what: &str, reply: &Reply, kinds: &[&str]) {
    let outcome = reply.outcome();
    assert_ne!(outcome, "ok", "{what}: {}", said(reply));
    assert!(kinds.contains(&outcome.as_str()), "{what}: {outcome} is none of {kinds:?}: {}", reply.refused());
    assert!(!reply.refused().contains(SECRET), "{what}: {}", reply.refused());
}

/// Tries to read and to write one path with each built-in tool that takes the path of a file.
pub(crate) fn assert_tools_refuse(w: &World, path: &str, kinds: &[&str]) {
    assert_reading_refused(w, path, kinds);
    assert_writing_refused(w, path, kinds);
}

/// Tries to read one path with each built-in tool.
pub(crate) fn assert_reading_refused(w: &World, path: &str, kinds: &[&str]) {
    for (tool, arguments) in [
        ("read_file", json!({ "path": path })),
        ("list_dir", json!({ "path": path })),
        ("find_files", json!({ "path": path, "query": "secret" })),
        ("grep", json!({ "path": path, "pattern": "secret", "output_mode": "content" })),
    ] {
        assert_refused(&format!("{tool} {path}"), &w.call(tool, arguments), kinds);
    }
}

/// Tries to write one path with each built-in tool.
pub(crate) fn assert_writing_refused(w: &World, path: &str, kinds: &[&str]) {
    for (tool, arguments) in [
        ("write_file", json!({ "path": path, "content": MARK })),
        ("edit_file", json!({ "path": path, "old_text": SECRET, "new_text": MARK })),
        ("edit_file", json!({ "path": path, "old_text": "", "new_text": MARK })),
        ("apply_patch", json!({ "edits": [{ "path": path, "action": "add", "new_text": MARK }] })),
        (
            "apply_patch",
            json!({ "edits": [{ "path": path, "action": "replace", "old_text": SECRET, "new_text": MARK }] }),
        ),
    ] {
        assert_refused(&format!("{tool} {path}"), &w.call(tool, arguments), kinds);
    }
}

/// Tries to open one path with every combination of flags and rights, and to change it by every other operation; none may
/// work and no secret may be seen. The outside is compared before and after.
pub(crate) fn assert_raw_refuses(w: &World, path: &str) {
    let before = w.snapshot_outside();
    for via in [None, Some(".")] {
        let ways = raw(w, "raw_open_all", json!({ "path": path, "via": via, "mark": MARK }));
        assert!(ways["tried"].as_u64() > Some(1000), "{path}: {ways}");
        assert_eq!(ways["opened"], 0, "{path}: {ways}");
        assert_eq!(ways["written"], 0, "{path}: {ways}");
        // Refused for what it is, and not for a flag that made no sense in every way.
        assert!(ways["outcomes"]["not-permitted"].as_u64() > Some(0), "{path}: {ways}");
        assert!(!ways.to_string().contains(SECRET), "{path}: {ways}");
    }
    let stat = raw(w, "raw_stat", json!({ "path": path }));
    assert_ne!(stat["Ok"]["followed"]["outcome"], "ok", "{path}: {stat}");
    assert_ne!(stat["Ok"]["hash_followed"], "ok", "{path}: {stat}");
    for (tool, arguments) in [
        ("raw_set_times", json!({ "path": path, "follow": true })),
        ("raw_link", json!({ "from": path, "to": "stolen", "follow": true })),
        ("raw_link", json!({ "from": "honest.txt", "to": path })),
    ] {
        let done = raw(w, tool, arguments);
        assert_ne!(done["outcome"], "ok", "{tool} {path}: {done}");
    }
    w.assert_outside_unchanged(&before);
}

/// Asserts that the attempts of [`assert_raw_refuses`] do work on a file inside, so that they prove something.
pub(crate) fn assert_raw_works(w: &World, path: &str) {
    let ways = raw(w, "raw_open_all", json!({ "path": path, "mark": MARK }));
    assert!(ways["opened"].as_u64() > Some(0), "{path}: {ways}");
    assert!(ways["written"].as_u64() > Some(0), "{path}: {ways}");
    assert!(ways.to_string().contains(MARK), "{path}: {ways}");
}
