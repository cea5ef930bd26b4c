//! The program is killed at points all over the course of background work, from the first row to the last delivery: by the
//! line that it printed last, or by how much it had written into the state database, and some pseudo-random steps behind
//! it. `KILL_SEED` chooses other points. Then it is started twice more.
//!
//! After that every run that was accepted has ended, is delivered, and stands once in its conversation, with what came of it
//! or with the loss. The second start has nothing left to tell. What a person is told counts so:
//! - `run`: a line on stderr for each run, at most once in a process, and at least once over all. One that was printed by a
//!   process which then died may come again, as a line; the answer of the model does not: on stdout no answer is there more
//!   often than it was given. A run that the agent waited for within its call has no line: it is told as the call's result,
//!   or, where the process died before that was kept, like the others.
//! - the chat: the same line. An answer is on the screen while it comes in, so that of the process that died there may be
//!   one there that was never kept; it does not count as given.
//! - `serve`: the line on stderr, and the letter on stdout: each letter at least once, and at most once with its text. Of one
//!   that may have been seen it is only said where to look. Each answer has one letter.

mod checks;
mod course;
mod left;

use super::kill::{Point, at_each, points};
use super::support::{Program, Seed, Terminal};
use checks::Record;
use course::{Far, Going, PARTS, Printed, Whole, far, is_quiet, nobody_left, state, steps, wait};
use ringfence::authority::{Access, CapabilitySet, Directories, Hosts, Rights};
use ringfence::config::{CronConfig, fresh_id};
use ringfence::schedule::{self, Draft, Owner, Plan};
use ringfence::session::{Session, SessionKey};
use ringfence::store::RunOutcome;
use ringfence::tasks::TurnOf;
use rustix::process::{Signal, kill_process};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Of each kind of process.
const POINTS: usize = 100;

/// What the model says about background tasks.
const ANSWER: &str = "Told of it.";

/// The run that is waited for within a call.
const WAITED: &str = "be waited for";

/// What comes of the runs that succeed, by their labels.
const CAME: [(&str, &str); 3] =
    [("count the roses", "There are seven roses."), ("take long", "Slowly done."), (WAITED, "Waited for.")];

/// What every process of a point may be asked.
const AFTERWARDS: &str = r#"
[[reply]]
user = "[host] Background task"
text = "Told of it."
repeat = true
[[reply]]
text = "Yes."
repeat = true
"#;

/// Subagents: one looks at a file first, one fails, one is slow, and one is waited for.
const SUBAGENTS: &str = r#"
[[reply]]
user = "[host] Background task"
delay_ms = 4
text = "Told of it."
repeat = true
[[reply]]
user = "count the roses"
result = "seven"
text = "There are seven roses."
repeat = true
[[reply]]
user = "count the roses"
calls = [{ name = "read_file", arguments = { path = "a.txt" } }]
repeat = true
[[reply]]
user = "fail at once"
fault = { kind = "rejected", message = "no such thing" }
repeat = true
[[reply]]
user = "take long"
delay_ms = 15
text = "Slowly done."
repeat = true
[[reply]]
user = "be waited for"
delay_ms = 3
text = "Waited for."
repeat = true
[[reply]]
user = "water the garden"
delay_ms = 5
text = "Watered."
repeat = true
"#;

const SPAWNS: &str = r#"calls = [
  { name = "spawn", arguments = { task = "count the roses" } },
  { name = "spawn", arguments = { task = "fail at once" } },
  { name = "spawn", arguments = { task = "take long" } },
]
"#;

/// A workspace and two models: one for the process that is killed, and one for those after it, which start nothing.
fn place(main: &str) -> Program {
    let program = Program::bare();
    let script = |name: &str, text: &str| {
        let path = program.home().join(name);
        std::fs::write(&path, text).unwrap();
        format!("wire = \"scripted\"\nscript = {path:?}\n")
    };
    let first = script("first.toml", &format!("{SUBAGENTS}{main}"));
    let after = script("after.toml", AFTERWARDS);
    program.configure(&format!("provider = \"fake\"\n[providers.fake]\n{first}[providers.after]\n{after}"));
    program.file("a.txt", "seven roses\n");
    program
}

/// Where to strike, in a course like the whole one; nowhere in that one itself.
type Strike<'w> = Option<(Point, &'w Whole)>;

/// Goes on until the point has come, or the course is over. Whether the point came, and how far the course went.
fn go(program: &Program, strike: Strike<'_>, mut look: impl FnMut() -> (Far, bool)) -> (bool, Whole) {
    let (mut seen, since) = (Whole::default(), Instant::now());
    loop {
        let (far, over) = look();
        match strike {
            Some((point, whole)) if whole.is_over(point, far) => {
                steps(point);
                return (true, seen);
            }
            Some(_) => {}
            None => seen.note(program, far),
        }
        if over {
            return (false, seen);
        }
        wait(since);
    }
}

fn spawning() -> Program {
    place(&format!(
        "[[reply]]\nuser = \"go\"\nresult = \"started take long\"\ntext = \"They are on their way.\"\n\
         [[reply]]\nuser = \"go\"\nresult = \"Waited for\"\n{SPAWNS}\
         [[reply]]\nuser = \"go\"\ncalls = [{{ name = \"spawn\", arguments = {{ task = \"be waited for\", \
         wait = true }} }}]\n"
    ))
}

/// `run`, to a point.
fn run_to(program: &Program, output: &str, strike: Strike<'_>) -> (bool, Whole, Printed) {
    let mut going = Going::start(program, "first", &["run", "-s", "s", "-o", output, "go"]);
    let (struck, whole) = go(program, strike, || {
        let over = !going.goes_on();
        (going.far(), over)
    });
    if struck {
        going.kill();
    }
    let (code, printed) = going.end();
    assert!(code.is_none_or(|code| code == 0), "{printed:?}");
    (code.is_none(), whole, printed)
}

/// How often the model's answer about background tasks is on stdout.
fn shown(printed: &Printed, output: &str) -> usize {
    if output == "text" {
        return printed.out.matches(ANSWER).count();
    }
    let lines = printed.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ends = lines.filter(|line| line["type"] == "turn.finished");
    ends.map(|line| line["text"].as_str().unwrap().matches(ANSWER).count()).sum()
}

/// Two more, one after the other.
fn run_after(program: &Program, output: &str) -> [Printed; 2] {
    ["second", "third"].map(|name| {
        let arguments = ["run", "-s", "s", "--provider", "after", "-o", output, "and now"];
        let (code, printed) = Going::start(program, name, &arguments).end();
        assert_eq!(code, Some(0), "{printed:?}");
        printed
    })
}

#[test]
fn killed_anywhere_between_spawn_and_delivery_a_run_loses_nothing_silently_and_tells_nothing_twice() {
    let whole = ["text", "jsonl"].map(|output| {
        let program = spawning();
        let (_, far, printed) = run_to(&program, output, None);
        let [second, third] = run_after(&program, output);
        let record = Record::examine(&program);
        assert_eq!(record.rows.len(), 4);
        let printed = [printed, second, third];
        record.named(&printed);
        record.lines(&printed);
        far
    });
    // Some come to their end before they are struck at.
    let done = at_each(&points(POINTS * 3 / 2, PARTS), |point| {
        let program = spawning();
        let at = point.number / 2 % 2;
        let output = ["text", "jsonl"][at];
        let (killed, _, first) = run_to(&program, output, Some((point, &whole[at])));
        let left = state(&program);
        let [second, third] = run_after(&program, output);
        nobody_left(&program);
        let record = Record::examine(&program);
        let printed = [first, second, third];
        record.named(&printed);
        record.lines(&printed);
        let shown: usize = printed.iter().map(|printed| shown(printed, output)).sum();
        assert!(shown <= record.answers(), "{shown} answers, of {}: {printed:?}", record.answers());
        assert!(record.answers() <= record.rows.len());
        (killed, left)
    });
    spread(&done);
}

fn chat(program: &Program, provider: &str) -> Terminal {
    let mut command = program.command();
    command.env("TERM", "xterm-256color").args(["-s", "s", "--provider", provider]);
    Terminal::start(command)
}

/// The chat, in which the tasks are started and their results are waited for at the prompt, to a point.
fn chat_to(program: &Program, strike: Strike<'_>) -> (bool, Whole, Printed) {
    let mut terminal = chat(program, "fake");
    let (mut typed, mut looks) = (false, 0_u32);
    let (struck, whole) = go(program, strike, || {
        if !typed && terminal.has("> ") {
            terminal.keys("go\r");
            typed = true;
        }
        looks += 1;
        let over = typed && looks.is_multiple_of(16) && is_quiet(program, 3, 0);
        (far(program, &mut terminal), over)
    });
    kill_process(terminal.id(), Signal::KILL).unwrap();
    assert_eq!(terminal.end(), -1);
    (struck, whole, Printed { err: terminal.last_words(), ..Printed::default() })
}

/// Another one, which is left as soon as it can be, or when everything was told.
fn chat_after(program: &Program, at_once: bool) -> Printed {
    let mut terminal = chat(program, "after");
    terminal.expect("session cli:s");
    let mut looks = 0_u32;
    let (mut all, since) = (!at_once, Instant::now());
    while terminal.goes_on() {
        looks += 1;
        if all && looks.is_multiple_of(16) {
            all = !is_quiet(program, 0, 0);
        }
        // A prompt that gave way to a turn comes again.
        if !all && terminal.has("> ") {
            terminal.keys("\x04");
        }
        wait(since);
    }
    assert_eq!(terminal.end(), 0);
    Printed { err: terminal.last_words(), ..Printed::default() }
}

#[test]
fn killed_anywhere_between_spawn_and_delivery_a_chat_loses_nothing_silently_and_tells_nothing_twice() {
    let main = format!(
        "[[reply]]\nuser = \"go\"\nresult = \"started take long\"\ntext = \"They are on their way.\"\n\
         [[reply]]\nuser = \"go\"\n{SPAWNS}"
    );
    let (_, whole, _) = chat_to(&place(&main), None);
    let done = at_each(&points(POINTS, PARTS), |point| {
        let program = place(&main);
        let (killed, _, first) = chat_to(&program, Some((point, &whole)));
        let left = state(&program);
        let printed = [first, chat_after(&program, point.number / 2 % 2 == 0), chat_after(&program, true)];
        nobody_left(&program);
        let record = Record::examine(&program);
        record.named(&printed);
        record.lines(&printed);
        // The spinner shows it too, behind its own sign.
        let lines = printed.iter().flat_map(|printed| printed.err.split(['\n', '\r']));
        let shown = lines.filter(|line| line.trim() == ANSWER).count();
        let pointed = printed.iter().any(|printed| printed.err.contains("it was answered before"));
        assert!(shown > 0 || record.answers() == 0 || pointed, "{printed:?}");
        assert!(shown <= record.answers() + usize::from(killed), "{shown}, of {}", record.answers());
        assert!(record.answers() <= record.rows.len());
        (killed, left)
    });
    spread(&done);
}

/// Three tasks that are nobody's, and a job that is due.
fn waiting() -> (Program, String) {
    let program = place("");
    let workspace = program.workspace();
    let seed = Seed::of(&program);
    for task in ["count the roses", "fail at once", "take long"] {
        seed.task(&fresh_id(), "s", task);
    }
    let rights = Rights {
        capabilities: CapabilitySet::ALL,
        directories: Directories::none().with(workspace.clone(), Access::ReadWrite),
        hosts: Hosts::none(),
    };
    let of = TurnOf {
        profile: "main".to_owned(),
        tools: None,
        provider: "fake".to_owned(),
        model: "scripted".to_owned(),
        most: Default::default(),
    };
    let now = jiff::Timestamp::now().as_millisecond();
    let at = jiff::Timestamp::from_millisecond(now - 10_000).unwrap().to_string();
    let plan = Plan::at(&at, None, now - 60_000).unwrap();
    let draft = Draft { name: None, message: "water the garden".to_owned(), plan, missed: None };
    let owner = Owner {
        workspace: &workspace,
        key: &SessionKey::parse("j"),
        of: &of,
        rights: &rights,
        tokens: None,
        time: None,
        silent: false,
        by: "user",
    };
    let job = schedule::add(&seed.store, &CronConfig::default(), &owner, &draft, now - 60_000).unwrap();
    (program, job.id)
}

/// `serve`, to a point, or until nothing is left to do. It is killed at the one, and told to end at the other.
fn serve_to(program: &Program, name: &str, strike: Strike<'_>) -> (bool, Whole, Printed) {
    let going = Going::start(program, name, &["serve", "--json"]);
    let mut looks = 0_u32;
    let (struck, whole) = go(program, strike, || {
        looks += 1;
        (going.far(), looks.is_multiple_of(16) && is_quiet(program, 3, 1))
    });
    kill_process(going.id(), if struck { Signal::KILL } else { Signal::TERM }).unwrap();
    let (code, printed) = going.end();
    // Before it listens for signals, one ends it.
    assert!(struck || code.is_none_or(|code| code == 143), "{code:?} {printed:?}");
    (struck, whole, printed)
}

/// How often each letter was printed: with its text, and at all.
fn letters(printed: &[Printed]) -> BTreeMap<i64, (usize, usize)> {
    let mut letters: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for line in printed.iter().flat_map(|printed| printed.out.lines()) {
        // A line without its end was not told.
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let counts = letters.entry(line["letter"].as_i64().unwrap()).or_default();
        counts.0 += usize::from(line.get("content").is_some());
        counts.1 += 1;
        assert_ne!(line["uncertain"].as_bool().unwrap(), line.get("content").is_some());
    }
    letters
}

/// The one due time of a job has one row, and its message and its answer are there once.
fn job_is_settled(program: &Program, record: &Record, job: &str) -> RunOutcome {
    let runs = record.store.job_runs(job, 100).unwrap();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert!(matches!(run.outcome, RunOutcome::Ran | RunOutcome::Failed), "{run:?}");
    let session = Session::open_in(&record.store, &program.workspace(), SessionKey::parse("j")).unwrap();
    crate::sessions::valid_for_wires(session.messages()).unwrap();
    let source = schedule::source(job, run.due);
    let rows = session.history_rows().unwrap();
    let told = rows.iter().filter(|kept| kept.source.as_deref() == Some(source.as_str())).count();
    let answers = rows.iter().filter(|kept| kept.message.text() == "Watered.").count();
    let letters = record.letters_of(&format!("answer:{source}"));
    match run.outcome {
        RunOutcome::Ran => assert_eq!((told, answers, letters), (1, 1, 1)),
        // The process died on the way, and nobody tries again; the person is told so.
        _ => {
            assert!(told <= 1 && answers <= told && letters <= answers, "{told} {answers} {letters}");
            assert_eq!(record.letters_of(&format!("job:{job}:failed:{}", run.id)), 1, "{run:?}");
        }
    }
    run.outcome
}

#[test]
fn killed_anywhere_between_taking_up_and_delivery_serve_loses_nothing_silently_and_tells_nothing_twice() {
    let (program, job) = waiting();
    let (_, whole, printed) = serve_to(&program, "first", None);
    assert_eq!(job_is_settled(&program, &Record::examine(&program), &job), RunOutcome::Ran);
    assert!(letters(&[printed]).values().all(|counts| *counts == (1, 1)));
    let done = at_each(&points(POINTS, PARTS), |point| {
        let (program, job) = waiting();
        let (killed, _, first) = serve_to(&program, "first", Some((point, &whole)));
        let left = state(&program);
        let (_, _, second) = serve_to(&program, "second", None);
        let (code, third) = Going::start(&program, "third", &["serve", "--json", "--once"]).end();
        assert_eq!((code, third.out.as_str()), (Some(0), ""), "{third:?}");
        nobody_left(&program);
        let record = Record::examine(&program);
        assert_eq!(record.rows.len(), 3);
        let printed = [first, second, third];
        record.named(&printed);
        record.lines(&printed);
        job_is_settled(&program, &record, &job);
        let shown = letters(&printed);
        assert_eq!(shown.keys().copied().collect::<Vec<_>>(), record.letters(), "{printed:?}");
        assert!(shown.values().all(|(whole, _)| *whole <= 1), "{shown:?}: {printed:?}");
        record.letters_fit_answers();
        (killed, left)
    });
    spread(&done);
}

/// Most were killed, and left what differs.
fn spread(done: &[(bool, Option<String>)]) {
    let killed = done.iter().filter(|(killed, _)| *killed).count();
    let left: BTreeSet<&Option<String>> = done.iter().map(|(_, left)| left).collect();
    assert!(killed > POINTS / 2, "{killed} were killed");
    assert!(left.len() >= 8, "{left:#?}");
}
