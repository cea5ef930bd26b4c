//! Rows 142, 143 and 148 of the escape corpus: every limit ends the call with its own kind, the host lives on, and the next
//! call starts clean.

use crate::attack::{MARK, raw, world};
use crate::support::{self, World};
use ringfence::sandbox::LimitKind;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// A time limit that tests can wait for.
const SHORT: Duration = Duration::from_millis(300);

/// An honest workspace with one hostile component.
fn with(component: &str, grants: &[&str]) -> World {
    let w = world();
    w.component(&support::hostile(component), grants);
    w
}

fn with_short_time(component: &str) -> World {
    let w = world().with_timeout(SHORT);
    w.component(&support::hostile(component), &[]);
    w
}

/// Asserts that the host does what it did before.
fn assert_alive(w: &World) {
    assert!(w.call("read_file", json!({ "path": "honest.txt", "force": true })).text().contains("honest"));
    w.call("write_file", json!({ "path": "alive.txt", "content": "alive" })).text();
    assert_eq!(w.read("alive.txt"), "alive");
}

/// Asserts that a limit ends a call, twice, and that the host lives on.
fn assert_limit(w: &World, tool: &str, arguments: Value, limit: LimitKind) {
    for _ in 0..2 {
        assert_eq!(w.call(tool, arguments.clone()).limit(), limit, "{tool} {arguments}");
    }
    assert_alive(w);
}

/// Asserts that a call ends in one of these ways, none of which is an answer, and that the host lives on.
fn assert_ends(w: &World, tool: &str, arguments: Value, ways: &[&str]) {
    let outcome = w.call(tool, arguments.clone()).outcome();
    assert!(ways.contains(&outcome.as_str()), "{tool} {arguments}: {outcome} is none of {ways:?}");
    assert_alive(w);
}

#[test]
fn escape_148_endless_loops_end_in_time() {
    let w = with_short_time("limits_time");
    for tool in ["spin", "spin_in_host_calls"] {
        assert_limit(&w, tool, json!({}), LimitKind::Time);
    }
}

#[test]
fn escape_148_sleeping_in_the_host_ends_in_time() {
    let w = with_short_time("limits_time");
    for tool in ["sleep_blocked", "sleep_polling"] {
        assert_limit(&w, tool, json!({ "milliseconds": 3_600_000 }), LimitKind::Time);
        assert_eq!(w.call(tool, json!({ "milliseconds": 5 })).text(), "slept");
    }
}

#[test]
fn escape_148_the_end_of_one_call_is_not_the_end_of_another() {
    let w = with_short_time("limits_time");
    thread::scope(|scope| {
        let spinning: Vec<_> = (0..3).map(|_| scope.spawn(|| w.call("spin", json!({})).limit())).collect();
        for _ in 0..20 {
            assert_eq!(w.call("sleep_blocked", json!({ "milliseconds": 1 })).text(), "slept");
        }
        for spun in spinning {
            assert_eq!(spun.join().unwrap(), LimitKind::Time);
        }
    });
    assert_alive(&w);
}

#[test]
fn escape_148_memory_is_capped() {
    let w = with("limits_memory", &[]);
    assert_limit(&w, "allocate", json!({ "mib": 100 }), LimitKind::Memory);
    assert_limit(&w, "allocate", json!({ "mib": 4000 }), LimitKind::Memory);
    let grown = raw(&w, "grow_memory", json!({ "mib": 100 }));
    assert_eq!(grown["refused"], true, "{grown}");
    assert!(grown["grown_mib"].as_u64() < Some(64), "{grown}");
    // What one call took is there for the next.
    for _ in 0..20 {
        assert_eq!(w.call("allocate", json!({ "mib": 40 })).text(), "40");
    }
}

#[test]
fn escape_148_several_memories_are_capped_together() {
    let w = world();
    w.component(&support::wat("core_tricks"), &[]);
    assert_eq!(w.call("grow_memories", json!({})).text(), "refused");
    assert_limit(&w, "grow_memories", json!({ "insist": true }), LimitKind::Memory);
    assert_eq!(w.call("say", json!({})).text(), "said");
}

#[test]
fn escape_148_tables_are_capped() {
    let w = world();
    w.component(&support::wat("core_tricks"), &[]);
    assert_eq!(w.call("grow_table", json!({})).text(), "refused");
    assert_limit(&w, "grow_table", json!({ "insist": true }), LimitKind::Table);
    assert_eq!(w.call("say", json!({})).text(), "said");
}

#[test]
fn escape_148_the_stack_is_capped() {
    let w = with("limits_stack", &[]);
    assert_limit(&w, "recurse", json!({}), LimitKind::Stack);
    assert_limit(&w, "recurse_pointers", json!({}), LimitKind::Stack);
}

#[test]
fn escape_142_handles_are_capped() {
    let w = with("limits_handles", &["files"]);
    for tool in ["leak_pollables", "leak_streams"] {
        assert_limit(&w, tool, json!({ "count": 100_000 }), LimitKind::Handles);
        assert_eq!(w.call(tool, json!({ "count": 100 })).text(), "100");
    }
    for (tool, path) in [("leak_files", "honest.txt"), ("leak_directories", "sub")] {
        assert_limit(&w, tool, json!({ "path": path, "count": 100_000 }), LimitKind::Handles);
        // None of them is still open in the next call.
        for _ in 0..20 {
            let kept = raw(&w, tool, json!({ "path": path, "count": 400 }));
            assert_eq!(kept["kept"], 400, "{kept}");
        }
    }
}

#[test]
fn escape_142_one_host_call_takes_only_so_much() {
    let w = with("limits_host", &["log"]);
    assert_limit(&w, "copy_to_host", json!({ "mib": 16 }), LimitKind::HostCopies);
    assert_eq!(w.call("copy_to_host", json!({ "mib": 1 })).text(), "1");
    let w = with("limits_handles", &["files"]);
    assert_limit(&w, "copy_to_file", json!({ "path": "big", "mib": 16 }), LimitKind::HostCopies);
    assert_eq!(w.bytes("big").len(), 0);
    assert_eq!(raw(&w, "copy_to_file", json!({ "path": "big", "mib": 1 }))["Ok"], 1 << 20);
}

#[test]
fn escape_142_random_bytes_are_capped() {
    let w = with("limits_host", &["log"]);
    for tool in ["random_flood", "insecure_random_flood"] {
        for bytes in [1_u64 << 30, 1 << 40, u64::MAX] {
            assert_limit(&w, tool, json!({ "bytes": bytes, "times": 1 }), LimitKind::Random);
        }
        assert_eq!(w.call(tool, json!({ "bytes": 1024, "times": 100 })).text(), "102400");
    }
}

#[test]
fn escape_148_the_log_is_capped() {
    let w = with("limits_host", &["log"]);
    assert_eq!(w.call("log_flood", json!({ "lines": 5000, "bytes": 10 })).text(), "5000");
    let lines = w.ports().log_lines();
    assert!(lines.first().is_some_and(|line| line.contains("line 0 ")), "{:?}", lines.first());
    // One more for the count of those that were dropped.
    assert!((1000..=1001).contains(&lines.len()), "{} lines", lines.len());

    let w = with("limits_host", &["log"]);
    w.call("log_flood", json!({ "lines": 3, "bytes": 100_000 })).text();
    let lines = w.ports().log_lines();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() <= 4096 + 100), "{:?}", lines.iter().map(String::len));
    assert_alive(&w);
}

#[test]
fn escape_148_standard_output_goes_nowhere_and_ends_nothing() {
    let w = with("limits_host", &["log"]);
    let taken = raw(&w, "stdio_flood", json!({ "mib": 16 }));
    assert!(taken["stdout"].is_u64() && taken["stderr"].is_u64(), "{taken}");
    assert!(w.ports().log_lines().is_empty());
    assert_alive(&w);
}

#[test]
fn escape_142_results_are_capped() {
    let w = with("limits_output", &[]);
    assert_limit(&w, "output_flood", json!({ "mib": 2 }), LimitKind::Output);
    assert_limit(&w, "image_flood", json!({ "mib": 2 }), LimitKind::Output);
    assert_ends(&w, "output_flood", json!({ "mib": 16 }), &["output", "host-copies"]);
    assert_ends(&w, "image_flood", json!({ "mib": 16 }), &["output", "host-copies"]);
    assert_ends(&w, "many_contents", json!({ "count": 100_000 }), &["output", "host-copies"]);
    assert_ends(&w, "many_contents", json!({ "count": 1_000_000 }), &["output", "host-copies", "memory"]);
    assert_eq!(w.call("say", json!({ "text": "enough" })).text(), "enough");
}

#[test]
fn escape_148_error_texts_are_capped() {
    let w = with("limits_output", &[]);
    let (_, message) = w.call("error_flood", json!({ "mib": 2 })).error();
    assert!(message.len() <= 17_000, "{} bytes", message.len());
    assert!(message.starts_with("xxx"), "{}", &message[..20]);
    assert_ends(&w, "error_flood", json!({ "mib": 16 }), &["host-copies", "output", "failed"]);
    assert_eq!(w.call("say_error", json!({ "text": "why" })).error().1, "why");
}

#[test]
fn escape_142_a_structured_part_that_is_none_is_no_answer() {
    let w = with("limits_output", &[]);
    assert_ends(&w, "deep_structured", json!({ "count": 100_000 }), &["answer"]);
    assert_ends(&w, "not_json", json!({}), &["answer"]);
    assert_eq!(w.call("deep_structured", json!({ "count": 20 })).text(), "deep");
}

#[test]
fn escape_098_control_characters_of_a_tool_reach_nobody_raw() {
    let w = with("limits_output", &[]);
    let evil = "a\u{1b}[2Jb\u{9b}31mc\u{7}d\u{1b}]52;c;AAAA\u{7}e\u{1b}Pf\u{202e}g";
    let text = w.call("say", json!({ "text": evil })).text();
    let message = w.call("say_error", json!({ "text": evil })).error().1;
    for shown in [&text, &message] {
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{shown:?}");
        assert!(shown.contains('a') && shown.contains('g'), "{shown:?}");
    }
}

#[test]
fn escape_143_answers_that_break_the_rules_end_the_call() {
    let w = world();
    w.component(&support::wat("core_tricks"), &[]);
    for tool in ["bad_utf8", "bad_tag", "huge_list", "odd_pointer", "wild_pointer"] {
        assert_ends(&w, tool, json!({}), &["trap", "answer", "host-copies"]);
        assert_eq!(w.call("say", json!({})).text(), "said", "after {tool}");
    }
}

#[test]
fn escape_143_traps_and_exits_end_the_call_and_nothing_else() {
    let w = with("limits_trap", &[]);
    for (tool, arguments, way) in [
        ("panic", json!({}), "trap"),
        ("unreachable", json!({}), "trap"),
        ("out_of_bounds", json!({}), "trap"),
        ("exit", json!({ "success": true }), "exit"),
        ("exit", json!({ "success": false }), "exit"),
    ] {
        assert_ends(&w, tool, arguments, &[way]);
        assert_eq!(w.call("work", json!({})).text(), "worked", "after {tool}");
    }
}

#[test]
fn escape_143_arguments_of_any_size_and_depth_reach_no_guest_unchecked() {
    let w = with("limits_output", &[]);
    let mut deep = json!("end");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    // Deep but allowed by the schema, which takes any object: the guest's own parser judges it.
    let outcome = w.call("say", json!({ "text": MARK, "more": deep })).outcome();
    assert!(["ok", "invalid-arguments", "arguments"].contains(&outcome.as_str()), "{outcome}");
    let long = "x".repeat(8 << 20);
    let outcome = w.call("say", json!({ "text": long })).outcome();
    assert_ne!(outcome, "ok");
    assert_alive(&w);
}
