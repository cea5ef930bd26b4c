//! The program is killed in the middle of its work, at points all over a turn: nothing that it told of is lost, nothing is
//! there by half, and the conversation goes on over both wires.
//!
//! A point is a line of the event stream and some pseudo-random steps behind it. The stream goes through a pipe of one page,
//! so that the program cannot run far ahead of what was read, however busy the machine is. `KILL_SEED` chooses other points.

use super::support::{Model, Program, Says};
use crate::sessions::valid_for_wires;
use ringfence::provider::{Message, Speaker};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{AuditFilter, Store};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, PipeReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const POINTS: usize = 200;

/// What the temporary file of a write is called.
const TEMPORARY: &str = ".ringfence-tmp-";

/// A place outside that no call may reach.
const OUTSIDE: &str = "ringfence-killed-outside.txt";

/// More than a pipe of one page takes, after a word to know it by.
fn bulky(word: &str) -> String {
    format!("{word}\n{}", format!("{word} and more of it\n").repeat(300))
}

/// Looks, writes, edits, is denied, patches and writes again.
fn script(end: &str) -> String {
    let (first, patched, second) = (bulky("first"), bulky("patched"), bulky("second"));
    let call = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let looks = [
        call("read_file", json!({ "path": "a.txt" })),
        call("read_file", json!({ "path": "b.txt" })),
        call("list_dir", json!({ "path": "." })),
    ];
    let writes = [
        call("write_file", json!({ "path": "new/deep.txt", "content": first })),
        call("edit_file", json!({ "path": "a.txt", "old_text": "old words", "new_text": "new words" })),
    ];
    let strays = [
        call("read_file", json!({ "path": "/etc/hostname" })),
        call("write_file", json!({ "path": format!("../{OUTSIDE}"), "content": "out" })),
        call("no_such_tool", json!({})),
        call("read_file", json!({ "path": "a.txt" })),
    ];
    let patches = [call(
        "apply_patch",
        json!({ "edits": [
            { "path": "b.txt", "action": "replace", "old_text": "old", "new_text": "new" },
            { "path": "c.txt", "action": "add", "new_text": patched },
        ]}),
    )];
    let again = [
        call("write_file", json!({ "path": "new/deep.txt", "content": second })),
        call("grep", json!({ "pattern": "words", "path": "a.txt" })),
    ];
    let usage = json!({ "input": 100, "output": 10 });
    let replies = json!({ "reply": [
        { "thinking": "where to begin?", "text": "Let me look first.", "calls": looks, "usage": usage },
        { "text": "Now I write.", "calls": writes, "usage": usage },
        { "calls": strays, "usage": usage },
        { "text": "And now the rest.", "calls": patches },
        { "calls": again, "usage": usage },
    ]});
    format!("{}\n[[reply]]\ntext = \"All of it is done.\"\n{end}", toml::to_string(&replies).unwrap())
}

/// What may be in each file of the workspace; a file that need not be there has nothing first.
fn contents() -> BTreeMap<&'static str, [Option<String>; 3]> {
    let text = |text: &str| Some(text.to_owned());
    BTreeMap::from([
        ("a.txt", [text("some old words\n"), text("some new words\n"), text("some old words\n")]),
        ("b.txt", [text("old\n"), text("new\n"), text("old\n")]),
        ("c.txt", [None, Some(bulky("patched")), None]),
        ("new/deep.txt", [None, Some(bulky("first")), Some(bulky("second"))]),
    ])
}

/// A workspace before the turn, and a service that speaks both wires.
fn place(script: &str, service: &Model) -> Program {
    let program = Program::scripted(script);
    let path = program.home().join("script.toml");
    let url = service.url();
    program.configure(&format!(
        "provider = \"fake\"\n[providers.fake]\nwire = \"scripted\"\nscript = {path:?}\n\
         [providers.chat]\nwire = \"chat\"\nmodel = \"m\"\nbase_url = \"{url}\"\n\
         [providers.messages]\nwire = \"messages\"\nmodel = \"m\"\nbase_url = \"{url}\"\n"
    ));
    program.file("a.txt", "some old words\n");
    program.file("b.txt", "old\n");
    program
}

fn arguments(prompt: &str) -> [&str; 6] {
    ["run", "-s", "s", "-o", "jsonl", prompt]
}

/// The turn as it goes when nobody disturbs it.
struct Whole {
    prompt: String,
    lines: Vec<Value>,
    history: Vec<Message>,
    /// Tool and outcome of each call, in order.
    calls: Vec<(String, String)>,
}

impl Whole {
    fn play() -> Self {
        let program = place(&script(""), &Model::start([]));
        let prompt = bulky("Please");
        let ran = program.run(&arguments(&prompt));
        assert_eq!(ran.code, 0, "{ran:?}");
        let store = Store::open(&program.state()).unwrap();
        let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("s")).unwrap();
        let whole = Self {
            prompt: prompt.clone(),
            lines: ran.lines(),
            history: session.history().unwrap(),
            calls: audited(&store),
        };
        let outcomes: Vec<String> = whole.calls.iter().map(|(tool, how)| format!("{tool} {how}")).collect();
        let mut looks = outcomes[..3].to_vec();
        looks.sort();
        assert_eq!(looks, ["list_dir done", "read_file done", "read_file done"]);
        let mut rest = outcomes[3..].to_vec();
        rest.sort();
        assert_eq!(
            rest,
            [
                "apply_patch done",
                "edit_file done",
                "grep done",
                "no_such_tool unknown",
                "read_file denied",
                "read_file done",
                "write_file denied",
                "write_file done",
                "write_file done",
            ]
        );
        assert_eq!(temporaries(&program), 0);
        whole
    }
}

/// Tool and outcome of every row.
fn audited(store: &Store) -> Vec<(String, String)> {
    let filter = AuditFilter { session: Some("cli:s".to_owned()), ..AuditFilter::default() };
    let rows = store.audit(&filter).unwrap();
    for row in &rows {
        assert!(row.at > 0 && row.role == "main" && row.who == "cli:s", "{row:?}");
    }
    rows.into_iter().map(|row| (row.tool, row.outcome)).collect()
}

/// Where to strike. It is printed when a check fails.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub number: usize,
    seed: u64,
    /// Lines to read.
    pub lines: usize,
    /// Bytes to read behind them.
    bytes: usize,
    /// Times to let others go first.
    pub steps: u64,
}

/// Prints the point when a check fails.
struct Shown(Point);

impl Drop for Shown {
    #[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("KILL_SEED={}, at {:?}", self.0.seed, self.0);
        }
    }
}

/// Points that are spread over so many lines.
pub fn points(count: usize, lines: usize) -> Vec<Point> {
    let seed = std::env::var("KILL_SEED").map_or(0x5eed, |seed| seed.parse().unwrap());
    let mut state = seed;
    let mut next = move || {
        // SplitMix64.
        state = u64::wrapping_add(state, 0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let point = |number| Point {
        number,
        seed,
        lines: number * lines / count,
        bytes: (next() % 200) as usize,
        steps: {
            // Often few and sometimes many.
            let most = 1 << (next() % 12);
            next() % most
        },
    };
    (0..count).map(point).collect()
}

/// The program, on its way through the turn, read up to a point.
struct Going {
    child: Child,
    stdout: BufReader<PipeReader>,
    seen: Vec<u8>,
}

impl Going {
    fn to(program: &Program, prompt: &str, point: Point) -> Self {
        let (stdout, theirs) = std::io::pipe().unwrap();
        // SAFETY: the descriptor is open, and the command takes a number. One page is the least there is.
        let size = unsafe { libc::fcntl(stdout.as_raw_fd(), libc::F_SETPIPE_SZ, 1) };
        assert!(size > 0, "{}", std::io::Error::last_os_error());
        // With the command goes this process's own hold on the other end.
        let child =
            program.command().args(arguments(prompt)).stdout(theirs).stderr(Stdio::null()).spawn().unwrap();
        // Reading ahead would let the program go on.
        let mut stdout = BufReader::with_capacity(64, stdout);
        let mut seen = Vec::new();
        for _ in 0..point.lines {
            stdout.read_until(b'\n', &mut seen).unwrap();
        }
        if point.lines > 0 {
            // The next line may not come before the point is struck at.
            let mut more = vec![0; point.bytes.min(stdout.buffer().len())];
            stdout.read_exact(&mut more).unwrap();
            seen.extend(more);
        }
        for _ in 0..point.steps {
            thread::yield_now();
        }
        Self { child, stdout, seen }
    }

    fn strike(mut self, signal: Signal) -> (ExitStatus, Vec<Value>) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.stdout.read_to_end(&mut self.seen).unwrap();
        let status = self.child.wait().unwrap();
        // A line without its end was not told.
        let told = self.seen.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = std::str::from_utf8(&self.seen[..told]).unwrap();
        (status, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap()
}

/// Everything that was told is there, and what is there is whole. How many messages are kept.
fn examine(program: &Program, whole: &Whole, told: &[Value]) -> usize {
    let signalled = told.last().is_some_and(|line| line["outcome"] == "cancelled");
    if !program.state().exists() {
        assert!(told.is_empty(), "{told:?}");
        return 0;
    }
    let store = Store::open(&program.state()).unwrap();
    let raw = rusqlite::Connection::open(program.state()).unwrap();
    let check = |pragma: &str| raw.query_row(pragma, [], |row| row.get::<_, String>(0));
    assert_eq!(check("PRAGMA integrity_check").unwrap(), "ok");
    assert_eq!(check("PRAGMA foreign_key_check"), Err(rusqlite::Error::QueryReturnedNoRows));

    let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("s")).unwrap();
    assert_eq!(session.skipped(), 0);
    valid_for_wires(session.messages()).unwrap();
    let history = session.history().unwrap();
    kept(&history, session.messages(), told);
    let replies = |history: &[Message]| {
        let replies = history.iter().filter(|message| message.speaker == Speaker::Assistant);
        replies.cloned().collect::<Vec<_>>()
    };
    assert!(replies(&whole.history).starts_with(&replies(&history)), "{history:?}");

    let usages = told.iter().filter(|line| line["type"] == "usage").count();
    let rows: i64 = raw.query_row("SELECT count(*) FROM usage", [], |row| row.get(0)).unwrap();
    assert!(rows >= usages as i64, "{rows} rows of {usages} calls");

    let mut expected = whole.calls.clone();
    let calls = audited(&store);
    for call in &calls {
        // A signal, unlike a kill, leaves the time to note what was broken off.
        let broken_off = signalled && call.1 == "cancelled";
        let at = expected.iter().position(|other| other == call || (broken_off && other.0 == call.0));
        expected.remove(at.unwrap_or_else(|| panic!("nobody called {call:?}")));
    }
    let results = history.iter().flat_map(Message::results).count();
    // A call leaves its row before its result is kept; three calls run together at most.
    assert!((results..=results + 3).contains(&calls.len()), "{results} results of {calls:?}");
    files(program);
    history.len()
}

/// What was told is in the conversation, and a model is shown it.
fn kept(history: &[Message], shown: &[Message], told: &[Value]) {
    for line in told {
        match text(line, "type") {
            "turn.started" => {
                assert_eq!(
                    (history[0].speaker, history[0].text().as_str()),
                    (Speaker::User, text(line, "prompt"))
                );
            }
            "tool.started" => {
                let mut calls = history.iter().flat_map(Message::calls);
                let call = calls.find(|call| call.id == text(line, "id")).unwrap();
                assert_eq!(
                    (call.name.as_str(), call.arguments.as_str()),
                    (text(line, "name"), text(line, "arguments"))
                );
            }
            "tool.finished" => {
                for messages in [history, shown] {
                    let mut results = messages.iter().flat_map(Message::results);
                    let result = results.find(|result| result.id == text(line, "id"));
                    let result = result.unwrap_or_else(|| panic!("the result of {line} is lost"));
                    assert_eq!(result.text.lines().next().unwrap_or_default(), text(line, "summary"));
                    assert_eq!(!result.is_error, line["ok"]);
                }
            }
            "turn.finished" if line["outcome"] == "completed" => {
                assert_eq!(history.last().unwrap().text(), text(line, "text"));
            }
            _ => {}
        }
    }
}

/// Each file is as it was before or after one of the writes; beside them there is at most the temporary file of one write.
fn files(program: &Program) {
    let workspace = program.workspace();
    for (name, allowed) in contents() {
        let found = std::fs::read_to_string(workspace.join(name)).ok();
        let size = found.as_ref().map(String::len);
        assert!(allowed.contains(&found), "{name} is neither old nor new; it has {size:?} bytes");
    }
    for name in names(&workspace) {
        let known = contents().contains_key(name.as_str()) || name == "new";
        assert!(known || name.contains(TEMPORARY), "{name} is left");
    }
    assert!(temporaries(program) <= 1);
    assert!(!workspace.join("..").join(OUTSIDE).exists());
}

/// Files and directories of a workspace and one below.
fn names(workspace: &Path) -> Vec<String> {
    let list = |at: &str| {
        let entries = std::fs::read_dir(workspace.join(at)).into_iter().flatten();
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        entries.map(name).map(|name| format!("{at}{name}")).collect::<Vec<_>>()
    };
    [list(""), list("new/")].concat()
}

fn temporaries(program: &Program) -> usize {
    names(&program.workspace()).iter().filter(|name| name.contains(TEMPORARY)).count()
}

pub const WIRES: [&str; 2] = ["chat", "messages"];

/// What a service says on a wire: a call that writes, then an answer.
pub fn says(wire: &str) -> [Says; 2] {
    let arguments = json!({ "path": "new/deep.txt", "content": format!("by {wire}\n") });
    let events = |events: &[Value]| {
        let events: Vec<String> = events.iter().map(Value::to_string).collect();
        Says::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let chat = |delta: Value, reason: &str| {
        events(&[json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })])
    };
    let block = |block: Value, delta: Value, reason: &str| {
        events(&[
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
            json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
            json!({ "type": "message_stop" }),
        ])
    };
    match wire {
        // An id that the conversation has already.
        "chat" => [
            chat(
                json!({ "tool_calls": [{ "index": 0, "id": "call_1", "function":
                    { "name": "write_file", "arguments": arguments.to_string() } }] }),
                "tool_calls",
            ),
            chat(json!({ "content": "Written." }), "stop"),
        ],
        _ => [
            block(
                json!({ "type": "tool_use", "id": "call_1", "name": "write_file", "input": {} }),
                json!({ "type": "input_json_delta", "partial_json": arguments.to_string() }),
                "tool_use",
            ),
            block(
                json!({ "type": "text", "text": "" }),
                json!({ "type": "text_delta", "text": "Written." }),
                "end_turn",
            ),
        ],
    }
}

/// The rules of a request for chat completions: results directly behind the calls of one message, all of them, each once;
/// otherwise user and assistant in turn, the user first and last, and nothing empty.
pub fn valid_chat(body: &Value) -> Result<(), String> {
    let (mut ids, mut open) = (BTreeSet::new(), Vec::new());
    let mut before = "assistant";
    for (at, message) in body["messages"].as_array().unwrap().iter().enumerate() {
        let role = text(message, "role");
        let said = message["content"].as_str().is_some_and(|said| !said.trim().is_empty());
        if role == "tool" {
            let id = text(message, "tool_call_id");
            let place = open.iter().position(|open| *open == id);
            open.remove(place.ok_or_else(|| format!("message {at}: the result of {id:?} has no call"))?);
            before = "tool";
            continue;
        }
        if !open.is_empty() {
            return Err(format!("message {at}: {open:?} have no result"));
        }
        match role {
            "system" if at == 0 && said => continue,
            "user" if before != "user" && said => {}
            "assistant" if before == "user" || before == "tool" => {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let id = text(call, "id");
                    if id.is_empty() || !ids.insert(id) {
                        return Err(format!("message {at}: the id {id:?} is empty or not the first"));
                    }
                    let arguments = text(&call["function"], "arguments");
                    if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                        return Err(format!("message {at}: {arguments:?} are no arguments"));
                    }
                    open.push(id);
                }
                if !said && open.is_empty() {
                    return Err(format!("message {at}: says nothing"));
                }
            }
            _ => return Err(format!("message {at}: {role} after {before}, or says nothing")),
        }
        before = role;
    }
    if before == "assistant" { Err("the last word is the model's".to_owned()) } else { Ok(()) }
}

/// The rules of a request for messages: user and assistant in turn, the user first and last, nothing empty, and the results
/// of all calls of a message at the beginning of the next.
pub fn valid_messages(body: &Value) -> Result<(), String> {
    let (mut ids, mut open) = (BTreeSet::new(), Vec::new());
    let messages = body["messages"].as_array().unwrap();
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        if role != ["user", "assistant"][at % 2] {
            return Err(format!("message {at}: is the {role}'s"));
        }
        let blocks = match &message["content"] {
            Value::String(said) => vec![json!({ "type": "text", "text": said })],
            blocks => blocks.as_array().unwrap().clone(),
        };
        if blocks.is_empty() {
            return Err(format!("message {at}: is empty"));
        }
        let mut calls = Vec::new();
        let mut results_are_over = false;
        for block in &blocks {
            match (role, text(block, "type")) {
                ("user", "tool_result") if !results_are_over => {
                    let id = text(block, "tool_use_id");
                    let place = open.iter().position(|open| *open == id);
                    open.remove(
                        place.ok_or_else(|| format!("message {at}: the result of {id:?} has no call"))?,
                    );
                }
                ("assistant", "tool_use") => {
                    let id = text(block, "id").to_owned();
                    if id.is_empty() || !ids.insert(id.clone()) || !block["input"].is_object() {
                        return Err(format!("message {at}: the call {block} cannot be taken"));
                    }
                    calls.push(id);
                }
                (_, "text") if !text(block, "text").trim().is_empty() => results_are_over = true,
                _ => return Err(format!("message {at}: {block} in its place")),
            }
        }
        if !open.is_empty() {
            return Err(format!("message {at}: {open:?} have no result"));
        }
        open = calls;
    }
    if messages.len() % 2 == 1 { Ok(()) } else { Err("the last word is the model's".to_owned()) }
}

/// Goes on with the conversation over both wires.
fn go_on(program: &Program, service: &Model, wires: [&str; 2], told: &[Value]) {
    for (turn, wire) in wires.into_iter().enumerate() {
        let session: &[&str] = if turn == 0 { &["-s", "s"] } else { &["--continue"] };
        let prompt = format!("go on over {wire}");
        let ran = program.run(&[&["run", "-q", "--provider", wire], session, &[prompt.as_str()]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Written.\n"), "{ran:?}");
        let written = std::fs::read_to_string(program.workspace().join("new/deep.txt")).unwrap();
        assert_eq!(written, format!("by {wire}\n"));
        let asked = service.asked();
        assert_eq!(asked.len(), 2 * (turn + 1));
        for asked in &asked[2 * turn..] {
            let valid = match wire {
                "chat" => valid_chat(&asked.body),
                _ => valid_messages(&asked.body),
            };
            valid.unwrap_or_else(|problem| panic!("{wire}: {problem}: {:#}", asked.body["messages"]));
            let said = asked.body["messages"].to_string();
            assert!(said.contains(&prompt));
            for line in told.iter().filter(|line| line["type"] == "tool.finished" && line["summary"] != "") {
                let summary = line["summary"].to_string();
                assert!(said.contains(summary.trim_matches('"')), "{summary} is not in {said}");
            }
        }
    }
}

/// What people can look at afterwards.
fn look(program: &Program, kept: usize) {
    let audit = program.run(&["audit", "--json", "--limit", "0"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    assert!(audit.json()["calls"].is_array());
    let list = program.run(&["sessions", "list", "--json"]).json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), usize::from(kept > 0));
    if kept > 0 {
        assert_eq!(list["sessions"][0]["messages"], kept);
        for arguments in [&["show", "s"][..], &["export", "s", "--format", "jsonl"]] {
            let ran = program.run(&[&["sessions"], arguments].concat());
            assert_eq!(ran.code, 0, "{ran:?}");
            assert!(!ran.stdout.contains("unreadable") && !ran.stdout.contains("cannot be read"), "{ran:?}");
        }
    }
}

/// Does something at every point, some at a time.
pub fn at_each<T: Send>(points: &[Point], work: impl Fn(Point) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                let _shown = Shown(*point);
                done.push(work(*point));
            }
            done
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn killed_anywhere_in_a_turn_nothing_told_is_lost_and_the_conversation_goes_on() {
    let whole = Whole::play();
    let points = points(POINTS, whole.lines.len());
    let done = at_each(&points, |point| {
        let wires = if point.number % 2 == 0 { WIRES } else { [WIRES[1], WIRES[0]] };
        let service = Model::start(wires.into_iter().flat_map(says));
        let program = place(&script(""), &service);
        let (status, told) = Going::to(&program, &whole.prompt, point).strike(Signal::KILL);
        assert!(told.len() >= point.lines, "{told:?}");
        let kept = examine(&program, &whole, &told);
        if point.number % 10 == 0 {
            look(&program, kept);
        }
        go_on(&program, &service, wires, &told);
        (status.signal() == Some(9), kept)
    });
    // Pages hold back what is told of the prompt, of two writes and of the patch, so that these are states that differ.
    let killed = done.iter().filter(|(killed, _)| *killed).count();
    let states: BTreeSet<usize> = done.iter().map(|(_, kept)| *kept).collect();
    assert!(killed > POINTS / 2, "{killed} were killed");
    assert!(states.len() >= 4, "{states:?}");
}

#[test]
fn told_to_end_anywhere_in_a_turn_the_program_keeps_what_was_said_and_says_why_it_ended() {
    let whole = Whole::play();
    // The last reply never comes, so that the turn is not over before the signal is there.
    let script = script("delay_ms = 600000");
    let last = whole.lines.iter().rposition(|line| line["type"] == "tool.finished").unwrap();
    let points = points(24, last + 1);
    at_each(&points, |mut point| {
        // Before its first line nobody listens for a signal yet.
        point.lines = point.lines.max(1);
        let (signal, code) = if point.number % 2 == 0 { (Signal::TERM, 143) } else { (Signal::INT, 130) };
        let wires = WIRES;
        let service = Model::start(wires.into_iter().flat_map(says));
        let program = place(&script, &service);
        let (status, told) = Going::to(&program, &whole.prompt, point).strike(signal);
        assert_eq!(status.code(), Some(code));
        let end = told.last().unwrap();
        assert_eq!((text(end, "type"), text(end, "outcome")), ("turn.finished", "cancelled"));
        let kept = examine(&program, &whole, &told);
        // What was on the screen of a reply is in the conversation.
        let streamed: String =
            told.iter().filter(|line| line["type"] == "text.delta").map(|line| text(line, "text")).collect();
        let store = Store::open(&program.state()).unwrap();
        let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("s")).unwrap();
        let history = session.history().unwrap();
        let replies = history.iter().filter(|message| message.speaker == Speaker::Assistant);
        assert_eq!(replies.map(Message::text).collect::<String>(), streamed);
        assert_eq!(temporaries(&program), 0, "the file of a write that was broken off goes with it");
        look(&program, kept);
        go_on(&program, &service, wires, &told);
    });
}

#[test]
fn what_a_kill_may_leave_of_a_write_disturbs_no_later_call() {
    let whole = Whole::play();
    let program = place(&script(""), &Model::start([]));
    std::fs::create_dir(program.workspace().join("new")).unwrap();
    let left = [format!("{TEMPORARY}0123456789abcdef"), format!("new/{TEMPORARY}fedcba9876543210")];
    for name in &left {
        program.file(name, "half of so");
    }
    let ran = program.run(&arguments(&whole.prompt));
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut calls = [audited(&Store::open(&program.state()).unwrap()), whole.calls];
    calls.iter_mut().for_each(|calls| calls.sort());
    assert_eq!(calls[0], calls[1]);
    // It could be another process's, which is writing at this moment; so nobody touches it.
    for name in &left {
        assert_eq!(std::fs::read_to_string(program.workspace().join(name)).unwrap(), "half of so");
    }
}

#[test]
fn the_checkers_of_requests_know_broken_ones() {
    let chat = |messages: Value| valid_chat(&json!({ "messages": messages }));
    let user = json!({ "role": "user", "content": "a" });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "1", "function": { "arguments": "{}" } }, { "id": "2", "function": { "arguments": "{}" } },
    ]});
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "r" });
    chat(json!([user, calls, result("2"), result("1"), user])).unwrap();
    for broken in [
        json!([user, calls]),
        json!([user, user]),
        json!([user, calls, result("1"), user]),
        json!([user, calls, result("1"), result("1")]),
        json!([user, result("1")]),
        json!([calls, result("1"), result("2")]),
        json!([user, calls, result("1"), result("2"), calls, result("1"), result("2")]),
    ] {
        chat(broken).unwrap_err();
    }
    let messages = |messages: Value| valid_messages(&json!({ "messages": messages }));
    let calls = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "1", "input": {} }, { "type": "tool_use", "id": "2", "input": {} },
    ]});
    let results = |ids: &[&str]| {
        let result = |id: &&str| json!({ "type": "tool_result", "tool_use_id": id });
        json!({ "role": "user", "content": ids.iter().map(result).collect::<Vec<_>>() })
    };
    let late = json!({ "role": "user", "content": [
        { "type": "text", "text": "a" },
        { "type": "tool_result", "tool_use_id": "1" }, { "type": "tool_result", "tool_use_id": "2" },
    ]});
    messages(json!([user, calls, results(&["1", "2"])])).unwrap();
    for broken in [
        json!([user, calls]),
        json!([user, user]),
        json!([user, calls, user]),
        json!([user, calls, results(&["1"])]),
        json!([user, calls, late]),
        json!([results(&["1"])]),
        json!([calls, results(&["1", "2"])]),
    ] {
        messages(broken).unwrap_err();
    }
}
