//! The `spawn` tool, down to the port behind it: what it is told arrives, what is out of bounds does not, and what the port
//! says is told. The bounds of the host are tried by a component that has none of its own.

use crate::support::{self, Reply, World};
use ringfence::authority::{DenialKind, Role};
use ringfence::sandbox::ports::{ErrorKind as Theirs, Execution};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};

/// What each kind of a port's error is to a caller.
pub const KINDS: [(Theirs, ErrorKind); 7] = [
    (Theirs::Invalid, ErrorKind::InvalidArguments),
    (Theirs::NotFound, ErrorKind::NotFound),
    // A denial that the host did not see is an error like others.
    (Theirs::Denied, ErrorKind::Denied),
    (Theirs::Limit, ErrorKind::Conflict),
    (Theirs::Timeout, ErrorKind::Unavailable),
    (Theirs::Unavailable, ErrorKind::Unavailable),
    (Theirs::Failed, ErrorKind::Failed),
];

/// What the host refused a hostile component: its kind and its words.
pub fn told(reply: &Reply) -> String {
    reply.error().1.trim_start_matches("ErrorKind::").to_owned()
}

fn hostile() -> World {
    let w = World::new();
    w.component(&support::hostile("role_spawn"), &["spawn"]);
    w
}

#[test]
fn every_parameter_of_spawn_arrives() {
    let w = World::new();
    let all = json!({
        "task": "count the files", "label": "counting", "profile": "reader", "model": "small",
        "temperature": 0.9, "max_iterations": 7, "max_tokens": 8000, "max_cost": 0.25, "timeout": 90,
    });
    let text = w.call("spawn", all).text();
    assert_eq!(text, "started counting (id 12345678); its result comes to this conversation when it ends");
    let [(request, None)] = &w.ports().requests()[..] else { panic!("{:?}", w.ports().requests()) };
    assert_eq!(request.task, "count the files");
    assert_eq!(request.label.as_deref(), Some("counting"));
    assert_eq!(request.profile.as_deref(), Some("reader"));
    assert_eq!(request.model.as_deref(), Some("small"));
    assert_eq!(request.temperature, Some(0.9));
    assert_eq!(request.max_iterations, Some(7));
    assert_eq!(request.max_tokens, Some(8000));
    assert_eq!(request.max_cost_micros, Some(250_000));
    assert_eq!(request.timeout_ms, Some(90_000));
}

#[test]
fn what_spawn_is_not_told_is_left_to_the_host() {
    for arguments in [
        json!({ "task": "count" }),
        json!({ "task": "count", "label": " ", "profile": "", "model": "", "temperature": null, "wait": false }),
    ] {
        let w = World::new();
        w.call("spawn", arguments).text();
        let [(request, None)] = &w.ports().requests()[..] else { panic!("{:?}", w.ports().requests()) };
        let texts = [&request.label, &request.profile, &request.model];
        assert!(texts.iter().all(|text| text.is_none()) && request.temperature.is_none(), "{request:?}");
        let numbers = [request.max_tokens, request.max_cost_micros, request.timeout_ms];
        assert_eq!((numbers, request.max_iterations), ([None; 3], None));
    }
}

#[test]
fn a_wait_gives_the_result_or_says_why_there_is_none() {
    let arguments = json!({ "task": "count", "label": "counting", "wait": true });
    let w = World::new();
    w.ports().finish_with(Execution::Succeeded, "there are 3");
    assert_eq!(w.call("spawn", arguments.clone()).text(), "there are 3");
    assert_eq!(w.ports().requests()[0].1, Some(300_000), "as long as the host allows");

    for (execution, name) in [
        (Execution::Incomplete, "incomplete"),
        (Execution::Failed, "failed"),
        (Execution::TimedOut, "timed-out"),
        (Execution::Cancelled, "cancelled"),
        (Execution::Lost, "lost"),
    ] {
        w.ports().finish_with(execution, "this is why");
        let (kind, message) = w.call("spawn", arguments.clone()).error();
        assert_eq!(kind, ErrorKind::Failed, "{message}");
        assert_eq!(message, format!("counting (id 12345678) ended as {name}: this is why"));
    }
    for (execution, name) in [
        (Execution::Queued, "queued"),
        (Execution::Running, "running"),
        (Execution::WaitingApproval, "waiting-approval"),
    ] {
        w.ports().finish_with(execution, "");
        assert_eq!(
            w.call("spawn", arguments.clone()).text(),
            format!(
                "counting (id 12345678) is still {name}; its result comes to this conversation when it ends"
            )
        );
    }
}

#[test]
fn what_the_schema_of_spawn_refuses_starts_nothing() {
    for wrong in [
        json!({}),
        json!({ "task": "" }),
        json!({ "task": "x", "temperature": 2.1 }),
        json!({ "task": "x", "temperature": -0.1 }),
        json!({ "task": "x", "max_iterations": 0 }),
        json!({ "task": "x", "max_tokens": 0 }),
        json!({ "task": "x", "max_cost": 0 }),
        json!({ "task": "x", "timeout": 0 }),
        json!({ "task": "x", "wait": "perhaps" }),
        json!({ "task": "x", "channel": "somebody else's" }),
    ] {
        let w = World::new();
        assert!(!w.call("spawn", wrong.clone()).argument_error().is_empty(), "{wrong}");
        assert_eq!(w.ports().everything(), Vec::<String>::new(), "{wrong}");
    }
    // A sum that is smaller than the smallest one, or larger than any.
    for wrong in [1e-7, 1e30] {
        let w = World::new();
        let (kind, message) = w.call("spawn", json!({ "task": "x", "max_cost": wrong })).error();
        assert!(kind == ErrorKind::InvalidArguments && message.contains("dollars"), "{message}");
        assert_eq!(w.ports().everything(), Vec::<String>::new(), "{wrong}");
    }
}

#[test]
fn each_bound_of_spawn_holds_before_the_port_for_both_of_its_functions() {
    let exact = |field: &str, value: Value| json!({ "text": "x", field: value });
    let taken = [
        json!({ "text": "x".repeat(32 << 10) }),
        exact("label", json!("ä".repeat(64))),
        exact("profile", json!("p".repeat(128))),
        exact("model", json!("m".repeat(128))),
        exact("temperature", json!("0")),
        exact("temperature", json!("2")),
        exact("max_iterations", json!(1)),
        exact("max_tokens", json!(1)),
        exact("max_cost_micros", json!(1)),
        exact("timeout_ms", json!(1)),
    ];
    let refused = [
        (json!({ "text": " \n" }), "Invalid: the task is empty"),
        (json!({ "text": "x".repeat((32 << 10) + 1) }), "Limit: the task has 32769 bytes; at most 32768"),
        (exact("label", json!("ä".repeat(65))), "Invalid: the label has 65 characters; at most 64"),
        (exact("label", json!("two\nlines")), "Invalid: the label has control characters"),
        (exact("label", json!("\u{9b}2J")), "Invalid: the label has control characters"),
        (exact("label", json!("")), "Invalid: the label is empty"),
        (exact("profile", json!("p".repeat(129))), "Invalid: the name of the profile has 129"),
        (exact("model", json!("m".repeat(129))), "Invalid: the name of the model has 129"),
        (exact("temperature", json!("NaN")), "Invalid: the temperature"),
        (exact("temperature", json!("inf")), "Invalid: the temperature"),
        (exact("temperature", json!("-inf")), "Invalid: the temperature"),
        (exact("temperature", json!("2.0000001")), "Invalid: the temperature"),
        (exact("temperature", json!("-0.0000001")), "Invalid: the temperature"),
        (exact("max_iterations", json!(0)), "Invalid: a budget of no iterations"),
        (exact("max_tokens", json!(0)), "Invalid: a budget of no tokens"),
        (exact("max_cost_micros", json!(0)), "Invalid: a budget of no money"),
        (exact("timeout_ms", json!(0)), "Invalid: a budget of no time"),
    ];
    let w = hostile();
    for wait in [Value::Null, json!(5)] {
        let with = |arguments: &Value| {
            let mut arguments = arguments.clone();
            arguments["wait_ms"] = wait.clone();
            w.call("grab_spawn", arguments)
        };
        let before = w.ports().requests().len();
        for (arguments, why) in &refused {
            let message = told(&with(arguments));
            assert!(message.starts_with(why), "{why}: {message}");
        }
        assert_eq!(w.ports().requests().len(), before, "one of them arrived");
        for (n, arguments) in taken.iter().enumerate() {
            with(arguments).text();
            assert_eq!(w.ports().requests().len(), before + n + 1);
        }
    }
}

#[test]
fn no_wait_for_a_run_is_longer_than_the_longest() {
    let w = hostile();
    for (asked, arrives) in [(0, 0), (299_999, 299_999), (300_001, 300_000), (u32::MAX, 300_000)] {
        w.call("grab_spawn", json!({ "text": "x", "wait_ms": asked })).text();
        assert_eq!(w.ports().requests().last().unwrap().1, Some(arrives));
    }
}

#[test]
fn each_error_of_the_spawner_is_told_as_what_it_is() {
    for (theirs, ours) in KINDS {
        let w = World::new();
        w.ports().refuse_with(theirs);
        for wait in [false, true] {
            let (kind, message) = w.call("spawn", json!({ "task": "x", "wait": wait })).error();
            assert_eq!((kind, message.as_str()), (ours, "refused by the test"), "{theirs:?}");
        }
    }
}

#[test]
fn spawn_is_mains_alone() {
    let w = World::new();
    for wait in [false, true] {
        let arguments = json!({ "task": "more of me", "wait": wait });
        let before = w.ports().everything();
        let denial = w.call_as(Role::Subagent, "spawn", arguments.clone()).denial();
        assert_eq!(denial.kind, DenialKind::NotForRole, "{denial}");
        assert_eq!(denial.subject, "ringfence:host/spawn@0.1.0");
        assert_eq!(w.ports().everything(), before);
        w.call("spawn", arguments).text();
        assert_eq!(w.ports().requests().last().unwrap().0.task, "more of me");
        assert_eq!(w.ports().everything().len(), before.len() + 1);
    }
}
