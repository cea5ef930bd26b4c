//! `ringfence tasks`: what is said of a task is so, what is done to it happens, and what is told to type can be typed.

use crate::support::{Going, Program, Ran, Seed, until};
use clap::Parser as _;
use ringfence::store::{CancelAsked, Delivery, Execution, Recorded, TaskEnd};
use rustix::process::Signal;
use serde_json::json;

const LOOKS: &str = r#"
[[reply]]
user = "[host]"
text = "The fence stands."
repeat = true
[[reply]]
user = "slowly"
text = "never"
delay_ms = 600000
[[reply]]
user = "Look"
result = "notes.txt"
text = "There are notes."
usage = { input = 120, cached = 100, output = 12 }
repeat = true
[[reply]]
user = "Look"
text = "I look."
calls = [{ name = "list_dir", arguments = { path = "." } }, { name = "read_file", arguments = { path = "/etc/hostname" } }]
usage = { input = 100, output = 10 }
repeat = true
"#;

fn place() -> (Program, Seed) {
    let program = Program::scripted(LOOKS);
    program.file("notes.txt", "buy milk\n");
    let seed = Seed::of(&program);
    (program, seed)
}

/// Ends a run that waits, as if a process had run it and told of it.
fn end_it(seed: &Seed, id: &str, execution: Execution) {
    let result = (execution == Execution::Succeeded).then_some("It stands.\nAll of it.");
    let reason = (execution != Execution::Succeeded).then_some("a reason");
    seed.store.begin_task(id, "p", 100).unwrap();
    let (iterations, input, cached, output, cost) = (3, 100, 40, 20, Some(7));
    let end = TaskEnd { execution, reason, result, iterations, input, cached, output, cost };
    assert!(seed.store.end_task(id, "p", &end).unwrap());
    assert!(seed.store.deliver_task(id, "p", Delivery::Delivered).unwrap());
}

#[track_caller]
fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.stdout
}

/// Runs the command that stands at the end of what was said.
#[track_caller]
fn type_it(program: &Program, said: &str) -> Ran {
    let at = said.rfind("ringfence ").unwrap_or_else(|| panic!("nothing to type in {said}"));
    let words = shlex::split(said[at..].lines().next().unwrap()).unwrap();
    program.run(&words[1..].iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn looking_makes_nothing() {
    let program = Program::bare();
    let ran = program.run(&["tasks", "list"]);
    assert_eq!(done(&ran), "");
    assert!(ran.stderr.starts_with("no background tasks of that kind in "), "{ran:?}");
    assert_eq!(done(&type_it(&program, &ran.stderr)), "");
    assert_eq!(program.run(&["tasks", "list", "--json"]).json()["tasks"], json!([]));
    for command in ["show", "logs", "cancel", "retry"] {
        let ran = program.run(&["tasks", command, "abcd2345"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains("there is no task `abcd2345`"), "{ran:?}");
        assert_eq!(done(&type_it(&program, &ran.stderr)), "");
    }
    assert!(!program.state().exists());
}

#[test]
fn they_are_listed_newest_first_by_workspace_session_and_state() {
    let (program, seed) = place();
    let elsewhere = tempfile::tempdir().unwrap();
    seed.task("aaaa2222", "a", "Look\u{1b}[2J here.");
    seed.task("bbbb2222", "b", "Look there.");
    seed.task_in(&elsewhere.path().canonicalize().unwrap(), "cccc2222", "a", "Look elsewhere.");
    end_it(&seed, "aaaa2222", Execution::Failed);
    let ids = |arguments: &[&str]| {
        let ran = program.run(&[&["tasks", "list"], arguments].concat());
        done(&ran).lines().map(|line| line[..8].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), ["bbbb2222", "aaaa2222"]);
    assert_eq!(ids(&["--all"]), ["cccc2222", "bbbb2222", "aaaa2222"]);
    assert_eq!(ids(&["-C", elsewhere.path().to_str().unwrap()]), ["cccc2222"]);
    assert_eq!(ids(&["--session", "a"]), ["aaaa2222"]);
    assert_eq!(ids(&["--all", "--session", "cli:a"]), ["cccc2222", "aaaa2222"]);
    assert_eq!(ids(&["--unended"]), ["bbbb2222"]);
    let ran = program.run(&["tasks", "list", "--limit", "1"]);
    assert!(ran.stdout.starts_with("bbbb2222") && ran.stderr.contains("--limit 0"), "{ran:?}");
    let ran = program.run(&["tasks", "list", "--session", "a"]);
    for part in ["failed", "delivered", "cli:a", "Look\\u{1b}[2J here."] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    let listed = program.run(&["tasks", "list", "--json"]).json();
    let tasks = listed["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), &listed["more"]), (2, &json!(false)));
    assert_eq!((&tasks[0]["state"], &tasks[0]["delivery"]), (&json!("queued"), &json!("pending")));
    assert_eq!((&tasks[1]["state"], &tasks[1]["reason"]), (&json!("failed"), &json!("a reason")));
}

#[test]
fn one_is_meant_by_the_beginning_of_its_id() {
    let (program, seed) = place();
    for id in ["abcd2345", "abcd2999", "zzzz8888"] {
        seed.task(id, "a", "Look.");
    }
    for typed in ["zzzz8888", "zzzz", "zzzz88", "task:zzzz8888"] {
        assert_eq!(program.run(&["tasks", "show", "--json", typed]).json()["id"], "zzzz8888", "{typed}");
    }
    for (typed, said) in [
        ("zzz", "there is no task `zzz`"),
        ("abcd", "several tasks: abcd2999, abcd2345"),
        ("zzzz8889", "did you mean zzzz8888?"),
        ("%___", "there is no task `%___`"),
        ("", "there is no task ``"),
    ] {
        let ran = program.run(&["tasks", "cancel", typed]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{typed}: {ran:?}");
    }
    assert!(["abcd2345", "abcd2999", "zzzz8888"].iter().all(|id| !seed.row(id).execution.ended()));
}

#[test]
fn run_again_here_everything_of_it_can_be_looked_at() {
    let (program, seed) = place();
    seed.task("aaaa2222", "a", "Look around.");
    end_it(&seed, "aaaa2222", Execution::Failed);
    let ran = program.run(&["tasks", "retry", "--wait", "aaaa"]);
    assert_eq!(done(&ran), "There are notes.\n");
    let new = seed.store.task_ids("", 1).unwrap().remove(0);
    let (old, row) = (seed.row("aaaa2222"), seed.row(&new));
    assert_eq!((row.execution, row.delivery), (Execution::Succeeded, Delivery::Delivered));
    assert_eq!(
        (row.retry_of.as_deref(), &row.rights, &row.origin),
        (Some("aaaa2222"), &old.rights, &old.origin)
    );
    assert_eq!(seed.told("a", &format!("task:{new}")), (1, Vec::new()), "told, and not asked");

    let shown = done(&program.run(&["tasks", "show", &new])).to_owned();
    for part in [
        format!("{new} (Look around.)"),
        "succeeded".to_owned(),
        format!("cli:a of {}, its task 2", program.workspace().display()),
        "aaaa2222".to_owned(),
        "subagent, model scripted of fake".to_owned(),
        format!("{} read-write; no hosts", program.workspace().display()),
        "15 model calls, 200000 tokens, 15 min".to_owned(),
        "2 model calls, 220 tokens sent (100 of them from the cache), 22 received".to_owned(),
        "its task:\n  Look around.".to_owned(),
        "its result:\n  There are notes.".to_owned(),
    ] {
        assert!(shown.contains(&part), "{part}: {shown}");
    }
    let transcript = type_it(&program, shown.lines().find(|line| line.starts_with("transcript")).unwrap());
    assert!(done(&transcript).contains("list_dir") && transcript.stdout.contains("There are notes."));
    // From anywhere.
    let elsewhere = tempfile::tempdir().unwrap();
    let output = program.command().args(["tasks", "show", &new]).current_dir(&elsewhere).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = shown.lines().find(|line| line.starts_with("transcript")).unwrap();
    let words = shlex::split(&line[line.find("ringfence ").unwrap()..]).unwrap();
    let output = program.command().args(&words[1..]).current_dir(&elsewhere).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");

    let object = program.run(&["tasks", "show", "--json", &new]).json();
    assert_eq!((&object["result"], &object["calls"]), (&json!("There are notes."), &json!(2)));
    assert_eq!((&object["retry_of"], &object["max_tokens"]), (&json!("aaaa2222"), &json!(200_000)));
    // What its parent held, less what no subagent ever has.
    assert!(row.rights.contains("\"spawn\""), "{}", row.rights);
    let held = object["rights"].to_string();
    for name in ["message", "spawn", "tasks", "cron"] {
        assert!(!held.contains(&format!("\"{name}\"")), "{held}");
    }
    assert!(held.contains("\"files\"") && !shown.contains("spawn"), "{held} {shown}");

    let logs = done(&program.run(&["tasks", "logs", &new])).to_owned();
    let places = ["I look.", "list_dir  done", "There are notes."].map(|part| logs.find(part));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{logs}");
    assert!(logs.contains("read_file  denied (outside-workspace)"), "{logs}");
    let object = program.run(&["tasks", "logs", "--json", &new]).json();
    let kinds: Vec<&str> =
        object["log"].as_array().unwrap().iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "call", "call", "text"]);
    // Of one that never ran there is nothing, and that is said.
    let ran = program.run(&["tasks", "logs", "aaaa2222"]);
    assert!(done(&ran).is_empty() && ran.stderr.contains("nothing was called or said"), "{ran:?}");
    assert!(done(&program.run(&["tasks", "show", "aaaa2222"])).contains("transcript   there is none"));
}

#[test]
fn run_again_in_the_background_it_is_told_to_whoever_comes() {
    let (program, seed) = place();
    seed.task("aaaa2222", "a", "Look around.");
    let ran = program.run(&["tasks", "retry", "aaaa2222"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "it has not ended: {ran:?}");
    assert_eq!(done(&type_it(&program, &ran.stderr)), "", "that one is ended");
    // Its end is told of first, so that there is nothing else to tell.
    assert_eq!(done(&program.run(&["serve", "--once"])).matches("was cancelled").count(), 1);

    let ran = program.run(&["tasks", "retry", "aaaa2222"]);
    let id = done(&ran).trim_end().to_owned();
    assert!(done(&type_it(&program, &ran.stderr)).contains(&id), "{ran:?}");
    until("its answer", || (!seed.store.letters(None).unwrap().is_empty()).then_some(()));
    until("the end of the worker", || seed.store.processes().unwrap().is_empty().then_some(()));
    let row = seed.row(&id);
    assert_eq!((row.execution, row.delivery), (Execution::Succeeded, Delivery::Delivered));
    let told = program.run(&["serve", "--once"]);
    let block = format!("cli:a ({}) answer:\n  The fence stands.\n", program.workspace().display());
    assert_eq!(done(&told), block);
    assert_eq!(done(&program.run(&["serve", "--once"])), "");
}

#[test]
fn a_session_that_has_had_its_tasks_gets_no_more() {
    let (program, seed) = place();
    let script = program.home().join("script.toml");
    program.configure(&format!(
        "[providers.fake]\nwire = \"scripted\"\nscript = {script:?}\n[tasks]\nper_session = 1\n"
    ));
    seed.task("aaaa2222", "a", "Look around.");
    end_it(&seed, "aaaa2222", Execution::Failed);
    for arguments in [["tasks", "retry", "aaaa2222"].as_slice(), &["tasks", "retry", "aaaa2222", "--wait"]] {
        let ran = program.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (6, ""), "{ran:?}");
        assert!(ran.stderr.contains("has had 1 of 1 background tasks"), "{ran:?}");
    }
    assert_eq!(seed.store.task_ids("", 10).unwrap(), ["aaaa2222"]);
    assert!(seed.store.processes().unwrap().is_empty());
}

#[test]
fn what_waits_is_cancelled_at_once_and_what_is_over_says_how() {
    let (program, seed) = place();
    seed.task("aaaa2222", "a", "Look around.");
    let ran = program.run(&["tasks", "cancel", "aaaa2222"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "task aaaa2222 (Look around.) is cancelled\n"));
    let row = seed.row("aaaa2222");
    assert_eq!((row.execution, row.reason.as_deref()), (Execution::Cancelled, Some("a person ended it")));
    let ran = program.run(&["tasks", "cancel", "aaaa2222"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("was cancelled: a person ended it; there is nothing to cancel"), "{ran:?}");
    assert!(done(&type_it(&program, &ran.stderr)).contains("cancelled"));
    assert_eq!(seed.row("aaaa2222"), row, "nothing happened");
}

#[test]
fn what_runs_elsewhere_is_ended_by_its_process() {
    let (program, seed) = place();
    for (id, flag) in [("aaaa2222", None), ("bbbb2222", Some("--no-wait"))] {
        seed.task(id, "a", "Mend it slowly.");
        let mut serving = Going::start(&program, &["serve"]);
        until("the run", || (seed.row(id).execution == Execution::Running).then_some(()));
        let mut arguments = vec!["tasks", "cancel", id];
        arguments.extend(flag);
        let ran = program.run(&arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("runs in another process, which is asked to end it"), "{ran:?}");
        assert_eq!(ran.stderr.contains("is cancelled"), flag.is_none(), "{ran:?}");
        let row = until("the end", || Some(seed.row(id)).filter(|row| row.execution.ended()));
        assert_eq!((row.execution, row.reason.as_deref()), (Execution::Cancelled, Some("a person ended it")));
        serving.signal(Signal::TERM);
        assert_eq!(serving.code(), 143);
    }
}

#[test]
fn what_its_process_has_left_is_lost() {
    let (program, seed) = place();
    for id in ["aaaa2222", "bbbb2222"] {
        seed.task(id, "a", "Look around.");
        let gone = seed.process("serve");
        seed.store.begin_task(id, gone.id(), 100).unwrap();
        let held = program.run(&["tasks", "show", id]);
        assert!(!done(&held).contains("process gone"), "{held:?}");
        drop(gone);
        let left = program.run(&["tasks", "show", id]);
        assert!(done(&left).contains("running (process gone)"), "{left:?}");
        assert_eq!(seed.row(id).execution, Execution::Running, "looking changes nothing");
    }
    let ran = program.run(&["tasks", "cancel", "aaaa2222"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("was lost: the process that ran it ended before it did"), "{ran:?}");
    assert_eq!(seed.row("aaaa2222").execution, Execution::Lost);
    // What is lost can be run again, at once.
    assert_eq!(done(&program.run(&["tasks", "retry", "--wait", "bbbb2222"])), "There are notes.\n");
    assert_eq!(seed.row("bbbb2222").execution, Execution::Lost);
}

#[test]
fn ctrl_c_ends_what_is_run_again_here() {
    let (program, seed) = place();
    seed.task("aaaa2222", "a", "Mend it slowly.");
    assert!(matches!(seed.store.cancel_task("aaaa2222", "x").unwrap(), CancelAsked::Ended(_)));
    let mut going = Going::start(&program, &["tasks", "retry", "--wait", "aaaa2222"]);
    let running = || {
        let id = seed.store.task_ids("", 1).unwrap().remove(0);
        (seed.row(&id).execution == Execution::Running).then_some(id)
    };
    let id = until("the run", running);
    going.signal(Signal::INT);
    let ran = going.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{ran:?}");
    let row = seed.row(&id);
    assert_eq!((row.execution, row.delivery), (Execution::Cancelled, Delivery::Delivered));
    assert!(seed.store.processes().unwrap().is_empty());
    // A new run of a row that was made for it alone.
    let again = ringfence::tasks::Tasks::again(&seed.store, &row, 100).unwrap();
    assert!(matches!(again, Recorded::New(new) if new.retry_of.as_deref() == Some(id.as_str())));
}

#[test]
fn every_command_that_is_told_to_type_is_one() {
    let mut found = 0;
    for source in [
        include_str!("../../../src/cli/tasks.rs"),
        include_str!("../../../src/cli/tasks_show.rs"),
        include_str!("../../../src/cli/tasks_act.rs"),
        include_str!("../../../src/cli/outbox.rs"),
    ] {
        let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        for literal in code.split('"').skip(1).step_by(2) {
            let Some(at) = literal.find("ringfence ") else { continue };
            let command = literal[at..].split([';', '`', ')']).next().unwrap();
            let command = command.replace("{elsewhere}", " --all").replace("{}", "x").replace("{key}", "x");
            let words = shlex::split(&command).unwrap();
            ringfence::cli::Arguments::try_parse_from(words)
                .unwrap_or_else(|error| panic!("{command}: {error}"));
            found += 1;
        }
    }
    assert!(found >= 7, "{found}");
}
