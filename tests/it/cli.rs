//! The command line through the real binary: what it prints where, what it ends with, and what happened.

mod context;
mod looking;
mod places;
mod profiles;
mod remedies;
mod tasks_verb;

use crate::support;
use context::Context;
use serde_json::json;
use std::fs;
use std::process::Stdio;

fn text(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn done_is_0_and_the_result_alone_is_on_stdout() {
    let c = Context::new();
    c.file("ws/a.txt", "one\ntwo\n");
    let ran = c.run(&["tools", "run", "read_file", "path=a.txt"]);
    assert_eq!(ran.done(), "1| one\n2| two\n(End of file: 2 lines)\n");
    // What a tool tells a person is no part of the result.
    let ran = c.run(&["tools", "run", "message", "content=hello\u{1b}[2J"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "sent to cli:direct\n"));
    assert_eq!(ran.stderr, "message: hello\\u{1b}[2J\n");
}

#[test]
fn a_tool_that_fails_is_1() {
    let c = Context::new();
    let ran = c.run(&["tools", "run", "read_file", "path=absent.txt"]);
    assert_eq!(ran.ended(1), "error: absent.txt does not exist\n");
    let crashing = support::hostile("limits_trap");
    for (tool, arguments) in [("panic", "{}"), ("unreachable", "{}"), ("exit", r#"{"success":true}"#)] {
        let ran = c.run(&["tools", "run", "--component", text(&crashing), tool, "--json", arguments]);
        assert!(ran.ended(1).starts_with("error: the component "), "{tool}: {ran:?}");
    }
}

#[test]
fn a_command_that_makes_no_sense_is_2() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    c.file("ws/plain", "no component");
    for (typed, said) in [
        (vec![], "a chat needs a terminal"),
        (vec!["tool"], "tools"),
        (vec!["tools", "walk"], "walk"),
        (vec!["tools", "run"], "NAME"),
        (vec!["tools", "run", "read_file"], "path"),
        (vec!["tools", "run", "read_file", "a.txt"], "`a.txt` is not KEY=VALUE"),
        (vec!["tools", "run", "read_file", "path=a.txt", "--json", "{}"], "--json"),
        (vec!["tools", "run", "read_file", "--json", "{\"path\":"], "not JSON"),
        (vec!["tools", "run", "read_file", "--json", "[1]"], "must be a JSON object"),
        (vec!["tools", "run", "read_file", "path=a.txt", "offset=zero"], "offset"),
        (vec!["tools", "run", "read_file", "path=a.txt", "ofset=1"], "did you mean `offset`?"),
        (vec!["tools", "run", "read_fil", "path=a.txt"], "did you mean `read_file`?"),
        (vec!["tools", "run", "launch_rockets"], "ringfence tools list"),
        (vec!["tools", "run", "--role", "mian", "read_file", "path=a.txt"], "did you mean main?"),
        (vec!["tools", "run", "--deny", "flies", "read_file", "path=a.txt"], "did you mean files?"),
        (vec!["tools", "run", "--allow", "files", "read_file", "path=a.txt"], "--component"),
        (vec!["tools", "run", "--timeout", "0", "read_file", "path=a.txt"], "0"),
        (vec!["tools", "run", "--timeout", "601", "read_file", "path=a.txt"], "601"),
        (vec!["tools", "run", "--dir", "", "read_file", "path=a.txt"], "--dir"),
        (vec!["tools", "run", "--component", "absent.wasm", "x"], "absent.wasm"),
        (vec!["tools", "run", "--component", ".", "x"], "not a regular file"),
        (vec!["tools", "list", "--role", "mian"], "did you mean main?"),
        (vec!["tools", "inspect", "read_fil"], "did you mean `read_file`?"),
        (vec!["tools", "inspect", "plain"], "ringfence tools list"),
        (vec!["tools", "inspect", "./absent.wasm"], "absent.wasm"),
    ] {
        let ran = c.run(&typed);
        assert!(ran.ended(2).contains(said), "{typed:?}: {}", ran.stderr);
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_3_and_names_the_place() {
    let c = Context::new();
    for (config, said) in [
        ("[profiles.x\n", "line 1"),
        ("colour = true\n", "unknown key `colour`"),
        ("[profile.x]\nrole = \"main\"\n", "did you mean `profiles`?"),
        ("[profiles.main]\nrole = \"main\"\n", "profiles.main"),
        ("[profiles.x]\n", "profiles.x: `role` is missing"),
        ("[profiles.x]\nrole = \"root\"\n", "profiles.x.role"),
        (
            "[profiles.x]\nrole = \"main\"\ncapabilities = [\"mesage\"]\n",
            "profiles.x.capabilities: there is no capability `mesage`; did you mean `message`?",
        ),
        ("[profiles.x]\nrole = \"main\"\nfiles = \"all\"\n", "profiles.x.files"),
        ("[profiles.x]\nrole = \"main\"\ndirectories = [\"src\"]\n", "profiles.x.directories: `src`"),
        ("[profiles.x]\nrole = \"main\"\ntools = \"grep\"\n", "profiles.x.tools"),
    ] {
        c.config(config);
        // Also where none of it is asked for: a configuration is used whole or not at all.
        for typed in [
            vec!["tools", "run", "write_file", "path=new.txt", "content=x"],
            vec!["tools", "list"],
            vec!["tools", "inspect", "grep"],
        ] {
            let ran = c.run(&typed);
            let stderr = ran.ended(3);
            assert!(stderr.contains("home/config/config.toml") && stderr.contains(said), "{stderr}");
        }
        assert!(!c.exists("ws/new.txt"));
    }
    c.config("[profiles.x]\nrole = \"main\"\n");
    c.run(&["tools", "run", "write_file", "path=new.txt", "content=x"]).done();
    assert_eq!(c.read("ws/new.txt"), "x");
}

#[test]
fn denied_is_5_and_nothing_is_on_stdout() {
    let c = Context::new();
    c.file("outside/secret.txt", "the secret");
    let secret = c.at("outside/secret.txt");
    let secret = format!("path={secret}");
    let unknown = support::hostile("wire_unknown_import");
    let message = support::hostile("role_message");
    for typed in [
        vec!["--role", "subagent", "message", "content=hello"],
        vec!["--deny", "message", "message", "content=hello"],
        vec!["--read-only", "write_file", "path=new.txt", "content=x"],
        vec!["--deny", "files", "write_file", "path=new.txt", "content=x"],
        vec!["read_file", &secret],
        vec!["write_file", &secret, "content=x"],
        vec!["read_file", "path=../outside/secret.txt"],
        vec!["--component", text(&message), "grab_message", "text=hello"],
        vec!["--component", text(&unknown), "grab_door"],
    ] {
        let typed = [vec!["tools", "run"], typed].concat();
        let ran = c.run(&typed);
        let stderr = ran.ended(5);
        assert!(stderr.starts_with("denied: ") && stderr.lines().count() == 2, "{stderr}");
        assert!(!stderr.contains("the secret") && !stderr.contains("message: hello"), "{stderr}");
        // For a program it is one object, which says the same.
        let ran = c.run(&[typed, vec!["-o", "json"]].concat());
        let object = ran.json();
        assert_eq!(ran.code, 5);
        assert_eq!((&object["ok"], &object["outcome"]), (&json!(false), &json!("denied")));
        let said = format!("{}\n", object["message"].as_str().unwrap());
        assert!(stderr.starts_with(&said), "{stderr} {object}");
        for key in ["kind", "subject", "remedy"] {
            assert!(object[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {object}");
        }
    }
    assert_eq!(c.read("outside/secret.txt"), "the secret");
    assert_eq!(fs::read_dir(c.workspace()).unwrap().count(), 0);
}

#[test]
fn timed_out_is_7() {
    let c = Context::new();
    let component = support::hostile("limits_time");
    let typed = ["tools", "run", "--component", text(&component), "--timeout", "1", "spin"];
    assert_eq!(c.run(&typed).ended(7), "error: the call was ended: it ran out of time\n");
    let ran = c.run(&[typed.as_slice(), &["-o", "json"]].concat());
    assert_eq!(ran.code, 7);
    assert_eq!(ran.json()["kind"], "timeout");
}

#[test]
fn a_component_that_does_not_load_is_8() {
    let c = Context::new();
    c.file("ws/garbage.wasm", [0x5a; 512]);
    c.file("ws/empty.wasm", "");
    let paths = ["core_module", "not_a_tool", "wrong_shape"].map(support::wat);
    let mut typed = vec!["garbage.wasm", "empty.wasm"];
    typed.extend(paths.iter().map(|path| text(path)));
    for component in typed {
        let ran = c.run(&["tools", "run", "--component", component, "--allow", "files", "x"]);
        assert!(ran.ended(8).starts_with(&format!("error: {component}: ")), "{component}: {}", ran.stderr);
    }
}

#[test]
fn every_exit_code_is_in_the_help() {
    let c = Context::new();
    let ran = c.run(&["--help"]);
    let help = ran.done().split_whitespace().collect::<Vec<_>>().join(" ");
    for (exit, meaning) in ringfence::cli::Exit::TABLE {
        let entry = format!("{} {meaning}", exit.code());
        assert!(help.contains(&entry), "{entry} is not in {help}");
    }
    assert!(c.run(&["--version"]).done().starts_with("ringfence "));
}

#[test]
fn json_is_one_object_whatever_became_of_the_call() {
    let c = Context::new();
    c.file("ws/a.txt", "one\u{7f}\u{9b}31m\n");
    let component = support::hostile("limits_trap");
    for (typed, code, outcome) in [
        (vec!["read_file", "path=a.txt"], 0, "done"),
        (vec!["read_file", "path=absent.txt"], 1, "failed"),
        (vec!["--component", text(&component), "panic"], 1, "ended"),
        (vec!["read_file", "path="], 2, "arguments"),
        (vec!["read_fil", "path=a.txt"], 2, "unknown"),
        (vec!["read_file", "a.txt"], 2, "stopped"),
        (vec!["--component", "absent.wasm", "x"], 2, "stopped"),
        (vec!["-C", "absent", "read_file", "path=a.txt"], 3, "stopped"),
        (vec!["--role", "subagent", "message", "content=x"], 5, "denied"),
        (vec!["--component", "a.txt", "x"], 8, "stopped"),
    ] {
        let ran = c.run(&[vec!["tools", "run", "-o", "json"], typed.clone()].concat());
        let object = ran.json();
        assert_eq!(ran.code, code, "{typed:?}: {ran:?}");
        assert_eq!(object["outcome"], outcome, "{typed:?}: {object}");
        assert_eq!(object["ok"], json!(code == 0), "{typed:?}: {object}");
        assert_eq!(object["message"].is_string(), code != 0, "{typed:?}: {object}");
        assert!(!ran.stdout.trim_end().chars().any(char::is_control), "{typed:?}: {}", ran.stdout);
    }
    let ran = c.run(&["tools", "run", "-o", "json", "read_file", "path=a.txt"]);
    let object = ran.json();
    assert_eq!(object["content"][0]["type"], "text");
    assert_eq!(object["structured"]["total_lines"], 1);
}

#[test]
fn arguments_are_read_as_the_schema_says() {
    let c = Context::new();
    c.file("ws/5", "one\ntwo\nthree\n");
    // Text where text is wanted, and numbers, truth and lists where those are.
    let ran = c.run(&["tools", "run", "read_file", "path=5", "offset=2", "limit=1", "force=yes"]);
    assert!(ran.done().starts_with("2| two\n(Lines 2-2 of 3"), "{ran:?}");
    let typed = json!({ "path": "5", "offset": "3" }).to_string();
    assert!(c.run(&["tools", "run", "read_file", "--json", &typed]).done().starts_with("3| three\n"));
    for (content, written) in [("content=5", "5"), ("content=", ""), ("content={\"a\"=1}", "{\"a\"=1}")] {
        c.run(&["tools", "run", "write_file", "path=w.txt", content]).done();
        assert_eq!(c.read("ws/w.txt"), written);
    }
    let edits = json!([{ "path": "w.txt", "action": "replace", "old_text": "a", "new_text": "b" }]);
    c.run(&["tools", "run", "apply_patch", &format!("edits={edits}")]).done();
    assert_eq!(c.read("ws/w.txt"), "{\"b\"=1}");
}

#[test]
fn control_characters_reach_no_terminal() {
    let c = Context::new();
    let evil = "a\u{1b}[2Jb\u{9b}31mc\u{7}d\u{1b}]52;c;QUJD\u{7}e\rf\u{8}g";
    c.file("ws/content.txt", format!("{evil}\n"));
    c.file("ws/name\u{1b}[31m\u{7}.txt", "found\n");
    c.file("ws/new\nline.txt", "found\n");
    for typed in [
        vec!["read_file", "path=content.txt"],
        vec!["grep", "pattern=.", "output_mode=content"],
        vec!["grep", "pattern=found"],
        vec!["list_dir", "path=."],
        vec!["find_files"],
        vec!["write_file", "path=made\u{1b}[2J.txt", "content=x"],
        vec!["read_file", "path=absent\u{1b}[2J\u{9b}.txt"],
        vec!["read_file", "path=../outside\u{1b}[2J"],
        vec!["read_file\u{1b}[2J", "path=a"],
        vec!["message", &format!("content={evil}")],
        vec!["message", &format!("content={evil}"), "--role", "subagent"],
    ] {
        for format in ["text", "json"] {
            let ran = c.run(&[vec!["tools", "run", "-o", format], typed.clone()].concat());
            let all = format!("{}{}", ran.stdout, ran.stderr);
            let raw = all.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(raw, None, "{typed:?}: {all:?}");
            assert!(all.contains("\\u{"), "{typed:?}: {all:?}");
        }
    }
    // A line break in a name starts no line of its own.
    let listed = c.run(&["tools", "run", "list_dir", "path=."]);
    assert!(listed.done().lines().all(|line| line != "line.txt"), "{listed:?}");
}

#[test]
fn a_further_directory_is_read_or_written_as_it_was_named() {
    let c = Context::new();
    c.file("outside/lib/a.txt", "of the library\n");
    let lib = c.at("outside/lib");
    let (path, new) = (format!("path={lib}/a.txt"), format!("path={lib}/new.txt"));
    c.run(&["tools", "run", "read_file", &path]).ended(5);
    for dir in [lib.clone(), format!("{lib}:ro")] {
        let ran = c.run(&["tools", "run", "--dir", &dir, "read_file", &path]);
        assert!(ran.done().contains("of the library"), "{ran:?}");
        c.run(&["tools", "run", "--dir", &dir, "write_file", &new, "content=x"]).ended(5);
        assert!(!c.exists("outside/lib/new.txt"));
    }
    let writable = format!("{lib}:rw");
    // The run takes away what the directory was named with, and a subagent never has it.
    for less in [vec!["--read-only"], vec!["--role", "subagent"], vec!["--deny", "files"]] {
        let typed = [vec!["tools", "run", "--dir", &writable], less, vec!["write_file", &new, "content=x"]];
        c.run(&typed.concat()).ended(5);
        assert!(!c.exists("outside/lib/new.txt"));
    }
    c.run(&["tools", "run", "--dir", &writable, "write_file", &new, "content=x"]).done();
    assert_eq!(c.read("outside/lib/new.txt"), "x");
    // A neighbour of it is as far away as before.
    c.file("outside/lib-private/a.txt", "private");
    let path = format!("path={lib}-private/a.txt");
    assert!(!c.run(&["tools", "run", "--dir", &writable, "read_file", &path]).ended(5).contains("private\n"));
}

#[test]
fn a_directory_around_the_workspace_moves_no_relative_path() {
    let c = Context::new();
    c.file("around/ws/a.txt", "in the workspace\n");
    c.file("around/a.txt", "around it\n");
    let around = c.at("around");
    let workspace = c.at("around/ws");
    let run =
        |dir: &str, call: &[&str]| c.run(&[&["tools", "run", "-C", &workspace, "--dir", dir], call].concat());
    assert!(run(&around, &["read_file", "path=a.txt"]).done().contains("in the workspace"));
    assert!(run(&around, &["read_file", "path=../a.txt"]).done().contains("around it"));
    run(&format!("{around}:rw"), &["write_file", "path=new.txt", "content=x"]).done();
    assert_eq!(c.read("around/ws/new.txt"), "x");
    assert!(!c.exists("around/new.txt"));
    // One file would have two rights: nothing is handed over.
    assert!(run(&around, &["write_file", "path=other.txt", "content=x"]).ended(3).contains("overlaps"));
    assert!(!c.exists("around/ws/other.txt") && !c.exists("around/other.txt"));
}

#[test]
fn what_a_run_takes_away_is_gone_and_comes_back_without_it() {
    let c = Context::new();
    let write = ["write_file", "path=a.txt", "content=x"];
    for less in [["--read-only"].as_slice(), &["--deny", "files"], &["--deny", "message", "--deny", "files"]]
    {
        c.run(&[["tools", "run"].as_slice(), less, &write].concat()).ended(5);
        assert!(!c.exists("ws/a.txt"));
    }
    c.run(&[["tools", "run", "--deny", "message"].as_slice(), &write].concat()).done();
    assert_eq!(c.read("ws/a.txt"), "x");
    assert!(c.run(&["tools", "run", "--read-only", "read_file", "path=a.txt"]).done().contains("1| x"));
}

#[test]
fn a_component_holds_what_is_allowed_and_nothing_else() {
    let c = Context::new();
    let files = support::hostile("escape_files");
    let create =
        json!({ "path": "made", "flags": ["create"], "rights": ["write"], "write": "x" }).to_string();
    let typed = ["tools", "run", "--component", text(&files), "raw_open", "--json", &create];
    c.run(&typed).ended(5);
    c.run(&[typed.as_slice(), &["--allow", "message", "--allow", "exec"]].concat()).ended(5);
    assert!(!c.exists("ws/made"));
    let ran = c.run(&[typed.as_slice(), &["--allow", "files", "--read-only"]].concat());
    assert!(!ran.done().contains("\"outcome\":\"ok\""), "{ran:?}");
    assert!(!c.exists("ws/made"));
    let ran = c.run(&[typed.as_slice(), &["--allow", "files"]].concat());
    assert!(ran.done().contains("\"outcome\":\"ok\""), "{ran:?}");
    assert_eq!(c.read("ws/made"), "x");
    // It takes no built-in tool's place, and is no part of the next run.
    c.run(&["tools", "run", "raw_open", "--json", &create]).ended(2);
}

#[test]
fn a_profile_narrows_its_role() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    c.config(
        "[profiles.reviewer]\nrole = \"subagent\"\nfiles = \"read-only\"\n\
         tools = [\"read_file\", \"write_file\", \"message\"]\n\
         [profiles.quiet]\nrole = \"main\"\ncapabilities = [\"files\"]\n\
         [profiles.blind]\nrole = \"main\"\nfiles = \"none\"\n",
    );
    let run = |role: &str, call: &[&str]| c.run(&[&["tools", "run", "--role", role], call].concat());
    assert!(run("reviewer", &["read_file", "path=a.txt"]).done().contains("1| one"));
    for (role, call) in [
        ("reviewer", ["write_file", "path=new.txt", "content=x"].as_slice()),
        ("reviewer", &["grep", "pattern=one"]),
        // Named by the profile, which gives nothing that its role has not.
        ("reviewer", &["message", "content=hello"]),
        ("quiet", &["message", "content=hello"]),
        ("blind", &["read_file", "path=a.txt"]),
        ("blind", &["write_file", "path=new.txt", "content=x"]),
    ] {
        let ran = run(role, call);
        let stderr = ran.ended(5);
        assert!(stderr.contains(role), "{stderr}");
        assert!(!stderr.contains("message: hello") && !stderr.contains("1| one"), "{stderr}");
        assert!(!c.exists("ws/new.txt"));
    }
    run("quiet", &["write_file", "path=new.txt", "content=x"]).done();
    assert_eq!(c.read("ws/new.txt"), "x");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let c = Context::new();
    // More than a pipe holds, so that the program still writes when the reader has gone.
    c.file("ws/long.txt", format!("{}\n", "x".repeat(110)).repeat(2000));
    let ran =
        c.shell("{ ringfence tools run read_file path=long.txt; echo \"ended with $?\" >&2; } | head -n 1");
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with("1| xxx") && ran.stdout.lines().count() == 1, "{}", ran.stdout.len());
    assert_eq!(ran.stderr, "ended with 0\n");
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    for typed in [
        ["tools", "run", "read_file", "path=a.txt"].as_slice(),
        &["tools", "run", "-o", "json", "read_file", "path=a.txt"],
        &["tools", "list"],
        &["tools", "inspect", "grep", "--json"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = c.command(typed).stdout(Stdio::from(full)).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{typed:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("error: the result cannot be written: "), "{typed:?}: {stderr}");
    }
}
