//! The `cron` tool, down to the port behind it. The bounds of the host are tried by a component that has none of its own.

use crate::support::{self, Reply, World};
use crate::tool_spawn::{KINDS, told};
use ringfence::authority::{DenialKind, Role};
use ringfence::sandbox::ports::{JobEntry, Missed, Schedule};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};

fn add(w: &World, more: Value) -> Reply {
    let mut arguments = json!({ "action": "add", "message": "look at the mail" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    w.call("cron", arguments)
}

/// The schedule that arrives, as one line.
fn arrives(more: Value) -> String {
    let w = World::new();
    add(&w, more).text();
    match &w.ports().added()[..] {
        [job] => match &job.schedule {
            Schedule::EverySeconds(seconds) => format!("every {seconds}"),
            Schedule::Cron(expression) => format!("cron {} {:?}", expression.fields, expression.zone),
            Schedule::At(moment) => format!("at {} {:?}", moment.time, moment.zone),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_parameter_of_cron_arrives() {
    let w = World::new();
    let text = add(&w, json!({ "name": "mail", "every_seconds": 1200, "missed": "once" })).text();
    insta::assert_snapshot!(text, @r"
    added:
    - mail (id: 12345678, later)
      next run: 2026-03-01T09:00:00+01:00[Europe/Berlin]
    ");
    let added = w.ports().added();
    assert_eq!(added[0].name.as_deref(), Some("mail"));
    assert_eq!(added[0].message, "look at the mail");
    assert!(matches!(added[0].missed, Some(Missed::Once)));
    add(&w, json!({ "name": "", "every_seconds": 1200, "missed": "skip" })).text();
    let added = w.ports().added();
    assert!(added[1].name.is_none() && matches!(added[1].missed, Some(Missed::Skip)), "{added:?}");
    add(&w, json!({ "every_seconds": 1200 })).text();
    assert!(w.ports().added()[2].missed.is_none());
    assert_eq!(arrives(json!({ "cron_expr": "0 9 * * 1-5" })), "cron 0 9 * * 1-5 None");
    let zoned = json!({ "cron_expr": "0 9 * * *", "tz": "Europe/Berlin" });
    assert_eq!(arrives(zoned), r#"cron 0 9 * * * Some("Europe/Berlin")"#);
    assert_eq!(arrives(json!({ "at": "2026-03-01T09:00:00" })), "at 2026-03-01T09:00:00 None");
    let zoned = json!({ "at": "2026-03-01T09:00:00", "tz": "Asia/Tokyo" });
    assert_eq!(arrives(zoned), r#"at 2026-03-01T09:00:00 Some("Asia/Tokyo")"#);
}

#[test]
fn the_first_of_the_three_schedules_counts() {
    let all = json!({ "every_seconds": 60, "cron_expr": "0 9 * * *", "at": "2026-03-01T09:00:00" });
    assert_eq!(arrives(all), "every 60");
    let two = json!({ "every_seconds": null, "cron_expr": "0 9 * * *", "at": "2026-03-01T09:00:00" });
    assert_eq!(arrives(two), "cron 0 9 * * * None");
    let blank = json!({ "cron_expr": " ", "at": "2026-03-01T09:00:00", "tz": "" });
    assert_eq!(arrives(blank), "at 2026-03-01T09:00:00 None");
}

#[test]
fn parity_c01_the_schema_asks_for_the_action_alone_and_what_is_missing_is_said() {
    let w = World::new();
    {
        let toolbox = w.toolbox().read().unwrap();
        let schema = &toolbox.find("cron").unwrap().1.input_schema;
        assert_eq!(schema["required"], json!(["action"]));
        let root = schema.as_object().unwrap();
        for word in ["oneOf", "anyOf", "allOf", "not"] {
            assert!(!root.contains_key(word), "{word}: {schema}");
        }
    }
    w.call("cron", json!({ "action": "list" })).text();
    w.call("cron", json!({ "action": "remove", "job_id": "a1b2c3d4" })).text();
    assert_eq!(w.ports().jobs(), ["removed a1b2c3d4"]);
    let w = World::new();
    for (arguments, told) in [
        (json!({ "every_seconds": 60 }), "add needs `message`"),
        (json!({ "every_seconds": 60, "message": null }), "add needs `message`"),
        (json!({ "every_seconds": 60, "message": " \n" }), "add needs `message`"),
        (json!({ "message": "x" }), "add needs a schedule: `every_seconds`, `cron_expr` or `at`"),
        (
            json!({ "message": "x", "cron_expr": "" }),
            "add needs a schedule: `every_seconds`, `cron_expr` or `at`",
        ),
        (json!({ "message": "x", "cron_expr": null }), "add needs a schedule"),
        (json!({ "message": "x", "tz": "Europe/Berlin" }), "`tz` goes with `cron_expr` or `at`"),
        (json!({ "message": "x", "tz": "Europe/Berlin", "every_seconds": 60 }), "`tz` goes with"),
    ] {
        let mut arguments = arguments;
        arguments["action"] = json!("add");
        let (kind, message) = w.call("cron", arguments).error();
        assert_eq!(kind, ErrorKind::InvalidArguments, "{message}");
        assert!(message.starts_with(told), "{told}: {message}");
    }
    for wrong in [json!({}), json!({ "action": "run" }), json!({ "action": "list", "session": "cli:other" })]
    {
        assert!(!w.call("cron", wrong.clone()).argument_error().is_empty(), "{wrong}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new());
}

#[test]
fn parity_c02_removing_needs_the_jobs_id() {
    let w = World::new();
    for arguments in [json!({}), json!({ "job_id": "" }), json!({ "job_id": null, "name": "mail" })] {
        let mut arguments = arguments;
        arguments["action"] = json!("remove");
        let (kind, message) = w.call("cron", arguments).error();
        assert_eq!(kind, ErrorKind::InvalidArguments, "{message}");
        assert!(message.starts_with("remove needs `job_id`"), "{message}");
    }
    assert_eq!(w.ports().everything(), Vec::<String>::new());
    assert_eq!(
        w.call("cron", json!({ "action": "remove", "job_id": "a1b2c3d4" })).text(),
        "removed job a1b2c3d4"
    );
    assert_eq!(w.ports().jobs(), ["removed a1b2c3d4"]);
}

fn entry(name: &str, schedule: &str) -> JobEntry {
    JobEntry {
        id: "a1b2c3d4".into(),
        name: name.into(),
        message: "look at the mail".into(),
        schedule: schedule.into(),
        enabled: true,
        last: None,
        next: None,
    }
}

#[test]
fn parity_c07_a_list_has_each_schedule_in_the_hosts_words() {
    let w = World::new();
    w.ports().have_jobs(&[
        entry("mail", "every 20m"),
        entry("report", "cron: 0 9 * * 1-5 (Europe/Berlin)"),
        entry("once", "at 2026-03-01T09:00:00+01:00 (Europe/Berlin)"),
        entry("two\nlines", "every\u{1b}[2J 2h"),
    ]);
    insta::assert_snapshot!(w.call("cron", json!({ "action": "list" })).text(), @r"
    - mail (id: a1b2c3d4, every 20m)
    - report (id: a1b2c3d4, cron: 0 9 * * 1-5 (Europe/Berlin))
    - once (id: a1b2c3d4, at 2026-03-01T09:00:00+01:00 (Europe/Berlin))
    - two\nlines (id: a1b2c3d4, every\u{1b}[2J 2h)
    ");
}

#[test]
fn parity_c08_a_list_has_the_last_and_the_next_run_and_no_disabled_job() {
    let w = World::new();
    let list = || w.call("cron", json!({ "action": "list" })).text();
    assert_eq!(list(), "no scheduled jobs");
    let ran = JobEntry {
        last: Some("2026-03-01T09:00:00+01:00, failed: the model did not answer".into()),
        next: Some("2026-03-01T09:20:00+01:00[Europe/Berlin]".into()),
        ..entry("mail", "every 20m")
    };
    let disabled = JobEntry { enabled: false, ..entry("asleep", "every 2h") };
    w.ports().have_jobs(&[disabled.clone(), ran]);
    insta::assert_snapshot!(list(), @r"
    - mail (id: a1b2c3d4, every 20m)
      last run: 2026-03-01T09:00:00+01:00, failed: the model did not answer
      next run: 2026-03-01T09:20:00+01:00[Europe/Berlin]
    ");
    w.ports().have_jobs(&[disabled]);
    assert_eq!(list(), "no scheduled jobs");
}

#[test]
fn each_bound_of_cron_holds_before_the_port() {
    let w = World::new();
    w.component(&support::hostile("role_cron"), &["cron"]);
    let call = |more: &Value| {
        let mut arguments = json!({ "text": "x" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        w.call("grab_cron", arguments)
    };
    let of = |length: usize| "x".repeat(length);
    for (wrong, why) in [
        (json!({ "text": "" }), "Invalid: the job's message is empty"),
        (json!({ "text": of((32 << 10) + 1) }), "Limit: the job's message has 32769 bytes; at most 32768"),
        (json!({ "name": of(65) }), "Invalid: the job's name has 65 characters; at most 64"),
        (json!({ "name": "two\nlines" }), "Invalid: the job's name has control characters"),
        (json!({ "name": "" }), "Invalid: the job's name is empty"),
        (json!({ "fields": of(257) }), "Invalid: the cron expression has 257 characters; at most 256"),
        (json!({ "fields": " " }), "Invalid: the cron expression is empty"),
        (json!({ "fields": "x", "zone": of(65) }), "Invalid: the time zone has 65 characters; at most 64"),
        (json!({ "fields": "x", "zone": "" }), "Invalid: the time zone is empty"),
        (json!({ "time": of(65) }), "Invalid: the time has 65 characters; at most 64"),
        (json!({ "time": "" }), "Invalid: the time is empty"),
        (json!({ "time": "x", "zone": of(65) }), "Invalid: the time zone has 65 characters; at most 64"),
        (json!({ "seconds": 59 }), "Invalid: a job runs at most every 60 seconds, not every 59"),
        (json!({ "seconds": 0 }), "Invalid: a job runs at most every 60 seconds"),
        (json!({ "remove": "" }), "NotFound: there is no scheduled job ``"),
        (json!({ "remove": "A1B2C3D4" }), "NotFound: there is no scheduled job `A1B2C3D4`"),
        (json!({ "remove": "a\nb\u{1b}[2J" }), "NotFound: there is no scheduled job `a\\nb\\u{1b}[2J`"),
        (json!({ "remove": of(1000) }), "NotFound: there is no scheduled job `xxxx"),
    ] {
        let message = told(&call(&wrong));
        assert!(message.starts_with(why) && message.len() < 200, "{why}: {message}");
        assert_eq!(w.ports().everything(), Vec::<String>::new(), "{why}");
    }
    let right = [
        json!({ "text": of(32 << 10) }),
        json!({ "name": "ä".repeat(64) }),
        json!({ "fields": of(256), "zone": of(64) }),
        json!({ "time": of(64), "zone": of(64) }),
        json!({ "seconds": 60 }),
        json!({ "remove": "a1b2c3d4" }),
    ];
    for arguments in &right {
        call(arguments).text();
    }
    assert_eq!(w.ports().everything().len(), right.len());
}

#[test]
fn each_error_of_the_scheduler_is_told_by_every_action() {
    for (theirs, ours) in KINDS {
        let w = World::new();
        w.ports().refuse_with(theirs);
        for arguments in [
            json!({ "action": "add", "message": "x", "every_seconds": 60 }),
            json!({ "action": "list" }),
            json!({ "action": "remove", "job_id": "a1b2c3d4" }),
        ] {
            let (kind, message) = w.call("cron", arguments.clone()).error();
            assert_eq!((kind, message.as_str()), (ours, "refused by the test"), "{arguments}: {theirs:?}");
        }
    }
}

#[test]
fn cron_is_mains_alone() {
    let w = World::new();
    for arguments in [
        json!({ "action": "add", "message": "x", "every_seconds": 60 }),
        json!({ "action": "remove", "job_id": "a1b2c3d4" }),
    ] {
        let before = w.ports().everything();
        let denial = w.call_as(Role::Subagent, "cron", arguments.clone()).denial();
        assert_eq!(denial.kind, DenialKind::NotForRole, "{denial}");
        assert_eq!(denial.subject, "ringfence:host/cron@0.1.0");
        assert_eq!(w.ports().everything(), before);
        w.call("cron", arguments).text();
        assert_eq!(w.ports().everything().len(), before.len() + 1);
    }
    // Nor are a conversation's jobs anything for a subagent to read.
    w.ports().have_jobs(&[entry("mail", "every 20m")]);
    let list = json!({ "action": "list" });
    assert_eq!(w.call_as(Role::Subagent, "cron", list.clone()).denial().kind, DenialKind::NotForRole);
    assert!(w.call("cron", list).text().contains("mail"));
}
