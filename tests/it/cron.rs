//! `ringfence cron`, as a person at a shell has it.

use crate::support::{Program, Ran};
use clap::Parser as _;
use ringfence::store::{JobChange, JobState, Store};
use serde_json::Value;

const ROSES: &str = "[[reply]]\ntext = \"The roses are wet.\"\nrepeat = true\n";

#[track_caller]
fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.stdout
}

/// Every command that a text tells people to type is one.
#[track_caller]
fn check(ran: &Ran) {
    for line in ran.stderr.lines().filter(|line| !line.starts_with("Usage:")) {
        for rest in line.split("ringfence cron").skip(1) {
            let command = format!("ringfence cron{}", rest.split([';', '`', ')']).next().unwrap());
            let words = shlex::split(&command).unwrap();
            if let Err(error) = ringfence::cli::Arguments::try_parse_from(words) {
                panic!("{command}: {error}");
            }
        }
    }
}

/// Refused with that code, and with a text that says this.
#[track_caller]
fn refused(p: &Program, typed: &[&str], code: i32, says: &str) {
    let ran = p.run(typed);
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{typed:?}: {ran:?}");
    assert!(ran.stderr.contains(says), "{typed:?}: {ran:?}");
    check(&ran);
}

fn add(p: &Program, more: &[&str]) -> String {
    let ran = p.run(&[&["cron", "add", "Water the roses"], more].concat());
    check(&ran);
    done(&ran).trim().to_owned()
}

fn show(p: &Program, id: &str) -> Value {
    let ran = p.run(&["cron", "show", id, "--json"]);
    done(&ran);
    ran.json()
}

#[test]
fn looking_makes_no_database() {
    let p = Program::scripted(ROSES);
    for typed in [["cron", "list"].as_slice(), &["cron", "list", "--all"], &["cron", "list", "--done"]] {
        let ran = p.run(typed);
        assert_eq!(done(&ran), "");
        assert!(ran.stderr.contains("no scheduled jobs"), "{ran:?}");
        check(&ran);
    }
    assert_eq!(p.run(&["cron", "list", "--json"]).json()["jobs"], Value::Array(Vec::new()));
    for verb in ["show", "run", "pause", "resume", "rm", "history"] {
        refused(
            &p,
            &["cron", verb, "abcdefgh"],
            2,
            "there is no job `abcdefgh`; to see which there are: ringfence cron list",
        );
    }
    assert!(!p.state().exists());
}

#[test]
fn a_job_goes_its_way() {
    let p = Program::scripted(ROSES);
    let id = add(&p, &["--every", "2h"]);
    let listed = p.run(&["cron", "list"]);
    assert!(done(&listed).starts_with(&format!("{id}  active  ")), "{listed:?}");
    assert!(listed.stdout.contains("every 2h  Water the roses"), "{listed:?}");
    let job = show(&p, &id);
    assert_eq!(
        (&job["state"], &job["missed"], &job["by"]),
        (&"active".into(), &"once".into(), &"user".into())
    );
    assert!(job["session"].as_str().unwrap().starts_with("cron:") && job["last"].is_null(), "{job}");
    let empty = p.run(&["cron", "history", &id]);
    assert!(done(&empty).is_empty() && empty.stderr.contains("was not due yet"), "{empty:?}");
    check(&empty);

    // By the beginning of its id, if that is enough.
    let ran = p.run(&["cron", "run", &id[..6]]);
    assert_eq!(done(&ran), "The roses are wet.\n");
    let history = p.run(&["cron", "history", &id, "--json"]).json();
    let runs = history["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["outcome"]), (1, &"ran".into()));
    assert!(runs[0]["ms"].is_u64(), "{history}");
    assert!(done(&p.run(&["cron", "history", &id])).contains("  ran    "));
    assert_eq!(show(&p, &id)["next"], job["next"]);
    let session = job["session"].as_str().unwrap();
    let said = p.run(&["sessions", "show", session]);
    assert!(done(&said).contains("The roses are wet."), "{said:?}");

    let paused = p.run(&["cron", "pause", &id]);
    done(&paused);
    check(&paused);
    assert_eq!((&show(&p, &id)["state"], &show(&p, &id)["next"]), (&"paused".into(), &Value::Null));
    refused(&p, &["cron", "pause", &id], 2, "is paused; only an active one");
    assert_eq!(done(&p.run(&["cron", "run", &id])), "The roses are wet.\n");
    done(&p.run(&["cron", "resume", &id]));
    // In phase with what it was.
    assert_eq!(show(&p, &id)["next"], job["next"]);

    done(&p.run(&["cron", "edit", &id, "--name", "Roses", "--cron", "0 9 * * *", "--tz", "Europe/Berlin"]));
    let edited = show(&p, &id);
    assert_eq!(
        (&edited["name"], &edited["schedule"]),
        (&"Roses".into(), &"cron: 0 9 * * * (Europe/Berlin)".into())
    );
    assert_eq!(edited["message"], "Water the roses");
    refused(&p, &["cron", "edit", &id], 2, "there is nothing to change");
    refused(&p, &["cron", "edit", &id, "--at", "2001-01-01T00:00Z"], 2, "is not ahead");
    assert_eq!(show(&p, &id), edited);

    refused(&p, &["cron", "rm", &id, "nobody22"], 2, "there is no job `nobody22`");
    assert_eq!(show(&p, &id), edited);
    done(&p.run(&["cron", "rm", &id]));
    refused(&p, &["cron", "show", &id], 2, "there is no job");
    // What became of it stays.
    assert_eq!(p.run(&["cron", "history", &id, "--json"]).json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn what_makes_no_sense_adds_nothing() {
    let p = Program::scripted(ROSES);
    for (typed, says) in [
        (["--every", "5s"].as_slice(), "every 5 seconds"),
        (&["--every", "soon"], "write a time such as"),
        (&["--at", "2001-01-01T00:00Z"], "is not ahead"),
        (&["--cron", "every day"], "is no cron expression"),
        (&["--cron", "0 9 * * *", "--tz", "Mars"], "is no time zone"),
        (&["--every", "1h", "--tz", "UTC"], "cannot be used with"),
        (&["--every", "1h", "--at", "2099-01-01T00:00Z"], "cannot be used with"),
        (&[], "required"),
        (&["--every", "1h", "--name", ""], "1 to 64 characters"),
        (&["--every", "1h", "--session", "task:abc"], "what was said in a background task"),
        (&["--every", "1h", "--role", "subagent"], "runs as main"),
        (&["--every", "1h", "--role", "nobody"], "no role or profile"),
    ] {
        refused(&p, &[&["cron", "add", "work"], typed].concat(), 2, says);
    }
    refused(&p, &["cron", "add", " ", "--every", "1h"], 2, "message is empty");
    assert_eq!(p.run(&["cron", "list", "--json"]).json()["jobs"], Value::Array(Vec::new()));
    p.configure("[cron]\njobs = 1\n[providers.fake]\nwire = \"scripted\"\nscript = \"/nowhere\"\n");
    let id = add(&p, &["--every", "1h"]);
    refused(&p, &["cron", "add", "work", "--every", "1h"], 6, "1 of 1");
    done(&p.run(&["cron", "rm", &id]));
    add(&p, &["--every", "1h"]);
}

#[test]
fn a_job_that_fails_or_cannot_run_ends_with_a_code_and_says_how_to_go_on() {
    let fault = "[[reply]]\nrepeat = true\nfault = { kind = \"rejected\", message = \"no such model\" }\n";
    let p = Program::scripted(fault);
    let id = add(&p, &["--every", "1h"]);
    refused(&p, &["cron", "run", &id], 4, "no such model");
    let history = p.run(&["cron", "history", &id]);
    assert!(done(&history).contains("failed") && history.stdout.contains("no such model"), "{history:?}");
    let store = Store::open(&p.state()).unwrap();
    let change = JobChange { state: Some((JobState::Disabled, Some("spoilt"))), ..JobChange::default() };
    store.change_job(&id, &change).unwrap();
    refused(&p, &["cron", "run", &id], 1, "the job is disabled: spoilt; to remove it: ringfence cron rm");
    assert_eq!(store.job_runs(&id, 9).unwrap().len(), 1);
    // A process that is at work with it.
    store.change_job(&id, &JobChange { state: Some((JobState::Active, None)), ..change }).unwrap();
    let dirs = ringfence::config::Dirs {
        config: p.home().join("config"),
        data: p.home().join("data"),
        cache: p.home().join("cache"),
    };
    let presence = ringfence::config::Presence::announce(&dirs).unwrap();
    store.begin_run(&id, presence.id(), 1).unwrap().unwrap();
    refused(&p, &["cron", "run", &id], 1, "the job runs already");
    drop(presence);
    refused(&p, &["cron", "run", &id], 4, "no such model");
}

#[test]
fn a_job_holds_what_was_typed() {
    let call = |name: &str, arguments: &str| {
        format!("[[reply]]\ncalls = [{{ name = {name:?}, arguments = {arguments:?} }}]\n")
    };
    let script = call("write_file", r#"{"path":"new.txt","content":"x"}"#)
        + &call("message", r#"{"content":"a word"}"#)
        + &call("cron", r#"{"action":"add","message":"more","every_seconds":60}"#)
        + ROSES;
    for (less, wrote, said) in
        [(["--read-only"].as_slice(), false, true), (&["--deny", "message"], true, false), (&[], true, true)]
    {
        let p = Program::scripted(&script);
        let id = add(&p, &[&["--every", "1h"], less].concat());
        let ran = p.run(&["cron", "run", &id]);
        let expected = if said { "a word\n" } else { "The roses are wet.\n" };
        assert_eq!(done(&ran), expected, "{less:?}: {ran:?}");
        assert_eq!(p.workspace().join("new.txt").exists(), wrote, "{less:?}");
        assert_eq!(
            p.run(&["cron", "list", "--json"]).json()["jobs"].as_array().unwrap().len(),
            1,
            "{less:?}"
        );
        assert!(ran.stderr.contains("cron"), "{ran:?}");
    }
}

#[test]
fn an_expression_keeps_its_zone_and_a_zone_its_expression() {
    let p = Program::scripted(ROSES);
    let id = add(&p, &["--cron", "0 9 * * *", "--tz", "Asia/Tokyo"]);
    let schedule = || show(&p, &id)["schedule"].as_str().unwrap().to_owned();
    assert_eq!(schedule(), "cron: 0 9 * * * (Asia/Tokyo)");
    done(&p.run(&["cron", "edit", &id, "--cron", "0 10 * * *"]));
    assert_eq!(schedule(), "cron: 0 10 * * * (Asia/Tokyo)");
    done(&p.run(&["cron", "edit", &id, "--tz", "Europe/Berlin"]));
    assert_eq!(schedule(), "cron: 0 10 * * * (Europe/Berlin)");
    done(&p.run(&["cron", "edit", &id, "--every", "2h"]));
    assert_eq!(schedule(), "every 2h");
    // There is no expression any more that a zone could belong to.
    refused(&p, &["cron", "edit", &id, "--tz", "Asia/Tokyo"], 2, "there is nothing to change");
}
