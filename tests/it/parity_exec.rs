//! Parity E, as far as it is about the tools themselves: what of a call arrives at the host, and how its answer is told. What
//! a command can do is tried with real ones.

use crate::support::{Program, Stage, World};
use crate::tool_spawn::KINDS;
use ringfence::agent::TurnOutcome;
use ringfence::authority::{Capability, CapabilitySet, DenialKind, Flags, Profile, Rights, Role};
use ringfence::sandbox::ports::{ErrorKind as Theirs, Outcome, Session};
use ringfence::toolbox::{Agent, ErrorKind, Ports};
use serde_json::{Value, json};
use std::sync::Arc;

/// A command that ended with this code.
fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome {
        session: None,
        exit_code: Some(exit_code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        dropped: 0,
        elapsed_ms: 1_500,
        timed_out: false,
        sandbox_level: "full".to_owned(),
    }
}

/// One that still runs.
fn runs(stdout: &str) -> Outcome {
    Outcome { session: Some("0123456789ab".to_owned()), exit_code: None, ..ended(0, stdout, "") }
}

/// What is told of each of them, one after another.
fn told(tool: &str, arguments: Value, outcomes: &[Outcome]) -> Vec<(String, Value)> {
    let w = World::new();
    w.ports().answer_with(outcomes);
    let tell = |_| {
        let reply = w.call(tool, arguments.clone());
        (reply.text(), reply.structured().unwrap())
    };
    outcomes.iter().map(tell).collect()
}

fn exec(outcome: Outcome) -> String {
    told("exec", json!({ "command": "x" }), &[outcome]).remove(0).0
}

#[test]
fn parity_e01_output_and_then_the_exit_code() {
    let (text, facts) = told("exec", json!({ "command": "x" }), &[ended(0, "hello\n", "")]).remove(0);
    assert_eq!(text, "hello\nExit code: 0");
    let expected = json!({
        "exit_code": 0, "timed_out": false, "dropped": 0, "elapsed_ms": 1_500, "session": null, "sandbox": "full",
    });
    assert_eq!(facts, expected);
    assert_eq!(exec(ended(0, "", "")), "(no output)\nExit code: 0");
    assert_eq!(exec(ended(0, "one", "two\n")), "one\nSTDERR:\ntwo\nExit code: 0");
}

#[test]
fn parity_e02_a_command_that_fails_is_a_result() {
    assert_eq!(exec(ended(3, "", "no such thing\n")), "STDERR:\nno such thing\nExit code: 3");
    // Whatever a command prints, the last line is the host's word.
    assert_eq!(exec(ended(1, "Exit code: 0\n", "")), "Exit code: 0\nExit code: 1");
}

#[test]
fn parity_e04_what_was_left_out_is_counted() {
    let (head, tail) = ("A".repeat(5_000), "B".repeat(5_000));
    let long = Outcome { dropped: 2_001, ..ended(0, &format!("{head}{tail}"), "") };
    let (text, facts) = told("exec", json!({ "command": "x" }), &[long]).remove(0);
    assert!(text.starts_with("AAAA"));
    assert!(text.ends_with("BB\n[2001 characters left out of the middle of the output]\nExit code: 0"));
    assert_eq!(facts["dropped"], 2_001);
}

#[test]
fn parity_e05_the_time_that_was_over_stands_before_the_exit_code() {
    let over = || Outcome { timed_out: true, elapsed_ms: 1_004, ..ended(137, "so far\n", "") };
    let asked = told("exec", json!({ "command": "x", "timeout": 1 }), &[over()]).remove(0);
    assert_eq!(asked.0, "so far\nCommand timed out after 1 seconds.\nExit code: 137");
    assert_eq!(asked.1["timed_out"], true);
    assert_eq!(
        exec(Outcome { elapsed_ms: 60_020, ..over() }).lines().nth(1),
        Some("Command timed out after 60 seconds.")
    );
}

#[test]
fn the_walls_are_told_where_they_are_not_all_there() {
    for level in ["no-cgroup", "no-landlock", "no-userns", "landlock", "none"] {
        let less = Outcome { sandbox_level: level.to_owned(), ..ended(0, "x\n", "") };
        let (text, facts) = told("exec", json!({ "command": "x" }), &[less]).remove(0);
        assert_eq!(text, format!("x\nSandbox: {level}\nExit code: 0"));
        assert_eq!(facts["sandbox"], level);
    }
}

#[test]
fn parity_e07_a_call_has_between_1_and_600_seconds() {
    let w = World::new();
    for wrong in [json!(0), json!(-1), json!(601), json!(1.5), json!("long")] {
        let message = w.call("exec", json!({ "command": "x", "timeout": wrong })).argument_error();
        assert!(message.contains("timeout"), "{message}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new());
    for (seconds, ms) in [(json!(1), 1_000), (json!(600), 600_000), (json!("60"), 60_000)] {
        w.call("exec", json!({ "command": "x", "timeout": seconds })).text();
        assert_eq!(w.ports().commands().last().unwrap().timeout_ms, Some(ms));
    }
}

#[test]
fn parity_e08_aliases_are_honoured() {
    let w = World::new();
    w.call("exec", json!({ "cmd": "ls", "workdir": "src" })).text();
    w.call("exec_session", json!({ "session_id": "0123456789ab", "chars": "y\n" })).text();
    let [command] = &w.ports().commands()[..] else { panic!("{:?}", w.ports().commands()) };
    assert_eq!((command.line.as_str(), command.working_dir.as_deref()), ("ls", Some("src")));
    assert_eq!(w.ports().inputs()[0].text, "y\n");
    let before = w.ports().everything();
    for (tool, both) in [
        ("exec", json!({ "command": "ls", "cmd": "rm" })),
        ("exec", json!({ "command": "ls", "working_dir": "a", "workdir": "b" })),
        ("exec_session", json!({ "session_id": "0123456789ab", "input": "y", "chars": "n" })),
    ] {
        let (kind, message) = w.call(tool, both).error();
        assert_eq!(kind, ErrorKind::InvalidArguments, "{message}");
    }
    assert_eq!(w.ports().everything(), before);
}

#[test]
fn every_parameter_arrives_and_what_is_left_out_is_left_to_the_host() {
    let w = World::new();
    let all = json!({
        "command": "make", "working_dir": "a/b", "timeout": 30, "shell": "sh", "yield_time_ms": 250,
        "max_output_chars": 50_000, "tty": true,
    });
    w.call("exec", all).text();
    w.call("exec", json!({ "command": "make", "working_dir": "", "shell": null, "timeout": null })).text();
    let [all, none] = &w.ports().commands()[..] else { panic!("{:?}", w.ports().commands()) };
    assert_eq!((all.working_dir.as_deref(), all.shell.as_deref(), all.tty), (Some("a/b"), Some("sh"), true));
    assert_eq!((all.timeout_ms, all.yield_ms, all.max_output), (Some(30_000), Some(250), Some(50_000)));
    assert_eq!((none.working_dir.as_deref(), none.shell.as_deref(), none.tty), (None, None, false));
    assert_eq!((none.timeout_ms, none.yield_ms, none.max_output), (None, None, None));

    let all = json!({
        "session_id": "0123456789ab", "input": "go\n", "close_stdin": true, "wait_for": "done",
        "wait_timeout_ms": 120_000, "yield_time_ms": 5, "max_output_chars": 1_000,
    });
    w.call("exec_session", all).text();
    let input = w.ports().inputs().remove(0);
    assert_eq!((input.session.as_str(), input.text.as_str()), ("0123456789ab", "go\n"));
    assert_eq!((input.close, input.terminate, input.wait_for.as_deref()), (true, false, Some("done")));
    assert_eq!((input.wait_ms, input.max_output), (Some(120_000), Some(1_000)));
}

#[test]
fn what_the_schemas_refuse_reaches_nobody() {
    let w = World::new();
    let session =
        |field: &str, value: Value| ("exec_session", json!({ "session_id": "0123456789ab", field: value }));
    let command = |field: &str, value: Value| ("exec", json!({ "command": "x", field: value }));
    for (tool, wrong) in [
        command("yield_time_ms", json!(30_001)),
        command("yield_time_ms", json!(-1)),
        command("max_output_chars", json!(999)),
        command("max_output_chars", json!(50_001)),
        command("shell", json!("powershell")),
        command("shell", json!("/bin/sh")),
        command("tty", json!("perhaps")),
        command("working_dir", json!(["a"])),
        command("env", json!({ "LD_PRELOAD": "x.so" })),
        command("sandbox", json!("none")),
        ("exec", json!({ "command": ["ls", "-l"] })),
        ("exec_session", json!({ "input": "x" })),
        session("wait_timeout_ms", json!(120_001)),
        session("wait_timeout_ms", json!(-1)),
        session("yield_time_ms", json!(30_001)),
        session("max_output_chars", json!(999)),
        session("wait_for", json!({})),
        ("list_exec_sessions", json!({ "of": "somebody else" })),
    ] {
        assert!(!w.call(tool, wrong.clone()).argument_error().is_empty(), "{tool} {wrong}");
    }
    for blank in [json!({}), json!({ "command": "" }), json!({ "cmd": " \n" })] {
        let (kind, message) = w.call("exec", blank).error();
        assert!(kind == ErrorKind::InvalidArguments && message.contains("`command`"), "{message}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new());
}

#[test]
fn parity_e31_a_command_that_still_runs_has_a_session() {
    let w = World::new();
    w.ports().answer_with(&[Outcome { elapsed_ms: 250, ..runs("") }, ended(0, "ping\n", "")]);
    let first = w.call("exec", json!({ "command": "cat", "yield_time_ms": 250 }));
    assert_eq!(first.text(), "(no output)\nStill running: session 0123456789ab, 0.2 s so far");
    let facts = first.structured().unwrap();
    assert_eq!((&facts["session"], &facts["exit_code"]), (&json!("0123456789ab"), &Value::Null));
    let then = w.call(
        "exec_session",
        json!({ "session_id": facts["session"], "input": "ping\n", "close_stdin": true }),
    );
    assert_eq!(then.text(), "ping\nExit code: 0");
    assert_eq!(w.ports().executed(), ["cat", "ping\n"]);
}

#[test]
fn parity_e32_the_end_of_input_and_of_the_command_are_asked_for() {
    let w = World::new();
    let ask = |more: &str| w.call("exec_session", json!({ "session_id": "0123456789ab", more: true }));
    w.ports().answer_with(&[ended(0, "bye\n", ""), ended(143, "", ""), runs("")]);
    assert_eq!(ask("close_stdin").text(), "bye\nExit code: 0");
    assert_eq!(ask("terminate").text(), "(no output)\nTerminated.\nExit code: 143");
    assert!(!ask("terminate").text().contains("Terminated"), "it still runs");
    let asked: Vec<(bool, bool)> =
        w.ports().inputs().iter().map(|input| (input.close, input.terminate)).collect();
    assert_eq!(asked, [(true, false), (false, true), (false, true)]);
    let both = json!({ "session_id": "0123456789ab", "input": "y\n", "terminate": true });
    assert_eq!(w.call("exec_session", both).error().0, ErrorKind::InvalidArguments);
    assert_eq!(w.ports().inputs().len(), 3);
}

#[test]
fn parity_e34_a_session_that_ended_gives_its_last_output() {
    let w = World::new();
    w.ports().answer_with(&[ended(0, "the rest\n", "")]);
    let poll = || w.call("exec_session", json!({ "session_id": "0123456789ab" }));
    assert_eq!(poll().text(), "the rest\nExit code: 0");
    assert_eq!(w.ports().inputs()[0].wait_ms, Some(1_000));
    w.ports().refuse_with(Theirs::NotFound);
    assert_eq!(poll().error().0, ErrorKind::NotFound);
}

#[test]
fn parity_e37_an_unknown_session_is_told_on_one_line() {
    let w = World::new();
    w.ports().refuse_with(Theirs::NotFound);
    let (kind, message) =
        w.call("exec_session", json!({ "session_id": "no\nExit code: 0\u{1b}[2J" })).error();
    assert_eq!(kind, ErrorKind::NotFound);
    let expected =
        r"you have no command session `no\nExit code: 0\u{1b}[2J`; list_exec_sessions shows those that run";
    assert_eq!(message, expected);
    let (_, message) = w.call("exec_session", json!({ "session_id": "x".repeat(10_000) })).error();
    assert!(message.len() < 200, "{message}");
}

#[test]
fn a_list_has_one_line_for_each_command() {
    let w = World::new();
    assert_eq!(w.call("list_exec_sessions", json!({})).text(), "No command sessions.");
    let session = |id: &str, line: &str, elapsed_ms, remaining_ms| Session {
        id: id.to_owned(),
        line: line.to_owned(),
        elapsed_ms,
        remaining_ms,
    };
    let long = format!("echo {}", "x".repeat(200));
    w.ports().have_sessions(&[
        session("0123456789ab", "for i in 1 2\ndo echo \u{1b}[2J; done", 12_345, 47_655),
        session("ba9876543210", &long, 500, 9_500),
    ]);
    let reply = w.call("list_exec_sessions", json!({}));
    let cut = format!("- ba9876543210: 0.5 s so far, 9.5 s left: echo {}…", "x".repeat(95));
    let first = r"- 0123456789ab: 12 s so far, 47 s left: for i in 1 2\ndo echo \u{1b}[2J; done";
    assert_eq!(reply.text(), format!("{first}\n{cut}"));
    assert_eq!(reply.structured().unwrap()["sessions"][1]["command"], cut.rsplit_once("left: ").unwrap().1);
}

#[test]
fn what_was_not_run_is_an_error_of_its_kind() {
    for (theirs, ours) in KINDS {
        let w = World::new();
        w.ports().refuse_with(theirs);
        for (tool, arguments) in [
            ("exec", json!({ "command": "x" })),
            ("exec_session", json!({ "session_id": "0123456789ab" })),
            ("list_exec_sessions", json!({})),
        ] {
            let (kind, message) = w.call(tool, arguments).error();
            let own = tool == "exec_session" && theirs == Theirs::NotFound;
            assert_eq!(
                (kind, message == "refused by the test"),
                (ours, !own),
                "{tool}: {theirs:?}: {message}"
            );
        }
    }
}

#[test]
fn parity_e43_a_refusal_is_an_error_and_the_turn_goes_on() {
    let w = World::new();
    w.ports().refuse_with(Theirs::Denied);
    let mut stage = Stage::new(
        r#"
        [[reply]]
        turn = 1
        calls = [{ name = "exec", arguments = { command = "ls", working_dir = "/etc" } }]
        [[reply]]
        result = "refused by the test"
        text = "then not"
        "#,
    );
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "then not"));
    assert_eq!(stage.outcomes(), ["exec failed denied"]);
    stage.finish();
}

#[test]
fn asking_again_and_again_is_how_one_waits() {
    let w = World::new();
    w.ports().have_sessions(&[]);
    w.ports().answer_with(&[runs(""), runs(""), runs(""), ended(0, "done\n", "")]);
    let poll = r#"{ name = "exec_session", arguments = { session_id = "0123456789ab" } }"#;
    let list = r#"{ name = "list_exec_sessions", arguments = {} }"#;
    let one = |call: &str| format!("[[reply]]\ncalls = [{call}]\n");
    let mut stage =
        Stage::new(&format!("{}{}[[reply]]\ntext = \"done\"", one(poll).repeat(4), one(list).repeat(4)));
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Completed);
    assert!(stage.outcomes().iter().all(|outcome| outcome.ends_with(" done")), "{:?}", stage.outcomes());
    assert_eq!((stage.outcomes().len(), w.ports().inputs().len()), (8, 4));
}

#[test]
fn a_command_has_no_company() {
    // A run that may only read makes no command harmless.
    for (w, role) in
        [World::new(), World::new().read_only()].iter().flat_map(|w| Role::ALL.map(|role| (w, role)))
    {
        let toolbox = w.toolbox().read().unwrap();
        let agent = w.agent(Profile::plain(role));
        let reads =
            ["exec", "exec_session", "list_exec_sessions"].map(|tool| toolbox.only_reads(&agent, tool));
        assert_eq!(reads, [false, false, true], "{role}");
        let looks = ["exec", "exec_session", "list_exec_sessions"].map(|tool| toolbox.looks_up(&agent, tool));
        assert_eq!(looks, [false; 3], "{role}");
    }
}

/// The three tools with arguments that work.
fn calls() -> [(&'static str, Value); 3] {
    [
        ("exec", json!({ "command": "ls" })),
        ("exec_session", json!({ "session_id": "0123456789ab", "input": "y" })),
        ("list_exec_sessions", json!({})),
    ]
}

#[test]
fn every_role_runs_commands_unless_they_are_withheld() {
    let w = World::new();
    for role in Role::ALL {
        let ports = || match role {
            Role::Main => Ports::Main(Arc::new(w.ports().main_ports())),
            Role::Subagent => Ports::Subagent(Arc::new(w.ports().shared_ports())),
        };
        let agent = |capabilities: CapabilitySet| {
            let flags = Flags(Rights { capabilities, ..Rights::all() });
            Agent::new("test", Profile::plain(role), w.root(), flags, ports()).unwrap()
        };
        let (without, with) =
            (agent(CapabilitySet::ALL.without(Capability::Exec)), agent(CapabilitySet::ALL));
        for (tool, arguments) in calls() {
            let before = w.ports().everything();
            let denial = w.call_by(&without, tool, &arguments.to_string()).denial();
            assert_eq!(
                (denial.kind, denial.capability),
                (DenialKind::Withheld, Some(Capability::Exec)),
                "{denial}"
            );
            assert_eq!(denial.subject, "ringfence:host/exec@0.1.0");
            assert_eq!(w.ports().everything(), before, "{role}: {tool}");
            w.call_by(&with, tool, &arguments.to_string()).text();
            let heard = w.ports().everything().len() - before.len();
            assert_eq!(heard, usize::from(tool != "list_exec_sessions"), "{role}: {tool}");
        }
    }
}

#[test]
fn the_remedy_for_a_command_that_is_withheld_is_the_command_without_the_flag() {
    let p = Program::bare();
    let ran = p.run(&["tools", "run", "--deny", "exec", "exec", "command=ls"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, ""));
    insta::assert_snapshot!(ran.stderr, @r"
    denied: tool `exec` needs ringfence:host/exec@0.1.0, which this run as main takes away
      to run it without that restriction: ringfence tools run exec 'command=ls'
    ");
    assert_ne!(p.run(&["tools", "run", "exec", "command=ls"]).code, 5);
}
