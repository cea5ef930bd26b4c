//! The documents, held to the program: what they name exists, what they promise is so, and their examples do what is shown.

use crate::support::hostile;
use clap::Parser as _;
use ringfence::authority::{Access, Capability};
use ringfence::cli::{Arguments, Exit};
use ringfence::config::env;
use ringfence::sandbox::{CompileBounds, LimitKind, Limits, MAX_COMPONENT, Opened, TICK};
use ringfence::toolbox::{Toolbox, VIEW};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/configuration.md",
    "docs/events.md",
    "docs/performance.md",
    "docs/scripted-provider.md",
    "docs/threat-model.md",
    "guest-tools/README.md",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The fenced blocks of a document: language and lines.
fn blocks(text: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let body = lines.by_ref().take_while(|line| *line != "```").map(str::to_owned).collect();
            blocks.push((language.to_owned(), body));
        }
    }
    blocks
}

/// What stands between backticks outside of fenced blocks.
fn spans(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ")).collect()
}

/// The table that begins with this row: its other rows, cell by cell, without the rule below the head.
fn table(text: &str, head: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect();
    let mut lines = text.lines().skip_while(|line| *line != head);
    assert!(lines.next().is_some(), "there is no table {head}");
    lines.skip(1).take_while(|line| line.starts_with('|')).map(cells).collect()
}

fn pair(row: &[String]) -> (String, String) {
    (row[0].clone(), row[1].clone())
}

#[test]
fn the_two_commands_stand_at_the_top_of_the_readme() {
    let text = document("README.md");
    let begins = text.lines().position(|line| line.starts_with("```")).unwrap();
    assert!(begins <= 3, "the first block begins in line {}", begins + 1);
    let (_, lines) = blocks(&text).into_iter().next().unwrap();
    let plain: Vec<&str> = lines.iter().map(|line| line.split('#').next().unwrap().trim()).collect();
    let [run, test] = plain.as_slice() else { panic!("not two commands: {plain:?}") };
    assert!(run.starts_with("cargo run -- "), "{run}");
    assert!(parses(run.strip_prefix("cargo run -- ").unwrap()), "{run}");
    assert_eq!(*test, "cargo test");
    assert!(document(".ci/run").lines().any(|line| line == *test), ".ci/run does not run {test}");
}

#[test]
fn the_readme_has_the_exit_codes() {
    let told: Vec<_> = table(&document("README.md"), "| code | meaning |").iter().map(|r| pair(r)).collect();
    let real: Vec<_> =
        Exit::TABLE.iter().map(|(exit, meaning)| (exit.code().to_string(), (*meaning).to_owned())).collect();
    assert_eq!(told, real);
}

#[test]
fn the_readme_has_the_environment() {
    let text = document("README.md");
    let told: Vec<_> = table(&text, "| variable | what it does |").iter().map(|r| pair(r)).collect();
    let real: Vec<_> = env::ALL.iter().map(|v| (format!("`{}`", v.name), v.help.to_owned())).collect();
    assert_eq!(told, real);
}

#[test]
fn the_readme_has_the_tools_and_what_each_holds() {
    let temp = tempfile::tempdir().unwrap();
    let workspace = fs::canonicalize(temp.path()).unwrap();
    let opened = Opened::open(&workspace, &[], &[]).unwrap();
    let toolbox = Toolbox::new(opened, None, Limits::default()).unwrap();
    let held = |tool: &str| {
        let rights = &toolbox.find(tool).unwrap().0.grant.0;
        let of = |capability: Capability| match capability {
            Capability::Files => {
                let most = rights.directories.access(&workspace).map(|access| match access {
                    Access::ReadOnly => "read-only",
                    Access::ReadWrite => "read-write",
                });
                format!("files, {}", most.unwrap_or("none"))
            }
            other => other.name().to_owned(),
        };
        rights.capabilities.iter().map(of).collect::<Vec<_>>().join("; ")
    };
    let real: Vec<_> = toolbox.names().map(|tool| (format!("`{tool}`"), held(tool))).collect();
    let text = document("README.md");
    let told: Vec<_> = table(&text, "| tool | holds | what it does |").iter().map(|r| pair(r)).collect();
    assert_eq!(told, real);
}

/// A number as people write it.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn bytes(number: usize) -> String {
    match number {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{} bytes", grouped(n)),
    }
}

/// A constant that its room keeps to itself, by the text of its definition.
fn private(file: &str, name: &str) -> usize {
    let text = document(file);
    let found = text.lines().find(|line| line.contains(&format!("const {name}:")));
    let line = found.unwrap_or_else(|| panic!("{file}: there is no {name}"));
    let value = line.split('=').nth(1).unwrap().trim().trim_end_matches(';');
    let number = |text: &str| text.trim().replace('_', "").parse::<usize>().unwrap();
    match value.split_once("<<") {
        Some((base, shift)) => number(base) << number(shift),
        None => number(value),
    }
}

#[test]
fn the_readme_has_the_limits() {
    // Taken apart so that a new limit does not compile here until it is told.
    let Limits { time, memory, table_elements, handles, host_copies, random, log_lines, log_line, output } =
        Limits::default();
    let seconds = |n: u64| format!("{n} s");
    let kind = |kind: LimitKind| format!("`{}`", kind.name());
    let engine = |name| private("src/sandbox/engine.rs", name);
    let survey = |name| private("src/sandbox/survey.rs", name);
    let load = || "does not load".to_owned();
    let compile = CompileBounds::default();
    let real = [
        ("time of a call, waits included", seconds(time.as_secs()), kind(LimitKind::Time)),
        ("memory, all memories together", bytes(memory), kind(LimitKind::Memory)),
        ("table elements, all tables together", grouped(table_elements), kind(LimitKind::Table)),
        ("stack", bytes(engine("STACK")), kind(LimitKind::Stack)),
        ("handles (files, streams, timers) at once", grouped(handles), kind(LimitKind::Handles)),
        ("bytes handed to the host in one host call", bytes(host_copies), kind(LimitKind::HostCopies)),
        ("random bytes at once", bytes(random as usize), kind(LimitKind::Random)),
        ("result", bytes(output), kind(LimitKind::Output)),
        ("lines for the operator", grouped(log_lines), "further ones are dropped".to_owned()),
        ("one such line", bytes(log_line), "the rest is cut".to_owned()),
        ("calls at once", grouped(engine("CALLS")), "further ones wait".to_owned()),
        (
            "arguments",
            bytes(private("src/toolbox/arguments.rs", "MAX_ARGUMENTS")),
            "refused before the call".to_owned(),
        ),
        ("component", bytes(MAX_COMPONENT), load()),
        ("functions of a component", grouped(survey("MAX_FUNCTIONS")), load()),
        ("one function", bytes(survey("MAX_FUNCTION")), load()),
        (
            "compiling a component",
            format!(
                "{} s, {} s of processor time, {} GiB",
                compile.time.as_secs(),
                compile.processor,
                compile.memory >> 30
            ),
            load(),
        ),
    ]
    .map(|(limit, value, told)| vec![limit.to_owned(), value, told]);
    let text = document("README.md");
    assert_eq!(table(&text, "| limit | value | told as |"), real);
    assert!(text.contains(&format!("looked at every {} ms", TICK.as_millis())));
    let view = format!("a model is shown {} characters", grouped(VIEW));
    assert!(document("docs/threat-model.md").contains(&view), "{view}");
    assert!(document("ARCHITECTURE.md").contains(&format!("({} at once)", engine("CALLS"))));
}

/// Whether the program takes this command line, without its own name.
fn parses(line: &str) -> bool {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    let Some(words) = shlex::split(line) else { return false };
    let words = std::iter::once("ringfence".to_owned()).chain(words);
    match Arguments::try_parse_from(words) {
        Ok(_) => true,
        Err(error) => matches!(error.kind(), DisplayHelp | DisplayVersion),
    }
}

/// The command lines of the program in a document, without its own name.
fn commands(text: &str) -> Vec<String> {
    let in_blocks = blocks(text).into_iter().flat_map(|(_, lines)| lines).filter_map(|line| {
        let line = line.trim_start().trim_start_matches("$ ");
        let remedy = line.split_once(": ringfence ").map(|(_, command)| command);
        let typed = line.strip_prefix("ringfence ").or_else(|| line.strip_prefix("cargo run -- "));
        typed.or(remedy).map(str::to_owned)
    });
    let in_spans =
        spans(text).into_iter().filter_map(|span| span.strip_prefix("ringfence ").map(str::to_owned));
    in_blocks.chain(in_spans).collect()
}

#[test]
fn every_command_in_the_documents_is_one() {
    let mut wrong = Vec::new();
    for name in DOCUMENTS {
        wrong.extend(
            commands(&document(name)).into_iter().filter(|c| !parses(c)).map(|c| format!("{name}: {c}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let readme = commands(&document("README.md"));
    assert!(readme.iter().any(|c| c.starts_with("tools list")), "{readme:#?}");
    assert!(readme.iter().any(|c| c.starts_with("tools inspect")), "{readme:#?}");
    assert!(readme.iter().any(|c| c.starts_with("tools run --role subagent")), "{readme:#?}");
    assert!(!parses("tools run --rolle main list_dir") && !parses("tool list") && !parses("tools run 'a"));
}

/// Types the commands of a block into one shell, in the repository, and gives what the terminal shows.
fn typed(lines: &[String], home: &Path) -> String {
    let mut script = String::from("exec 2>&1\nstatus=0\n");
    for command in lines.iter().filter_map(|line| line.strip_prefix("$ ")) {
        let echo = shlex::try_quote(command).unwrap();
        script.push_str(&format!("printf '$ %s\\n' {echo}\n(exit $status)\n{command}\nstatus=$?\n"));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_ringfence"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).current_dir(root());
    shell.env("PATH", std::env::join_paths(places).unwrap()).env("RINGFENCE_HOME", home);
    for variable in env::ALL.iter().filter(|variable| variable.name != env::HOME.name) {
        shell.env_remove(variable.name);
    }
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

#[test]
fn the_examples_of_the_readme_show_what_is_shown() {
    // One example runs a component that is built for tests.
    hostile("role_message");
    let text = document("README.md");
    let home = tempfile::tempdir().unwrap();
    let configured: Vec<_> = blocks(&text).into_iter().filter(|(language, _)| language == "toml").collect();
    assert_eq!(configured.len(), 1, "one config.toml is in effect at a time");
    fs::create_dir(home.path().join("config")).unwrap();
    fs::write(home.path().join("config/config.toml"), configured[0].1.join("\n")).unwrap();
    let shown: Vec<_> = blocks(&text).into_iter().filter(|(language, _)| language == "console").collect();
    assert!(shown.len() >= 4, "{shown:#?}");
    for (_, lines) in shown {
        assert_eq!(typed(&lines, home.path()).trim_end(), lines.join("\n"));
    }
    assert!(!root().join("notes.txt").exists(), "a write that was shown to be denied was done");
}

/// What reads as a path among the spans of a document.
fn paths(text: &str) -> BTreeSet<String> {
    let is_path = |span: &String| {
        let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        // Other names without a folder (`config.toml`, `definition.json`) are said of files in more than one place.
        let file = span.ends_with(".rs") || span.ends_with(".md");
        plain && !span.starts_with(['/', '-']) && (span.contains('/') || file)
    };
    spans(text).into_iter().filter(is_path).collect()
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(rust_files(&path)),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
fn architecture_names_every_source_file_and_nothing_else() {
    let named = paths(&document("ARCHITECTURE.md"));
    let src = root().join("src");
    let missing: Vec<_> =
        named.iter().filter(|p| !root().join(p).exists() && !src.join(p).exists()).collect();
    assert!(missing.is_empty(), "named, but not there: {missing:#?}");
    let files = rust_files(&src);
    assert!(files.len() > 50, "{files:#?}");
    let is_named = |file: &Path| {
        let inside = file.strip_prefix(&src).unwrap().to_str().unwrap();
        named.contains(inside) || named.contains(&format!("src/{inside}"))
    };
    let unnamed: Vec<_> = files.iter().filter(|file| !is_named(file)).collect();
    assert!(unnamed.is_empty(), "there, but not named: {unnamed:#?}");
}

/// Where links lead: files beside the document, and headings in them.
#[test]
fn links_between_the_documents_lead_somewhere() {
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || *c == ' ' || *c == '-');
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in DOCUMENTS {
        let text = document(name);
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = if file.is_empty() {
                root().join(name)
            } else {
                root().join(name).parent().unwrap().join(file)
            };
            let target = fs::read_to_string(&path).unwrap_or_default();
            let headings = target.lines().filter_map(|line| line.split_once("# ")).map(|(_, h)| anchor(h));
            if target.is_empty() || !(heading.is_empty() || headings.into_iter().any(|h| h == heading)) {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 10);
}
