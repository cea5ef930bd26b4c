//! Workspaces that change between recording and running.

use super::{call, done};
use crate::support::{Program, Seed};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{Delivery, Execution, TaskEnd};
use std::os::unix::fs::symlink;

const WRITES: &str = "[[reply]]\nuser = \"Background task\"\ntext = \"TOLD.\"\nrepeat = true\n";

fn script() -> String {
    format!(
        "{WRITES}{}[[reply]]\ntext = \"Done.\"\nrepeat = true\n",
        call("write_file", r#"{"path":"made.txt","content":"x"}"#)
    )
}

#[test]
fn a_workspace_that_became_a_link_leads_to_no_other() {
    let p = Program::scripted(&script());
    let seed = Seed::of(&p);
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let (old, other) = (place.join("old"), place.join("other"));
    std::fs::create_dir(&old).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("AGENTS.md"), "OTHER RULES").unwrap();
    // One that waits, and one that has ended and is to be told of.
    seed.task_in(&old, "aaaa2222", "a", "Dig.");
    seed.task_in(&old, "bbbb2222", "b", "Dig.");
    seed.store.begin_task("bbbb2222", "gone", 9).unwrap();
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
    assert!(seed.store.end_task("bbbb2222", "gone", &end).unwrap());
    std::fs::remove_dir(&old).unwrap();
    symlink(&other, &old).unwrap();
    let ran = p.run(&["serve", "--once"]);
    done(&ran);
    assert!(!other.join("made.txt").exists(), "{ran:?}");
    for (id, chat) in [("aaaa2222", "a"), ("bbbb2222", "b")] {
        let strayed = Session::open_in(&seed.store, &other, SessionKey::new("cli", chat)).unwrap();
        assert!(strayed.messages().is_empty(), "{id} is told in a session of another workspace: {ran:?}");
        assert_eq!(seed.row(id).delivery, Delivery::Delivered);
    }
    // What was kept of the one is not the other's, whoever comes there first.
    let sessions = p.run(&["sessions", "list", "-C", other.to_str().unwrap()]);
    assert!(!done(&sessions).contains("cli:"), "{sessions:?}");
    assert_eq!(seed.row("aaaa2222").execution, Execution::Failed, "{:?}", seed.row("aaaa2222"));
    assert_eq!(ran.stdout.matches("TOLD.").count(), 0, "{ran:?}");
    // The same in a directory that is itself.
    std::fs::remove_file(&old).unwrap();
    std::fs::create_dir(&old).unwrap();
    done(&p.run(&["tasks", "retry", "--wait", "aaaa2222"]));
    assert!(old.join("made.txt").exists());
}

#[test]
fn a_workspace_that_is_gone_fails_and_is_told() {
    let p = Program::scripted(&script());
    let seed = Seed::of(&p);
    let place = tempfile::tempdir().unwrap();
    let old = place.path().canonicalize().unwrap().join("old");
    std::fs::create_dir(&old).unwrap();
    seed.task_in(&old, "aaaa2222", "a", "Dig.");
    std::fs::remove_dir(&old).unwrap();
    let ran = p.run(&["serve", "--once"]);
    assert!(done(&ran).contains("failed"), "{ran:?}");
    assert!(!old.exists(), "nothing is made where it was");
    assert_eq!(
        (seed.row("aaaa2222").execution, seed.row("aaaa2222").delivery),
        (Execution::Failed, Delivery::Delivered)
    );
}

#[test]
fn a_workspace_around_the_programs_own_directories_is_not_opened() {
    let p = Program::scripted(&script());
    let seed = Seed::of(&p);
    for place in [p.home().canonicalize().unwrap(), p.home().canonicalize().unwrap().join("data")] {
        let id = if place.ends_with("data") { "bbbb2222" } else { "aaaa2222" };
        seed.task_in(&place, id, "a", "Dig.");
        let ran = p.run(&["serve", "--once"]);
        assert!(done(&ran).contains("failed"), "{ran:?}");
        assert_eq!(seed.row(id).execution, Execution::Failed);
        assert!(!place.join("made.txt").exists());
    }
}

#[test]
fn a_directory_that_main_was_handed_is_neither_its_subagents_nor_another_jobs() {
    let beside = tempfile::tempdir().unwrap();
    let beside = beside.path().canonicalize().unwrap();
    std::fs::write(beside.join("notes.txt"), "BESIDE").unwrap();
    let read = serde_json::json!({ "path": beside.join("notes.txt") }).to_string();
    let looks = format!(
        "[[reply]]\nuser = \"Dig.\"\nresult = \"BESIDE\"\ntext = \"I saw it.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Dig.\"\nresult = \"[\"\ntext = \"I saw nothing.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Dig.\"\ncalls = [{{ name = \"read_file\", arguments = {read:?} }}]\nrepeat = true\n"
    );
    let spawns = call("spawn", r#"{"task":"Dig."}"#);
    let p =
        Program::scripted(&format!("{WRITES}{looks}{spawns}[[reply]]\ntext = \"Over.\"\nrepeat = true\n"));
    let dir = beside.to_str().unwrap();
    let ran = p.run(&["run", "-s", "x", "--dir", dir, "Have it done."]);
    assert!(ran.stderr.contains("it says: I saw nothing."), "{ran:?}");
    // Main itself reads there, and a job that was handed it; one that was not does not, though another was.
    assert_eq!(p.run(&["run", "-s", "x", "--dir", dir, "Dig."]).stdout, "I saw it.\n");
    let add = |more: &[&str]| {
        let ran = p.run(&[&["cron", "add", "Dig.", "--every", "1h"], more].concat());
        done(&ran).trim().to_owned()
    };
    let (with, without) = (add(&["--dir", dir]), add(&[]));
    assert_eq!(p.run(&["cron", "run", &with]).stdout, "I saw it.\n");
    assert_eq!(p.run(&["cron", "run", &without]).stdout, "I saw nothing.\n");
}
