//! The schedule at work: each due time is dealt with once, by one process, and ends in a row.

use crate::support::clockwork::{Clockwork, HOUR, MINUTE, START, always, every};
use ringfence::config::Presence;
use ringfence::schedule::{self, NotRun, Plan};
use ringfence::store::{JobChange, JobState, NewProcess, RunOutcome, Store};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Duration;

#[test]
fn a_due_time_is_run_and_what_came_of_it_is_kept() {
    let c = Clockwork::new(&always("The roses are wet."));
    let (service, job) = (c.service(), c.add("a", every(60), "Water the roses,\nall of them"));
    assert_eq!(job.name, "Water the roses, all of them");
    c.turn(&service);
    assert_eq!((c.outcomes(&job.id), c.letters().len()), (Vec::new(), 0));
    c.later(MINUTE);
    c.turn(&service);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)]);
    let letters = c.letters();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].content.as_str(), letters[0].chat.as_str()), ("The roses are wet.", "a"));
    let source = schedule::source(&job.id, START + MINUTE);
    assert_eq!(letters[0].source.as_deref(), Some(format!("answer:{source}").as_str()));
    let session = c.session("a");
    assert_eq!(session.answered(&source).unwrap(), Some(true));
    let told = session.messages()[0].text();
    assert!(told.starts_with("[host] ") && told.ends_with("\nWater the roses,\nall of them"), "{told}");
    assert!(told.contains("Water the roses, all of them\" (") && told.contains("Nobody is there"), "{told}");
    assert_eq!(c.job(&job.id).next, Some(START + 2 * MINUTE));
}

#[test]
fn two_processes_fire_each_due_time_once() {
    const TIMES: i64 = 200;
    let c = Clockwork::new(&always("done"));
    let job = c.add("a", every(60), "work");
    let once = c.add("b", Plan::at("2026-06-01T02:00:00Z", None, START).unwrap(), "work");
    let other = Store::open(c.store.path()).unwrap();
    let services = [c.service(), c.service_on(&other, None)];
    let mut fired = BTreeSet::new();
    for turn in 1..=TIMES {
        c.set(START + turn * MINUTE);
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            for service in &services {
                let (barrier, c) = (&barrier, &c);
                scope.spawn(move || {
                    barrier.wait();
                    c.tick(service);
                });
            }
        });
        for service in &services {
            c.runtime.block_on(service.idle());
        }
        let newest = c.runs(&job.id).pop().unwrap();
        assert_eq!((newest.due, newest.outcome), (START + turn * MINUTE, RunOutcome::Ran));
        assert!(fired.insert(newest.id), "{newest:?}");
    }
    // One message of the host and one answer for each, and no row beside them.
    assert_eq!(c.session("a").messages().len() as i64, 2 * TIMES);
    let rows: i64 = c.raw().query_row("SELECT max(id) FROM job_runs", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, TIMES + 1);
    assert_eq!(c.outcomes(&once.id), [(120, RunOutcome::Ran)]);
    assert_eq!(c.state(&once.id), JobState::Done);
}

#[test]
fn a_slow_job_delays_no_other_and_adding_one_disturbs_none() {
    let c = Clockwork::new(&always("done"));
    let (slow, quick) = (c.add("slow", every(60), "work"), c.add("quick", every(60), "work"));
    let service = c.service();
    let busy = c.busy("slow");
    c.later(MINUTE);
    c.tick(&service);
    let until = |id: &str, outcome: RunOutcome| {
        while c.runs(id).last().map(|run| run.outcome) != Some(outcome) {
            std::thread::yield_now();
        }
    };
    until(&quick.id, RunOutcome::Ran);
    let later = c.add("later", every(60), "work");
    c.later(MINUTE);
    c.tick(&service);
    until(&later.id, RunOutcome::Ran);
    until(&quick.id, RunOutcome::Ran);
    assert_eq!(service.running(), 1);
    assert_eq!(c.outcomes(&slow.id), [(1, RunOutcome::Running), (2, RunOutcome::Skipped)]);
    assert_eq!(c.runs(&slow.id)[1].reason.as_deref(), Some("the run before it is still going"));
    drop(busy);
    c.runtime.block_on(service.idle());
    c.later(MINUTE);
    c.turn(&service);
    let outcomes = [(1, RunOutcome::Ran), (2, RunOutcome::Skipped), (3, RunOutcome::Ran)];
    assert_eq!(c.outcomes(&slow.id), outcomes);
}

#[test]
fn what_was_missed_is_said_and_made_up_for_within_the_grace() {
    let c = Clockwork::new(&always("done"));
    let (hourly, minutes) = (c.add("a", every(3600), "work"), c.add("b", every(60), "work"));
    let soon = c.add("c", Plan::at("2026-06-01T04:50:00Z", None, START).unwrap(), "work");
    let long = c.add("d", Plan::at("2026-06-01T01:00:00Z", None, START).unwrap(), "work");
    assert_eq!([&hourly, &minutes, &soon].map(|job| job.missed.as_str()), ["once", "skip", "once"]);
    // Nobody is there for five hours and a half.
    c.set(START + 5 * HOUR + 30 * MINUTE);
    c.turn(&c.service());
    let rows = c.runs(&hourly.id);
    assert_eq!(c.outcomes(&hourly.id), [(60, RunOutcome::Missed), (300, RunOutcome::Ran)]);
    assert_eq!((rows[0].count, rows[0].until), (4, START + 4 * HOUR));
    assert_eq!(rows[0].reason.as_deref(), Some("no process was there to run it"));
    // What is due at this very moment is not missed.
    assert_eq!(c.outcomes(&minutes.id), [(1, RunOutcome::Missed), (330, RunOutcome::Ran)]);
    assert_eq!(c.runs(&minutes.id)[0].count, 329);
    assert_eq!((c.outcomes(&soon.id), c.state(&soon.id)), (vec![(290, RunOutcome::Ran)], JobState::Done));
    assert_eq!((c.outcomes(&long.id), c.state(&long.id)), (vec![(60, RunOutcome::Missed)], JobState::Done));
    assert_eq!(c.job(&hourly.id).next, Some(START + 6 * HOUR));
}

#[test]
fn a_job_that_fails_and_fails_is_paused_and_the_person_told() {
    let fault = "[[reply]]\nrepeat = true\nfault = { kind = \"rejected\", message = \"no such model\" }\n";
    let c = Clockwork::with(fault, "[cron]\nfailures = 3\n", &[]);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    for turn in 1..=3 {
        c.later(MINUTE);
        c.turn(&service);
        assert_eq!(c.job(&job.id).failures, turn);
    }
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [1, 2, 3].map(|minute| (minute, RunOutcome::Failed)));
    let paused = c.job(&job.id);
    assert_eq!(paused.state, JobState::Paused);
    let reason = paused.reason.unwrap();
    assert!(
        reason.starts_with("its last 3 runs failed; the last: ") && reason.contains("no such model"),
        "{reason}"
    );
    let notices: Vec<String> = c.letters().into_iter().map(|letter| letter.content).collect();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("failed 2 times in a row"), "{notices:?}");
    let resume = format!("ringfence cron resume {}", job.id);
    assert!(notices[1].contains("is paused") && notices[1].ends_with(&resume), "{notices:?}");
    // Resumed in phase: from the next due time on, and with nothing held against it.
    c.later(MINUTE / 2);
    schedule::resume(&c.store, &c.job(&job.id), c.now()).unwrap().unwrap();
    let resumed = c.job(&job.id);
    assert_eq!(
        (resumed.state, resumed.failures, resumed.next),
        (JobState::Active, 0, Some(START + 5 * MINUTE))
    );
}

#[test]
fn what_ends_by_a_budget_failed() {
    let calls = "[[reply]]\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nrepeat = true\n";
    let c = Clockwork::with(calls, "[agent]\nmain_iterations = 1\n", &[]);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    c.turn(&service);
    let row = c.runs(&job.id).remove(0);
    assert_eq!(
        (row.outcome, row.reason.as_deref()),
        (RunOutcome::Failed, Some("it used up its model calls"))
    );

    let slow = format!("{}delay_ms = 600000\n", always("late"));
    let mut c = Clockwork::new(&slow);
    c.config.timeout = Duration::from_millis(20);
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    c.turn(&service);
    let row = c.runs(&job.id).remove(0);
    assert_eq!((row.outcome, row.reason.as_deref()), (RunOutcome::Failed, Some("its time was over")));
    assert_eq!(c.job(&job.id).failures, 1);
}

#[test]
fn a_process_that_is_told_to_end_ends_what_it_runs() {
    let c = Clockwork::new(&format!("{}delay_ms = 600000\n", always("late")));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(MINUTE);
    c.runtime.block_on(async {
        let run = service.run(c.stop.subscribe());
        let tell = async {
            while service.running() == 0 {
                tokio::task::yield_now().await;
            }
            c.stop.send_replace(true);
        };
        tokio::join!(run, tell);
    });
    assert_eq!(service.running(), 0);
    let row = c.runs(&job.id).remove(0);
    assert_eq!(row.outcome, RunOutcome::Failed);
    assert_eq!(row.reason.as_deref(), Some("the process was told to end"));
    // Nothing comes due any more.
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.runs(&job.id).len(), 1);
}

#[test]
fn adding_a_job_wakes_whoever_runs_them() {
    let c = Clockwork::new(&always("done"));
    let service = c.service();
    let origin = c.origin("a", &c.rights(), None);
    c.runtime.block_on(async {
        let work = async {
            let moment =
                ringfence::sandbox::ports::Moment { time: "2026-06-01T00:00:01Z".into(), zone: None };
            let job = ringfence::sandbox::ports::Job {
                name: None,
                message: "work".into(),
                schedule: ringfence::sandbox::ports::Schedule::At(moment),
                missed: None,
            };
            let entry = service.scheduler(origin).add(job).await.unwrap();
            c.later(1000);
            while c.runs(&entry.id).first().map(|run| run.outcome) != Some(RunOutcome::Ran) {
                tokio::task::yield_now().await;
            }
            assert_eq!(c.state(&entry.id), JobState::Done);
            c.stop.send_replace(true);
        };
        tokio::join!(service.run(c.stop.subscribe()), work);
    });
}

#[test]
fn a_run_whose_process_died_is_in_nobodys_way() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    let gone = {
        let presence = Presence::announce(c.dirs()).unwrap();
        let id = presence.id().to_owned();
        c.store.register_process(&NewProcess { id: &id, kind: "serve", pid: 1 }).unwrap();
        c.store.begin_run(&job.id, &id, START + 1).unwrap().unwrap();
        // As long as it is there, its run goes on.
        c.later(MINUTE);
        c.turn(&service);
        assert_eq!(c.outcomes(&job.id), [(0, RunOutcome::Running), (1, RunOutcome::Skipped)]);
        let by_hand = c.runtime.block_on(service.run_now(&job.id, c.stop.subscribe()));
        assert!(matches!(by_hand, Err(NotRun::Running)), "{by_hand:?}");
        id
    };
    c.later(MINUTE);
    c.turn(&service);
    let outcomes = [(0, RunOutcome::Failed), (1, RunOutcome::Skipped), (2, RunOutcome::Ran)];
    assert_eq!(c.outcomes(&job.id), outcomes);
    assert!(!c.store.owners().unwrap().contains(&gone));
}

#[test]
fn a_job_is_run_by_hand_whatever_its_due_times() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(3600), "work"));
    schedule::pause(&c.store, &job.id, "for a while").unwrap().unwrap();
    c.later(MINUTE);
    let ran = c.runtime.block_on(service.run_now(&job.id, c.stop.subscribe())).unwrap();
    assert_eq!((ran.outcome, ran.due, ran.end.unwrap().text.as_str()), (RunOutcome::Ran, c.now(), "done"));
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)]);
    let after = c.job(&job.id);
    assert_eq!((after.state, after.next), (JobState::Paused, job.next));
    let nobody = c.runtime.block_on(service.run_now("nobody22", c.stop.subscribe()));
    assert!(matches!(nobody, Err(NotRun::Unknown)), "{nobody:?}");
}

#[test]
fn another_workspace_is_not_looked_at() {
    let c = Clockwork::new(&always("done"));
    let job = c.add("a", every(60), "work");
    let elsewhere = c.service_on(&c.store, Some(c.root().join("data")));
    c.later(MINUTE);
    c.turn(&elsewhere);
    assert_eq!(c.outcomes(&job.id), []);
    c.turn(&c.service_on(&c.store, Some(c.workspace().to_owned())));
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Ran)]);
}

#[test]
fn a_clock_that_goes_back_runs_nothing_twice() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    c.later(2 * MINUTE);
    c.turn(&service);
    c.set(START);
    c.turn(&service);
    c.later(2 * MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id), [(1, RunOutcome::Missed), (2, RunOutcome::Ran)]);
}

#[test]
fn what_another_process_counted_as_failed_pauses_a_job_too() {
    let c = Clockwork::new(&always("done"));
    let (service, job) = (c.service(), c.add("a", every(60), "work"));
    let change = JobChange { failures: Some(c.config.failures), ..JobChange::default() };
    c.store.change_job(&job.id, &change).unwrap();
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!((c.outcomes(&job.id), c.state(&job.id)), (vec![(1, RunOutcome::Skipped)], JobState::Paused));
    assert!(!c.said("a").contains("work") && c.letters().len() == 1);
}

#[test]
fn a_run_has_no_more_model_calls_than_the_turn_that_added_the_job() {
    let looks = "[[reply]]\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nrepeat = true\n";
    for (most, calls) in [(Some(2), 2), (None, 40)] {
        let c = Clockwork::new(looks);
        let mut origin = c.origin("a", &c.rights(), None);
        origin.of.most.iterations = most;
        let (service, job) = (c.service(), c.add_as(&origin, every(60), "Look again and again."));
        c.later(MINUTE);
        c.turn(&service);
        let asked = c.session("a").messages().iter().flat_map(|message| message.calls()).count();
        assert_eq!(asked, calls, "{most:?}");
        let run = c.runs(&job.id).pop().unwrap();
        assert_eq!(run.outcome, RunOutcome::Failed, "a limit is no success");
    }
}

#[test]
fn whoever_listens_hears_of_every_run_in_one_line() {
    let c = Clockwork::new(
        "[[reply]]\ntext = \"Done.\"\n[[reply]]\nfault = { kind = \"overloaded\", message = \"busy\\nand more\" }\nrepeat = true\n",
    );
    let (service, job) = (c.service(), c.add("a", every(60), "Look.\nAgain."));
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let into = std::sync::Arc::clone(&heard);
    service.listen(Box::new(move |line| into.lock().unwrap().push(line.to_owned())));
    for _ in 0..2 {
        c.later(MINUTE);
        c.turn(&service);
    }
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert_eq!(heard[0], format!("job {} (Look. Again.) ran", job.id));
    assert!(heard[1].starts_with(&format!("job {} (Look. Again.) failed: ", job.id)), "{heard:?}");
    assert!(heard.iter().all(|line| !line.contains('\n')), "{heard:?}");
}
