//! Attempts to hold more than was given.

use super::{call, done};
use crate::support::{Program, Seed};
use ringfence::store::{Execution, JobFilter, NewTask, Recorded, TaskEnd, Workspace};
use ringfence::tasks::TurnOf;
use serde_json::json;

const ENDS: &str = "[[reply]]\ntext = \"Over.\"\nrepeat = true\n";

fn configure(p: &Program, more: &str) {
    let script = p.home().join("script.toml");
    p.configure(&format!("{more}\n[providers.fake]\nwire = \"scripted\"\nscript = {script:?}\n"));
}

const NARROW: &str = "[profiles.small]\nrole = \"main\"\nmax_iterations = 2\nmax_tokens = 20000\ntimeout = \"1m\"\n\
                      [profiles.reader]\nrole = \"subagent\"\nfiles = \"read-only\"\n";

#[test]
fn no_name_of_a_profile_is_more_than_a_subagent() {
    for (name, taken) in [
        ("main", false),
        ("cron", false),
        ("small", false),
        ("Main", false),
        ("../main", false),
        ("subagent/../main", false),
        ("subagent ", false),
        ("subagent\n", false),
        ("SUBAGENT", false),
        ("mаin", false),
        ("reader\u{0}", false),
        ("reader", true),
    ] {
        let arguments = json!({"task":"Dig.","profile":name}).to_string();
        let p = Program::scripted(&format!("{}{ENDS}", call("spawn", &arguments)));
        configure(&p, NARROW);
        let ran = p.run(&["run", "Have it dug."]);
        done(&ran);
        let tasks = p.run(&["tasks", "list", "--json"]).json();
        assert_eq!(tasks["tasks"].as_array().unwrap().len(), usize::from(taken), "{name:?}: {ran:?}");
    }
}

/// A run of `cli:a` whose every right was written by hand.
fn by_hand(seed: &Seed, id: &str, (what, value): (&str, &str)) {
    let like = seed.store.task("zzzz2222").unwrap().unwrap_or_else(|| seed.task("zzzz2222", "z", "Dig."));
    let workspace = Workspace::at(&seed.workspace);
    let or = |name: &str, usual: &'_ str| if what == name { value.to_owned() } else { usual.to_owned() };
    let (rights, origin) = (or("rights", &like.rights), or("origin", &like.origin));
    let (profile, provider) = (or("profile", "subagent"), or("provider", "fake"));
    let new = NewTask {
        id,
        workspace: &workspace,
        channel: "cli",
        chat: "a",
        turn: id,
        digest: id,
        label: id,
        task: "Dig.",
        profile: &profile,
        provider: &provider,
        model: "scripted",
        rights: &rights,
        max_iterations: 9,
        max_tokens: None,
        max_cost: None,
        temperature: None,
        time_ms: 900_000,
        retry_of: None,
        owner: None,
        kept: true,
        origin: &origin,
    };
    assert!(matches!(seed.store.record_task(&new, 64).unwrap(), Recorded::New(_)));
}

#[test]
fn what_was_written_into_the_database_by_hand_is_not_guessed() {
    let script = format!(
        "[[reply]]\nuser = \"Background task\"\ntext = \"TOLD.\"\nrepeat = true\n\
         [[reply]]\nresult = \"\"\nuser = \"Dig.\"\ntext = \"Dug.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Dig.\"\ncalls = [{{ name = \"write_file\", arguments = {:?} }}, {{ name = \"message\", arguments = {:?} }}]\nrepeat = true\n{ENDS}",
        r#"{"path":"made.txt","content":"x"}"#, r#"{"content":"MESSAGE"}"#
    );
    let unknown = r#"{"capabilities":["files","god"],"directories":[],"hosts":[]}"#;
    for (what, value) in [
        ("rights", "all"),
        ("rights", ""),
        ("rights", unknown),
        ("profile", "main"),
        ("profile", "cron"),
        ("provider", "another"),
        ("nothing", ""),
    ] {
        let (id, ends) = match what {
            "nothing" => ("honest22", Execution::Succeeded),
            _ => ("forged22", Execution::Failed),
        };
        let p = Program::scripted(&script);
        let seed = Seed::of(&p);
        by_hand(&seed, id, (what, value));
        seed.store.cancel_task("zzzz2222", "over").unwrap();
        let ran = p.run(&["serve", "--once"]);
        done(&ran);
        assert_eq!(seed.row(id).execution, ends, "{ran:?}");
        assert_eq!(
            p.workspace().join("made.txt").exists(),
            ends == Execution::Succeeded,
            "{what} {value}: {ran:?}"
        );
        assert!(!ran.stdout.contains("MESSAGE"), "{ran:?}");
        assert_eq!(seed.row(id).delivery, ringfence::store::Delivery::Delivered);
    }
    // As what a result is told, too.
    for origin in
        ["", "{}", "null", r#"{"profile":"main","tools":null,"provider":"fake","model":"scripted","more":1}"#]
    {
        let p = Program::scripted(&script);
        let seed = Seed::of(&p);
        by_hand(&seed, "origin22", ("origin", origin));
        seed.store.cancel_task("zzzz2222", "over").unwrap();
        let ran = p.run(&["serve", "--once"]);
        assert!(!done(&ran).contains("TOLD.") && ran.stdout.contains("completed"), "{origin}: {ran:?}");
    }
}

/// Replies that go on for ever, each of 10,000 tokens.
fn loops() -> String {
    format!(
        "[[reply]]\nrepeat = true\ntools = true\nusage = {{ input = 9000, output = 1000 }}\n\
         calls = [{{ name = \"list_dir\", arguments = {{ path = \".\" }} }}]\n{ENDS}"
    )
}

#[test]
fn a_turn_about_a_result_has_no_more_than_the_profile_that_started_the_run() {
    for (profile, most) in [("small", 3), ("main", 100)] {
        let p = Program::scripted(&loops());
        configure(&p, NARROW);
        let seed = Seed::of(&p);
        let of = TurnOf {
            profile: profile.to_owned(),
            tools: None,
            provider: "fake".to_owned(),
            model: "scripted".to_owned(),
            most: Default::default(),
        };
        let origin = serde_json::to_string(&of).unwrap();
        by_hand(&seed, "aaaa2222", ("origin", &origin));
        seed.store.cancel_task("zzzz2222", "over").unwrap();
        seed.store.begin_task("aaaa2222", "gone", 9).unwrap();
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
        assert!(seed.store.end_task("aaaa2222", "gone", &end).unwrap());
        let ran = p.run(&["serve", "--once"]);
        done(&ran);
        let used = seed.store.usage("cli:a").unwrap().calls;
        assert!(used <= most && (used > 3 || profile == "small"), "{profile}: {used} model calls: {ran:?}");
    }
}

#[test]
fn a_job_has_no_more_than_the_profile_that_added_it() {
    let add = json!({"action":"add","message":"Dig.","every_seconds":3600}).to_string();
    for by_agent in [true, false] {
        for (role, tokens, time) in [("small", Some(20_000), 60_000), ("main", None, 1_800_000)] {
            let p = Program::scripted(&format!("{}{ENDS}", call("cron", &add)));
            configure(&p, NARROW);
            if by_agent {
                done(&p.run(&["run", "--role", role, "Schedule it."]));
            } else {
                done(&p.run(&["cron", "add", "--role", role, "Dig.", "--every", "1h"]));
            }
            let jobs = Seed::of(&p).store.jobs(&JobFilter::default()).unwrap();
            assert_eq!(jobs.len(), 1);
            assert_eq!((jobs[0].max_tokens, jobs[0].time_ms), (tokens, time), "{role} {by_agent}");
            std::fs::write(p.home().join("script.toml"), loops()).unwrap();
            p.run(&["cron", "run", &jobs[0].id]);
            let key = format!("{}:{}", jobs[0].channel, jobs[0].chat);
            let used = Seed::of(&p).store.usage(&key).unwrap().calls;
            assert!(if role == "small" { used <= 5 } else { used > 10 }, "{role}: {used}");
        }
    }
}
