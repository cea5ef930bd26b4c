//! Whose is what: ids and names of other conversations.

use super::{call, done};
use crate::support::{Going, Program, Seed};
use ringfence::store::{Delivery, Execution, NewLetter, TaskEnd, Workspace};
use serde_json::json;

const ENDS: &str = "[[reply]]\ntext = \"Over.\"\nrepeat = true\n";

fn end(seed: &Seed, id: &str) {
    assert!(matches!(seed.store.begin_task(id, "gone", 100).unwrap(), ringfence::store::Begun::Yes(_)));
    let end = TaskEnd {
        execution: Execution::Succeeded,
        reason: None,
        result: Some("SECRET of another."),
        iterations: 1,
        input: 0,
        cached: 0,
        output: 0,
        cost: None,
    };
    assert!(seed.store.end_task(id, "gone", &end).unwrap());
}

#[test]
fn a_task_of_another_session_or_workspace_is_not_there() {
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().canonicalize().unwrap();
    let all = |seed: &Seed| {
        seed.task("aaaa2222", "a", "Dig.");
        seed.task_in(&elsewhere, "bbbb2222", "b", "Dig.");
        seed.task("cccc2222", "b", "Dig.");
        seed.task("dddd2222", "a", "Wait.");
        for id in ["aaaa2222", "bbbb2222", "cccc2222"] {
            end(seed, id);
            assert!(seed.store.deliver_task(id, "gone", Delivery::Delivered).unwrap());
        }
    };
    for (arguments, own) in [
        (json!({"action":"status","id":"aaaa2222"}), false),
        (json!({"action":"result","id":"aaaa2222"}), false),
        (json!({"action":"result","id":"bbbb2222"}), false),
        (json!({"action":"cancel","id":"dddd2222"}), false),
        (json!({"action":"wait","ids":["cccc2222","aaaa2222"],"timeout":1}), false),
        (json!({"action":"result","id":"cccc2222"}), true),
    ] {
        let p = Program::scripted(&format!("{}{ENDS}", call("tasks", &arguments.to_string())));
        let seed = Seed::of(&p);
        all(&seed);
        let ran = p.run(&["run", "-v", "-s", "b", "Look."]);
        done(&ran);
        assert_eq!(ran.stderr.contains("SECRET"), own, "{arguments}: {ran:?}");
        assert_eq!(ran.stderr.contains("there is no background task"), !own, "{arguments}: {ran:?}");
        assert_eq!(seed.row("dddd2222").execution, Execution::Queued, "{arguments}");
    }
}

#[test]
fn a_job_of_another_session_is_not_removed_and_a_message_goes_nowhere_else() {
    let p = Program::scripted(ENDS);
    let id = done(&p.run(&["cron", "add", "-s", "a", "Dig.", "--every", "1h"])).trim().to_owned();
    let remove = json!({"action":"remove","job_id":id}).to_string();
    let mut script = call("cron", &remove);
    for (channel, chat) in
        [("cli", "a"), ("system", "cli:a"), ("cli:a", ""), ("CLI", "b"), ("cli", "b\u{200b}")]
    {
        script += &call("message", &json!({"content":"Hi.","channel":channel,"chat_id":chat}).to_string());
    }
    let script = script.replace("\\u{200b}", "\u{200b}");
    std::fs::write(p.home().join("script.toml"), script + ENDS).unwrap();
    let ran = p.run(&["run", "-s", "b", "Do it."]);
    done(&ran);
    assert!(ran.stderr.contains("has no scheduled job"), "{ran:?}");
    assert_eq!(super::lines(&ran.stderr, "message:"), 0, "{ran:?}");
    assert_eq!(p.run(&["cron", "list", "--json"]).json()["jobs"].as_array().unwrap().len(), 1);
    assert!(Seed::of(&p).store.letters(None).unwrap().is_empty());
    // From its own conversation it is removed.
    std::fs::write(p.home().join("script.toml"), call("cron", &remove) + ENDS).unwrap();
    done(&p.run(&["run", "-s", "a", "Do it."]));
    assert_eq!(p.run(&["cron", "list", "--json"]).json()["jobs"], json!([]));
}

#[test]
fn a_name_that_somebody_types_leads_into_no_other_conversation() {
    let p = Program::scripted(ENDS);
    let seed = Seed::of(&p);
    let here = Workspace::at(&seed.workspace);
    seed.task("aaaa2222", "x", "Dig.");
    end(&seed, "aaaa2222");
    let letter = NewLetter {
        workspace: &here,
        channel: "cli",
        chat: "x",
        source: None,
        kind: "message",
        content: "SECRET",
        attachments: &[],
    };
    seed.store.put_letter(&letter).unwrap();
    for refused in
        ["system:cli:x", "task:aaaa2222", " task:x", "system:", ":x", "cli:", ":", "x\ny", "\u{1b}[2J"]
    {
        let ran = p.run(&["run", "-s", refused, "Hello."]);
        assert_eq!(ran.code, 2, "{refused:?}: {ran:?}");
        let ran = p.run(&["cron", "add", "-s", refused, "Dig.", "--every", "1h"]);
        assert_eq!(ran.code, 2, "{refused:?}: {ran:?}");
    }
    // Nothing was told to whoever cannot be there.
    assert_eq!(seed.row("aaaa2222").delivery, Delivery::Pending);
    for other in ["cli:x:y", "сli:x", "x\u{200b}", "X", "cron:x", "a:b:c"] {
        let ran = p.run(&["run", "-s", other, "Hello."]);
        done(&ran);
        assert_eq!(super::lines(&ran.stderr, "message"), 0, "{other}: {ran:?}");
    }
    assert_eq!(seed.store.letters(None).unwrap().len(), 1);
    let ran = p.run(&["run", "-s", "cli:x", "Hello."]);
    assert!(ran.stderr.contains("message: SECRET"), "{ran:?}");
}

#[test]
fn many_processes_on_one_session_tell_each_result_once() {
    for round in 0..4 {
        let p = Program::scripted(&format!(
            "[[reply]]\nuser = \"[host]\"\ntext = \"TOLD.\"\nrepeat = true\n{ENDS}"
        ));
        let seed = Seed::of(&p);
        let ids = ["aaaa2222", "bbbb2222", "cccc2222"];
        for id in ids {
            seed.task(id, "x", "Dig.");
            end(&seed, id);
        }
        let presence = seed.process("run");
        drop(presence);
        // Their process is gone, and nobody has noticed.
        let mut going: Vec<Going> = Vec::new();
        going.push(Going::start(&p, &["serve", "--once"]));
        going.push(Going::start(&p, &["run", "-s", "x", "Hello."]));
        going.push(Going::start(&p, &["run", "-s", "x", "Hello again."]));
        going.push(Going::start(&p, &["run", "-s", "y", "Hello from elsewhere."]));
        let ran: Vec<_> = going.into_iter().map(Going::end).collect();
        ran.iter().for_each(|ran| assert_eq!(ran.code, 0, "{ran:?}"));
        done(&p.run(&["serve", "--once"]));
        for id in ids {
            assert_eq!(seed.row(id).delivery, Delivery::Delivered, "{round} {id}: {ran:?}");
            assert_eq!(seed.told("x", &format!("task:{id}")).0, 1, "{round} {id}: {ran:?}");
            let lines: usize = ran.iter().map(|ran| super::lines(&ran.stderr, &format!("task {id} "))).sum();
            assert!(lines <= 1, "{round} {id}: {ran:?}");
        }
        assert!(seed.store.letters(None).unwrap().is_empty());
        assert_eq!(done(&p.run(&["serve", "--once"])), "");
    }
}
