//! Much of everything.

use super::{call, done};
use crate::support::{Program, Seed};
use ringfence::store::{Execution, TaskFilter};
use serde_json::json;

const ENDS: &str = "[[reply]]\ntext = \"Over.\"\nrepeat = true\n";

/// One reply with so many calls.
fn many(count: usize, arguments: impl Fn(usize) -> (&'static str, String)) -> String {
    let calls: Vec<String> = (0..count)
        .map(|at| {
            let (name, arguments) = arguments(at);
            format!("{{ name = {name:?}, arguments = {arguments:?} }}")
        })
        .collect();
    format!("[[reply]]\ncalls = [{}]\n", calls.join(", "))
}

#[test]
fn a_turn_that_nobody_watches_leaves_no_flood_of_letters() {
    let text = "x".repeat(6_000);
    let script = many(250, |at| ("message", json!({"content": format!("{at} {text}")}).to_string()));
    let p = Program::scripted(&format!("{script}{ENDS}"));
    let id = done(&p.run(&["cron", "add", "-s", "a", "Dig.", "--every", "1h"])).trim().to_owned();
    let ran = p.run(&["cron", "run", &id]);
    let sent = ran.stdout.lines().filter(|line| line.ends_with("xx")).count();
    assert_eq!(sent, 32, "{}", ran.stderr);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn many_large_tasks_stop_at_the_caps_and_each_is_told() {
    let task = |at: usize| format!("{at} {}", "x".repeat(12_000));
    let script = many(250, |at| ("spawn", json!({"task": task(at)}).to_string()))
        .replace("[[reply]]", "[[reply]]\nuser = \"Have it dug.\"");
    let p = Program::scripted(&format!(
        "[[reply]]\nuser = \"Background task\"\ntext = \"TOLD.\"\nrepeat = true\n{script}{ENDS}"
    ));
    let ran = p.run(&["run", "-s", "x", "Have it dug."]);
    done(&ran);
    let seed = Seed::of(&p);
    let rows = seed.store.tasks(&TaskFilter::default()).unwrap();
    assert!(rows.len() <= 64 && rows.len() >= 20, "{}", rows.len());
    for row in rows {
        assert_eq!(row.execution, Execution::Succeeded, "{:?} {:?}", row.reason, row.result);
        assert_eq!(seed.told("x", &format!("task:{}", row.id)).0, 1);
    }
}

#[test]
fn a_parent_that_waits_within_its_call_keeps_no_place_from_its_child() {
    let child = format!(
        "[[reply]]\nuser = \"Dig.\"\nresult = \"notes\"\ntext = \"Dug.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Dig.\"\ncalls = [{}]\n",
        vec![r#"{ name = "list_dir", arguments = { path = "." } }"#; 80].join(", ")
    );
    let p = Program::scripted(&format!("{child}{}{ENDS}", call("spawn", r#"{"task":"Dig.","wait":true}"#)));
    p.file("notes", "");
    let ran = p.run(&["run", "-v", "Have it dug."]);
    done(&ran);
    assert!(ran.stderr.contains("Dug."), "{ran:?}");
}

#[test]
fn impossible_numbers_are_refused_or_cut() {
    for (more, taken) in [
        (r#""timeout":18446744073709551615"#, true),
        (r#""timeout":1e300"#, false),
        (r#""timeout":-1"#, false),
        (r#""max_tokens":18446744073709551615"#, true),
        (r#""max_tokens":99999999999999999999999"#, false),
        (r#""max_iterations":4294967295"#, true),
        (r#""max_iterations":4294967296"#, false),
        (r#""temperature":-0.1"#, false),
        (r#""temperature":NaN"#, false),
        (r#""temperature":1e999"#, false),
        (r#""max_cost":1e300"#, false),
        (r#""max_cost":-1"#, false),
    ] {
        let p =
            Program::scripted(&format!("{}{ENDS}", call("spawn", &format!(r#"{{"task":"Dig.",{more}}}"#))));
        let ran = p.run(&["run", "Have it dug."]);
        done(&ran);
        let rows = Seed::of(&p).store.tasks(&TaskFilter::default()).unwrap();
        for row in &rows {
            assert!(row.time_ms <= 900_000 && row.max_iterations <= 15, "{more}: {row:?}");
            assert_eq!(row.execution, Execution::Succeeded, "{more}: {row:?}");
        }
        if !taken {
            assert!(rows.is_empty(), "{more}: {ran:?}");
        }
    }
}

#[test]
fn schedules_that_mean_much_work_are_refused_or_found_out_soon() {
    let lists = format!("{} 0 1 1 *", (0..60).map(|m| m.to_string()).collect::<Vec<_>>().join(","));
    for expression in [
        "0 0 30 2 *",
        "0 0 31 2,4,6,9,11 *",
        "0 0 29 2 MON#5",
        "0 0 29 2 MON",
        "* * * * * * *",
        "*/1 * * * * *",
        "0 0 L 2 5#5",
        "59 23 31 12 0L",
        "0 0 1W 1 *",
        "0 0 0 0 0",
        "0-59/1 0-23/1 1-31/1 1-12/1 0-7/1",
        &lists,
        "99999999999999999999 * * * *",
        "0 0 1-31/0 * *",
        "*/4294967296 * * * *",
        "-1 * * * *",
    ] {
        let add =
            json!({"action":"add","message":"Dig.","cron_expr":expression,"tz":"Europe/Berlin"}).to_string();
        let p = Program::scripted(&format!("{}{ENDS}", call("cron", &add)));
        done(&p.run(&["run", "Schedule it."]));
        let jobs = p.run(&["cron", "list", "--json"]).json();
        assert!(jobs["jobs"].as_array().unwrap().len() <= 1, "{expression}");
    }
    for schedule in [
        json!({"every_seconds":u64::MAX}),
        json!({"every_seconds":-1}),
        json!({"every_seconds":59}),
        json!({"at":"+275760-09-13T00:00:00Z"}),
        json!({"at":"9999-12-31T23:59:59Z"}),
        json!({"at":"-009999-01-01"}),
    ] {
        let mut add = json!({"action":"add","message":"Dig."});
        add.as_object_mut().unwrap().extend(schedule.as_object().unwrap().clone());
        let p = Program::scripted(&format!("{}{ENDS}", call("cron", &add.to_string())));
        done(&p.run(&["run", "Schedule it."]));
        done(&p.run(&["cron", "list"]));
    }
}

#[test]
fn a_result_of_megabytes_is_told_in_part_and_can_be_asked_for() {
    let big = "B".repeat(3_000_000);
    let ask = call("tasks", r#"{"action":"list"}"#);
    let p = Program::scripted(&format!(
        "[[reply]]\nuser = \"Background task\"\ntext = \"TOLD.\"\nrepeat = true\n\
         [[reply]]\nuser = \"Dig.\"\ntext = \"{big}\"\n{ask}{}{ENDS}",
        call("spawn", r#"{"task":"Dig."}"#)
    ));
    let ran = p.run(&["run", "-s", "x", "Have it dug."]);
    assert!(done(&ran).contains("TOLD."), "{}", ran.stderr);
    assert!(ran.stderr.len() < 20_000);
    let id = Seed::of(&p).store.tasks(&TaskFilter::default()).unwrap().remove(0).id;
    let ask = call("tasks", &json!({"action":"result","id":id}).to_string());
    std::fs::write(p.home().join("script.toml"), format!("{ask}{ENDS}")).unwrap();
    let ran = p.run(&["run", "-v", "-s", "x", "Look."]);
    assert!(ran.stderr.contains("BBBBBB"), "{}", ran.stderr);
    // One that is waited for within its call is the answer of that call.
    let wait = call("spawn", r#"{"task":"Dig.","wait":true}"#);
    let script = format!("[[reply]]\nuser = \"Dig.\"\ntext = \"{big}\"\n{wait}{ENDS}");
    let p = Program::scripted(&script);
    let ran = p.run(&["run", "-v", "-s", "x", "Have it dug."]);
    assert!(ran.stderr.contains("BBBBBB"), "{}", ran.stderr);
}
