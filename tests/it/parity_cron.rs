//! The C rows of the parity cases: schedules. And what a run of a job holds, by effect.

use crate::support::clockwork::{Clockwork, HOUR, MINUTE, START, always, every, owner};
use crate::support::hostile;
use ringfence::authority::{Capability, Rights};
use ringfence::schedule::{self, Draft, Edit, JobError, NotRun};
use ringfence::store::{AuditFilter, JobFilter, JobRow, JobState, RunOutcome, Store, StoreError};
use ringfence::toolbox::{Outcome, Reply};
use serde_json::{Value, json};

/// What the tool answers, of a call that worked.
#[track_caller]
fn told(reply: Reply) -> String {
    match &reply.outcome {
        Outcome::Done(_) => reply.outcome.for_model(),
        other => panic!("{other:?}"),
    }
}

/// The kind of a tool's error, and its text.
#[track_caller]
fn refused(reply: Reply) -> (&'static str, String) {
    match &reply.outcome {
        Outcome::Failed(error) => (reply.outcome.kind().unwrap(), error.message.clone()),
        other => panic!("{other:?}"),
    }
}

fn jobs(c: &Clockwork) -> Vec<JobRow> {
    c.store.jobs(&JobFilter { all_states: true, ..JobFilter::default() }).unwrap()
}

fn add(more: Value) -> Value {
    let mut arguments =
        json!({ "action": "add", "message": "Water the roses in the garden behind the house" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

#[test]
fn parity_c04_a_schedule_that_is_none_is_refused_before_anything_is_kept() {
    let c = Clockwork::new(&always("done"));
    let service = c.service();
    for (more, of) in [
        (json!({ "cron_expr": "" }), "needs a schedule"),
        (json!({ "cron_expr": "   " }), "needs a schedule"),
        (json!({ "cron_expr": null }), "needs a schedule"),
        (json!({ "cron_expr": "not cron" }), "2 fields"),
        (json!({ "cron_expr": "61 * * * *" }), "is no cron expression"),
        (json!({ "cron_expr": "* * * * * *" }), "more often than once in 60 seconds"),
        (json!({ "cron_expr": "0 0 30 2 *" }), "is never due"),
        (json!({ "cron_expr": "0 9 * * *", "tz": "Mars/Base" }), "is no time zone"),
        (json!({ "at": "tomorrow" }), "is no time"),
    ] {
        let (kind, text) =
            refused(c.call(&service, c.origin("a", &c.rights(), None), "cron", add(more.clone())));
        assert_eq!(kind, "invalid-arguments", "{more}");
        assert!(text.contains(of), "{more}: {text}");
        assert_eq!(jobs(&c), [], "{more}");
    }
    let entry = told(c.call(
        &service,
        c.origin("a", &c.rights(), None),
        "cron",
        add(json!({ "cron_expr": "0 9 * * *", "tz": "europe/berlin" })),
    ));
    assert!(entry.contains("cron: 0 9 * * * (Europe/Berlin)"), "{entry}");
    assert_eq!(jobs(&c).len(), 1);
}

#[test]
fn parity_c05_a_job_is_bound_to_the_conversation_that_adds_it() {
    let c = Clockwork::new(&always("done"));
    let service = c.service();
    let origin = || c.origin("mail:anna", &c.read_only(), Some(&["cron", "read_file"]));
    let arguments =
        || add(json!({ "every_seconds": 7200, "channel": "cli", "chat": "b", "session": "cli:b" }));
    // What a model says of another conversation is no argument.
    let reply = c.call(&service, origin(), "cron", arguments());
    assert!(!matches!(reply.outcome, Outcome::Done(_)), "{reply:?}");
    assert_eq!(jobs(&c), []);
    told(c.call(&service, origin(), "cron", add(json!({ "every_seconds": 7200 }))));
    let job = jobs(&c).remove(0);
    assert_eq!((job.channel.as_str(), job.chat.as_str()), ("mail", "anna"));
    assert_eq!(job.workspace_path, c.workspace());
    assert_eq!((job.provider.as_str(), job.model.as_str()), ("fake", "scripted"));
    assert_eq!((job.profile.as_str(), job.by.as_str()), ("cron", "agent"));
    assert_eq!(job.name, "Water the roses in the garden ...");
    assert_eq!(job.tools.as_deref(), Some(r#"["cron","read_file"]"#));
    let mut least = c.read_only();
    least.capabilities = least.capabilities.without(Capability::Cron);
    assert_eq!(Rights::from_text(&job.rights).unwrap(), least);
    // Another conversation neither sees nor removes it.
    let other = || c.origin("mail:bob", &c.rights(), None);
    assert_eq!(told(c.call(&service, other(), "cron", json!({ "action": "list" }))), "no scheduled jobs");
    let remove = json!({ "action": "remove", "job_id": job.id });
    assert_eq!(refused(c.call(&service, other(), "cron", remove.clone())).0, "not-found");
    assert_eq!(jobs(&c).len(), 1);
    // A conversation that is not kept has no jobs.
    let mut passing = c.origin("a", &c.rights(), None);
    passing.kept = false;
    let (kind, text) = refused(c.call(&service, passing, "cron", add(json!({ "every_seconds": 60 }))));
    assert_eq!(kind, "unavailable");
    assert!(text.contains("a conversation that is kept"), "{text}");
    assert_eq!(jobs(&c).len(), 1);
    told(c.call(&service, origin(), "cron", remove));
    assert_eq!(jobs(&c), []);
}

#[test]
fn parity_c08_a_list_has_what_became_of_the_last_run() {
    let c = Clockwork::new(&always("done"));
    let (service, origin) = (c.service(), || c.origin("a", &c.rights(), None));
    let list = || told(c.call(&service, origin(), "cron", json!({ "action": "list" })));
    assert_eq!(list(), "no scheduled jobs");
    told(c.call(
        &service,
        origin(),
        "cron",
        add(json!({ "every_seconds": 1800, "name": "roses", "tz": null })),
    ));
    let id = jobs(&c).remove(0).id;
    assert!(list().starts_with(&format!("- roses (id: {id}, every 30m)\n  next run: ")), "{}", list());
    assert!(!list().contains("last run"), "{}", list());
    c.later(HOUR / 2);
    c.turn(&service);
    let last = schedule::run_words(&c.job(&id), &c.runs(&id)[0]);
    assert!(last.ends_with(", ran"), "{last}");
    assert!(list().contains(&format!("last run: {last}\n  next run: ")), "{}", list());
    schedule::pause(&c.store, &id, "by hand").unwrap();
    assert_eq!(list(), "no scheduled jobs");
}

/// A job in a row that its host never wrote.
fn spoilt(c: &Clockwork, set: &str) -> JobRow {
    let job = c.add("a", every(60), "work");
    c.raw().execute(&format!("UPDATE jobs SET {set} WHERE id = ?1"), [&job.id]).unwrap();
    job
}

#[test]
fn parity_c10_a_job_that_is_nobodys_is_disabled_and_never_run() {
    let c = Clockwork::new(&always("done"));
    let service = c.service();
    // Not added,
    let mut nobody = c.origin("a", &c.rights(), None);
    nobody.key = ringfence::session::SessionKey::new("", "");
    let draft = Draft { name: None, message: "work".to_owned(), plan: every(60), missed: None };
    let added = schedule::add(&c.store, &c.config, &owner(&nobody), &draft, c.now());
    assert!(matches!(added, Err(JobError::Unowned)), "{added:?}");
    assert_eq!(jobs(&c), []);
    // and not run where one is on record, by its due time or by hand.
    for (set, why) in [
        ("channel = ''", "no session"),
        ("chat = ''", "no session"),
        ("rights = '{}'", "rights cannot be read"),
        ("rights = ''", "rights cannot be read"),
        ("tools = 'all'", "tools cannot be read"),
        ("profile = 'main'", "does not run as `main`"),
        ("schedule = 'always'", "cannot be read"),
        ("missed = 'twice'", "`twice`"),
    ] {
        for by_hand in [false, true] {
            let job = spoilt(&c, set);
            if by_hand {
                let ran = c.runtime.block_on(service.run_now(&job.id, c.stop.subscribe()));
                assert!(matches!(&ran, Err(NotRun::Disabled(_))), "{set}: {ran:?}");
                assert_eq!(c.runs(&job.id), []);
            } else {
                c.later(MINUTE);
                c.turn(&service);
                let row = c.runs(&job.id).remove(0);
                assert_eq!(row.outcome, RunOutcome::Failed, "{set}");
            }
            let disabled = c.job(&job.id);
            assert_eq!(disabled.state, JobState::Disabled, "{set}");
            assert!(disabled.reason.as_deref().unwrap().contains(why), "{set}: {disabled:?}");
            let again = c.runtime.block_on(service.run_now(&job.id, c.stop.subscribe()));
            assert!(matches!(&again, Err(NotRun::Disabled(reason)) if reason.contains(why)), "{again:?}");
            let resumed = schedule::resume(&c.store, &disabled, c.now());
            assert!(matches!(resumed, Err(JobError::Unfit(_))), "{set}: {resumed:?}");
            let runs = c.runs(&job.id).len();
            c.later(MINUTE);
            c.turn(&service);
            assert_eq!(c.runs(&job.id).len(), runs, "{set}");
        }
    }
    assert_eq!(c.session("a").messages(), []);
    // The same job, whole, is run.
    let job = spoilt(&c, "name = name");
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.runs(&job.id)[0].outcome, RunOutcome::Ran);
}

#[test]
fn parity_c10_a_job_whose_workspace_is_gone_is_disabled() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    let elsewhere = c.workspace().with_file_name("elsewhere");
    std::fs::rename(c.workspace(), &elsewhere).unwrap();
    c.later(MINUTE);
    c.turn(&service);
    let disabled = c.job(&job.id);
    assert_eq!((c.runs(&job.id)[0].outcome, disabled.state), (RunOutcome::Failed, JobState::Disabled));
    assert!(disabled.reason.unwrap().ends_with("is gone"));
    assert_eq!(c.letters().len(), 1);
    // A link in its place leads nowhere.
    std::os::unix::fs::symlink(&elsewhere, c.workspace()).unwrap();
    let resumed = schedule::resume(&c.store, &c.job(&job.id), c.now());
    assert!(matches!(resumed, Err(JobError::Unfit(_))), "{resumed:?}");
    std::fs::remove_file(c.workspace()).unwrap();
    std::fs::rename(&elsewhere, c.workspace()).unwrap();
    schedule::resume(&c.store, &c.job(&job.id), c.now()).unwrap().unwrap();
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.runs(&job.id)[1].outcome, RunOutcome::Ran);
}

#[test]
fn parity_c11_every_end_is_in_the_history_and_twenty_are_kept() {
    let script = "[[reply]]\nfault = { kind = \"rejected\", message = \"no such model\" }\n\
        [[reply]]\ntext = \"done\"\nrepeat = true\n";
    let c = Clockwork::new(script);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    for _ in 0..25 {
        c.later(MINUTE);
        c.turn(&service);
    }
    let busy = c.busy("a");
    c.later(MINUTE);
    c.tick(&service);
    c.later(MINUTE);
    c.tick(&service);
    c.stop.send_replace(true);
    c.runtime.block_on(service.idle());
    drop(busy);
    let runs = c.runs(&job.id);
    assert_eq!(runs.len(), 20);
    let [.., ran, cancelled, skipped] = runs.as_slice() else { panic!() };
    assert_eq!(ran.outcome, RunOutcome::Ran);
    assert_eq!(
        (cancelled.outcome, cancelled.reason.as_deref()),
        (RunOutcome::Failed, Some("the process was told to end"))
    );
    assert_eq!(skipped.outcome, RunOutcome::Skipped);
    assert!(runs.iter().all(|run| run.ended.is_some_and(|ended| ended >= run.began)));
    // Whoever opens the store anew sees the same.
    let anew = Store::open(c.store.path()).unwrap();
    let mut again = anew.job_runs(&job.id, 100).unwrap();
    again.reverse();
    assert_eq!(again, runs);
    // The first is forgotten, and was what it was.
    let c = Clockwork::new(script);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    c.turn(&service);
    let first = c.runs(&job.id).remove(0);
    assert_eq!(first.outcome, RunOutcome::Failed);
    assert!(first.reason.unwrap().contains("no such model"));
}

#[test]
fn parity_c13_a_damaged_store_is_refused_and_left_alone_and_nothing_runs() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    // Damaged while it is at work: what is due cannot be found out, nothing runs, and it goes on when it can be read.
    c.raw().execute_batch("ALTER TABLE jobs RENAME TO away").unwrap();
    c.later(MINUTE);
    assert_eq!(c.tick(&service), None);
    assert_eq!(service.running(), 0);
    let draft = Draft { name: None, message: "work".to_owned(), plan: every(60), missed: None };
    let origin = c.origin("a", &c.rights(), None);
    let added = schedule::add(&c.store, &c.config, &owner(&origin), &draft, c.now());
    assert!(matches!(added, Err(JobError::Store(_))), "{added:?}");
    c.raw().execute_batch("ALTER TABLE away RENAME TO jobs").unwrap();
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)]);
    // Damaged when it starts.
    let path = c.root().join("damaged/state.db");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "no database at all, but somebody's work").unwrap();
    let opened = Store::open(&path);
    assert!(matches!(opened, Err(StoreError::NotOurs { .. } | StoreError::Damaged { .. })), "{opened:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "no database at all, but somebody's work");
}

#[test]
fn parity_c14_a_run_whose_end_cannot_be_kept_is_not_run_again() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    let other = c.add("b", every(120), "other");
    c.raw()
        .execute_batch("CREATE TRIGGER full BEFORE UPDATE ON job_runs BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
        .unwrap();
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Running)]);
    // Nothing more is run as long as that is so,
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!((c.runs(&job.id).len(), c.runs(&other.id).len()), (1, 0));
    // and afterwards what was run is kept, and what is due is run.
    c.raw().execute_batch("DROP TRIGGER full").unwrap();
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran), (2, RunOutcome::Ran)]);
    assert_eq!(c.outcomes(&other.id), [(2, RunOutcome::Ran)]);
    assert_eq!(c.session("a").messages().len(), 4);
}

#[test]
fn parity_c16_what_another_process_takes_out_is_not_run() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    let removed = c.add("b", every(60), "work");
    c.turn(&service);
    let other = Store::open(c.store.path()).unwrap();
    schedule::pause(&other, &job.id, "by hand").unwrap().unwrap();
    assert!(other.remove_job(&removed.id).unwrap());
    c.later(5 * MINUTE);
    c.turn(&service);
    assert_eq!((c.runs(&job.id), c.runs(&removed.id)), (Vec::new(), Vec::new()));
    schedule::resume(&other, &c.job(&job.id), c.now()).unwrap().unwrap();
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(6, RunOutcome::Ran)]);
}

#[test]
fn parity_c17_a_change_keeps_the_history() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    c.turn(&service);
    let edit = Edit {
        name: Some("Roses".to_owned()),
        message: Some("Cut the roses".to_owned()),
        plan: Some(every(3600)),
    };
    let changed = schedule::edit(&c.store, &job, &edit, c.now()).unwrap().unwrap();
    assert_eq!((changed.name.as_str(), changed.message.as_str()), ("Roses", "Cut the roses"));
    assert_eq!(changed.next, Some(START + MINUTE + HOUR));
    c.later(HOUR);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran), (61, RunOutcome::Ran)]);
    assert!(c.said("a").contains("Cut the roses"));
    // What makes no sense changes nothing, and what is not there is not made.
    let empty = Edit { message: Some(" ".to_owned()), ..Edit::default() };
    let before = c.job(&job.id);
    assert!(matches!(schedule::edit(&c.store, &before, &empty, c.now()), Err(JobError::Empty)));
    assert_eq!(c.job(&job.id), before);
    c.store.remove_job(&job.id).unwrap();
    assert_eq!(schedule::edit(&c.store, &job, &edit, c.now()).unwrap(), None);
    assert_eq!(c.runs(&job.id).len(), 2);
}

#[test]
fn parity_c20_a_run_waits_for_its_busy_conversation() {
    let c = Clockwork::new(&always("The roses are wet."));
    let (service, job) = (c.service(), c.add("a", every(3600), "work"));
    let chat = c.busy("a");
    c.later(HOUR);
    c.tick(&service);
    assert_eq!(c.outcomes(&job.id), [(60, RunOutcome::Running)]);
    assert_eq!((c.session("a").messages().len(), c.letters().len()), (0, 0));
    drop(chat);
    c.runtime.block_on(service.idle());
    assert_eq!(c.outcomes(&job.id), [(60, RunOutcome::Ran)]);
    assert_eq!(c.letters()[0].content, "The roses are wet.");
}

#[test]
fn parity_c22_a_time_that_has_passed_is_refused() {
    let c = Clockwork::new(&always("done"));
    let service = c.service();
    for time in ["2026-05-31T23:59:59Z", "2026-06-01T00:00:00Z", "1999-01-01T00:00:00+01:00"] {
        let origin = c.origin("a", &c.rights(), None);
        let (kind, text) = refused(c.call(&service, origin, "cron", add(json!({ "at": time }))));
        assert_eq!(kind, "invalid-arguments", "{time}");
        assert!(text.contains("is not ahead"), "{time}: {text}");
        assert_eq!(jobs(&c), [], "{time}");
    }
    let origin = c.origin("a", &c.rights(), None);
    told(c.call(&service, origin, "cron", add(json!({ "at": "2026-06-01T00:01:00Z" }))));
    c.later(MINUTE);
    c.turn(&service);
    let job = jobs(&c).remove(0);
    assert_eq!((c.outcomes(&job.id), job.state), (vec![(1, RunOutcome::Ran)], JobState::Done));
}

#[test]
fn parity_c23_a_restart_keeps_the_phase() {
    let c = Clockwork::new(&always("done"));
    let job = c.add("a", every(24 * 3600), "work");
    c.later(23 * HOUR);
    c.turn(&c.service());
    assert_eq!(c.runs(&job.id), []);
    c.later(HOUR);
    c.turn(&c.service());
    assert_eq!(c.outcomes(&job.id), [(24 * 60, RunOutcome::Ran)]);
    assert_eq!(c.job(&job.id).next, Some(START + 48 * HOUR));
}

#[test]
fn parity_c25_a_failure_of_the_model_is_not_tried_again() {
    let script = "[[reply]]\nfault = { kind = \"rejected\", message = \"no such model\" }\n\
        [[reply]]\ntext = \"done\"\nrepeat = true\n";
    let c = Clockwork::new(script);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    for _ in 0..3 {
        c.turn(&service);
    }
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Failed)]);
    assert_eq!((c.session("a").messages().len(), c.letters().len()), (1, 0));
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Failed), (2, RunOutcome::Ran)]);
}

#[test]
fn escape_136_ten_thousand_jobs_are_capped() {
    let c = Clockwork::with(&always("done"), "[cron]\njobs_per_session = 5\njobs = 12\n", &[]);
    let service = c.service();
    // Every second is more often than there can be.
    let origin = c.origin("a", &c.rights(), None);
    let (kind, _) = refused(c.call(&service, origin, "cron", add(json!({ "every_seconds": 1 }))));
    assert_eq!(kind, "invalid-arguments");
    let draft = Draft { name: None, message: "work".to_owned(), plan: every(60), missed: None };
    let (mut session, mut all) = (0, 0);
    for turn in 0..10_000 {
        let origin = c.origin(["a", "b", "c"][turn % 3], &c.rights(), None);
        match schedule::add(&c.store, &c.config, &owner(&origin), &draft, c.now()) {
            Ok(_) => {}
            Err(JobError::FullSession { are: 5, most: 5 }) => session += 1,
            Err(JobError::Full { are: 12, most: 12 }) => all += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((jobs(&c).len(), session + all), (12, 9_988));
    let (kind, text) = refused(c.call(
        &service,
        c.origin("a", &c.rights(), None),
        "cron",
        add(json!({ "every_seconds": 60 })),
    ));
    assert_eq!(kind, "conflict");
    assert!(text.contains("12 of 12") || text.contains("4 of 5"), "{text}");
    // One that is removed makes room for one.
    c.store.remove_job(&jobs(&c)[0].id).unwrap();
    told(c.call(&service, c.origin("d", &c.rights(), None), "cron", add(json!({ "every_seconds": 60 }))));
    refused(c.call(&service, c.origin("d", &c.rights(), None), "cron", add(json!({ "every_seconds": 60 }))));
}

/// Tool, outcome and kind of every call in a session.
fn calls(c: &Clockwork, session: &str) -> Vec<(String, String, Option<String>)> {
    let filter = AuditFilter { session: Some(format!("cli:{session}")), ..AuditFilter::default() };
    let rows = c.store.audit(&filter).unwrap();
    rows.into_iter().map(|row| (row.tool, row.outcome, row.kind)).collect()
}

/// A model that makes these calls, and then says that it is done.
fn makes(calls: &[(&str, Value)]) -> String {
    let mut script = String::new();
    for (name, arguments) in calls {
        let arguments = arguments.to_string();
        script.push_str(&format!("[[reply]]\ncalls = [{{ name = {name:?}, arguments = {arguments:?} }}]\n"));
    }
    script + &always("done")
}

#[test]
fn a_run_of_a_job_adds_no_job_by_any_name() {
    let arguments = json!({ "action": "add", "message": "more", "every_seconds": 60 });
    let grab = json!({ "text": "more" });
    let wanted = [
        ("cron", arguments.clone()),
        ("Cron", arguments.clone()),
        ("crons", arguments.clone()),
        ("cron_add", arguments.clone()),
        ("ringfence:host/cron", arguments.clone()),
        ("grab_cron", grab.clone()),
    ];
    let c = Clockwork::with(&makes(&wanted), "", &[hostile("role_cron")]);
    let service = c.service();
    let job = c.add("a", every(60), "work");
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)]);
    let made = calls(&c, "a");
    assert_eq!(made.len(), wanted.len(), "{made:?}");
    for ((tool, outcome, kind), (name, _)) in made.iter().zip(&wanted) {
        match *name {
            "cron" | "grab_cron" => {
                assert_eq!((outcome.as_str(), kind.as_deref()), ("denied", Some("withheld")), "{tool}");
            }
            _ => assert_eq!((outcome.as_str(), kind.as_deref()), ("unknown", None), "{tool}"),
        }
    }
    assert_eq!(jobs(&c).len(), 1);
    // Main adds one by each of the two that are tools.
    let origin = || c.origin("b", &c.rights(), None);
    told(c.call(&service, origin(), "cron", arguments));
    told(c.call(&service, origin(), "grab_cron", grab));
    assert_eq!(jobs(&c).len(), 3);
}

#[test]
fn a_run_of_a_job_holds_no_more_than_its_creator() {
    type Less = fn(&Clockwork) -> Rights;
    type Case = (Less, Option<&'static [&'static str]>, Option<&'static str>, Option<&'static str>);
    let cases: [(&str, Case); 4] = [
        ("read-only", (|c| c.read_only(), None, Some("read-only"), None)),
        ("no message", (|c| c.without(Capability::Message), None, None, Some("withheld"))),
        ("tools", (|c| c.rights(), Some(&["read_file"]), Some("withheld"), Some("withheld"))),
        ("all", (|c| c.rights(), None, None, None)),
    ];
    for (name, (rights, tools, writing, sending)) in cases {
        let c = Clockwork::new(&makes(&[
            ("write_file", json!({ "path": "new.txt", "content": "written" })),
            ("message", json!({ "content": "to the person" })),
        ]));
        let rights = rights(&c);
        let job = c.add_as(&c.origin("a", &rights, tools), every(60), "work");
        c.later(MINUTE);
        c.turn(&c.service());
        assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)], "{name}");
        let made = calls(&c, "a");
        for (at, denied) in [writing, sending].into_iter().enumerate() {
            let outcome = if denied.is_some() { "denied" } else { "done" };
            assert_eq!((made[at].1.as_str(), made[at].2.as_deref()), (outcome, denied), "{name}: {made:?}");
        }
        assert_eq!(c.exists("new.txt"), writing.is_none(), "{name}");
        let sent = c.letters().iter().filter(|letter| letter.kind == "message").count();
        assert_eq!(sent, usize::from(sending.is_none()), "{name}");
    }
}
