//! `tools list` and `tools inspect`: what there is, what it asks for, and what each role would say.

use super::context::Context;
use super::text;
use crate::support;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// What a subagent never has.
const MAINS_ALONE: [&str; 4] = ["cron", "message", "spawn", "tasks"];

#[test]
fn list_says_what_a_role_can_call() {
    let c = Context::new();
    insta::assert_snapshot!(c.run(&["tools", "list"]).done(), @r"
    yes  apply_patch         Change several files, or several places, in one step: all edits are applied or none.
    yes  cron                Schedule work in this conversation.
    yes  edit_file           Replace old_text in a file by new_text.
    yes  exec                Run a shell command in a sandbox.
    yes  exec_session        Send input to a command that still runs, wait for it or for text, or end it.
    yes  find_files          Find files by words in their path, glob or type.
    yes  grep                Search the lines of files with a regular expression (Rust syntax, no look-around).
    yes  list_dir            List a directory.
    yes  list_exec_sessions  List your commands that still run.
    yes  message             Send a message to the person you work for, or to another chat.
    yes  read_file           Read a text file with line numbers (`N| text`).
    yes  spawn               Start a background agent on one task.
    yes  tasks               Look after the background agents of this conversation.
    yes  write_file          Create a file, or replace its whole content.
    ");
    let ran = c.run(&["tools", "list", "--role", "subagent"]);
    let denied = |line: &&str| MAINS_ALONE.iter().any(|tool| line.contains(&format!("`{tool}`")));
    let (mains, others): (Vec<_>, Vec<_>) = ran.done().lines().partition(denied);
    assert!(others.len() == 10 && others.iter().all(|line| line.starts_with("yes  ")), "{others:?}");
    assert!(mains.len() == 4 && mains.iter().all(|line| line.starts_with("no   ")), "{mains:?}");
    let message = ran.done().lines().find(|line| line.contains("`message`")).unwrap();
    insta::assert_snapshot!(message, @"no   message             (tool `message` needs ringfence:host/message@0.1.0, which role subagent never has (it belongs to: main))");
}

#[test]
fn list_follows_a_profile() {
    let c = Context::new();
    c.config(
        "[profiles.reader]\nrole = \"main\"\ncapabilities = [\"files\"]\ntools = [\"grep\", \"message\"]\n",
    );
    let ran = c.run(&["tools", "list", "--role", "reader"]);
    let callable = ran.done().lines().filter_map(|line| line.strip_prefix("yes  ")).collect::<Vec<_>>();
    assert!(callable.len() == 1 && callable[0].starts_with("grep "), "{callable:?}");
}

#[test]
fn list_as_json_says_why_not() {
    let c = Context::new();
    let listed = c.run(&["tools", "list", "--role", "subagent", "--json"]).json();
    assert_eq!(listed["role"], "subagent");
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 14);
    for tool in tools {
        let callable = !MAINS_ALONE.iter().any(|name| tool["name"] == *name);
        assert_eq!(tool["callable"], callable, "{tool}");
        assert_eq!(tool["denials"].as_array().unwrap().is_empty(), callable, "{tool}");
        assert_eq!(tool["origin"], "built-in", "{tool}");
    }
    let message = tools.iter().find(|tool| tool["name"] == "message").unwrap();
    assert_eq!(message["denials"][0]["kind"], "not-for-role", "{message}");
}

#[test]
fn looking_works_where_nothing_can_be_run() {
    let c = Context::new();
    let component = support::hostile("role_message");
    // Here the workspace would be the program's own home, and a run is refused.
    for typed in
        [["tools", "list"].as_slice(), &["tools", "inspect", "grep"], &["tools", "inspect", text(&component)]]
    {
        let output = c.command(typed).current_dir(c.root().join("home")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{typed:?}");
    }
}

#[test]
fn inspect_shows_a_built_in_tool() {
    let c = Context::new();
    let ran = c.run(&["tools", "inspect", "message"]);
    let shown = ran.done();
    assert!(shown.lines().next().unwrap().starts_with("digest       sha256:"), "{shown}");
    for line in [
        "wants        send messages to people",
        "as main:     can be called",
        "as subagent: denied: tool `message` needs ringfence:host/message@0.1.0, which role subagent never has \
         (it belongs to: main)",
        "  ringfence:host/message@0.1.0  (asks for message)",
        "tool         message",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line:?} is missing in {shown}");
    }
    let shown = c.run(&["tools", "inspect", "message", "--json"]).json();
    assert_eq!(shown["wants"], serde_json::json!(["message"]));
    assert_eq!(shown["roles"]["main"]["callable"], true);
    assert_eq!(shown["roles"]["subagent"]["callable"], false);
    assert_eq!(shown["tools"][0]["name"], "message");
    assert_eq!(shown["tools"][0]["inputSchema"]["required"], serde_json::json!(["content"]));
}

fn digest(path: &Path) -> String {
    Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn inspect_shows_what_a_component_file_asks_for() {
    let c = Context::new();
    let path = support::hostile("role_all");
    let shown = c.run(&["tools", "inspect", text(&path), "--json"]).json();
    assert_eq!(shown["digest"], digest(&path));
    assert_eq!(shown["size"], fs::metadata(&path).unwrap().len());
    assert_eq!(shown["wants"], serde_json::json!(["message", "spawn", "tasks", "cron"]));
    assert_eq!(shown["roles"]["main"]["callable"], true, "{shown}");
    let denials = shown["roles"]["subagent"]["denials"].as_array().unwrap();
    assert_eq!(denials.len(), 4, "{shown}");
    assert!(denials.iter().all(|denial| denial["kind"] == "not-for-role"), "{shown}");
    assert_eq!(shown["tools"][0]["name"], "grab_all");
    // The same in the words for people.
    let ran = c.run(&["tools", "inspect", text(&path)]);
    assert!(ran.done().contains(&format!("sha256:{}", digest(&path))), "{ran:?}");
    // The file was looked at, and that is all: no message was sent.
    assert!(!ran.stderr.contains("message:"), "{ran:?}");
}

#[test]
fn inspect_names_an_import_that_nobody_knows_and_ends_with_8() {
    let c = Context::new();
    for (component, import, class) in [
        ("wire_unknown_import", "evil:thing/door@1.0.0", "unknown here"),
        ("wire_wrong_version", "ringfence:host/message@0.2.0", "known here at another version"),
        ("wire_future_wasi", "wasi:filesystem/preopens@0.3.0", "known here at another version"),
    ] {
        let path = support::hostile(component);
        let ran = c.run(&["tools", "inspect", text(&path)]);
        assert_eq!(ran.code, 8, "{ran:?}");
        assert!(ran.stdout.contains(&format!("  {import}  ({class})\n")), "{}", ran.stdout);
        assert!(ran.stdout.contains("\ntools        cannot be read: "), "{}", ran.stdout);
        assert!(!ran.stdout.contains("can be called"), "{}", ran.stdout);
        let ran = c.run(&["tools", "inspect", text(&path), "--json"]);
        assert_eq!(ran.code, 8, "{ran:?}");
        let shown = ran.json();
        for role in ["main", "subagent"] {
            assert_eq!(shown["roles"][role]["callable"], false, "{shown}");
        }
        assert!(shown["tools"]["error"].as_str().unwrap().contains(import), "{shown}");
    }
}

#[test]
fn inspect_of_what_is_no_tool_ends_with_8() {
    let c = Context::new();
    c.file("ws/garbage.wasm", [0x5a; 512]);
    c.file("ws/empty.wasm", "");
    c.file("ws/text", "(component)");
    let wats = ["core_module", "not_a_tool", "wrong_shape"].map(support::wat);
    let mut typed = vec!["garbage.wasm", "empty.wasm", "./text"];
    // The shape of an export is looked at when it is linked, and what cannot be linked cannot be read.
    typed.extend(wats.iter().map(|path| text(path)).filter(|path| !path.contains("wrong_shape")));
    for what in typed {
        let ran = c.run(&["tools", "inspect", what]);
        assert!(ran.ended(8).starts_with(&format!("error: {what}: ")), "{what}: {}", ran.stderr);
    }
    let ran = c.run(&["tools", "inspect", text(&support::wat("wrong_shape"))]);
    assert_eq!(ran.code, 8, "{ran:?}");
    assert!(ran.stdout.contains("\ntools        cannot be read: "), "{ran:?}");
}
