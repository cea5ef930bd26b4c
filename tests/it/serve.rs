//! `ringfence serve`, as a program: what waits is run, each result is told once, and whatever ends it loses nothing.

use crate::support::{Going, Program, Ran, Seed, until};
use ringfence::provider::Message;
use ringfence::session::{Session, SessionKey};
use ringfence::store::{Delivery, Execution, LetterFilter, NewLetter, TaskEnd, Workspace};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// What the model says to an announcement, and in a run.
const MENDS: &str = r#"
[[reply]]
user = "[host]"
text = "All of it is mended."
repeat = true
[[reply]]
text = "I mended it."
repeat = true
"#;

const ONCE: [&str; 2] = ["serve", "--once"];

fn at(program: &Program) -> String {
    program.workspace().display().to_string()
}

#[track_caller]
fn served(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.stdout
}

/// Processes that have this program's home in their environment.
fn processes(program: &Program) -> usize {
    let home = program.home().to_str().unwrap().as_bytes().to_owned();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    environments.filter(|text| text.windows(home.len()).any(|part| part == home)).count()
}

#[test]
fn what_waits_is_run_and_told_once() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    seed.task("aaaa2222", "a", "Mend the fence.");
    let ran = program.run(&ONCE);
    assert_eq!(served(&ran), format!("cli:a ({}) answer:\n  All of it is mended.\n", at(&program)));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "serving 0 jobs and 1 waiting task of every workspace; at most 4 tasks at once",
            "task aaaa2222 (Mend the fence.) completed successfully; it says: I mended it.",
        ]
    );
    let row = seed.row("aaaa2222");
    assert_eq!((row.execution, row.delivery), (Execution::Succeeded, Delivery::Delivered));
    assert_eq!(row.result.as_deref(), Some("I mended it."));
    let (told, behind) = seed.told("a", "task:aaaa2222");
    assert_eq!((told, behind.as_slice()), (1, &["All of it is mended.".to_owned()][..]));
    // There is nothing more to tell, and nothing is said again.
    assert_eq!(served(&program.run(&ONCE)), "");
    assert_eq!(seed.told("a", "task:aaaa2222"), (told, behind));
    assert!(seed.store.processes().unwrap().is_empty());
}

#[test]
fn as_json_it_is_an_object_a_line() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    for chat in ["a", "b"] {
        seed.task(&format!("{chat}{chat}{chat}{chat}2222"), chat, "Mend the fence.");
    }
    let ran = program.run(&["serve", "--once", "--json", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let lines = ran.lines();
    let sessions: BTreeSet<&str> = lines.iter().map(|line| line["session"].as_str().unwrap()).collect();
    assert_eq!((lines.len(), sessions), (2, BTreeSet::from(["cli:a", "cli:b"])));
    for line in &lines {
        assert_eq!((&line["kind"], &line["content"]), (&"answer".into(), &"All of it is mended.".into()));
        assert_eq!(line["workspace"], at(&program).as_str());
    }
}

#[test]
fn two_at_once_tell_each_result_once() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let chats = ["a", "b", "c", "d", "e", "f"];
    for chat in chats {
        seed.task(&format!("{chat}{chat}{chat}{chat}2222"), chat, "Mend the fence.");
    }
    let both = [Going::start(&program, &ONCE), Going::start(&program, &ONCE)].map(Going::end);
    // Whichever ended first may have left something to tell to the other alone; together they told all.
    let printed: String = both.iter().map(served).collect();
    for chat in chats {
        let block = format!("cli:{chat} ({}) answer:\n  All of it is mended.\n", at(&program));
        assert_eq!(printed.matches(&block).count(), 1, "{chat}: {both:?}");
        let id = format!("{chat}{chat}{chat}{chat}2222");
        assert_eq!(seed.row(&id).delivery, Delivery::Delivered);
        assert_eq!(seed.told(chat, &format!("task:{id}")), (1, vec!["All of it is mended.".to_owned()]));
    }
    assert_eq!(served(&program.run(&ONCE)), "");
}

#[test]
fn told_to_end_it_ends_its_runs_and_the_next_start_says_so_once() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let program = Program::scripted(&format!(
            "[[reply]]\nuser = \"slowly\"\ntext = \"never\"\ndelay_ms = 600000\n{MENDS}"
        ));
        let script = program.home().join("script.toml");
        program.configure(&format!(
            "[providers.fake]\nwire = \"scripted\"\nscript = {script:?}\n[tasks]\nrunning = 1\n"
        ));
        let seed = Seed::of(&program);
        seed.task("aaaa2222", "a", "Mend the fence slowly.");
        let mut serving = Going::start(&program, &["serve"]);
        until("the run", || (seed.row("aaaa2222").execution == Execution::Running).then_some(()));
        // One more waits and is nobody's; it is left as it is.
        seed.task("bbbb2222", "b", "Mend the gate.");
        serving.signal(signal);
        let ran = serving.end();
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert_eq!(processes(&program), 0);
        let row = seed.row("aaaa2222");
        assert_eq!((row.execution, row.delivery), (Execution::Cancelled, Delivery::Pending), "{row:?}");
        assert_eq!((row.owner, seed.told("a", "task:aaaa2222")), (None, (1, Vec::new())));
        let waits = seed.row("bbbb2222");
        assert_eq!((waits.execution, waits.owner), (Execution::Queued, None));
        assert!(seed.store.processes().unwrap().is_empty());

        let ran = program.run(&ONCE);
        let printed = served(&ran);
        let notice = format!(
            "cli:a ({}) notice:\n  task aaaa2222 (Mend the fence slowly.) was cancelled: the process that ran it was told \
             to end\n",
            at(&program)
        );
        assert_eq!(printed.matches(&notice).count(), 1, "{printed}");
        assert_eq!(printed.matches("cli:b").count(), 1, "{printed}");
        assert_eq!(seed.row("aaaa2222").delivery, Delivery::Delivered);
        assert_eq!(seed.told("a", "task:aaaa2222"), (1, Vec::new()), "nothing is said twice");
        assert_eq!(served(&program.run(&ONCE)), "");
    }
}

#[test]
fn killed_its_runs_are_lost_and_the_next_start_says_so_once() {
    let program = Program::scripted(&format!(
        "[[reply]]\nuser = \"was lost\"\ntext = \"It is lost.\"\nrepeat = true\n\
         [[reply]]\nuser = \"slowly\"\ntext = \"never\"\ndelay_ms = 600000\n{MENDS}"
    ));
    let seed = Seed::of(&program);
    seed.task("aaaa2222", "a", "Mend the fence slowly.");
    let mut serving = Going::start(&program, &["serve"]);
    until("the run", || (seed.row("aaaa2222").execution == Execution::Running).then_some(()));
    serving.signal(Signal::KILL);
    assert_eq!(serving.code(), -1);
    assert_eq!(served(&program.run(&ONCE)), format!("cli:a ({}) answer:\n  It is lost.\n", at(&program)));
    let row = seed.row("aaaa2222");
    assert_eq!((row.execution, row.delivery), (Execution::Lost, Delivery::Delivered));
    assert_eq!(served(&program.run(&ONCE)), "");
}

#[test]
fn a_slow_turn_delays_no_other_session() {
    let program = Program::scripted(&format!(
        "[[reply]]\nuser = \"The task was: Mend it slowly.\"\ntext = \"never\"\ndelay_ms = 600000\n{MENDS}"
    ));
    let seed = Seed::of(&program);
    seed.task("aaaa2222", "a", "Mend it slowly.");
    let mut serving = Going::start(&program, &["serve"]);
    until("the turn", || (seed.told("a", "task:aaaa2222").0 == 1).then_some(()));
    seed.task("bbbb2222", "b", "Mend it.");
    let mut stdout = BufReader::new(serving.stdout());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, format!("cli:b ({}) answer:\n", at(&program)));
    serving.signal(Signal::TERM);
    assert_eq!(serving.code(), 143);
    // The turn was not made; what it was to be about is told all the same, once.
    let told = program.run(&ONCE);
    assert_eq!(served(&told).matches("cli:a").count(), 1, "{told:?}");
    assert!(served(&told).contains("task aaaa2222 (Mend it slowly.) completed successfully"), "{told:?}");
    assert_eq!(served(&program.run(&ONCE)), "");
}

fn letter<'a>(workspace: &'a Workspace, chat: &'a str, content: &'a str) -> NewLetter<'a> {
    NewLetter { workspace, channel: "cli", chat, source: None, kind: "message", content, attachments: &[] }
}

#[test]
fn what_a_chat_attends_is_left_to_it() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let here = Workspace::at(&seed.workspace);
    let chat = seed.process("chat");
    seed.store.attend(chat.id(), &here, Some(("cli", "a"))).unwrap();
    for of in ["a", "b"] {
        seed.store.put_letter(&letter(&here, of, "Hello.")).unwrap();
    }
    let block = |of: &str| format!("cli:{of} ({}) message:\n  Hello.\n", at(&program));
    assert_eq!(served(&program.run(&ONCE)), block("b"));
    let left = seed.store.letters(None).unwrap();
    assert_eq!((left.len(), left[0].chat.as_str()), (1, "a"));
    // A worker prints nothing at all, whoever attends.
    seed.store.put_letter(&letter(&here, "b", "Once more.")).unwrap();
    assert_eq!(served(&program.run(&["serve", "--once", "--worker"])), "");
    assert_eq!(seed.store.letters(None).unwrap().len(), 2);
    // The chat is gone without a word: now it is told here.
    drop(chat);
    let ran = program.run(&ONCE);
    assert!(served(&ran).contains(&block("a")) && served(&ran).contains("Once more."), "{ran:?}");
    assert!(seed.store.letters(None).unwrap().is_empty());
}

#[test]
fn what_may_have_been_shown_is_pointed_at() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let here = Workspace::at(&seed.workspace);
    let mut session = Session::open_in(&seed.store, &seed.workspace, SessionKey::new("cli", "a")).unwrap();
    session.append(Message::user("How is the fence?")).unwrap();
    session.append(Message::assistant("It stands.")).unwrap();
    seed.store.put_letter(&letter(&here, "a", "It stands.")).unwrap();
    let showed = seed.process("serve");
    assert_eq!(seed.store.take_letters(showed.id(), &LetterFilter::default(), 1).unwrap().len(), 1);
    drop(showed);
    let ran = program.run(&ONCE);
    let head = format!("cli:a ({}) message: may have been shown before; ", at(&program));
    let command = served(&ran).strip_prefix(&head).unwrap_or_else(|| panic!("{ran:?}")).trim_end();
    assert_eq!(command.lines().count(), 1, "{ran:?}");
    let words = shlex::split(command).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words[0], "ringfence");
    assert!(program.run(&words[1..]).stdout.contains("It stands."), "{command}");
    assert_eq!(served(&program.run(&ONCE)), "");
}

#[test]
fn what_cannot_be_written_is_not_delivered() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let here = Workspace::at(&seed.workspace);
    seed.store.put_letter(&letter(&here, "a", "Hello.")).unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let broken = {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    for stdout in [Stdio::from(full), broken] {
        let output = program.command().args(ONCE).stdout(stdout).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"), "{output:?}");
        assert_eq!(seed.store.letters(None).unwrap().len(), 1);
    }
    assert_eq!(served(&program.run(&ONCE)), format!("cli:a ({}) message:\n  Hello.\n", at(&program)));
}

#[test]
fn told_to_end_while_nobody_reads_it_ends_and_does_not_say_that_it_was_read() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let here = Workspace::at(&seed.workspace);
    // More than a pipe holds.
    seed.store.put_letter(&letter(&here, "a", &"Hello. ".repeat(100_000))).unwrap();
    let mut serving = Going::start(&program, &["serve"]);
    let printing = |seed: &Seed| {
        let process = seed.store.processes().unwrap().first().map(|process| process.id.clone())?;
        // It is in somebody's hands.
        let others = seed.store.take_letters("nobody", &LetterFilter::default(), 1).unwrap();
        assert!(others.is_empty() || seed.store.leave("nobody").is_ok());
        others.is_empty().then_some(process)
    };
    until("the letter", || printing(&seed));
    serving.signal(Signal::TERM);
    assert_eq!(serving.code(), 143);
    let ran = program.run(&ONCE);
    assert!(served(&ran).contains("may have been shown before"), "{}", ran.stdout.len());
    assert_eq!(served(&program.run(&ONCE)), "");
}

#[test]
fn no_text_looks_like_the_head_of_another_or_reaches_the_terminal() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let here = Workspace::at(&seed.workspace);
    let forged = "One.\u{1b}[2J\ncli:b (/) answer:\n\u{9b}31m  Two.\r\n";
    seed.store.put_letter(&letter(&here, "a", forged)).unwrap();
    let ran = program.run(&ONCE);
    let lines: Vec<&str> = served(&ran).lines().collect();
    assert_eq!(lines[0], format!("cli:a ({}) message:", at(&program)));
    assert!(lines[1..].iter().all(|line| line.starts_with("  ")), "{lines:?}");
    assert!(!ran.stdout.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.stdout);
}

#[test]
fn a_result_is_told_where_no_turn_can_be_made() {
    let program = Program::scripted(MENDS);
    let seed = Seed::of(&program);
    let gone = tempfile::tempdir().unwrap();
    let path = gone.path().canonicalize().unwrap();
    seed.task_in(&path, "aaaa2222", "a", "Mend the fence.");
    // Its workspace is gone before anybody can tell.
    seed.store.begin_task("aaaa2222", "p", 4).unwrap();
    let end = TaskEnd {
        execution: Execution::Succeeded,
        reason: None,
        result: Some("It stands."),
        iterations: 1,
        input: 0,
        cached: 0,
        output: 0,
        cost: None,
    };
    assert!(seed.store.end_task("aaaa2222", "p", &end).unwrap());
    drop(gone);
    let ran = program.run(&ONCE);
    let told = "task aaaa2222 (Mend the fence.) completed successfully; it says: It stands.";
    assert_eq!(served(&ran), format!("cli:a ({}) notice:\n  {told}\n", path.display()));
    assert!(ran.stderr.contains("no turn in session cli:a: "), "{ran:?}");
    assert_eq!(seed.row("aaaa2222").delivery, Delivery::Delivered);
    assert_eq!(served(&program.run(&ONCE)), "");
}
