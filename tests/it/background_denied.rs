//! What background runs and narrowed agents are denied, by effect: every name that belongs to main, names that pass for one,
//! and components that import the interfaces themselves. Each is tried by a call and by a scripted model in a real run, leaves
//! the store as it was, and has its effect as main.

use crate::support::yard::{At, Effects, HANGS, Process, Yard, buried, request};
use crate::support::{self, World};
use ringfence::authority::{Capability, CapabilitySet, DenialKind, Profile, Rights, Role};
use ringfence::store::Execution;
use ringfence::tasks::transcript;
use ringfence::toolbox::{Outcome, one_line};
use serde_json::{Value, json};
use std::path::PathBuf;

/// What belongs to main, by its exact name.
const MAINS: [&str; 4] = ["message", "spawn", "tasks", "cron"];

/// What looks like one of those, or was one elsewhere.
const NEARLY: [&str; 34] = [
    "Spawn",
    "SPAWN",
    "spawn ",
    " spawn",
    "spawn\n",
    "spawn()",
    "spawn_agent",
    "spawn_subagent",
    "sub_spawn",
    "functions.spawn",
    "tools.spawn",
    "default_api:spawn",
    "mcp__ringfence__spawn",
    "host/spawn",
    "ringfence:host/spawn",
    "ringfence:host/spawn@0.1.0",
    "ringfence:host/spawn#start",
    "\u{455}pawn",
    "spa\u{200b}wn",
    "sраwn",
    "ｓｐａｗｎ",
    "messages",
    "Message",
    "send_message",
    "m\u{435}ssage",
    "message.send",
    "task",
    "t\u{430}sks",
    "tasks.cancel",
    "crons",
    "cron.add",
    "cron_add",
    "\u{441}ron",
    "ringfence:host/cron@0.1.0",
];

/// The components that import what belongs to main, and the tool of each.
const HOSTILE: [(&str, &str); 6] = [
    ("role_message", "grab_message"),
    ("role_spawn", "grab_spawn"),
    ("role_tasks", "grab_tasks"),
    ("role_cron", "grab_cron"),
    ("role_exec", "grab_exec"),
    ("role_all", "grab_all"),
];

/// What is asked of a run that should not be.
const BELOW: &str = "from below";

/// What is said at the end.
const LAST: &str = "That was all.";

/// Arguments with which that would have an effect; `victim` is a run of the session.
fn arguments(tool: &str, victim: &str) -> Value {
    match tool {
        "message" => json!({ "content": "from below" }),
        "spawn" => json!({ "task": buried(BELOW) }),
        "tasks" => json!({ "action": "cancel", "id": victim }),
        "cron" => json!({ "action": "add", "message": "from below", "every_seconds": 3600 }),
        "grab_tasks" | "grab_all" => json!({ "text": victim }),
        "grab_spawn" => json!({ "text": buried(BELOW) }),
        _ => json!({ "text": "from below" }),
    }
}

/// Those for a name that passes for one of main's.
fn arguments_nearly(name: &str, victim: &str) -> Value {
    let meant = ["message", "tasks", "cron"];
    arguments(meant.into_iter().find(|tool| name.to_lowercase().contains(tool)).unwrap_or("spawn"), victim)
}

fn with_capabilities(name: &str, role: Role, capabilities: CapabilitySet) -> Profile {
    Profile { name: name.to_owned(), role, rights: Rights { capabilities, ..Rights::all() }, tools: None }
}

/// A profile of subagents that is narrower than the role.
fn narrow_subagent() -> Profile {
    let files = CapabilitySet::of(&[Capability::Files]);
    with_capabilities("reader", Role::Subagent, files)
}

/// A profile of main that is left nothing of what belongs to main.
fn narrow_main() -> Profile {
    let files = CapabilitySet::of(&[Capability::Files, Capability::Log]);
    with_capabilities("clerk", Role::Main, files)
}

/// The same by names of tools.
fn few_tools() -> Profile {
    let tools = Some(vec!["read_file".to_owned(), "write_file".to_owned()]);
    Profile { name: "few".to_owned(), tools, ..Profile::plain(Role::Main) }
}

/// Everybody who is tried, and what each is denied of main's.
fn everybody() -> Vec<(Profile, Vec<&'static str>)> {
    vec![
        (Profile::plain(Role::Subagent), MAINS.to_vec()),
        (narrow_subagent(), MAINS.to_vec()),
        (narrow_main(), MAINS.to_vec()),
        (few_tools(), MAINS.to_vec()),
        (Profile::cron(), vec!["cron"]),
    ]
}

fn expected(profile: &Profile) -> DenialKind {
    match profile.role {
        Role::Subagent => DenialKind::NotForRole,
        Role::Main => DenialKind::Withheld,
    }
}

/// A session with a run that hangs.
fn stage(script: &str, components: &[PathBuf]) -> (Yard, Process, String) {
    let config = "[profiles.reader]\nrole = \"subagent\"\ncapabilities = [\"files\"]\n\
                  [profiles.clerk]\nrole = \"main\"\ncapabilities = [\"files\", \"log\"]\n";
    let yard = Yard::with(&format!("{HANGS}{script}"), config, components);
    let process = yard.process();
    let victim = process.start_hanging(&process.at(&yard, "s"), "victim");
    (yard, process, victim)
}

fn hostile_components() -> Vec<PathBuf> {
    HOSTILE.iter().map(|(component, _)| support::hostile(component)).collect()
}

#[test]
fn by_a_call_each_name_of_mains_is_denied_to_everybody_else_and_works_as_main() {
    let (yard, process, victim) = stage("", &[]);
    let at = process.at(&yard, "s");
    for (profile, denied) in everybody() {
        for tool in denied {
            let before = yard.effects();
            let denial = process.call(&yard, &profile, &at, tool, &arguments(tool, &victim)).denial();
            assert_eq!(denial.kind, expected(&profile), "{tool} as {}: {denial}", profile.name);
            assert_eq!(denial.role, profile.name);
            assert_eq!(yard.effects(), before, "{tool} as {}", profile.name);
        }
    }
    // Cron has the rest of main's, and main all of it.
    for (profile, has) in [
        (Profile::cron(), vec!["message", "spawn"]),
        (Profile::plain(Role::Main), vec!["message", "spawn", "cron", "tasks"]),
    ] {
        let at = process.at(&yard, "s");
        for tool in has {
            let before = yard.effects();
            process.call(&yard, &profile, &at, tool, &arguments(tool, &victim)).text();
            assert_ne!(yard.effects(), before, "{tool} as {} did nothing", profile.name);
        }
    }
    assert_eq!(yard.row(&victim).execution, Execution::Cancelled, "main cancelled it");
    process.close();
}

#[test]
fn what_passes_for_a_name_is_no_tool_for_anybody_and_reaches_nothing() {
    let w = World::new();
    let (yard, process, victim) = stage("", &[]);
    let at = process.at(&yard, "s");
    let mut all = everybody();
    all.push((Profile::plain(Role::Main), Vec::new()));
    let before = yard.effects();
    for (profile, _) in &all {
        let conversation = w.conversation_as(profile.clone());
        for name in NEARLY {
            let arguments = arguments_nearly(name, &victim);
            for reply in [
                process.call(&yard, profile, &at, name, &arguments),
                conversation.call(name, arguments.clone()),
            ] {
                let unknown = matches!(reply.0.outcome, Outcome::Unknown { .. });
                assert!(unknown, "{name:?} as {}: {:?}", profile.name, reply.0.outcome);
            }
        }
    }
    assert_eq!(yard.effects(), before);
    assert_eq!(w.ports().everything(), Vec::<String>::new());
    // The ports are there: the exact name reaches them.
    w.call("spawn", json!({ "task": "by its name" })).text();
    assert_eq!(w.ports().spawned(), ["by its name"]);
    process.close();
}

/// Replies with all of these calls, a last word, and one to whatever was started.
fn tries(calls: &[(String, Value)]) -> String {
    let calls: Vec<Value> =
        calls.iter().map(|(name, arguments)| json!({ "name": name, "arguments": arguments })).collect();
    let mut replies = vec![json!({ "user": BELOW, "text": "Done below.", "repeat": true })];
    // In batches: a reply has only so many calls.
    replies.extend(calls.chunks(8).map(|some| json!({ "calls": some })));
    replies.push(json!({ "text": LAST, "repeat": true }));
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// A script needs the victim's id before there is one, so that it is played in a workspace of its own.
fn play(
    profile: &Profile,
    names: &[String],
    components: &[PathBuf],
    run: impl Fn(&Yard, &Process, &Profile) -> String,
) -> (Vec<(String, String)>, Effects, Effects) {
    let calls: Vec<(String, Value)> = names
        .iter()
        .map(|name| {
            let exact = MAINS.contains(&name.as_str()) || name.starts_with("grab_");
            // Nobody has guessed an id; `all` would be every run there is.
            let victim = "a1b2c3d4";
            (name.clone(), if exact { arguments(name, victim) } else { arguments_nearly(name, victim) })
        })
        .collect();
    let (yard, process, _) = stage(&tries(&calls), components);
    let before = yard.effects();
    let session = run(&yard, &process, profile);
    let after = yard.effects();
    let calls = yard.calls(&session);
    process.close();
    (calls, before, after)
}

fn in_a_background_run(yard: &Yard, process: &Process, profile: &Profile) -> String {
    let at = process.at(yard, "s");
    let mut request = request("try everything");
    request.profile = Some(profile.name.clone());
    request.max_iterations = Some(15);
    let ended = process.run(&at, request);
    assert_eq!(ended.execution, Execution::Succeeded, "{}", ended.text);
    assert_eq!(ended.row.result.as_deref(), Some(LAST));
    transcript(&ended.id).to_string()
}

fn in_an_unattended_turn(yard: &Yard, process: &Process, profile: &Profile) -> String {
    let rights = yard.rights().meet(&profile.rights);
    let end = process.unattended(yard, "alone", (profile, &rights), "try everything");
    assert_eq!(end.text, LAST);
    "alone".to_owned()
}

fn all_names() -> Vec<String> {
    MAINS.iter().chain(&NEARLY).map(|name| (*name).to_owned()).collect()
}

/// How each call went, by the name that was called.
fn assert_all_refused(calls: &[(String, String)], names: &[String], denied: &[&str], kind: DenialKind) {
    assert_eq!(calls.len(), names.len(), "{calls:?}");
    for name in names {
        let written = one_line(name);
        let (_, how) = calls.iter().find(|(tool, _)| tool == name || *tool == written).unwrap_or_else(|| {
            panic!("{name:?} was not called: {calls:?}");
        });
        if denied.contains(&name.as_str()) {
            assert_eq!(how, &format!("denied {}", kind.name()), "{name:?}");
        } else if !MAINS.contains(&name.as_str()) && !name.starts_with("grab_") {
            assert_eq!(how, "unknown", "{name:?}");
        }
    }
}

#[test]
fn in_a_real_run_a_subagent_gets_nothing_of_mains_by_any_name() {
    for profile in [Profile::plain(Role::Subagent), narrow_subagent()] {
        let (calls, before, after) = play(&profile, &all_names(), &[], in_a_background_run);
        assert_all_refused(&calls, &all_names(), &MAINS, DenialKind::NotForRole);
        // The run itself, and nothing else.
        assert_eq!((&after.jobs, &after.letters), (&before.jobs, &before.letters), "{}", profile.name);
        assert_eq!(after.tasks.len(), before.tasks.len() + 1, "{:?}", after.tasks);
        assert!(after.tasks.contains(&before.tasks[0]), "the other run was touched: {after:?}");
    }
}

#[test]
fn in_a_turn_that_nobody_watches_a_narrowed_main_gets_nothing_of_mains() {
    for profile in [narrow_main(), few_tools()] {
        let (calls, before, after) = play(&profile, &all_names(), &[], in_an_unattended_turn);
        assert_all_refused(&calls, &all_names(), &MAINS, DenialKind::Withheld);
        assert_eq!((&after.jobs, &after.tasks), (&before.jobs, &before.tasks), "{}", profile.name);
        // What it said in the end is a letter, since nobody was there.
        assert_eq!(after.letters, [LAST]);
    }
}

/// The message arrived. A turn about the run that was started too may have had an answer of its own.
fn assert_wrote(after: &Effects) {
    assert_eq!(after.letters[0], "from below");
    assert!(after.letters[1..].iter().all(|letter| letter == LAST), "{:?}", after.letters);
}

#[test]
fn in_a_scheduled_turn_everything_is_there_but_the_schedule() {
    let names = all_names();
    let (calls, before, after) = play(&Profile::cron(), &names, &[], in_an_unattended_turn);
    assert_all_refused(&calls, &names, &["cron"], DenialKind::Withheld);
    assert_eq!(after.jobs, before.jobs);
    // The other names did reach their ports.
    assert_wrote(&after);
    assert_eq!(after.tasks.len(), before.tasks.len() + 1);
    let how = |name: &str| calls.iter().find(|(tool, _)| tool == name).unwrap().1.clone();
    assert_eq!((how("message"), how("spawn")), ("done".to_owned(), "done".to_owned()));
    assert_eq!(how("tasks"), "failed not-found", "the id was guessed");
}

#[test]
fn by_a_call_a_component_that_imports_what_is_mains_is_denied_whole() {
    let (yard, process, victim) = stage("", &hostile_components());
    let at = process.at(&yard, "s");
    for (profile, denied) in everybody() {
        // A list of tools that leaves them is the same list without rights.
        for (_, tool) in HOSTILE {
            let before = yard.effects();
            let reply = process.call(&yard, &profile, &at, tool, &arguments(tool, &victim));
            let wanted = tool.trim_start_matches("grab_");
            let refused =
                denied.contains(&wanted) || wanted == "all" || wanted == "exec" && profile.name != "cron";
            if refused && !(wanted == "exec" && profile == Profile::plain(Role::Subagent)) {
                let denial = reply.denial();
                let kinds = [expected(&profile), DenialKind::Withheld];
                assert!(kinds.contains(&denial.kind), "{tool} as {}: {denial}", profile.name);
                assert_eq!(yard.effects(), before, "{tool} as {}", profile.name);
            } else if wanted == "exec" {
                // The role may run commands, and this one is none.
                assert!(reply.text().contains("exit Some("), "{:?}", reply.0.outcome);
                assert_eq!(yard.effects(), before, "{tool} as {}", profile.name);
            } else if wanted != "tasks" {
                reply.text();
                assert_ne!(yard.effects(), before, "{tool} as {} did nothing", profile.name);
            } else {
                reply.text();
                revive(&yard, &process);
            }
        }
    }
    // As main each arrives, the one with everything included.
    let main = Profile::plain(Role::Main);
    for tool in ["grab_message", "grab_spawn", "grab_cron", "grab_tasks", "grab_all"] {
        let at = process.at(&yard, "s");
        let victim = revive(&yard, &process);
        let before = yard.effects();
        process.call(&yard, &main, &at, tool, &arguments(tool, &victim)).text();
        let after = yard.effects();
        assert_ne!(after, before, "{tool} did nothing as main");
        let cancelled = yard.row(&victim).execution == Execution::Cancelled;
        assert_eq!(cancelled, tool == "grab_tasks" || tool == "grab_all", "{tool}");
        if tool == "grab_all" {
            assert_eq!(after.letters.len(), before.letters.len() + 1);
            assert_eq!(after.jobs.len(), before.jobs.len() + 1);
            assert_eq!(after.tasks.len(), before.tasks.len() + 1);
        }
    }
    process.close();
}

/// A run that hangs, to be cancelled.
fn revive(yard: &Yard, process: &Process) -> String {
    let at: At = process.at(yard, "s");
    process.end_all(&at.place);
    process.start(&at, request("hang once more")).unwrap()
}

#[test]
fn escape_134_in_a_real_run_a_component_that_imports_what_is_mains_does_not_link() {
    let names: Vec<String> = HOSTILE.iter().map(|(_, tool)| (*tool).to_owned()).collect();
    for profile in [Profile::plain(Role::Subagent), narrow_subagent()] {
        let (calls, before, after) = play(&profile, &names, &hostile_components(), in_a_background_run);
        let denied = ["grab_message", "grab_spawn", "grab_tasks", "grab_cron", "grab_all"];
        assert_all_refused(&calls, &names, &denied, DenialKind::NotForRole);
        let exec = calls.iter().find(|(tool, _)| tool == "grab_exec").unwrap();
        let wanted = if profile.name == "reader" { "denied withheld" } else { "done" };
        assert_eq!(exec.1, wanted, "a subagent has commands, unless its profile takes them away");
        assert_eq!((&after.jobs, &after.letters), (&before.jobs, &before.letters));
        assert_eq!(after.tasks.len(), before.tasks.len() + 1);
    }
    // In a scheduled turn the schedule alone is missing, which refuses the one that wants everything.
    let (calls, before, after) = play(&Profile::cron(), &names, &hostile_components(), in_an_unattended_turn);
    assert_all_refused(&calls, &names, &["grab_cron", "grab_all"], DenialKind::Withheld);
    assert_eq!(after.jobs, before.jobs);
    assert_wrote(&after);
    assert_eq!(after.tasks.len(), before.tasks.len() + 1);
}
