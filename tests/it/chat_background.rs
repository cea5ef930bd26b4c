//! Background work in the chat, end to end in a pseudo-terminal: it goes on meanwhile, and says in one line when a result has come.

use super::support::{Program, Terminal};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{Delivery, Execution, Store, TaskFilter, TaskRow};

const SCRIPT: &str = r###"
[[reply]]
user = "hello"
text = "Hello meanwhile."
[[reply]]
user = "start one"
result = "started counter"
text = "It is on its way."
[[reply]]
user = "start one"
calls = [{ name = "spawn", arguments = { task = "count the sheep", label = "counter" } }]
[[reply]]
user = "start a long one"
result = "started sleeper"
text = "That one sleeps."
[[reply]]
user = "start a long one"
calls = [{ name = "spawn", arguments = { task = "sleep for a year", label = "sleeper" } }]
[[reply]]
user = "[host] Background task"
text = "Two were counted."
repeat = true
[[reply]]
user = "sheep"
text = "I counted two."
delay_ms = 700
[[reply]]
user = "sleep for a year"
text = "never"
delay_ms = 3600000
repeat = true
"###;

fn chat(program: &Program) -> Terminal {
    let mut command = program.command();
    command.env("TERM", "xterm-256color").args(["-s", "talk"]);
    Terminal::start(command)
}

fn tasks(program: &Program) -> Vec<TaskRow> {
    let store = Store::open(&program.state()).unwrap();
    store.tasks(&TaskFilter::default()).unwrap()
}

fn said(program: &Program) -> Vec<(Option<String>, String)> {
    let store = Store::open(&program.state()).unwrap();
    let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("talk")).unwrap();
    let rows = session.history_rows().unwrap();
    rows.into_iter()
        .map(|row| (row.source, row.message.text()))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

#[test]
fn a_result_that_comes_at_the_prompt_is_told_in_one_line_and_what_was_typed_stays() {
    let program = Program::scripted(SCRIPT);
    let mut terminal = chat(&program);
    terminal.prompt();
    terminal.keys("start one\r");
    terminal.expect("It is on its way.");
    terminal.expect("1 background task is on its way; /tasks shows it");
    terminal.prompt();
    // Half a line is typed when the result comes.
    terminal.keys("hel");
    terminal.expect("(counter) completed successfully; it says: I counted two.");
    terminal.expect("Two were counted.");
    terminal.keys("lo\r");
    terminal.expect("Hello meanwhile.");
    terminal.prompt();
    terminal.keys("/tasks\r");
    terminal.expect("succeeded   counter");
    terminal.prompt();
    terminal.keys("/exit\r");
    assert_eq!(terminal.end(), 0);
    let [task] = tasks(&program).try_into().unwrap();
    assert_eq!((task.execution, task.delivery), (Execution::Succeeded, Delivery::Delivered));
    let said = said(&program);
    let person: Vec<&str> =
        said.iter().filter(|(source, _)| source.is_none()).map(|(_, text)| text.as_str()).collect();
    assert_eq!(person, ["start one", "It is on its way.", "Two were counted.", "hello", "Hello meanwhile."]);
    let source = format!("task:{}", task.id);
    assert_eq!(said.iter().filter(|(of, _)| of.as_deref() == Some(source.as_str())).count(), 1);
}

#[test]
fn stop_and_leaving_end_what_runs_and_say_so() {
    let program = Program::scripted(SCRIPT);
    let mut terminal = chat(&program);
    terminal.prompt();
    terminal.keys("start a long one\r");
    terminal.expect("That one sleeps.");
    terminal.prompt();
    terminal.keys("/status\r");
    terminal.expect("1 background agents");
    terminal.prompt();
    terminal.keys("/stop\r");
    terminal.expect("ending 1 background task");
    terminal.expect("(sleeper) was cancelled: the person stopped it");
    terminal.keys("/exit\r");
    assert_eq!(terminal.end(), 0);
    let [task] = tasks(&program).try_into().unwrap();
    assert_eq!((task.execution, task.delivery), (Execution::Cancelled, Delivery::Delivered));
    // Nobody asked the model about it.
    assert!(!said(&program).iter().any(|(_, text)| text == "Two were counted."));

    let mut terminal = chat(&program);
    terminal.prompt();
    terminal.keys("start a long one\r");
    terminal.expect("That one sleeps.");
    terminal.prompt();
    terminal.keys("/exit\r");
    terminal.expect("(sleeper) was cancelled: the chat was left");
    assert_eq!(terminal.end(), 0);
    assert!(tasks(&program).iter().all(|task| task.delivery == Delivery::Delivered));
}
