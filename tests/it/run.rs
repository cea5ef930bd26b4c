//! `ringfence run`, as a program that others call: what is where, and what it ends with.

use super::support::{Program, Ran};
use ringfence::provider::Speaker;
use ringfence::session::{Session, SessionKey};
use ringfence::store::Store;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

const ONE_CALL: &str = r#"
[[reply]]
text = "Let me look."
calls = [{ name = "read_file", arguments = { path = "notes.txt" } }]
usage = { input = 100, output = 10 }
[[reply]]
text = "The notes say: buy milk."
usage = { input = 120, cached = 100, output = 12 }
"#;

const SAYS_HELLO: &str = "[[reply]]\ntext = \"hello\"\nrepeat = true\n";

fn with_notes(script: &str) -> Program {
    let program = Program::scripted(script);
    program.file("notes.txt", "buy milk\n");
    program
}

fn session(program: &Program, name: &str) -> Session {
    let store = Store::open(&program.state()).unwrap();
    Session::open_in(&store, &program.workspace(), SessionKey::parse(name)).unwrap()
}

fn said(session: &Session) -> Vec<(Speaker, String)> {
    let texts = session.messages().iter().map(|message| (message.speaker, message.text()));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

#[test]
fn stdout_has_the_answer_alone_and_stderr_a_line_for_each_call() {
    let ran = with_notes(ONE_CALL).run(&["run", "what do my notes say?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "The notes say: buy milk.\n");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{ran:?}");
    assert!(lines[0].starts_with("tool read_file path=notes.txt: done, "), "{ran:?}");
}

#[test]
fn quiet_says_nothing_on_the_way_and_verbose_says_what_was_given_and_answered() {
    let program = with_notes(ONE_CALL);
    assert_eq!(program.run(&["run", "-q", "notes?"]).stderr, "");
    let stderr = program.run(&["run", "-v", "notes?"]).stderr;
    for part in ["said: Let me look.", "given: {\"path\":\"notes.txt\"}", "answered: "] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[test]
fn json_is_one_object_at_the_end() {
    let ran = with_notes(ONE_CALL).run(&["run", "-o", "json", "notes?"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let object = ran.json();
    assert_eq!(object["ok"], true);
    assert_eq!(object["outcome"], "completed");
    assert_eq!(object["text"], "The notes say: buy milk.");
    assert_eq!(object["iterations"], 2);
    assert_eq!(object["usage"], json!({ "input": 220, "cached": 100, "output": 22 }));
    assert_eq!(object["cost_usd"], json!(null), "an unknown price is not zero");
    assert!(object["session"].as_str().unwrap().starts_with("cli:"));
}

#[test]
fn the_prompt_comes_from_stdin_only_when_none_is_given() {
    let program = Program::scripted(
        "[[reply]]\nuser = \"from the pipe\"\ntext = \"piped\"\n[[reply]]\nuser = \"typed\"\ntext = \"typed\"\n",
    );
    assert_eq!(program.run_with(&["run"], "from the pipe").stdout, "piped\n");
    assert_eq!(program.run_with(&["run", "-"], "from the pipe").stdout, "piped\n");
    // A pipe that nobody ever closes must not hold up a prompt that was typed.
    let mut child = program.command().args(["run", "typed"]).stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    assert_eq!(Ran::of(child.wait_with_output().unwrap()).stdout, "typed\n");
    drop(open);
}

#[test]
fn exit_1_when_the_answer_cannot_be_written_where_it_was_wanted() {
    let program = Program::scripted(SAYS_HELLO);
    std::fs::create_dir(program.workspace().join("taken")).unwrap();
    let ran = program.run(&["run", "--last-message", "taken", "hi"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("error: taken: "), "{ran:?}");
}

#[test]
fn exit_2_for_what_makes_no_sense() {
    let program = Program::scripted(SAYS_HELLO);
    assert_eq!(program.run(&["run"]).code, 2, "nothing to do");
    assert_eq!(program.run(&["run", "  "]).code, 2, "nothing to do");
    assert_eq!(program.run(&["run", "-s", "a", "--continue", "hi"]).code, 2, "two sessions");
    assert_eq!(program.run(&["run", "--max-cost", "free", "hi"]).code, 2);
    assert_eq!(program.run(&["run", "--timeout", "soon", "hi"]).code, 2);
    assert_eq!(program.run(&["run", "--role", "mian", "hi"]).code, 2);
    let before = program.run(&["-m", "other", "run", "hi"]);
    assert_eq!(before.code, 2, "{before:?}");
    assert_eq!(program.run(&["--color", "never", "-q", "run", "--ephemeral", "hi"]).code, 0);
    let none = program.run(&["run", "--continue", "hi"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("there is no earlier conversation"), "{none:?}");
    let chat = program.run(&[]);
    assert_eq!(chat.code, 2, "a chat needs a terminal");
    assert!(chat.stderr.contains("ringfence run"), "{chat:?}");
}

#[test]
fn exit_3_without_a_provider_and_the_two_quickest_ways_forward() {
    let ran = Program::bare().run(&["run", "hi"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{ran:?}");
    assert!(ran.stderr.contains("ringfence demo"), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let object = Program::bare().run(&["run", "-o", "json", "hi"]).json();
    assert_eq!(object["ok"], false);
    assert_eq!(object["error"]["kind"], "configuration");
    assert_eq!(object["error"]["code"], 3);
}

#[test]
fn exit_3_for_a_configuration_or_a_budget_that_cannot_be_kept() {
    let program = Program::scripted(SAYS_HELLO);
    let ran = program.run(&["run", "--max-cost", "0.50", "hi"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("prices"), "{ran:?}");
    program.configure("provder = \"x\"\n");
    let ran = program.run(&["run", "hi"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("provider"), "{ran:?}");
}

#[test]
fn exit_4_when_the_model_service_fails() {
    let program = Program::scripted(
        r#"
[[reply]]
repeat = true
fault = { kind = "quota", message = "nothing left", status = 429, retry_after_ms = 7200000 }
"#,
    );
    let ran = program.run(&["run", "-o", "json", "hi"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    let error = &ran.json()["error"];
    assert_eq!(error["kind"], "quota");
    assert_eq!(error["status"], 429);
    assert_eq!(error["code"], 4);
    assert_eq!(error["retry_after_s"], 7200);
    assert!(error["message"].as_str().unwrap().contains("nothing left"));
    for member in ["request_id", "retryable", "hint"] {
        assert!(error.get(member).is_some(), "{member} is missing");
    }
}

const LOOKS_OUTSIDE: &str = r#"
[[reply]]
tools = true
calls = [{ name = "read_file", arguments = { path = "/etc/hostname" } }]
[[reply]]
text = "I could not read it."
"#;

#[test]
fn a_denial_that_the_model_lived_with_is_listed_and_is_no_failure() {
    let ran = Program::scripted(LOOKS_OUTSIDE).run(&["run", "-q", "read it"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "I could not read it.\n");
    assert!(ran.stderr.contains("denied on the way:"), "{ran:?}");
    assert!(ran.stderr.contains("/etc/hostname lies outside"), "{ran:?}");
    let shown = Program::scripted(LOOKS_OUTSIDE).run(&["run", "read it"]);
    assert!(shown.stderr.contains("denied (outside-workspace)"), "{shown:?}");
    assert!(shown.stderr.contains("nothing was done: it lies outside of what the agent holds"), "{shown:?}");
}

#[test]
fn exit_5_when_a_denial_kept_the_run_from_its_end() {
    let ran = Program::scripted(LOOKS_OUTSIDE).run(&["run", "--max-turns", "1", "-o", "json", "read it"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_eq!(ran.json()["denied"].as_array().unwrap().len(), 1);
}

#[test]
fn exit_6_at_the_limits_on_model_calls_and_tokens() {
    let looks = r#"
[[reply]]
tools = true
repeat = true
calls = [{ name = "read_file", arguments = { path = "notes.txt" } }]
usage = { input = 1000, output = 10 }
[[reply]]
text = "Not done yet."
usage = { input = 10, output = 10 }
"#;
    let ran = with_notes(looks).run(&["run", "--max-turns", "1", "notes?"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("incomplete"), "{ran:?}");
    let ran = with_notes(looks).run(&["run", "--max-tokens", "500", "-o", "json", "notes?"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert_eq!(ran.json()["error"]["kind"], "token-limit");
}

#[test]
fn exit_7_when_time_is_over() {
    let slow = "[[reply]]\ntext = \"late\"\ndelay_ms = 600000\n";
    let ran = Program::scripted(slow).run(&["run", "--timeout", "1s", "hi"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert_eq!(ran.stdout, "");
}

#[test]
fn exit_8_when_a_component_does_not_load() {
    let program = Program::scripted(SAYS_HELLO);
    program.file("broken.wasm", "no component");
    let ran = program.run(&["tools", "run", "--component", "broken.wasm", "anything"]);
    assert_eq!(ran.code, 8, "{ran:?}");
}

#[test]
fn continue_sees_the_earlier_turn_and_a_named_session_is_its_own() {
    let program = Program::scripted(
        "[[reply]]\nturn = 1\ntext = \"first\"\nrepeat = true\n[[reply]]\nturn = 2\ntext = \"second\"\n",
    );
    assert_eq!(program.run(&["run", "a"]).stdout, "first\n");
    assert_eq!(program.run(&["run", "--continue", "b"]).stdout, "second\n");
    assert_eq!(program.run(&["run", "-s", "other", "c"]).stdout, "first\n");
    assert_eq!(program.run(&["run", "-s", "cli:other", "d"]).stdout, "second\n");
    // What is not kept is not continued.
    assert_eq!(program.run(&["run", "--ephemeral", "e"]).stdout, "first\n");
    assert_eq!(said(&session(&program, "other")).len(), 4);
    let listed = program.run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn two_runs_at_once_on_one_session_do_not_mix() {
    let program = Program::scripted(
        r#"
[[reply]]
user = "question one"
text = "answer one"
delay_ms = 200
[[reply]]
user = "question two"
text = "answer two"
delay_ms = 200
"#,
    );
    // So that both find a session that is there.
    let children: Vec<Child> = ["question one", "question two"]
        .map(|prompt| program.command().args(["run", "-s", "shared", prompt]).spawn().unwrap())
        .into();
    for child in children {
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let said = said(&session(&program, "shared"));
    assert_eq!(said.len(), 4, "{said:?}");
    for pair in said.chunks(2) {
        assert_eq!(pair[0].1.replace("question", "answer"), pair[1].1, "{said:?}");
    }
}

/// Starts a run whose second reply takes for ever, and waits until its first call is over.
fn hanging(program: &Program, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let mut child = program.command().args(arguments).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("tool read_file"), "{line}");
    (child, stderr)
}

#[test]
fn a_signal_ends_a_run_and_what_was_said_is_kept() {
    let hangs = ONE_CALL.replace("text = \"The notes say", "delay_ms = 600000\ntext = \"The notes say");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let program = with_notes(&hangs);
        let (child, mut stderr) = hanging(&program, &["run", "-s", "s", "-o", "json", "notes?"]);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap());
        assert_eq!(ran.code, code, "{ran:?} {rest}");
        let object = ran.json();
        assert_eq!(object["outcome"], "cancelled");
        assert_eq!(object["error"]["kind"], "interrupted");
        assert_eq!(object["error"]["code"], code);
        let session = session(&program, "s");
        assert_eq!(said(&session)[1], (Speaker::Assistant, "Let me look.".to_owned()));
        assert_eq!(session.messages().iter().flat_map(|m| m.results()).count(), 1);
    }
}

#[test]
fn the_last_message_is_written_and_a_link_in_its_place_is_not_followed() {
    let program = Program::scripted(SAYS_HELLO);
    let elsewhere = program.home().join("precious");
    std::fs::write(&elsewhere, "untouched").unwrap();
    std::os::unix::fs::symlink(&elsewhere, program.workspace().join("answer.txt")).unwrap();
    let ran = program.run(&["run", "--last-message", "answer.txt", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "untouched");
    let answer = program.workspace().join("answer.txt");
    assert_eq!(std::fs::read_to_string(&answer).unwrap(), "hello");
    assert!(!answer.is_symlink());
}

#[test]
fn what_a_run_takes_away_is_away() {
    let writes = r#"
[[reply]]
calls = [{ name = "write_file", arguments = { path = "new.txt", content = "x" } }]
[[reply]]
text = "done"
"#;
    for (flags, there) in [(&["--read-only"][..], false), (&["--deny", "files"][..], false), (&[][..], true)]
    {
        let program = Program::scripted(writes);
        let ran = program.run(&[&["run"], flags, &["write it"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(program.workspace().join("new.txt").exists(), there, "{flags:?}: {ran:?}");
    }
}

#[test]
fn every_call_leaves_an_audit_row_under_its_session() {
    let program = with_notes(ONE_CALL);
    program.run(&["run", "-s", "audited", "notes?"]);
    let ran = program.run(&["audit", "--session", "audited", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("read_file") && ran.stdout.contains("cli:audited"), "{ran:?}");
}

#[test]
fn every_model_call_leaves_a_row_of_what_it_took() {
    let program = with_notes(ONE_CALL);
    program.run(&["run", "-s", "counted", "notes?"]);
    let store = Store::open(&program.state()).unwrap();
    let sum = store.usage("cli:counted").unwrap();
    assert_eq!((sum.calls, sum.input, sum.cached, sum.output, sum.cost), (2, 220, 100, 22, None));
}

#[test]
fn waiting_for_another_process_on_the_same_session_is_told_and_bounded() {
    let program =
        with_notes(&ONE_CALL.replace("text = \"The notes say", "delay_ms = 600000\ntext = \"The notes say"));
    let (mut child, _stderr) = hanging(&program, &["run", "-s", "s", "notes?"]);
    let ran = program.run(&["run", "-s", "s", "--timeout", "1s", "-o", "jsonl", "notes?"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stderr.contains("another process has a turn of this session"), "{ran:?}");
    let types: Vec<String> = ran.lines().iter().map(|line| line["type"].to_string()).collect();
    assert_eq!(types, ["\"session.started\"", "\"notice\"", "\"turn.finished\""]);
    // What was held goes with the process that held it.
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = program.run(&["run", "-s", "s", "--timeout", "1s", "-o", "jsonl", "notes?"]);
    assert!(ran.lines().iter().any(|line| line["type"] == "turn.started"), "{ran:?}");
}

#[test]
fn messages_of_the_agent_go_to_stderr() {
    let program = Program::scripted(
        r#"
[[reply]]
calls = [{ name = "message", arguments = { content = "halfway there" } }]
[[reply]]
text = "done"
"#,
    );
    let ran = program.run(&["run", "go"]);
    assert_eq!(ran.stdout, "done\n", "{ran:?}");
    assert!(ran.stderr.contains("message: halfway there"), "{ran:?}");
}

#[test]
fn configuration_is_shown_with_its_origins_and_without_keys() {
    let program = Program::scripted(SAYS_HELLO);
    program.configure(
        "model = \"m\"\n[providers.a]\nwire = \"chat\"\nbase_url = \"https://example.org/v1\"\nmodel = \"x\"\nkey = { env = \"MY_KEY\" }\n[agent]\nmain_iterations = 7\n",
    );
    let secret = "sk-this-is-secret";
    let show = |arguments: &[&str]| {
        let output = program.command().env("MY_KEY", secret).args(arguments).output().unwrap();
        Ran::of(output)
    };
    let ran = show(&["config", "show", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = ran.json();
    assert_eq!(shown["model"], json!({ "value": "m", "origin": "file" }));
    assert_eq!(shown["agent.main_iterations"], json!({ "value": 7, "origin": "file" }));
    assert_eq!(shown["agent.subagent_iterations"]["origin"], "default");
    assert_eq!(shown["directories.config"]["origin"], "RINGFENCE_HOME");
    assert!(!format!("{ran:?}{:?}", show(&["config", "show"])).contains(secret));
    assert_eq!(show(&["config", "validate"]).code, 0);
    let path = program.run(&["config", "path"]).stdout;
    assert_eq!(
        path.trim(),
        program.home().canonicalize().unwrap().join("config/config.toml").to_str().unwrap()
    );
    program.configure("[agent]\nmain_iteration = 7\n");
    let wrong = program.run(&["config", "validate"]);
    assert_eq!(wrong.code, 3);
    assert!(wrong.stderr.contains("main_iterations"), "{wrong:?}");
    // A provider that no table and no maker has: `run` would refuse it, and so does this.
    program.configure("provider = \"wrk\"\n");
    for arguments in [&["config", "validate"][..], &["run", "hello"]] {
        let wrong = program.run(arguments);
        assert_eq!(wrong.code, 3, "{wrong:?}");
        assert!(wrong.stderr.contains("wrk"), "{wrong:?}");
    }
    program.configure("provider = \"ollama\"\nmodel = \"m\"\n");
    assert_eq!(program.run(&["config", "validate"]).code, 0);
}
