//! What a process that dies leaves to the next, one state at a time.

use super::checks::Record;
use super::course::{Going, PARTS, holds, nobody_left};
use super::{ANSWER, SPAWNS, Strike, go, place};
use crate::kill::{WIRES, at_each, points, says, valid_chat, valid_messages};
use crate::support::{Model, Seed, until};
use ringfence::store::{Delivery, Execution};
use ringfence::tasks::source;

/// `run --detach` leaves its runs to a process of its own, which may not be there yet when it dies.
#[test]
fn killed_before_it_has_started_a_process_for_its_runs_a_detached_run_leaves_them_to_the_next() {
    let detached = |strike: Strike<'_>| {
        let program = place(&format!(
            "[[reply]]\nuser = \"go\"\nresult = \"started\"\ntext = \"Started.\"\n\
             [[reply]]\nuser = \"go\"\n{SPAWNS}"
        ));
        let mut going = Going::start(&program, "first", &["run", "--detach", "-s", "s", "go"]);
        let (struck, whole) = go(&program, strike, || {
            let over = !going.goes_on();
            (going.far(), over)
        });
        if struck {
            going.kill();
        }
        let (code, first) = going.end();
        let [second, third, last] = ["second", "third", "last"].map(|name| {
            let arguments = ["run", "-s", "s", "--provider", "after", "and now"];
            let (code, printed) = Going::start(&program, name, &arguments).end();
            assert_eq!(code, Some(0), "{printed:?}");
            // Whoever was started for the runs goes on by itself.
            nobody_left(&program);
            printed
        });
        assert_eq!(last.err, "");
        let record = Record::examine(&program);
        let printed = [first, second, third];
        record.named(&printed);
        record.letters_fit_answers();
        for row in &record.rows {
            // A line, where one of these processes told of it, or a letter.
            let line = format!("task {} (", row.id);
            let told = printed.iter().any(|one| one.err.contains(&line));
            assert!(told || record.has_letter(&row.id), "{row:?} is silent: {printed:?}");
        }
        assert_eq!(record.pending_letters(), 0);
        (code.is_none(), whole)
    };
    let (_, whole) = detached(None);
    let done = at_each(&points(24, PARTS), |point| detached(Some((point, &whole))));
    assert!(done.iter().any(|(killed, _)| *killed));
}

#[test]
fn what_was_told_and_not_answered_is_answered_once_over_both_wires() {
    for wire in WIRES {
        let [_, answer] = says(wire);
        let service = Model::start([answer]);
        // What is to be said about the task never comes.
        let program = place(
            "[[reply]]\nuser = \"go\"\nresult = \"started\"\ntext = \"On its way.\"\n\
             [[reply]]\nuser = \"go\"\ncalls = [{ name = \"spawn\", arguments = { task = \"be waited for\" } }]\n",
        );
        let script = program.home().join("first.toml");
        let text = std::fs::read_to_string(&script).unwrap();
        std::fs::write(&script, text.replacen("delay_ms = 4\n", "delay_ms = 600000\n", 1)).unwrap();
        let config = std::fs::read_to_string(program.home().join("config/config.toml")).unwrap();
        let url = service.url();
        program.configure(&format!(
            "{config}[providers.{wire}]\nwire = {wire:?}\nmodel = \"m\"\nbase_url = {url:?}\n"
        ));
        let mut going = Going::start(&program, "first", &["run", "-s", "s", "go"]);
        until("the announcement", || {
            holds(&program, "EXISTS (SELECT 1 FROM messages WHERE source LIKE 'task:%')", &[]).then_some(())
        });
        going.kill();
        assert_eq!(going.end().0, None);
        let ran = program.run(&["run", "-s", "s", "--provider", wire, "and now"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Written.\n"), "{ran:?}");
        let asked = service.asked();
        assert_eq!(asked.len(), 1);
        let body = &asked[0].body;
        let valid = if wire == "chat" { valid_chat(body) } else { valid_messages(body) };
        valid.unwrap_or_else(|problem| panic!("{wire}: {problem}: {body:#}"));
        let said = body["messages"].to_string();
        assert_eq!((said.matches("[host] Background task").count(), said.matches("and now").count()), (1, 1));
        let record = Record::examine(&program);
        assert_eq!(record.told(&source(&record.rows[0].id)).count(), 1);
    }
}

#[test]
fn a_result_that_stands_in_the_conversation_as_that_of_a_call_is_not_told_again() {
    let program = place(
        "[[reply]]\nuser = \"go\"\nresult = \"Waited for\"\ndelay_ms = 600000\ntext = \"never\"\n\
         [[reply]]\nuser = \"go\"\n\
         calls = [{ name = \"spawn\", arguments = { task = \"be waited for\", wait = true } }]\n",
    );
    let mut going = Going::start(&program, "first", &["run", "-s", "s", "go"]);
    let delivered = "EXISTS (SELECT 1 FROM tasks WHERE delivery = 'delivered')";
    until("the delivery", || holds(&program, delivered, &[]).then_some(()));
    // The turn goes on.
    assert!(going.goes_on());
    going.kill();
    assert_eq!(going.end().0, None);
    let ran = program.run(&["run", "-s", "s", "--provider", "after", "and now"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "Yes.\n", ""), "{ran:?}");
    let record = Record::examine(&program);
    assert_eq!(record.told(&source(&record.rows[0].id)).count(), 0);
}

#[test]
fn what_waits_and_is_nobodys_is_begun_by_the_next_process_unless_one_serves() {
    let program = place("");
    let seed = Seed::of(&program);
    seed.task("aaaaaaaa", "s", "count the roses");
    let elsewhere = tempfile::tempdir().unwrap();
    seed.task_in(&elsewhere.path().canonicalize().unwrap(), "bbbbbbbb", "s", "fail at once");
    let run = || program.run(&["run", "-s", "other", "--provider", "after", "and now"]);
    let serves = seed.process("serve");
    let ran = run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    nobody_left(&program);
    assert_eq!(seed.row("aaaaaaaa").execution, Execution::Queued);
    // It is gone without a word.
    drop(serves);
    let ran = run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{ran:?}");
    assert_eq!(ran.stderr, "1 background task waits; a process is started for what waits\n");
    nobody_left(&program);
    let row = seed.row("aaaaaaaa");
    assert_eq!((row.execution, row.delivery), (Execution::Succeeded, Delivery::Delivered));
    assert_eq!(seed.told("s", "task:aaaaaaaa"), (1, vec![ANSWER.to_owned()]));
    assert!(seed.row("bbbbbbbb").execution.ended());
    let ran = program.run(&["run", "-s", "s", "--provider", "after", "and now"]);
    assert_eq!(ran.stderr, format!("answer: {ANSWER}\n"));
}
