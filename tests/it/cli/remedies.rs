//! What is printed under a denial is typed in, as it stands, and works.

use super::context::{Context, Ran};
use super::text;
use crate::support;
use clap::Parser as _;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The command line under a denial.
#[track_caller]
fn remedy(ran: &Ran) -> String {
    let line = ran.ended(5).lines().last().unwrap();
    let (lead, command) = line.split_once(": ").unwrap_or_else(|| panic!("{line} has no command"));
    assert!(lead.starts_with("  to ") && command.starts_with("ringfence tools run "), "{line}");
    command.to_owned()
}

/// Asserts that a run is denied, and that the command which is printed for it works.
#[track_caller]
fn denied_then_done(c: &Context, typed: &[&str]) -> Ran {
    let command = remedy(&c.run(&[&["tools", "run"], typed].concat()));
    let ran = c.shell(&command);
    assert_eq!(ran.code, 0, "{command}: {ran:?}");
    ran
}

/// Asserts that a run is denied, and that there is nothing to type.
#[track_caller]
fn nothing_to_type(c: &Context, typed: &[&str]) -> String {
    let ran = c.run(&[&["tools", "run"], typed].concat());
    let line = ran.ended(5).lines().last().unwrap();
    let why = line.strip_prefix("  nothing to type: ").unwrap_or_else(|| panic!("{line}"));
    assert!(!why.is_empty() && !why.contains("ringfence tools"), "{line}");
    c.shown(why)
}

const PROFILES: &str = "[profiles.reviewer]\nrole = \"subagent\"\nfiles = \"read-only\"\n\
    [profiles.grepper]\nrole = \"main\"\ntools = [\"grep\"]\n\
    [profiles.quiet]\nrole = \"main\"\ncapabilities = [\"files\"]\n\
    [profiles.elsewhere]\nrole = \"main\"\ndirectories = [\"/usr/share\"]\n\
    [profiles.blind]\nrole = \"main\"\nfiles = \"none\"\n";

#[test]
fn another_role_is_typed() {
    let c = Context::new();
    let ran = denied_then_done(&c, &["--role", "subagent", "message", "content=it's \"done\" $HOME"]);
    assert_eq!(ran.stderr, "message: it's \"done\" $HOME\n");
    assert_eq!(ran.stdout, "sent to cli:direct\n");
}

#[test]
fn the_role_behind_a_profile_is_typed() {
    let c = Context::new();
    c.config(PROFILES);
    let written = || {
        let written = c.read("ws/new.txt");
        fs::remove_file(c.root().join("ws/new.txt")).unwrap();
        written
    };
    for profile in ["reviewer", "grepper", "elsewhere", "blind"] {
        let typed = ["--role", profile, "write_file", "path=new.txt", "content=x"];
        let command = remedy(&c.run(&[["tools", "run"].as_slice(), &typed].concat()));
        assert_eq!(command.contains("--role subagent"), profile == "reviewer", "{command}");
        denied_then_done(&c, &typed);
        assert_eq!(written(), "x", "{profile}");
    }
    assert_eq!(denied_then_done(&c, &["--role", "quiet", "message", "content=x"]).stderr, "message: x\n");
    // Two things in the way are both out of it.
    let ran = denied_then_done(&c, &["--role", "quiet", "--deny", "message", "message", "content=x"]);
    assert_eq!(ran.stderr, "message: x\n");
}

#[test]
fn a_capability_is_typed() {
    let c = Context::new();
    let message = support::hostile("role_message");
    let component = ["--component", text(&message)];
    for role in ["main", "subagent"] {
        let typed = [component.as_slice(), &["--role", role, "grab_message", "text=from below"]].concat();
        assert_eq!(denied_then_done(&c, &typed).stderr, "message: from below\n");
    }
    let files = support::hostile("escape_files");
    let create =
        json!({ "path": "made", "flags": ["create"], "rights": ["write"], "write": "it's" }).to_string();
    let typed =
        ["--component", text(&files), "--role", "subagent", "--timeout", "7", "raw_open", "--json", &create];
    denied_then_done(&c, &typed);
    assert_eq!(c.read("ws/made"), "it's");
}

#[test]
fn several_capabilities_are_typed_one_after_the_other() {
    let c = Context::new();
    let all = support::hostile("role_all");
    let mut ran =
        c.run(&["tools", "run", "--component", text(&all), "--role", "subagent", "grab_all", "text=x"]);
    for _ in 0..4 {
        let command = remedy(&ran);
        ran = c.shell(&command);
    }
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, "message: x\n");
}

#[test]
fn a_directory_is_typed() {
    let c = Context::new();
    c.config(PROFILES);
    // Names that a shell, or a mark, would take for something else.
    for dir in ["lib", "with space", "it's", "$HOME", "odd:rw", "-flag", "sub/deep"] {
        c.file(&format!("outside/{dir}/a.txt"), "of the library\n");
        let at = c.at(&format!("outside/{dir}"));
        for path in [format!("path={at}/a.txt"), format!("path=../outside/{dir}/a.txt")] {
            for role in ["main", "subagent", "reviewer", "quiet", "elsewhere"] {
                let ran = denied_then_done(&c, &["--role", role, "read_file", &path]);
                assert!(ran.stdout.contains("1| of the library"), "{dir} as {role}: {ran:?}");
            }
            let edit = ["edit_file", &path, "old_text=library", "new_text=house"];
            denied_then_done(&c, &edit);
            assert_eq!(c.read(&format!("outside/{dir}/a.txt")), "of the house\n");
            c.file(&format!("outside/{dir}/a.txt"), "of the library\n");
        }
    }
}

#[test]
fn no_more_than_the_directory_is_typed() {
    let c = Context::new();
    c.file("outside/lib/a.txt", "of the library\n");
    let typed = |tool: &str, path: &str| {
        let path = format!("path={path}");
        c.shown(&remedy(
            &c.run(&["tools", "run", tool, &path, "pattern=of"][..if tool == "grep" { 5 } else { 4 }]),
        ))
    };
    for (tool, path, dir) in [
        ("read_file", "../outside/lib/a.txt", "--dir [ROOT]/outside/lib "),
        ("list_dir", "../outside/lib", "--dir [ROOT]/outside/lib "),
        ("grep", "../outside/lib/", "--dir [ROOT]/outside/lib "),
        ("find_files", "../outside", "--dir [ROOT]/outside "),
    ] {
        let command = typed(tool, path);
        assert!(command.contains(dir), "{tool}: {command}");
        assert!(!command.contains(":rw"), "{tool}: {command}");
    }
    assert_eq!(denied_then_done(&c, &["list_dir", "path=../outside/lib"]).stdout, "a.txt\n");
    // A profile that leaves the directory is kept.
    c.config("[profiles.quiet]\nrole = \"main\"\ncapabilities = [\"files\"]\n");
    let ran = c.run(&["tools", "run", "--role", "quiet", "read_file", "path=../outside/lib/a.txt"]);
    assert!(remedy(&ran).contains("--role quiet "), "{ran:?}");
}

#[test]
fn a_directory_is_typed_for_arguments_of_any_form() {
    let c = Context::new();
    c.file("outside/a.txt", "one\n");
    let edits = json!([
        { "path": "new.txt", "action": "add", "new_text": "new\n" },
        { "path": "../outside/a.txt", "action": "replace", "old_text": "one", "new_text": "two" },
    ]);
    denied_then_done(&c, &["apply_patch", &format!("edits={edits}")]);
    assert_eq!((c.read("ws/new.txt"), c.read("outside/a.txt")), ("new\n".to_owned(), "two\n".to_owned()));
    let arguments = json!({ "path": "../outside/b.txt", "content": "three" }).to_string();
    denied_then_done(&c, &["write_file", "--json", &arguments]);
    assert_eq!(c.read("outside/b.txt"), "three");
    // Directories that are not there yet are made below the nearest one that is.
    denied_then_done(&c, &["write_file", "path=../outside/new/deep/c.txt", "content=four"]);
    assert_eq!(c.read("outside/new/deep/c.txt"), "four");
    // In the answer for programs it is the same command.
    let typed = ["tools", "run", "-o", "json", "read_file", "path=../outside/a.txt"];
    let object = c.run(&typed).json();
    let (_, command) = object["remedy"].as_str().unwrap().split_once(": ").unwrap();
    assert_eq!(c.shell(command).json()["content"][0]["text"], "1| two\n(End of file: 1 line)");
}

#[test]
fn a_directory_that_was_named_for_reading_is_typed_for_writing() {
    let c = Context::new();
    c.file("outside/lib/a.txt", "one\n");
    let lib = c.at("outside/lib");
    for (dir, more) in [
        (lib.clone(), None),
        ("../outside/lib".to_owned(), None),
        (lib.clone(), Some("--read-only")),
        (format!("{lib}:rw"), Some("--read-only")),
    ] {
        for path in
            [format!("path={lib}/a.txt"), format!("path={lib}/new.txt"), format!("path={lib}/sub/new.txt")]
        {
            let mut typed = vec!["--dir", &dir, "write_file", &path, "content=written"];
            typed.extend(more);
            denied_then_done(&c, &typed);
            let written = path.strip_prefix("path=").unwrap();
            assert_eq!(fs::read_to_string(written).unwrap(), "written", "{typed:?}");
            fs::remove_file(written).unwrap();
        }
        let _ = fs::remove_dir(format!("{lib}/sub"));
    }
    // What a subagent cannot be handed is handed to main, with the access that was typed.
    c.file("outside/lib/a.txt", "one\n");
    let path = format!("path={lib}/a.txt");
    let writable = format!("{lib}:rw");
    let typed = ["--dir", &writable, "--role", "subagent", "read_file", &path];
    let command = remedy(&c.run(&[["tools", "run"].as_slice(), &typed].concat()));
    assert!(command.contains(&writable), "{command}");
    assert!(denied_then_done(&c, &typed).stdout.contains("1| one"));
}

#[test]
fn a_flag_that_takes_away_is_left_out_and_no_other() {
    let c = Context::new();
    let write = ["write_file", "path=new.txt", "content=x"];
    for less in [
        ["--read-only"].as_slice(),
        &["--deny", "files"],
        &["--read-only", "--deny", "message"],
        &["--deny", "files", "--deny", "message"],
    ] {
        let typed = [less, &write].concat();
        let command = remedy(&c.run(&[["tools", "run"].as_slice(), &typed].concat()));
        let kept = less.contains(&"message");
        assert_eq!(command.contains("--deny message"), kept, "{command}");
        denied_then_done(&c, &typed);
        assert_eq!(c.read("ws/new.txt"), "x");
        fs::remove_file(c.root().join("ws/new.txt")).unwrap();
    }
    // Two flags that take away the same go one after the other, the one that is not in the way stays.
    let ran = c.run(&["tools", "run", "--read-only", "--deny", "message", "message", "content=x"]);
    let command = remedy(&ran);
    assert!(command.contains("--read-only"), "{command}");
    assert_eq!(c.shell(&command).stderr, "message: x\n");
}

#[test]
fn where_nothing_helps_it_says_so() {
    let c = Context::new();
    c.file("ws/a.txt", "one\n");
    c.file("outside/secret.txt", "the secret");
    symlink(c.root().join("outside/secret.txt"), c.root().join("ws/link")).unwrap();
    symlink(c.root().join("outside"), c.root().join("ws/dir")).unwrap();
    fs::hard_link(c.root().join("outside/secret.txt"), c.root().join("ws/hard")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        c.root().join("ws/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let links = "links that lead outside are never followed";
    assert_eq!(nothing_to_type(&c, &["read_file", "path=link"]), links);
    assert_eq!(nothing_to_type(&c, &["read_file", "path=dir/secret.txt"]), links);
    assert_eq!(nothing_to_type(&c, &["--read-only", "write_file", "path=dir/x", "content=x"]), links);
    assert_eq!(nothing_to_type(&c, &["read_file", "path=hard"]), "replace the file by a copy of itself");
    assert_eq!(
        nothing_to_type(&c, &["read_file", "path=~/a.txt"]),
        "`~` is not expanded here; write the whole path"
    );
    assert!(nothing_to_type(&c, &["read_file", "path=/absent/a.txt"]).starts_with("/absent: "));
    // The program's own state is never handed over.
    c.config("");
    let config = format!("path={}", c.at("home/config/config.toml"));
    for typed in
        [["read_file", &config].as_slice(), &["write_file", &config, "content=x"], &["list_dir", "path=/"]]
    {
        let why = nothing_to_type(&c, typed);
        assert!(why.contains("this program keeps its own state"), "{why}");
    }
    assert_eq!(c.read("home/config/config.toml"), "");
    for (component, why) in [
        ("wire_unknown_import", "build the tool without this import"),
        ("wire_wrong_version", "build the tool against ringfence:host@0.1 and WASI 0.2"),
        ("wire_http", "this build opens no network connections for tools"),
    ] {
        let path = support::hostile(component);
        assert_eq!(nothing_to_type(&c, &["--component", text(&path), "x"]), why, "{component}");
    }
    assert_eq!(c.read("outside/secret.txt"), "the secret");
}

#[test]
fn what_is_told_to_look_at_can_be_looked_at() {
    let c = Context::new();
    let message = support::hostile("role_message");
    let odd = c.at("ws/it's.wasm");
    fs::copy(&message, &odd).unwrap();
    for (typed, found) in [
        (vec!["read_file", "pth=a.txt"], "tool         read_file"),
        (
            vec!["--component", &odd, "--allow", "message", "--json", "[]", "grab_message"],
            "tool         grab_message",
        ),
        (vec!["--component", &odd, "launch_rockets"], "tool         grab_message"),
        (vec!["launch_rockets"], "read_file"),
    ] {
        let ran = c.run(&[vec!["tools", "run"], typed.clone()].concat());
        let (_, command) = ran.ended(2).lines().last().unwrap().split_once(": ").unwrap();
        assert!(command.starts_with("ringfence tools "), "{command}");
        assert!(c.shell(command).done().contains(found), "{command}");
    }
}

/// The commands about tools and jobs in the string literals of a source text, comments left out. Placeholders stand for a
/// name or an id.
fn commands(source: &str) -> Vec<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let literals = code.split('"').skip(1).step_by(2);
    let starts = ["ringfence tools", "ringfence cron"];
    literals
        .flat_map(|literal| {
            starts
                .iter()
                .flat_map(move |start| literal.match_indices(start))
                .map(move |(at, _)| &literal[at..])
        })
        .map(|rest| rest.split([';', '`']).next().unwrap_or_default())
        .map(|command| {
            ["{}", "{0}", "{id}", "{what}"]
                .iter()
                .fold(command.to_owned(), |text, name| text.replace(name, "read_file"))
        })
        .collect()
}

fn all_commands(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_commands(&path, found);
        } else {
            found.extend(commands(&fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_command_in_the_source_is_one() {
    let mut found = Vec::new();
    all_commands(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() >= 12, "{found:?}");
    for command in found {
        let words = shlex::split(&command).unwrap();
        if let Err(error) = ringfence::cli::Arguments::try_parse_from(words) {
            panic!("{command}: {error}");
        }
    }
    assert_eq!(commands("a(\"to see: ringfence tools walk {}; or\")"), ["ringfence tools walk read_file"]);
    let two = commands("a(\"see ringfence cron show {0}; go on: ringfence cron go {0}\")");
    assert_eq!(two, ["ringfence cron show read_file", "ringfence cron go read_file"]);
    assert!(ringfence::cli::Arguments::try_parse_from(["ringfence", "tools", "walk"]).is_err());
}
