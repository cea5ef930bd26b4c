//! Compiling in a process of its own: it gives the same code, and a component that is built to be costly costs that process
//! and nobody else.

use crate::support::World;
use ringfence::sandbox::CompileBounds;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ringfence"))
}

/// A world without compiled code, whose components are compiled by the program.
fn world(temp: &tempfile::TempDir) -> World {
    let w = World::new().with_cache(temp.path().join("code"));
    w.toolbox().write().unwrap().compile_with(program(), CompileBounds::default());
    w.file("a.txt", "honest");
    w
}

fn entries(temp: &tempfile::TempDir) -> Vec<Vec<u8>> {
    let dir = fs::read_dir(temp.path().join("code")).unwrap();
    dir.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn another_process_makes_the_same_code() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let w = World::new().with_cache(here.path().join("code"));
    w.file("a.txt", "honest");
    for w in [&w, &world(&there)] {
        assert!(w.call("read_file", json!({ "path": "a.txt" })).text().contains("honest"));
    }
    assert_eq!(entries(&here).len(), 1);
    assert_eq!(entries(&here), entries(&there));
}

#[test]
fn what_does_not_compile_is_told_in_words() {
    let temp = tempfile::tempdir().unwrap();
    let w = world(&temp);
    let path = w.outside().join("untyped.wasm");
    fs::write(&path, with_function("(func (result i32))")).unwrap();
    let refused = w.try_component(&path, &[]).unwrap_err();
    assert!(refused.contains("does not compile"), "{refused}");
    assert!(w.call("read_file", json!({ "path": "a.txt" })).text().contains("honest"));
}

/// A tool component with one function more.
fn with_function(function: &str) -> Vec<u8> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/guest-tools/hostile/wat/core_tricks.wat");
    let text = fs::read_to_string(source).unwrap();
    let before = "    (memory (export \"memory\") 1)\n";
    assert_eq!(text.matches(before).count(), 1);
    wat::parse_str(text.replace(before, &format!("    {function}\n{before}"))).unwrap()
}

/// One whose compilation needs room for every pair of its locals and loops.
fn bomb(locals: usize, loops: usize) -> Vec<u8> {
    let mut function = format!("(func {}", "(local i32)".repeat(locals));
    function.push_str(&"(loop (br_if 0 (local.get 0))".repeat(loops));
    for local in 0..locals {
        write!(function, "(local.set {local} (i32.add (local.get {local}) (i32.const 1)))").unwrap();
    }
    function.push_str(&")".repeat(loops + 1));
    with_function(&function)
}

fn assert_too_costly(bounds: CompileBounds, says: &str) {
    let temp = tempfile::tempdir().unwrap();
    let w = world(&temp);
    w.toolbox().write().unwrap().compile_with(program(), bounds);
    let path = w.outside().join("bomb.wasm");
    fs::write(&path, bomb(4_000, 160)).unwrap();
    let refused = w.try_component(&path, &[]).unwrap_err();
    assert!(refused.contains("compiling it is refused") && refused.contains(says), "{refused}");
    // Nothing of it is kept, and the next component has its turn.
    w.toolbox().write().unwrap().compile_with(program(), CompileBounds::default());
    assert!(w.call("read_file", json!({ "path": "a.txt" })).text().contains("honest"));
    assert_eq!(entries(&temp).len(), 1);
}

#[test]
fn a_component_that_takes_too_much_memory_to_compile_is_ended() {
    assert_too_costly(CompileBounds { memory: 192 << 20, ..CompileBounds::default() }, "192 MiB");
}

#[test]
fn a_component_that_takes_too_long_to_compile_is_ended() {
    assert_too_costly(
        CompileBounds { processor: 1, ..CompileBounds::default() },
        "1 seconds of processor time",
    );
    assert_too_costly(
        CompileBounds { time: Duration::from_millis(700), ..CompileBounds::default() },
        "longer than",
    );
}

/// The bombs are refused for their cost, and not for what they are.
#[test]
fn the_same_component_with_a_small_function_more_is_a_tool() {
    let temp = tempfile::tempdir().unwrap();
    let w = world(&temp);
    let path = w.outside().join("small.wasm");
    fs::write(&path, bomb(4, 2)).unwrap();
    w.component(&path, &[]);
    assert_eq!(w.call("say", json!({})).text(), "said");
}
