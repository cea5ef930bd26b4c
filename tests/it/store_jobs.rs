//! Jobs: a due time is dealt with by one process, and always ends in a row.

use crate::sessions::Kept;
use crate::store_tasks::at_once;
use ringfence::store::{
    JobAdded, JobChange, JobFilter, JobRow, JobState, NewJob, NewRun, RunOutcome, Store, Timing, Workspace,
};
use std::path::Path;

fn new_job<'a>(id: &'a str, workspace: &'a Workspace, next: Option<i64>) -> NewJob<'a> {
    NewJob {
        id,
        workspace,
        channel: "cli",
        chat: "a",
        name: "Water",
        message: "Water the roses.",
        schedule: "{\"every\":1}",
        missed: "skip",
        rights: "{}",
        profile: "cron",
        tools: None,
        provider: "scripted",
        model: "script",
        time_ms: 1_800_000,
        max_tokens: Some(1_000),
        most: "{}",
        silent: false,
        by: "agent",
        anchor: 5,
        next,
    }
}

fn add(store: &Store, id: &str, next: i64) -> JobRow {
    match store.add_job(&new_job(id, &Workspace::none(), Some(next)), 100, 100).unwrap() {
        JobAdded::Added(row) => row,
        full => panic!("{full:?}"),
    }
}

fn run(due: i64, outcome: RunOutcome, owner: Option<&str>) -> NewRun<'_> {
    NewRun { due, until: due, count: 1, outcome, reason: None, owner }
}

fn ids(rows: &[JobRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn names_lead_back() {
    for state in JobState::ALL {
        assert_eq!(JobState::from_name(state.name()), Some(state));
    }
    for outcome in RunOutcome::ALL {
        assert_eq!(RunOutcome::from_name(outcome.name()), Some(outcome));
    }
    assert_eq!((JobState::from_name("Active"), RunOutcome::from_name("")), (None, None));
}

#[test]
fn a_job_is_on_record_and_what_is_changed_of_it_is_changed() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let here = Workspace::at(temp.path());
    let new = NewJob { silent: true, ..new_job("j1", &here, Some(10)) };
    let JobAdded::Added(job) = kept.store.add_job(&new, 1, 1).unwrap() else { panic!() };
    assert_eq!(
        (job.workspace_path.as_path(), job.channel.as_str(), job.chat.as_str()),
        (temp.path(), "cli", "a")
    );
    assert_eq!((job.name.as_str(), job.message.as_str()), (new.name, new.message));
    assert_eq!(
        (job.schedule.as_str(), job.missed.as_str(), job.by.as_str()),
        (new.schedule, "skip", "agent")
    );
    assert_eq!((job.profile.as_str(), job.time_ms, job.max_tokens), ("cron", 1_800_000, Some(1_000)));
    assert_eq!((job.anchor, job.next, job.silent), (5, Some(10), true));
    assert_eq!((job.state, job.reason.as_deref(), job.failures), (JobState::Active, None, 0));
    assert_eq!(kept.store.job("j1").unwrap(), Some(job.clone()));

    let change = JobChange { name: Some("Roses"), failures: Some(3), ..JobChange::default() };
    let changed = kept.store.change_job("j1", &change).unwrap().unwrap();
    let expected = JobRow { name: "Roses".to_owned(), failures: 3, updated: changed.updated, ..job };
    assert_eq!(changed, expected);
    let state = Some((JobState::Paused, Some("ten failures")));
    let changed = kept.store.change_job("j1", &JobChange { state, ..JobChange::default() }).unwrap().unwrap();
    let expected = JobRow {
        state: JobState::Paused,
        reason: Some("ten failures".to_owned()),
        updated: changed.updated,
        ..expected
    };
    assert_eq!(changed, expected);
    let timing = Some(Timing { schedule: "{}", anchor: 7, next: None });
    let change = JobChange { timing, state: Some((JobState::Active, None)), ..JobChange::default() };
    let changed = kept.store.change_job("j1", &change).unwrap().unwrap();
    assert_eq!((changed.schedule.as_str(), changed.anchor, changed.next), ("{}", 7, None));
    assert_eq!((changed.state, changed.reason, changed.failures), (JobState::Active, None, 3));
    assert_eq!(kept.store.change_job("unknown", &change).unwrap(), None);

    assert!(kept.store.remove_job("j1").unwrap());
    assert!(!kept.store.remove_job("j1").unwrap());
    assert_eq!(kept.store.job("j1").unwrap(), None);
}

#[test]
fn so_many_jobs_are_in_a_session_and_so_many_in_all_without_those_that_are_done() {
    let kept = Kept::new();
    let none = Workspace::none();
    let add = |id: &str, chat: &str, session, all| {
        kept.store.add_job(&NewJob { chat, ..new_job(id, &none, Some(1)) }, session, all).unwrap()
    };
    assert!(matches!(add("j1", "a", 2, 3), JobAdded::Added(_)));
    assert!(matches!(add("j2", "a", 2, 3), JobAdded::Added(_)));
    assert_eq!(add("j3", "a", 2, 3), JobAdded::Full { are: 2, most: 2, of_session: true });
    assert!(matches!(add("j3", "b", 2, 3), JobAdded::Added(_)));
    assert_eq!(add("j4", "b", 2, 3), JobAdded::Full { are: 3, most: 3, of_session: false });
    let set = |id: &str, state| {
        let change = JobChange { state: Some((state, None)), ..JobChange::default() };
        kept.store.change_job(id, &change).unwrap().unwrap();
    };
    set("j1", JobState::Paused);
    assert_eq!(add("j4", "a", 2, 9), JobAdded::Full { are: 2, most: 2, of_session: true });
    set("j1", JobState::Done);
    assert!(matches!(add("j4", "a", 2, 3), JobAdded::Added(_)));

    let session = Some(("cli".to_owned(), "a".to_owned()));
    let filter = JobFilter { session, ..JobFilter::default() };
    assert_eq!(ids(&kept.store.jobs(&filter).unwrap()), ["j2", "j4"]);
    assert_eq!(ids(&kept.store.jobs(&JobFilter { all_states: true, ..filter }).unwrap()), ["j1", "j2", "j4"]);
    let of = |workspace| JobFilter { workspace: Some(workspace), ..JobFilter::default() };
    assert_eq!(ids(&kept.store.jobs(&of(none.clone())).unwrap()), ["j2", "j3", "j4"]);
    assert!(kept.store.jobs(&of(Workspace::at(Path::new("/nowhere")))).unwrap().is_empty());
}

#[test]
fn active_jobs_come_due_in_order_and_no_others() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let here = Workspace::at(temp.path());
    for (id, next) in [("j1", 30), ("j2", 10), ("j3", 20), ("j4", 5)] {
        add(&kept.store, id, next);
    }
    kept.store.add_job(&new_job("never", &here, None), 9, 9).unwrap();
    kept.store.add_job(&new_job("there", &here, Some(15)), 9, 9).unwrap();
    let paused = JobChange { state: Some((JobState::Paused, None)), ..JobChange::default() };
    kept.store.change_job("j4", &paused).unwrap();
    assert_eq!(kept.store.next_due(None).unwrap(), Some(10));
    assert_eq!(kept.store.next_due(Some(&here)).unwrap(), Some(15));
    assert_eq!(kept.store.next_due(Some(&Workspace::at(Path::new("/nowhere")))).unwrap(), None);
    assert!(kept.store.due_jobs(9, None).unwrap().is_empty());
    assert_eq!(ids(&kept.store.due_jobs(20, None).unwrap()), ["j2", "there", "j3"]);
    assert_eq!(ids(&kept.store.due_jobs(99, Some(&here)).unwrap()), ["there"]);
    assert_eq!(ids(&kept.store.due_jobs(20, Some(&Workspace::none())).unwrap()), ["j2", "j3"]);
    assert_eq!(kept.store.settle_due("j4", 5, Some(6), None, &[]).unwrap(), None, "it is paused");
}

#[test]
fn a_due_time_is_settled_once_and_ends_in_rows() {
    let kept = Kept::new();
    add(&kept.store, "j1", 10);
    let missed =
        NewRun { until: 30, count: 3, reason: Some("nobody was there"), ..run(10, RunOutcome::Missed, None) };
    let rows = [missed, run(40, RunOutcome::Running, Some("p"))];
    let ids = kept.store.settle_due("j1", 10, Some(50), None, &rows).unwrap().unwrap();
    assert_eq!(ids.len(), 2);
    assert_eq!(kept.store.settle_due("j1", 10, Some(50), None, &rows).unwrap(), None, "it is settled");
    assert_eq!(kept.store.job("j1").unwrap().unwrap().next, Some(50));
    let running = kept.store.running_run("j1").unwrap().unwrap();
    assert_eq!((running.id, running.due, running.ended), (ids[1], 40, None));
    assert_eq!((running.outcome, running.owner.as_deref()), (RunOutcome::Running, Some("p")));

    // Two runs of one job at once there are not; the next due time is skipped, with a row.
    let before = kept.store.job("j1").unwrap();
    let second = [run(50, RunOutcome::Running, Some("q"))];
    assert_eq!(kept.store.settle_due("j1", 50, Some(60), None, &second).unwrap(), None);
    assert_eq!(kept.store.job("j1").unwrap(), before);
    let skipped = NewRun { reason: Some("it runs already"), ..run(50, RunOutcome::Skipped, None) };
    assert!(kept.store.settle_due("j1", 50, Some(60), None, &[skipped]).unwrap().is_some());

    assert!(!kept.store.end_run(ids[1], "q", RunOutcome::Ran, None).unwrap(), "it is not q's");
    assert!(!kept.store.end_run(ids[1], "p", RunOutcome::Running, None).unwrap(), "that is no end");
    assert!(kept.store.running_run("j1").unwrap().is_some());
    assert!(kept.store.end_run(ids[1], "p", RunOutcome::Ran, Some("done")).unwrap());
    assert!(!kept.store.end_run(ids[1], "p", RunOutcome::Failed, None).unwrap());
    assert_eq!(kept.store.running_run("j1").unwrap(), None);
    assert!(kept.store.settle_due("j1", 60, None, Some(JobState::Done), &second).unwrap().is_some());
    assert_eq!(kept.store.job("j1").unwrap().unwrap().state, JobState::Done);

    let history = kept.store.job_runs("j1", 10).unwrap();
    let outcomes: Vec<_> = history.iter().map(|row| (row.outcome, row.due, row.until, row.count)).collect();
    let expected = [
        (RunOutcome::Running, 50, 50, 1),
        (RunOutcome::Skipped, 50, 50, 1),
        (RunOutcome::Ran, 40, 40, 1),
        (RunOutcome::Missed, 10, 30, 3),
    ];
    assert_eq!(outcomes, expected);
    assert!(history[1..].iter().all(|row| row.ended.is_some()));
    assert_eq!(kept.store.job_runs("j1", 1).unwrap(), history[..1]);
    // The history outlives the job, and so does the run.
    assert!(kept.store.remove_job("j1").unwrap());
    assert!(kept.store.end_run(history[0].id, "q", RunOutcome::Ran, None).unwrap());
    assert_eq!(kept.store.job_runs("j1", 10).unwrap().len(), 4);
}

#[test]
fn failures_are_counted_until_one_run_does_not_fail() {
    let kept = Kept::new();
    add(&kept.store, "j1", 0);
    add(&kept.store, "other", 0);
    let mut at = 0;
    let mut once = |end: &dyn Fn(i64)| {
        let rows = [run(at, RunOutcome::Running, Some("p"))];
        let ids = kept.store.settle_due("j1", at, Some(at + 1), None, &rows).unwrap().unwrap();
        at += 1;
        end(ids[0]);
        kept.store.job("j1").unwrap().unwrap().failures
    };
    let with = |outcome| move |store: &Store, run| assert!(store.end_run(run, "p", outcome, None).unwrap());
    assert_eq!(once(&|run| with(RunOutcome::Failed)(&kept.store, run)), 1);
    assert_eq!(once(&|run| with(RunOutcome::Failed)(&kept.store, run)), 2);
    assert_eq!(once(&|run| with(RunOutcome::Skipped)(&kept.store, run)), 2);
    // A job that ends its process fails as well.
    assert_eq!(once(&|_| assert_eq!(kept.store.bury("p", "p was killed").unwrap().lost, 0)), 3);
    let last = kept.store.job_runs("j1", 1).unwrap().remove(0);
    assert_eq!((last.outcome, last.reason.as_deref()), (RunOutcome::Failed, Some("p was killed")));
    assert!(last.ended.is_some());
    assert_eq!(once(&|run| with(RunOutcome::Ran)(&kept.store, run)), 0);
    assert_eq!(kept.store.job("other").unwrap().unwrap().failures, 0);
}

#[test]
fn twenty_rows_of_a_job_are_kept_and_what_runs() {
    let kept = Kept::new();
    add(&kept.store, "j1", 0);
    add(&kept.store, "other", 0);
    kept.store.settle_due("other", 0, None, None, &[run(0, RunOutcome::Missed, None)]).unwrap().unwrap();
    kept.store
        .settle_due("j1", 0, Some(1), None, &[run(0, RunOutcome::Running, Some("p"))])
        .unwrap()
        .unwrap();
    for at in 1..50 {
        kept.store
            .settle_due("j1", at, Some(at + 1), None, &[run(at, RunOutcome::Skipped, None)])
            .unwrap()
            .unwrap();
    }
    let dues: Vec<i64> = kept.store.job_runs("j1", 100).unwrap().iter().map(|row| row.due).collect();
    let expected: Vec<i64> = (30..50).rev().chain([0]).collect();
    assert_eq!(dues, expected);
    assert_eq!(kept.store.job_runs("other", 100).unwrap().len(), 1);
}

#[test]
fn of_two_processes_one_fires_a_due_time() {
    let kept = Kept::new();
    add(&kept.store, "j1", 0);
    let fired = at_once(&kept, |store, owner| {
        let mut fired = 0;
        while let Some(job) = store.due_jobs(99, None).unwrap().pop() {
            let next = job.next.unwrap();
            let rows = [run(next, RunOutcome::Running, Some(owner))];
            let settled = store.settle_due("j1", next, Some(next + 1), None, &rows).unwrap();
            for run in settled.into_iter().flatten() {
                assert!(store.end_run(run, owner, RunOutcome::Ran, None).unwrap());
                fired += 1;
            }
        }
        fired
    });
    assert_eq!(fired[0] + fired[1], 100);
    let dues: Vec<i64> = kept.store.job_runs("j1", 100).unwrap().iter().map(|row| row.due).collect();
    assert_eq!(dues, (80..100).rev().collect::<Vec<_>>());
}
