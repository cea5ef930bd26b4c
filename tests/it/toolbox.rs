//! The toolbox: the built-in tools as they are embedded, what each is granted, what a role sees of them, and what is
//! written down of every call.

use crate::attack::{MARK, raw};
use crate::support::{self, World};
use ringfence::authority::{
    Access, Capability, CapabilitySet, Denial, DenialKind, Directories, Grant, Hosts, Profile, Rights, Role,
};
use ringfence::sandbox::ports::{Answer, Courier, MainPorts, Outgoing, Receipt};
use ringfence::sandbox::{CallError, requests};
use ringfence::toolbox::{AUDIT_TARGET, Agent, Outcome, Ports};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// Every built-in tool, and the least that it needs.
const BUILT_IN: [(&str, Capability, Option<Access>); 14] = [
    ("apply_patch", Capability::Files, Some(Access::ReadWrite)),
    ("cron", Capability::Cron, None),
    ("edit_file", Capability::Files, Some(Access::ReadWrite)),
    ("exec", Capability::Exec, None),
    ("exec_session", Capability::Exec, None),
    ("find_files", Capability::Files, Some(Access::ReadOnly)),
    ("grep", Capability::Files, Some(Access::ReadOnly)),
    ("list_dir", Capability::Files, Some(Access::ReadOnly)),
    ("list_exec_sessions", Capability::Exec, None),
    ("message", Capability::Message, None),
    ("read_file", Capability::Files, Some(Access::ReadOnly)),
    ("spawn", Capability::Spawn, None),
    ("tasks", Capability::Tasks, None),
    ("write_file", Capability::Files, Some(Access::ReadWrite)),
];

/// What a subagent never has.
const MAINS_ALONE: [&str; 4] = ["cron", "message", "spawn", "tasks"];

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn views(w: &World, profile: Profile) -> Vec<String> {
    let agent = w.agent(profile);
    w.toolbox().read().unwrap().view(&agent).map(|definition| definition.name.clone()).collect()
}

#[test]
fn every_embedded_definition_is_what_its_component_says() {
    let w = World::new();
    let toolbox = w.toolbox().read().unwrap();
    let names: Vec<&str> = toolbox.names().collect();
    assert_eq!(names, BUILT_IN.map(|(name, ..)| name), "one is missing, or is new and not in the list");
    for name in names {
        let (package, embedded) = toolbox.find(name).unwrap();
        let said = block_on(toolbox.probe(package.component().unwrap())).unwrap();
        assert_eq!(said.len(), 1, "{name}");
        assert_eq!(said[0].name, embedded.name);
        assert_eq!(said[0].description, embedded.description);
        assert_eq!(said[0].input_schema, embedded.input_schema);
        assert_eq!(said[0].output_schema, embedded.output_schema);
    }
}

#[test]
fn all_definitions_together_cost_a_model_little() {
    let w = World::new();
    let toolbox = w.toolbox().read().unwrap();
    let agent = w.agent(Profile::plain(Role::Main));
    let characters = |(name, input, output): (String, &Value, Option<&Value>)| {
        name.chars().count()
            + input.to_string().chars().count()
            + output.map_or(0, |s| s.to_string().chars().count())
    };
    let total: usize = toolbox
        .view(&agent)
        .map(|d| (format!("{}{}", d.name, d.description), &d.input_schema, d.output_schema.as_ref()))
        .map(characters)
        .sum();
    println!("the definitions of the built-in tools have {total} characters");
    assert!(total < 12_000, "{total} characters");
}

fn grant(name: &str) -> Grant {
    let w = World::new();
    let toolbox = w.toolbox().read().unwrap();
    toolbox.find(name).unwrap().0.grant.clone()
}

/// A world with a hostile component that holds just what a built-in tool is granted.
fn with_grant_of(tool: &str, component: &str) -> World {
    let w = World::new();
    w.file("honest.txt", "honest");
    let path = support::hostile(component);
    let bytes = fs::read(&path).unwrap();
    block_on(w.toolbox().write().unwrap().add(path, bytes, grant(tool))).unwrap();
    w
}

#[test]
fn every_grant_is_the_least_that_the_tool_needs() {
    for (tool, capability, access) in BUILT_IN {
        let rights = Rights {
            capabilities: CapabilitySet::of(&[capability]),
            directories: access.map_or_else(Directories::none, Directories::everywhere),
            hosts: Hosts::none(),
        };
        assert_eq!(grant(tool), Grant(rights), "{tool}");
    }
}

#[test]
fn every_tool_imports_the_interface_that_it_is_granted_and_no_other() {
    let w = World::new();
    let toolbox = w.toolbox().read().unwrap();
    for (tool, capability, _) in BUILT_IN {
        let survey = &toolbox.find(tool).unwrap().0.component().unwrap().survey;
        assert_eq!(requests(survey), CapabilitySet::of(&[capability]), "{tool}");
        let ours: Vec<&str> =
            survey.imports.iter().filter_map(|import| import.name.strip_prefix("ringfence:")).collect();
        let own = format!("host/{capability}");
        assert!(ours.iter().all(|name| *name == own || *name == "host/types"), "{tool}: {ours:?}");
        assert_eq!(ours.contains(&own.as_str()), capability != Capability::Files, "{tool}: {ours:?}");
    }
}

#[test]
fn a_grant_is_worth_what_it_says() {
    for (tool, capability, access) in BUILT_IN {
        let w = with_grant_of(tool, "escape_files");
        let everything = json!({ "path": "honest.txt", "mark": MARK });
        let create = json!({ "path": "made.txt", "flags": ["create"], "rights": ["write"], "write": MARK });
        match access {
            None => {
                let denial = w.call("raw_open", create).denial();
                assert_eq!(denial.kind, DenialKind::NotGranted, "{tool}: {denial}");
                assert!(!w.exists("made.txt"), "{tool}");
            }
            Some(Access::ReadOnly) => {
                // Every way to open is tried, and every other way to change something.
                let ways = raw(&w, "raw_open_all", everything);
                assert!(ways["opened"].as_u64() > Some(0), "{tool}: {ways}");
                assert_eq!(ways["written"], 0, "{tool}: {ways}");
                assert_ne!(raw(&w, "raw_open", create)["outcome"], "ok", "{tool}");
                for (attempt, arguments) in [
                    ("raw_rename", json!({ "from": "honest.txt", "to": "made.txt" })),
                    ("raw_make_directory", json!({ "path": "made.txt" })),
                    ("raw_symlink", json!({ "target": "honest.txt", "path": "made.txt" })),
                    ("raw_set_times", json!({ "path": "honest.txt" })),
                ] {
                    let done = raw(&w, attempt, arguments);
                    assert_ne!(done["outcome"], "ok", "{tool}: {attempt}: {done}");
                }
                raw(&w, "raw_remove", json!({ "path": "honest.txt" }));
                assert_eq!(w.read("honest.txt"), "honest", "{tool}");
                assert!(!w.exists("made.txt"), "{tool}");
            }
            Some(Access::ReadWrite) => {
                assert!(raw(&w, "raw_open_all", everything)["written"].as_u64() > Some(0), "{tool}");
                assert_eq!(raw(&w, "raw_open", create)["outcome"], "ok", "{tool}");
                assert_eq!(w.read("made.txt"), MARK, "{tool}");
            }
        }
        for (component, attempt, wanted) in [
            ("role_message", "grab_message", Capability::Message),
            ("role_spawn", "grab_spawn", Capability::Spawn),
            ("role_tasks", "grab_tasks", Capability::Tasks),
            ("role_cron", "grab_cron", Capability::Cron),
            ("role_exec", "grab_exec", Capability::Exec),
            ("role_log", "grab_log", Capability::Log),
        ] {
            let w = with_grant_of(tool, component);
            // Another text names no run, and would not be handed on.
            let text = if wanted == Capability::Tasks { "a1b2c3d4" } else { MARK };
            let reply = w.call(attempt, json!({ "text": text }));
            if wanted == capability {
                reply.text();
                assert_eq!(everything_heard(&w), [text], "{tool}");
            } else {
                assert_eq!(reply.denial().kind, DenialKind::NotGranted, "{tool}: {attempt}");
                assert_eq!(everything_heard(&w), Vec::<String>::new(), "{tool}: {attempt}");
            }
        }
    }
}

/// Everything that reached any port.
fn everything_heard(w: &World) -> Vec<String> {
    let p = w.ports();
    [p.messages(), p.spawned(), p.tasks_asked(), p.jobs(), p.executed(), p.log_lines()].concat()
}

#[test]
fn a_role_sees_what_it_can_call() {
    let w = World::new();
    let all = BUILT_IN.map(|(name, ..)| name.to_owned());
    assert_eq!(views(&w, Profile::plain(Role::Main)), all);
    let without_mains: Vec<String> =
        all.iter().filter(|name| !MAINS_ALONE.contains(&name.as_str())).cloned().collect();
    assert_eq!(without_mains.len() + MAINS_ALONE.len(), all.len());
    assert_eq!(views(&w, Profile::plain(Role::Subagent)), without_mains);

    // What is not seen is not called by its name either.
    let denial = w.call_as(Role::Subagent, "message", json!({ "content": "to the user" })).denial();
    let expected = Denial {
        kind: DenialKind::NotForRole,
        tool: "message".to_owned(),
        role: "subagent".to_owned(),
        subject: "ringfence:host/message@0.1.0".to_owned(),
        capability: Some(Capability::Message),
        remedy: ringfence::authority::Remedy::UseRole(Role::Main),
    };
    assert_eq!(denial, expected);
    assert_eq!(everything_heard(&w), Vec::<String>::new());
    w.call("message", json!({ "content": "to the user" })).text();
    assert_eq!(w.ports().messages(), ["to the user"]);
}

#[test]
fn a_profile_sees_what_it_leaves_and_can_call_nothing_else() {
    let profile = |tools: &[&str], capabilities: &[Capability]| Profile {
        name: "narrow".to_owned(),
        role: Role::Main,
        rights: Rights { capabilities: CapabilitySet::of(capabilities), ..Rights::all() },
        tools: Some(tools.iter().map(|tool| (*tool).to_owned()).collect()),
    };
    let narrow = profile(&["grep", "message", "write_file", "no_such_tool"], &[Capability::Files]);
    let w = World::new().with_profile(narrow.clone());
    assert_eq!(views(&w, narrow), ["grep", "write_file"]);
    for (tool, arguments) in [
        ("message", json!({ "content": "hello" })),
        ("read_file", json!({ "path": "a.txt" })),
        ("edit_file", json!({ "path": "new.txt", "old_text": "", "new_text": "x" })),
    ] {
        assert_eq!(w.call(tool, arguments).denial().kind, DenialKind::Withheld, "{tool}");
    }
    assert_eq!(everything_heard(&w), Vec::<String>::new());
    assert!(!w.exists("new.txt"));
    w.call("write_file", json!({ "path": "new.txt", "content": "x" })).text();
    assert_eq!(w.read("new.txt"), "x");
    let wide = profile(&["message"], &[Capability::Message]);
    w.conversation_as(wide).call("message", json!({ "content": "hello" })).text();
    assert_eq!(w.ports().messages(), ["hello"]);
}

#[test]
fn a_name_that_is_nearly_right_runs_nothing() {
    let w = World::new();
    for role in [Role::Main, Role::Subagent] {
        for name in ["messag", "Message", "message ", " message", "mes-sage", "message\0", "mеssage"] {
            let reply = w.call_as(role, name, json!({ "content": "hello" }));
            assert!(matches!(reply.0.outcome, Outcome::Unknown { .. }), "{name:?}: {reply:?}");
        }
        for name in ["write_fil", "WRITE_FILE", "write-file", "write_file\n"] {
            let reply = w.call_as(role, name, json!({ "path": "new.txt", "content": "x" }));
            assert!(matches!(reply.0.outcome, Outcome::Unknown { .. }), "{name:?}: {reply:?}");
        }
    }
    assert_eq!(everything_heard(&w), Vec::<String>::new());
    assert_eq!(fs::read_dir(w.root()).unwrap().count(), 0);
}

/// The audit rows of what runs on this thread.
#[derive(Debug, Default, Clone)]
struct Rows(Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>);

impl<S: tracing::Subscriber> Layer<S> for Rows {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == AUDIT_TARGET {
            let mut row = Row::default();
            event.record(&mut row);
            self.0.lock().unwrap().push(row.0);
        }
    }
}

#[derive(Default)]
struct Row(BTreeMap<&'static str, String>);

impl Visit for Row {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), value.to_string());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// The one row that is written while this runs.
fn audited<T>(run: impl FnOnce() -> T) -> (T, BTreeMap<&'static str, String>) {
    let rows = Rows::default();
    let subscriber = tracing_subscriber::registry().with(rows.clone());
    let done = tracing::subscriber::with_default(subscriber, run);
    let mut rows = rows.0.lock().unwrap().clone();
    assert_eq!(rows.len(), 1, "{rows:?}");
    (done, rows.remove(0))
}

/// A caller whose courier is this one.
fn with_courier(w: &World, id: &str, courier: impl Courier + 'static) -> Agent {
    let flags = w.agent(Profile::plain(Role::Main)).flags().clone();
    let ports = MainPorts { courier: Arc::new(courier), ..w.ports().main_ports() };
    Agent::new(id, Profile::plain(Role::Main), w.root(), flags, Ports::Main(Arc::new(ports))).unwrap()
}

fn call(w: &World, agent: &Agent, tool: &str, arguments: &Value) -> Outcome {
    block_on(w.toolbox().read().unwrap().call(agent, tool, &arguments.to_string())).outcome
}

struct PanicsAtOnce;

impl Courier for PanicsAtOnce {
    fn send(&self, _: Outgoing) -> Answer<'_, Receipt> {
        panic!("the courier fell at once")
    }
}

struct PanicsLater;

impl Courier for PanicsLater {
    fn send(&self, _: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(async {
            tokio::task::yield_now().await;
            panic!("the courier fell later")
        })
    }
}

#[test]
fn one_row_is_written_of_every_call_whatever_became_of_it() {
    let w = World::new().with_timeout(Duration::from_secs(1));
    w.file("a.txt", "one\n");
    std::os::unix::fs::symlink(w.outside(), w.path("link")).unwrap();
    for component in ["limits_time", "limits_trap", "limits_output", "role_message"] {
        w.component(&support::hostile(component), &[]);
    }
    let (main, subagent) = (w.agent(Profile::plain(Role::Main)), w.agent(Profile::plain(Role::Subagent)));
    let panics = with_courier(&w, "test", PanicsAtOnce);
    for (agent, role, tool, arguments, [outcome, kind, granted, refusals]) in [
        (&main, "main", "read_file", json!({ "path": "a.txt" }), ["done", "", "files", "0"]),
        (&subagent, "subagent", "list_dir", json!({ "path": "." }), ["done", "", "files", "0"]),
        (&main, "main", "message", json!({ "content": "hello" }), ["done", "", "message", "0"]),
        (&main, "main", "read_file", json!({ "path": "b.txt" }), ["failed", "not-found", "files", "0"]),
        (&main, "main", "say_error", json!({ "text": "x" }), ["failed", "failed", "nothing", "0"]),
        (
            &main,
            "main",
            "read_file",
            json!({ "path": "../x" }),
            ["denied", "outside-workspace", "files", "0"],
        ),
        (
            &main,
            "main",
            "read_file",
            json!({ "path": "link/x" }),
            ["denied", "outside-workspace", "files", "1"],
        ),
        (&main, "main", "grab_message", json!({ "text": "x" }), ["denied", "not-granted", "nothing", "0"]),
        (
            &subagent,
            "subagent",
            "message",
            json!({ "content": "x" }),
            ["denied", "not-for-role", "nothing", "0"],
        ),
        (&main, "main", "read_file", json!({ "path": 5, "x": 1 }), ["arguments", "", "files", "0"]),
        (&main, "main", "read_fil", json!({ "path": "a.txt" }), ["unknown", "", "", "0"]),
        (&main, "main", "spin", json!({}), ["ended", "timeout", "nothing", "0"]),
        (&main, "main", "panic", json!({}), ["ended", "trap", "nothing", "0"]),
        (&main, "main", "exit", json!({ "success": true }), ["ended", "exit", "nothing", "0"]),
        (&main, "main", "not_json", json!({}), ["ended", "answer", "nothing", "0"]),
        (&main, "main", "output_flood", json!({ "mib": 2 }), ["ended", "output", "nothing", "0"]),
        (&panics, "main", "message", json!({ "content": "x" }), ["ended", "host", "message", "0"]),
    ] {
        let (became, row) = audited(|| call(&w, agent, tool, &arguments));
        assert_eq!(became.name(), outcome, "{tool}: {became:?}");
        for (field, expected) in [
            ("who", "test"),
            ("role", role),
            ("tool", tool),
            ("grant", granted),
            ("outcome", outcome),
            ("kind", kind),
        ] {
            assert_eq!(row.get(field).map(String::as_str), Some(expected), "{tool}: {field}: {row:?}");
        }
        let number = |field: &str| row[field].parse::<u64>().unwrap();
        assert_eq!(number("refusals") > 0, refusals != "0", "{tool}: {row:?}");
        let bytes = match &became {
            Outcome::Done(output) => ringfence::toolbox::text_of(&output.content).len() as u64,
            _ => 0,
        };
        assert_eq!(number("bytes"), bytes, "{tool}: {row:?}");
        assert!(outcome != "done" || bytes > 0, "{tool}: {row:?}");
        assert!(row["ms"].parse::<u64>().is_ok(), "{tool}: {row:?}");
        // The digest of what ran, but for a name behind which there is nothing.
        assert_eq!(row["package"].is_empty(), outcome == "unknown", "{tool}: {row:?}");
    }
}

#[test]
fn a_row_is_one_line_whatever_the_caller_and_the_tool_are_called() {
    let w = World::new();
    let agent = with_courier(&w, "evil\nwho\u{1b}[2J", PanicsAtOnce);
    let (_, row) = audited(|| call(&w, &agent, "evil\ntool\u{1b}[2J", &json!({})));
    for field in ["who", "tool"] {
        assert!(row[field].contains("evil") && !row[field].chars().any(char::is_control), "{row:?}");
    }
    let (_, row) = audited(|| call(&w, &agent, &"x".repeat(1 << 20), &json!({})));
    assert!(row["tool"].len() < 1000, "{} bytes", row["tool"].len());
}

#[test]
fn a_panic_in_the_host_ends_its_call_and_no_other() {
    let w = World::new();
    w.file("a.txt", "one\n");
    let hello = json!({ "content": "hello" });
    let at_once = with_courier(&w, "test", PanicsAtOnce);
    let later = with_courier(&w, "test", PanicsLater);
    for (agent, said) in [(&at_once, "at once"), (&later, "later"), (&at_once, "at once")] {
        match call(&w, agent, "message", &hello) {
            Outcome::Ended(CallError::Host(why)) => assert!(why.contains(said), "{why}"),
            other => panic!("{other:?}"),
        }
        // The same caller's next call, and everybody else's.
        assert!(matches!(call(&w, agent, "list_dir", &json!({ "path": "." })), Outcome::Done(_)));
        w.call("message", hello.clone()).text();
    }
    assert_eq!(w.ports().messages(), ["hello"; 3]);
    assert!(w.call("read_file", json!({ "path": "a.txt" })).text().contains("1| one"));
}

#[test]
fn a_thousand_calls_at_once_give_a_thousand_right_answers() {
    const CALLS: usize = 1000;
    let w = World::new();
    for n in 0..CALLS {
        w.file(format!("{n}.txt"), format!("the content of {n}\n"));
    }
    let start = Barrier::new(CALLS);
    let right = thread::scope(|scope| {
        let calls: Vec<_> = (0..CALLS)
            .map(|n| {
                let (w, start) = (&w, &start);
                let work = move || {
                    start.wait();
                    let reply = w.call("read_file", json!({ "path": format!("{n}.txt") }));
                    (reply.text(), format!("1| the content of {n}\n(End of file: 1 line)"))
                };
                thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, work).unwrap()
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).filter(|(got, expected)| got == expected).count()
    });
    assert_eq!(right, CALLS);
}

#[test]
fn a_tool_gives_every_role_the_same() {
    let prepare = || {
        let w = World::new();
        w.file("a.txt", "one\ntwo\n");
        w.file("src/b.rs", "fn one() {}\n");
        w
    };
    let edits = json!([{ "path": "a.txt", "action": "replace", "old_text": "one", "new_text": "1" }]);
    let calls = [
        ("read_file", json!({ "path": "a.txt" })),
        ("read_file", json!({ "path": "absent.txt" })),
        ("list_dir", json!({ "path": ".", "recursive": true })),
        ("find_files", json!({ "query": "b" })),
        ("grep", json!({ "pattern": "one", "output_mode": "content" })),
        ("write_file", json!({ "path": "new/c.txt", "content": "three\n" })),
        ("edit_file", json!({ "path": "a.txt", "old_text": "two", "new_text": "2" })),
        ("edit_file", json!({ "path": "a.txt", "old_text": "nowhere", "new_text": "2" })),
        ("apply_patch", json!({ "edits": edits })),
        ("exec", json!({ "command": "ls" })),
        ("exec_session", json!({ "session_id": "0123456789ab" })),
        ("list_exec_sessions", json!({})),
        ("read_file", json!({ "path": "../x" })),
    ];
    let tools: std::collections::BTreeSet<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    assert_eq!(tools.len(), BUILT_IN.len() - MAINS_ALONE.len(), "every tool that both have");
    let ended: Vec<Vec<String>> = Role::ALL
        .into_iter()
        .map(|role| {
            let w = prepare();
            let agent = w.conversation(role);
            let mut all = Vec::new();
            for (tool, arguments) in &calls {
                let reply = agent.call(tool, arguments.clone());
                let text = format!("{tool}: {}: {:?}", reply.outcome(), reply.0.outcome);
                // The role's own name is all that may differ, and where the test keeps its files.
                let root = w.root().parent().unwrap().to_str().unwrap();
                all.push(
                    text.replace(root, "").replace("role: \"main\"", "").replace("role: \"subagent\"", ""),
                );
            }
            all.extend(["a.txt", "new/c.txt", "src/b.rs"].map(|path| w.read(path)));
            all
        })
        .collect();
    assert_eq!(ended[0], ended[1]);
    assert_eq!(ended[0].len(), calls.len() + 3);
    assert!(ended[0].contains(&"1\n2\n".to_owned()), "{:?}", ended[0]);
}
