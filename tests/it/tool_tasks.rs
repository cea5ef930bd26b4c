//! The `tasks` tool, down to the port behind it.

use crate::support::{self, World};
use crate::tool_spawn::{KINDS, told};
use ringfence::authority::{DenialKind, Role};
use ringfence::sandbox::ports::{Delivery, Execution, Summary};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};

pub fn summary(id: &str, execution: Execution) -> Summary {
    Summary {
        id: id.into(),
        label: format!("label of {id}"),
        execution,
        delivery: Delivery::Pending,
        age_ms: 12_345,
        iterations: 3,
        tokens: 4521,
        reason: None,
    }
}

#[test]
fn a_list_has_one_line_for_each_task() {
    let w = World::new();
    w.ports().have_tasks(&[]);
    assert_eq!(w.call("tasks", json!({ "action": "list" })).text(), "no background tasks");
    let mut all = Vec::new();
    for (n, (execution, age_ms)) in [
        (Execution::Queued, 0),
        (Execution::Running, 59_999),
        (Execution::WaitingApproval, 60_000),
        (Execution::Succeeded, 3_599_999),
        (Execution::Incomplete, 3_600_000),
        (Execution::Failed, 86_399_999),
        (Execution::TimedOut, 86_400_000),
        (Execution::Cancelled, 200_000_000),
        (Execution::Lost, 1_000),
    ]
    .into_iter()
    .enumerate()
    {
        all.push(Summary { age_ms, ..summary(&format!("aaaaaaa{n}"), execution) });
    }
    all[5].reason = Some("the model\ndid not answer".into());
    all[5].delivery = Delivery::Dropped;
    all[3].delivery = Delivery::Delivered;
    all[0].label = "two\nlines\u{1b}[2J".into();
    (all[0].iterations, all[0].tokens) = (1, 1);
    w.ports().have_tasks(&all);
    insta::assert_snapshot!(w.call("tasks", json!({ "action": "list" })).text(), @r"
    - two\nlines\u{1b}[2J (id: aaaaaaa0): queued, result pending, 0s old, 1 iteration, 1 token
    - label of aaaaaaa1 (id: aaaaaaa1): running, result pending, 59s old, 3 iterations, 4521 tokens
    - label of aaaaaaa2 (id: aaaaaaa2): waiting-approval, result pending, 1m old, 3 iterations, 4521 tokens
    - label of aaaaaaa3 (id: aaaaaaa3): succeeded, result delivered, 59m old, 3 iterations, 4521 tokens
    - label of aaaaaaa4 (id: aaaaaaa4): incomplete, result pending, 1h old, 3 iterations, 4521 tokens
    - label of aaaaaaa5 (id: aaaaaaa5): failed, result dropped, 23h old, 3 iterations, 4521 tokens; the model\ndid not answer
    - label of aaaaaaa6 (id: aaaaaaa6): timed-out, result pending, 1d old, 3 iterations, 4521 tokens
    - label of aaaaaaa7 (id: aaaaaaa7): cancelled, result pending, 2d old, 3 iterations, 4521 tokens
    - label of aaaaaaa8 (id: aaaaaaa8): lost, result pending, 1s old, 3 iterations, 4521 tokens
    ");
}

#[test]
fn each_action_asks_for_the_one_task() {
    let w = World::new();
    w.ports().have_tasks(&[summary("a1b2c3d4", Execution::Cancelled)]);
    let line =
        "- label of a1b2c3d4 (id: a1b2c3d4): cancelled, result pending, 12s old, 3 iterations, 4521 tokens";
    for (action, said) in [("status", line), ("result", "result"), ("cancel", line)] {
        for named in [json!({ "id": "a1b2c3d4" }), json!({ "ids": ["a1b2c3d4"] })] {
            let before = w.ports().tasks_asked().len();
            let mut arguments = named;
            arguments["action"] = json!(action);
            assert_eq!(w.call("tasks", arguments).text(), said, "{action}");
            assert_eq!(w.ports().tasks_asked()[before..], ["a1b2c3d4"], "{action}");
        }
    }
}

#[test]
fn a_wait_says_what_has_ended_and_what_has_not() {
    let w = World::new();
    w.ports().have_tasks(&[
        summary("aaaaaaa1", Execution::Succeeded),
        summary("aaaaaaa2", Execution::Failed),
        summary("aaaaaaa3", Execution::Running),
    ]);
    let wait = |arguments: Value| w.call("tasks", arguments).text();
    let ended = wait(json!({ "action": "wait", "ids": ["aaaaaaa1", "aaaaaaa2"], "timeout": 5 }));
    assert!(ended.lines().count() == 2 && !ended.contains("not ended"), "{ended}");
    let not =
        wait(json!({ "action": "wait", "ids": ["aaaaaaa1", "aaaaaaa3"], "id": "aaaaaaa2", "timeout": 300 }));
    assert!(not.contains("(1 task has not ended after 300 s; results come"), "{not}");
    wait(json!({ "action": "wait", "id": "aaaaaaa1", "ids": ["aaaaaaa1"] }));
    let (one, two) = ("aaaaaaa1".to_owned(), "aaaaaaa2".to_owned());
    let expected = [
        (vec![one.clone(), two.clone()], 5_000),
        (vec![one.clone(), "aaaaaaa3".to_owned(), two], 300_000),
        (vec![one], 60_000),
    ];
    assert_eq!(w.ports().waits(), expected);
}

#[test]
fn what_an_action_lacks_is_said_and_nothing_is_asked() {
    let w = World::new();
    for action in ["status", "result", "cancel", "wait"] {
        for lacking in [json!({}), json!({ "id": " " }), json!({ "ids": [] })] {
            let mut arguments = lacking;
            arguments["action"] = json!(action);
            let (kind, message) = w.call("tasks", arguments).error();
            assert_eq!(kind, ErrorKind::InvalidArguments, "{message}");
            assert!(
                message.starts_with(&format!("{action} needs `id")) && message.contains("`list`"),
                "{message}"
            );
        }
    }
    for action in ["status", "result", "cancel"] {
        let (kind, _) = w.call("tasks", json!({ "action": action, "ids": ["aaaaaaa1", "aaaaaaa2"] })).error();
        assert_eq!(kind, ErrorKind::InvalidArguments, "{action}: one of two");
    }
    for wrong in [
        json!({}),
        json!({ "action": "retry" }),
        json!({ "action": "wait", "ids": ["aaaaaaa1"], "timeout": 301 }),
        json!({ "action": "wait", "ids": ["aaaaaaa1"], "timeout": -1 }),
        json!({ "action": "list", "session": "cli:other" }),
    ] {
        assert!(!w.call("tasks", wrong.clone()).argument_error().is_empty(), "{wrong}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new());
}

#[test]
fn only_what_can_be_an_id_is_asked_after() {
    let w = World::new();
    w.component(&support::hostile("role_tasks"), &["tasks"]);
    let long = "x".repeat(10_000);
    for id in [
        "",
        "a1b2c3d",
        "a1b2c3d4e",
        "A1b2c3d4",
        "a1b2-3d4",
        "../../x",
        "äöüß",
        "a1b2c3d\n",
        "a1b2\u{1b}[2J",
        &long,
    ] {
        for action in ["status", "result", "cancel", "wait"] {
            let arguments = json!({ "text": id, "action": action, "ids": ["aaaaaaa1", id] });
            let message = told(&w.call("grab_tasks", arguments));
            assert!(message.starts_with("NotFound: there is no background task `"), "{id:?}: {message}");
            assert!(message.len() < 300 && !message.contains(char::is_control), "{id:?}: {message:?}");
        }
    }
    let most: Vec<String> = (0..64).map(|n| format!("aaaaaa{n:02}")).collect();
    let more: Vec<String> = (0..65).map(|n| format!("aaaaaa{n:02}")).collect();
    let wait = |ids: &[String], ms: u32| {
        w.call("grab_tasks", json!({ "text": "x", "action": "wait", "ids": ids, "wait_ms": ms }))
    };
    assert!(told(&wait(&more, 1)).starts_with("Limit: 65 tasks to wait for; at most 64"));
    assert!(told(&wait(&[], 1)).starts_with("Invalid: there is no task to wait for"));
    assert_eq!(w.ports().everything(), Vec::<String>::new());
    assert_eq!(wait(&most, 1).text(), "64 waited for");
    wait(&most, 300_001).text();
    assert_eq!(w.ports().waits(), [(most.clone(), 1), (most, 300_000)]);
}

#[test]
fn each_error_of_the_spawner_is_told_by_every_action() {
    for (theirs, ours) in KINDS {
        let w = World::new();
        w.ports().refuse_with(theirs);
        for action in ["list", "status", "result", "cancel", "wait"] {
            let (kind, message) = w.call("tasks", json!({ "action": action, "id": "a1b2c3d4" })).error();
            assert_eq!((kind, message.as_str()), (ours, "refused by the test"), "{action}: {theirs:?}");
        }
    }
}

#[test]
fn tasks_is_mains_alone() {
    let w = World::new();
    for action in ["list", "status", "result", "cancel", "wait"] {
        let arguments = json!({ "action": action, "id": "a1b2c3d4" });
        let before = w.ports().everything();
        let denial = w.call_as(Role::Subagent, "tasks", arguments.clone()).denial();
        assert_eq!(denial.kind, DenialKind::NotForRole, "{denial}");
        assert_eq!(denial.subject, "ringfence:host/tasks@0.1.0");
        assert_eq!(w.ports().everything(), before, "{action}");
        w.call("tasks", arguments).text();
        assert_eq!(w.ports().everything().len(), before.len() + 1, "{action}");
    }
}
