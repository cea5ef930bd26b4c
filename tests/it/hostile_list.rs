//! The hostile components and the tests that use them are the same list: none lies there untried, and no test names one
//! that is not there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a directory, but this one.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("hostile_list.rs") {
            found.push(path);
        }
    }
    found
}

/// The string literals of all tests, comments left out.
fn literals() -> BTreeSet<String> {
    let mut literals = BTreeSet::new();
    for path in sources(&root().join("tests/it")) {
        for line in fs::read_to_string(path).unwrap().lines() {
            let code = line.split("//").next().unwrap();
            literals.extend(code.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    literals
}

/// The names of the files in a directory that end in one of these ways, and of the directories where `""` is one.
fn names(dir: &str, suffix: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(dir)).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter_map(|name| name.to_str()?.strip_suffix(suffix).map(str::to_owned)).collect()
}

fn declared() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("guest-tools/hostile/Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let examples = manifest["example"].as_array().unwrap();
    examples.iter().map(|example| example["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_hostile_component_is_declared() {
    let dir = "guest-tools/hostile/examples";
    let files = names(dir, ".rs");
    let directories: BTreeSet<String> =
        names(dir, "").into_iter().filter(|name| root().join(dir).join(name).is_dir()).collect();
    assert_eq!(declared(), &files | &directories);
}

#[test]
fn every_hostile_component_is_used_by_a_test() {
    let literals = literals();
    let all = &declared() | &names("guest-tools/hostile/wat", ".wat");
    assert!(all.len() > 20, "{all:?}");
    let unused: Vec<&String> = all.difference(&literals).collect();
    assert!(unused.is_empty(), "no test names {unused:?}");
}

#[test]
fn every_hostile_component_that_a_test_names_is_there() {
    let examples = declared();
    let suites: BTreeSet<&str> = examples.iter().map(|name| name.split('_').next().unwrap()).collect();
    // The names of tests and of what components export begin otherwise.
    let named: BTreeSet<String> = literals()
        .into_iter()
        .filter(|text| text.split_once('_').is_some_and(|(suite, _)| suites.contains(suite)))
        .filter(|text| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        .collect();
    assert!(named.len() >= examples.len(), "{named:?}");
    let absent: Vec<&String> = named.difference(&examples).collect();
    assert!(absent.is_empty(), "there is no {absent:?}");
}
