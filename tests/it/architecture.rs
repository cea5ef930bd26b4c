//! The rooms and their one-way doors, held against the `use` paths of the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the top down, layer by layer; within a layer a room may use those to its right.
const LAYERS: &[&[&str]] = &[
    &["cli"],
    &["schedule", "tasks", "bus"],
    &["agent", "session"],
    &["toolbox", "provider"],
    &["sandbox"],
    &["exec", "egress", "store", "config"],
    &["authority"],
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

fn rank(room: &str) -> Option<usize> {
    LAYERS.iter().flat_map(|layer| layer.iter()).position(|known| *known == room)
}

/// The rooms that a source file names as `crate::room`, grouped imports included. Comments are not code.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
    let mut rooms = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap().split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        for name in names {
            let room: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !room.is_empty() {
                rooms.insert(room);
            }
        }
    }
    rooms
}

#[test]
fn a_room_uses_only_rooms_below_it() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        if matches!(room, "main" | "lib") {
            continue;
        }
        let own = rank(room).unwrap_or_else(|| panic!("{room} is a room that LAYERS does not know"));
        for used in rooms_named(&fs::read_to_string(&path).unwrap()) {
            match rank(&used) {
                Some(other) if other >= own => {}
                Some(_) => {
                    wrong.push(format!("{}: {room} uses {used}, which stands above it", inside.display()))
                }
                None => wrong.push(format!("{}: {used} is no room", inside.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_reader_of_use_paths_sees_groups_and_skips_comments() {
    let text = "use crate::{cli::x, toolbox};\n// crate::sandbox\nlet a = crate::config::b();";
    let expected: BTreeSet<String> = ["cli", "toolbox", "config"].map(String::from).into();
    assert_eq!(rooms_named(text), expected);
}

/// Words that only one room may contain: whole libraries that stand for a kind of effect.
#[test]
fn effects_have_one_room_each() {
    let only = [
        ("wasmtime", "sandbox"),
        ("cap_primitives", "sandbox"),
        ("wasmparser", "sandbox"),
        ("jsonschema", "toolbox"),
        ("clap", "cli"),
        ("reqwest", "egress"),
        ("rusqlite", "store"),
        ("croner", "schedule"),
        ("serde_saphyr", "agent"),
        ("reedline", "cli"),
        ("termimad", "cli"),
        ("indicatif", "cli"),
        ("anstream", "cli exec"),
        ("landlock", "exec"),
        ("seccompiler", "exec"),
        ("libc", "exec"),
    ];
    let src = root().join("src");
    let mut wrong = Vec::new();
    for path in sources(&src) {
        let inside = path.strip_prefix(&src).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let code = line.split("//").next().unwrap();
            for (library, home) in only {
                if code.contains(&format!("{library}::")) && !home.split(' ').any(|home| home == room) {
                    wrong.push(format!("{}: {library} belongs to {home}: {line}", inside.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn main_is_short_and_files_stay_small() {
    let count = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    assert!(count(&root().join("src/main.rs")) <= 120);
    let mut sizes: Vec<usize> = sources(&root().join("src")).iter().map(|p| count(p)).collect();
    sizes.sort_unstable();
    let median = sizes[sizes.len() / 2];
    let p90 = sizes[sizes.len() * 9 / 10];
    assert!(median <= 160, "median {median}");
    assert!(p90 <= 500, "p90 {p90}");
    assert!(*sizes.last().unwrap() <= 800);
}

/// Every process is started in one of these places. Native commands are born below the launcher, and nowhere else.
#[test]
fn processes_are_started_in_known_places() {
    let src = root().join("src");
    let mut found = Vec::new();
    for path in sources(&src) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
        let starts = ["Command::new(", "execve(", "posix_spawn", "SYS_clone3,", "libc::fork", ".exec()"];
        let count: usize = starts.iter().map(|start| code.matches(start).count()).sum();
        if count > 0 {
            found.push((path.strip_prefix(&src).unwrap().to_string_lossy().into_owned(), count));
        }
    }
    found.sort();
    let known = [
        ("config/keys.rs", 1),
        ("exec/inside/filters.rs", 1),
        ("exec/inside/sys.rs", 2),
        ("exec/launch.rs", 1),
        ("exec/mod.rs", 2),
    ];
    assert_eq!(found, known.map(|(file, count)| (file.to_owned(), count)));
}
