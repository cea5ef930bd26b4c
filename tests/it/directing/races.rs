//! Names are swapped while somebody who is not main writes through them.

use super::{EVIL, Ground, directions, evil_skill, furnish, world};
use crate::race::while_swapping;
use crate::support::World;
use ringfence::authority::{Profile, Role};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rounds of one race in all, and of one call.
const ROUNDS: u64 = 10_000;
const AT_A_TIME: u64 = 500;

/// Rounds in calls of a subagent. How often each operation went how.
fn rounds(w: &World, operations: &Value) -> Vec<Value> {
    let who = w.conversation(Role::Subagent);
    let mut sums: Vec<Value> = Vec::new();
    for _ in 0..ROUNDS / AT_A_TIME {
        let text = who.call("direct_race", json!({ "operations": operations, "rounds": AT_A_TIME })).text();
        let outcomes: Vec<Value> = serde_json::from_str(&text).unwrap();
        sums.resize(outcomes.len(), json!({}));
        for (sum, outcome) in sums.iter_mut().zip(&outcomes) {
            for (key, number) in outcome.as_object().unwrap() {
                sum[key] = json!(sum[key].as_u64().unwrap_or(0) + number.as_u64().unwrap());
            }
        }
    }
    sums
}

/// Neither side slept: some of the attempts worked, and some were refused.
fn assert_both(sums: &[Value], swaps: u64) {
    let total = |key: &str| sums.iter().map(|sum| sum[key].as_u64().unwrap_or(0)).sum::<u64>();
    assert!(total("ok") > 0 && total("not-permitted") > 0 && swaps > 100, "{sums:?} in {swaps} swaps");
}

fn write(path: &str, flags: &[&str]) -> Value {
    json!({ "op": "write", "path": path, "flags": flags, "follow": true, "text": EVIL })
}

#[test]
fn a_directory_that_is_swapped_with_a_link_to_the_workspace() {
    let w = world();
    furnish(&w, Ground::Full);
    w.file("x/AGENTS.md", "draft");
    symlink(".", w.path("other")).unwrap();
    let before = directions(&w);
    let operations = json!([
        write("x/AGENTS.md", &[]),
        write("x/AGENTS.md", &["create", "truncate"]),
        { "op": "rename", "from": "x/AGENTS.md", "to": "x/was" },
        { "op": "rename", "from": "x/was", "to": "x/AGENTS.md" },
        { "op": "times", "path": "x/AGENTS.md", "follow": true },
        { "op": "unlink", "path": "x/AGENTS.md" },
        write("x/AGENTS.md", &["create", "exclusive"]),
        { "op": "make", "path": "x/.ringfence" },
        { "op": "remove", "path": "x/.ringfence" },
    ]);
    // What is called `was` in the workspace itself may come from a directory that was swapped in between, and directs nobody.
    let (sums, swaps) = while_swapping(&w.path("x"), &w.path("other"), || rounds(&w, &operations));
    assert_eq!(directions(&w), before, "{sums:?} in {swaps} swaps");
    assert_both(&sums, swaps);
}

#[test]
fn a_directory_that_is_swapped_with_a_link_to_skills() {
    let w = world();
    furnish(&w, Ground::Full);
    w.file("x/good/SKILL.md", "draft");
    // As main has one while it writes.
    w.file("skills/good/.ringfence-tmp-1", "what main is about to say");
    symlink("skills", w.path("other")).unwrap();
    let before = directions(&w);
    let operations = json!([
        write("x/good/SKILL.md", &["truncate"]),
        write("x/good/.ringfence-tmp-1", &["create", "exclusive"]),
        write("x/good/SKILL.md", &["create"]),
        { "op": "make", "path": "x/new" },
        { "op": "symlink", "path": "x/link", "target": "good" },
        { "op": "unlink", "path": "x/link" },
        { "op": "remove", "path": "x/new" },
        { "op": "rename", "from": "x/good/SKILL.md", "to": "x/good/was" },
        { "op": "rename", "from": "x/good/was", "to": "x/good/SKILL.md" },
        { "op": "times", "path": "x/good", "follow": true },
        { "op": "keep", "path": "x/good", "name": "dir" },
        { "op": "write", "via": "dir", "path": "SKILL.md", "flags": ["create", "truncate"], "text": evil_skill() },
        { "op": "times", "via": "dir", "path": "." },
    ]);
    let (sums, swaps) = while_swapping(&w.path("x"), &w.path("other"), || rounds(&w, &operations));
    assert_eq!(directions(&w), before, "{sums:?} in {swaps} swaps");
    assert_both(&sums, swaps);
}

#[test]
fn a_file_that_is_swapped_with_a_link_to_the_instructions() {
    let w = world();
    furnish(&w, Ground::Full);
    w.file("x", "draft");
    symlink("AGENTS.md", w.path("other")).unwrap();
    let before = directions(&w);
    let operations = json!([
        write("x", &[]),
        write("x", &["create"]),
        write("x", &["create", "truncate"]),
        { "op": "times", "path": "x", "follow": true },
        { "op": "resize", "path": "x" },
        { "op": "stream", "path": "x", "text": "" },
    ]);
    let (sums, swaps) = while_swapping(&w.path("x"), &w.path("other"), || rounds(&w, &operations));
    assert_eq!(directions(&w), before, "{sums:?} in {swaps} swaps");
    assert_both(&sums, swaps);
}

/// Two calls that are both not main's: one turns names about, the other one writes through them.
#[test]
fn two_calls_together_get_no_further_than_one() {
    let w = world();
    furnish(&w, Ground::Full);
    w.file("x/AGENTS.md", "draft");
    w.file("x/good/SKILL.md", "draft");
    let before = directions(&w);
    let turning = json!([
        { "op": "rename", "from": "x", "to": "y" },
        { "op": "symlink", "path": "x", "target": "." },
        { "op": "unlink", "path": "x" },
        { "op": "symlink", "path": "x", "target": "skills" },
        { "op": "unlink", "path": "x" },
        { "op": "rename", "from": "y", "to": "x" },
    ]);
    let writing = json!([
        write("x/AGENTS.md", &["create", "truncate"]),
        write("x/good/SKILL.md", &["create", "truncate"]),
        { "op": "rename", "from": "tmp/AGENTS.md", "to": "x/AGENTS.md" },
        { "op": "rename", "from": "x/AGENTS.md", "to": "tmp/AGENTS.md" },
        { "op": "make", "path": "x/evil" },
    ]);
    let over = AtomicBool::new(false);
    let (turned, sums) = std::thread::scope(|scope| {
        let turning = scope.spawn(|| {
            let agent = w.agent(Profile::plain(Role::Subagent));
            let arguments = json!({ "operations": turning, "rounds": AT_A_TIME }).to_string();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let mut turned = 0;
            while !over.load(Ordering::Relaxed) {
                let toolbox = w.toolbox().read().unwrap();
                let reply = runtime.block_on(toolbox.call(&agent, "direct_race", &arguments));
                assert_eq!(reply.outcome.name(), "done", "{reply:?}");
                turned += 1;
            }
            turned
        });
        let sums = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rounds(&w, &writing)));
        // Also when that failed, or the other thread would never end.
        over.store(true, Ordering::Relaxed);
        (turning.join().unwrap(), sums.unwrap())
    });
    assert_eq!(directions(&w), before, "{sums:?} in {turned} calls");
    assert_both(&sums, turned * AT_A_TIME);
}
