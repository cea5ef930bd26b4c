//! The chat, end to end in a pseudo-terminal.

use super::support::{Program, Terminal};
use ringfence::session::{Session, SessionKey};
use ringfence::store::Store;
use rustix::process::{Signal, kill_process};
use std::os::unix::fs::PermissionsExt as _;

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

fn chat(program: &Program, term: &str) -> Terminal {
    let mut command = program.command();
    command.env("TERM", term).args(["-s", "talk"]);
    Terminal::start(command)
}

fn said(program: &Program) -> Vec<String> {
    let store = Store::open(&program.state()).unwrap();
    let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("talk")).unwrap();
    session
        .messages()
        .iter()
        .map(ringfence::provider::Message::text)
        .filter(|text| !text.is_empty())
        .collect()
}

fn talks() -> Program {
    let program = Program::scripted(
        r###"
[[reply]]
user = "hello"
text = "Hello **you**.\n\nA second paragraph."
[[reply]]
user = "and"
text = "Two lines came."
[[reply]]
user = "look"
text = "Looking."
calls = [{ name = "read_file", arguments = { path = "/etc/hostname" } }]
[[reply]]
user = "look"
delay_ms = 600000
text = "never"
[[reply]]
user = "slowly"
calls = [{ name = "read_file", arguments = { path = "a.txt" } }]
[[reply]]
user = "slowly"
delay_ms = 2000
text = "Slow, but done."
[[reply]]
user = "meanwhile"
text = "You said something meanwhile."
repeat = true
"###,
    );
    program.file("a.txt", "x\n");
    program
}

#[test]
fn a_chat_from_its_first_line_to_ctrl_d() {
    let program = talks();
    let mut terminal = chat(&program, "xterm-256color");
    terminal.expect("session cli:talk");
    terminal.prompt();
    terminal.keys("hello\r");
    terminal.expect("Hello you.");
    terminal.expect("A second paragraph.");
    terminal.prompt();
    // A backslash at its end continues a line.
    terminal.keys("one\\\rand two\r");
    terminal.expect("Two lines came.");
    terminal.prompt();
    terminal.keys("/STATUS\r");
    terminal.expect("4 messages");
    terminal.prompt();
    terminal.keys("/histroy\r");
    terminal.expect("did you mean /history?");
    terminal.prompt();
    terminal.keys("/stop\r");
    terminal.expect("no turn is running");
    terminal.prompt();
    terminal.keys("/history 1\r");
    terminal.expect("agent: Two lines came.");
    terminal.prompt();
    terminal.keys("/new\r");
    terminal.expect("the one until now is cli:talk");
    terminal.prompt();
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert!(terminal.is_as_a_shell_wants_it());
    assert_eq!(said(&program)[2], "one\nand two");
    let history = program.home().join("data/history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(history).unwrap().contains("hello"));
}

#[test]
fn parity_k2_ctrl_c_ends_the_turn_and_keeps_what_was_said_and_leaves_at_an_empty_prompt() {
    let program = talks();
    let mut terminal = chat(&program, "xterm-256color");
    terminal.prompt();
    terminal.keys("look\r");
    terminal.expect("tool read_file path=/etc/hostname: denied (outside-workspace)");
    terminal.expect("nothing was done: it lies outside of what the agent holds");
    assert!(terminal.is_as_a_shell_wants_it());
    terminal.keys(CTRL_C);
    terminal.expect("the turn was interrupted");
    terminal.prompt();
    assert_eq!(said(&program), ["look", "Looking."]);
    terminal.keys("hello\r");
    terminal.expect("A second paragraph.");
    terminal.prompt();
    terminal.keys(CTRL_C);
    assert_eq!(terminal.end(), 0);
    assert!(terminal.is_as_a_shell_wants_it());
}

#[test]
fn parity_k2_stop_ends_the_turn_and_drains_what_waits() {
    let program = talks();
    let mut terminal = chat(&program, "xterm-256color");
    terminal.prompt();
    terminal.keys("look\r");
    terminal.expect("denied (outside-workspace)");
    terminal.keys("meanwhile\n");
    terminal.expect("waits for the agent's next step");
    terminal.keys("/tools\n");
    terminal.expect("not while a turn runs");
    terminal.keys("/stop\n");
    terminal.expect("not said: meanwhile");
    terminal.expect("the turn was interrupted");
    terminal.prompt();
    terminal.keys("/exit\r");
    assert_eq!(terminal.end(), 0);
    assert_eq!(said(&program), ["look", "Looking."]);
}

#[test]
fn what_is_said_while_a_turn_runs_is_answered_too() {
    let program = talks();
    let mut terminal = chat(&program, "xterm-256color");
    terminal.prompt();
    terminal.keys("slowly\r");
    terminal.expect("tool read_file path=a.txt: done");
    terminal.keys("meanwhile\n");
    terminal.expect("You said something meanwhile.");
    terminal.prompt();
    terminal.keys(CTRL_D);
    assert_eq!(terminal.end(), 0);
    assert_eq!(said(&program), ["slowly", "Slow, but done.", "meanwhile", "You said something meanwhile."]);
}

#[test]
fn the_request_to_end_is_heard_at_the_prompt_and_the_terminal_is_given_back() {
    let program = talks();
    let mut terminal = chat(&program, "xterm-256color");
    terminal.prompt();
    assert!(!terminal.is_as_a_shell_wants_it(), "the line editor has it");
    kill_process(terminal.id(), Signal::TERM).unwrap();
    assert_eq!(terminal.end(), 143);
    assert!(terminal.is_as_a_shell_wants_it());
}

#[test]
fn a_dumb_terminal_is_not_sent_a_single_escape() {
    let program = talks();
    let mut terminal = chat(&program, "dumb");
    terminal.prompt();
    terminal.keys("hello\n");
    terminal.expect("Hello **you**.");
    terminal.prompt();
    terminal.keys("/exit\n");
    assert_eq!(terminal.end(), 0);
    assert!(!terminal.has_escapes(), "{:?}", terminal.seen());
}
