//! Background runs on record: each change is made once, whoever else tries, and nothing that was accepted gets lost.

use crate::sessions::Kept;
use proptest::prelude::*;
use ringfence::store::{
    Begun, Buried, CancelAsked, Delivery, Execution, NewMessage, NewProcess, NewTask, Recorded, Store,
    TaskEnd, TaskFilter, TaskRow, Workspace,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Barrier;

/// A run of the session `cli:a` of no workspace, asked for in a turn of its own.
pub fn new_task<'a>(id: &'a str, workspace: &'a Workspace, owner: Option<&'a str>) -> NewTask<'a> {
    NewTask {
        id,
        workspace,
        channel: "cli",
        chat: "a",
        turn: id,
        digest: "digest",
        label: "Mend the fence",
        task: "Mend the fence and paint it.",
        profile: "subagent",
        provider: "scripted",
        model: "script",
        rights: "{}",
        max_iterations: 15,
        max_tokens: Some(200_000),
        max_cost: None,
        temperature: Some(0.5),
        time_ms: 900_000,
        retry_of: None,
        owner,
        kept: true,
        origin: "{}",
    }
}

pub fn end(execution: Execution) -> TaskEnd<'static> {
    let (reason, result) = (Some("a reason"), Some("a result"));
    TaskEnd { execution, reason, result, iterations: 3, input: 100, cached: 40, output: 20, cost: Some(7) }
}

fn record(store: &Store, id: &str, owner: Option<&str>) -> TaskRow {
    match store.record_task(&new_task(id, &Workspace::none(), owner), 1_000).unwrap() {
        Recorded::New(row) => row,
        other => panic!("{other:?}"),
    }
}

fn begin(store: &Store, id: &str, owner: &str) -> TaskRow {
    match store.begin_task(id, owner, 1_000).unwrap() {
        Begun::Yes(row) => row,
        other => panic!("{id}: {other:?}"),
    }
}

fn ids(rows: &[TaskRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

#[test]
fn names_are_those_that_tools_know_and_lead_back() {
    let wit = include_str!("../../wit/ringfence-host/tasks.wit").to_owned()
        + include_str!("../../wit/ringfence-host/types.wit");
    for execution in Execution::ALL {
        assert_eq!(Execution::from_name(execution.name()), Some(execution));
        assert!(wit.contains(&format!("        {},", execution.name())), "{}", execution.name());
    }
    for delivery in Delivery::ALL {
        assert_eq!(Delivery::from_name(delivery.name()), Some(delivery));
        assert!(wit.contains(&format!("        {},", delivery.name())), "{}", delivery.name());
    }
    assert_eq!(Execution::from_name("waiting_approval"), None);
    assert_eq!(Execution::ALL.into_iter().filter(|one| !one.ended()).count(), 3);
}

#[test]
fn a_run_goes_its_course_and_all_of_it_is_on_record() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(temp.path());
    let new =
        NewTask { max_cost: Some(9), retry_of: Some("before"), ..new_task("t1", &workspace, Some("p")) };
    let Recorded::New(queued) = kept.store.record_task(&new, 64).unwrap() else { panic!() };
    assert_eq!((queued.execution, queued.delivery), (Execution::Queued, Delivery::Pending));
    assert_eq!((queued.workspace_path.as_path(), queued.nth), (temp.path(), 1));
    assert_eq!((queued.label.as_str(), queued.task.as_str()), (new.label, new.task));
    assert_eq!((queued.max_iterations, queued.max_tokens, queued.max_cost), (15, Some(200_000), Some(9)));
    assert_eq!((queued.temperature, queued.time_ms, queued.kept), (Some(0.5), 900_000, true));
    assert_eq!((queued.retry_of.as_deref(), queued.owner.as_deref()), (Some("before"), Some("p")));
    assert_eq!((queued.started, queued.ended, queued.delivered), (None, None, None));

    let Begun::Yes(running) = kept.store.begin_task("t1", "p", 1).unwrap() else { panic!() };
    assert!(running.started.unwrap() >= running.created);
    assert_eq!(running, TaskRow { execution: Execution::Running, started: running.started, ..queued });
    assert!(!kept.store.deliver_task("t1", "p", Delivery::Delivered).unwrap(), "it is not over");
    assert!(!kept.store.end_task("t1", "p", &end(Execution::Queued)).unwrap(), "that is no end");
    assert!(!kept.store.end_task("t1", "q", &end(Execution::Failed)).unwrap(), "it is not q's");
    assert_eq!(kept.store.task("t1").unwrap(), Some(running.clone()));

    assert!(kept.store.end_task("t1", "p", &end(Execution::Succeeded)).unwrap());
    let ended = kept.store.task("t1").unwrap().unwrap();
    assert_eq!((ended.execution, ended.delivery), (Execution::Succeeded, Delivery::Pending));
    assert_eq!((ended.result.as_deref(), ended.reason.as_deref()), (Some("a result"), Some("a reason")));
    assert_eq!((ended.iterations, ended.input, ended.cached, ended.output), (3, 100, 40, 20));
    assert_eq!(ended.cost, Some(7));
    assert!(!kept.store.end_task("t1", "p", &end(Execution::Failed)).unwrap(), "it is over");

    assert!(!kept.store.deliver_task("t1", "q", Delivery::Delivered).unwrap(), "it is not q's");
    assert!(!kept.store.deliver_task("t1", "p", Delivery::Pending).unwrap(), "that is no delivery");
    assert_eq!(kept.store.task("t1").unwrap(), Some(ended.clone()));
    assert!(kept.store.deliver_task("t1", "p", Delivery::Delivered).unwrap());
    assert!(!kept.store.deliver_task("t1", "p", Delivery::Dropped).unwrap());
    let delivered = kept.store.task("t1").unwrap().unwrap();
    assert_eq!(delivered.delivery, Delivery::Delivered);
    assert!(delivered.delivered >= ended.ended);
}

#[test]
fn the_same_twice_in_one_turn_is_one_run_and_a_session_has_so_many() {
    let kept = Kept::new();
    let none = Workspace::none();
    let first = record(&kept.store, "t1", Some("p"));
    let again = NewTask { turn: "t1", ..new_task("t2", &none, Some("p")) };
    assert_eq!(kept.store.record_task(&again, 64).unwrap(), Recorded::Same(first.clone()));
    // Nor does it count against the limit of its session, full or not.
    assert_eq!(kept.store.record_task(&again, 1).unwrap(), Recorded::Same(first));
    assert!(kept.store.task("t2").unwrap().is_none());

    let other_digest = NewTask { digest: "other", ..again };
    assert_eq!(kept.store.record_task(&other_digest, 1).unwrap(), Recorded::Full { are: 1 });
    assert!(kept.store.task("t2").unwrap().is_none());
    let Recorded::New(second) = kept.store.record_task(&other_digest, 2).unwrap() else { panic!() };
    assert_eq!(second.nth, 2);
    // Another session, or the same key in another workspace, has its own count and its own turns.
    let temp = tempfile::tempdir().unwrap();
    let elsewhere = Workspace::at(temp.path());
    for (id, workspace, chat) in [("t3", &none, "b"), ("t4", &elsewhere, "a")] {
        let new = NewTask { chat, turn: "t1", ..new_task(id, workspace, Some("p")) };
        let Recorded::New(row) = kept.store.record_task(&new, 1).unwrap() else { panic!() };
        assert_eq!(row.nth, 1);
    }
    // A name that is taken is an error and changes nothing.
    let before = kept.store.tasks(&TaskFilter::default()).unwrap();
    let taken = NewTask { turn: "another", ..new_task("t1", &none, None) };
    kept.store.record_task(&taken, 64).unwrap_err();
    assert_eq!(kept.store.tasks(&TaskFilter::default()).unwrap(), before);
}

#[test]
fn so_many_run_over_all_processes_and_the_next_begins_when_one_ends() {
    let kept = Kept::new();
    let other = Store::open(&kept.path()).unwrap();
    for (id, owner) in [("t1", "p"), ("t2", "q"), ("t3", "p")] {
        record(&kept.store, id, Some(owner));
    }
    assert!(matches!(kept.store.begin_task("t1", "p", 2).unwrap(), Begun::Yes(_)));
    assert!(matches!(other.begin_task("t2", "q", 2).unwrap(), Begun::Yes(_)));
    assert_eq!(kept.store.begin_task("t3", "p", 2).unwrap(), Begun::Busy);
    assert_eq!(kept.store.task("t3").unwrap().unwrap().execution, Execution::Queued);
    assert!(other.end_task("t2", "q", &end(Execution::TimedOut)).unwrap());
    assert!(matches!(kept.store.begin_task("t3", "p", 2).unwrap(), Begun::Yes(_)));
    // What runs, is over, is another's or unknown cannot begin; that it is full is not the reason.
    record(&kept.store, "t4", Some("p"));
    for (id, owner) in [("t1", "p"), ("t2", "q"), ("t4", "q"), ("nobody", "p")] {
        assert_eq!(kept.store.begin_task(id, owner, 0).unwrap(), Begun::Gone, "{id}");
    }
}

#[test]
fn what_is_nobodys_is_taken_oldest_first_by_whoever_comes() {
    let kept = Kept::new();
    for id in ["t3", "t1", "t2"] {
        record(&kept.store, id, None);
    }
    record(&kept.store, "mine", Some("p"));
    assert_eq!(ids(&kept.store.unowned_tasks(2).unwrap()), ["t3", "t1"]);
    assert_eq!(begin(&kept.store, "t3", "p").owner.as_deref(), Some("p"));
    assert_eq!(kept.store.begin_task("t3", "q", 9).unwrap(), Begun::Gone);
    assert_eq!(ids(&kept.store.unowned_tasks(9).unwrap()), ["t1", "t2"]);
}

#[test]
fn cancelling_ends_what_waits_and_asks_whoever_runs_the_rest() {
    let kept = Kept::new();
    record(&kept.store, "waits", Some("p"));
    record(&kept.store, "nobodys", None);
    record(&kept.store, "runs", Some("p"));
    begin(&kept.store, "runs", "p");
    record(&kept.store, "over", Some("p"));
    begin(&kept.store, "over", "p");
    kept.store.end_task("over", "p", &end(Execution::Failed)).unwrap();

    for id in ["waits", "nobodys"] {
        let CancelAsked::Ended(row) = kept.store.cancel_task(id, "not needed").unwrap() else { panic!() };
        assert_eq!((row.execution, row.delivery), (Execution::Cancelled, Delivery::Pending));
        assert_eq!(row.reason.as_deref(), Some("not needed"));
        assert!(row.ended.is_some());
        assert_eq!(kept.store.begin_task(id, "p", 9).unwrap(), Begun::Gone);
        assert!(
            matches!(kept.store.cancel_task(id, "again").unwrap(), CancelAsked::Over(same) if same == row)
        );
    }
    assert!(kept.store.cancels("p").unwrap().is_empty());
    let CancelAsked::Asked(row) = kept.store.cancel_task("runs", "too slow").unwrap() else { panic!() };
    assert_eq!((row.execution, row.cancel.as_deref()), (Execution::Running, Some("too slow")));
    let CancelAsked::Asked(row) = kept.store.cancel_task("runs", "later").unwrap() else { panic!() };
    assert_eq!(row.cancel.as_deref(), Some("too slow"));
    assert_eq!(kept.store.cancels("p").unwrap(), ["runs"]);
    assert!(kept.store.cancels("q").unwrap().is_empty());
    assert!(kept.store.end_task("runs", "p", &end(Execution::Cancelled)).unwrap());
    assert!(kept.store.cancels("p").unwrap().is_empty());

    let CancelAsked::Over(row) = kept.store.cancel_task("over", "too late").unwrap() else { panic!() };
    assert_eq!((row.execution, row.reason.as_deref()), (Execution::Failed, Some("a reason")));
    assert_eq!(kept.store.cancel_task("unknown", "x").unwrap(), CancelAsked::Unknown);
}

#[test]
fn filters_show_the_newest_first() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let (here, none) = (Workspace::at(temp.path()), Workspace::none());
    for (id, workspace, chat) in
        [("t1", &none, "a"), ("t2", &here, "a"), ("t3", &here, "b"), ("t4", &here, "a")]
    {
        let new = NewTask { chat, ..new_task(id, workspace, Some("p")) };
        assert!(matches!(kept.store.record_task(&new, 64).unwrap(), Recorded::New(_)));
    }
    kept.store.cancel_task("t4", "x").unwrap();
    let all = TaskFilter::default();
    let session = Some(("cli".to_owned(), "a".to_owned()));
    let of_here = TaskFilter { workspace: Some(here.clone()), ..all.clone() };
    let unknown = Workspace::at(Path::new("/nowhere"));
    for (filter, expected) in [
        (all.clone(), vec!["t4", "t3", "t2", "t1"]),
        (TaskFilter { limit: Some(2), ..all.clone() }, vec!["t4", "t3"]),
        (TaskFilter { unended: true, ..all.clone() }, vec!["t3", "t2", "t1"]),
        (TaskFilter { session: session.clone(), ..all.clone() }, vec!["t4", "t2", "t1"]),
        (of_here.clone(), vec!["t4", "t3", "t2"]),
        (TaskFilter { session: session.clone(), ..of_here.clone() }, vec!["t4", "t2"]),
        (TaskFilter { session, unended: true, ..of_here }, vec!["t2"]),
        (TaskFilter { workspace: Some(unknown), ..all }, vec![]),
    ] {
        assert_eq!(ids(&kept.store.tasks(&filter).unwrap()), expected, "{filter:?}");
    }
}

#[test]
fn results_are_taken_once_by_session_and_given_up_again() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let (here, none) = (Workspace::at(temp.path()), Workspace::none());
    for (id, workspace, chat) in
        [("t1", &none, "a"), ("t2", &here, "a"), ("t3", &here, "b"), ("t4", &here, "a")]
    {
        kept.store.record_task(&NewTask { chat, ..new_task(id, workspace, Some("dead")) }, 64).unwrap();
    }
    begin(&kept.store, "t2", "dead");
    kept.store.end_task("t2", "dead", &end(Execution::Succeeded)).unwrap();
    assert!(kept.store.take_results("p", None, None).unwrap().is_empty(), "they belong to somebody");
    assert_eq!(kept.store.bury("dead", "it was killed").unwrap(), Buried { lost: 3 });

    let unknown = Workspace::at(Path::new("/nowhere"));
    assert!(kept.store.take_results("p", Some(&unknown), None).unwrap().is_empty());
    let mine = kept.store.take_results("p", Some(&here), Some(("cli", "a"))).unwrap();
    assert_eq!(ids(&mine), ["t2", "t4"]);
    assert!(mine.iter().all(|row| row.owner.as_deref() == Some("p")));
    assert_eq!((mine[0].execution, mine[1].execution), (Execution::Succeeded, Execution::Lost));
    assert_eq!(mine[1].reason.as_deref(), Some("it was killed"));
    assert!(kept.store.take_results("q", Some(&here), Some(("cli", "a"))).unwrap().is_empty());
    assert_eq!(ids(&kept.store.take_results("q", Some(&here), None).unwrap()), ["t3"]);
    assert!(kept.store.deliver_task("t2", "p", Delivery::Delivered).unwrap());
    kept.store.give_up_results("p").unwrap();
    assert!(!kept.store.deliver_task("t4", "p", Delivery::Delivered).unwrap());
    assert_eq!(ids(&kept.store.take_results("q", None, Some(("cli", "a"))).unwrap()), ["t1", "t4"]);
    assert!(kept.store.take_results("q", None, None).unwrap().is_empty());
}

#[test]
fn a_process_that_is_buried_loses_its_runs_and_one_that_leaves_keeps_nothing_back() {
    let kept = Kept::new();
    for id in ["p", "q"] {
        kept.store.register_process(&NewProcess { id, kind: "chat", pid: 7 }).unwrap();
        record(&kept.store, &format!("{id} waits"), Some(id));
        record(&kept.store, &format!("{id} runs"), Some(id));
        begin(&kept.store, &format!("{id} runs"), id);
    }
    record(&kept.store, "nobodys", None);
    assert_eq!(kept.store.bury("p", "p was killed").unwrap(), Buried { lost: 2 });
    assert_eq!(kept.store.bury("p", "p was killed").unwrap(), Buried { lost: 0 });
    for id in ["p waits", "p runs"] {
        let row = kept.store.task(id).unwrap().unwrap();
        assert_eq!((row.execution, row.owner.as_deref()), (Execution::Lost, None));
        assert_eq!(row.reason.as_deref(), Some("p was killed"));
        // Should it be alive after all, what it does comes too late.
        assert!(!kept.store.end_task(id, "p", &end(Execution::Succeeded)).unwrap());
        assert!(!kept.store.deliver_task(id, "p", Delivery::Delivered).unwrap());
    }
    for id in ["q waits", "q runs", "nobodys"] {
        assert!(!kept.store.task(id).unwrap().unwrap().execution.ended(), "{id}");
    }
    let names =
        |rows: Vec<ringfence::store::ProcessRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(names(kept.store.processes().unwrap()), ["q"]);

    kept.store.leave("q").unwrap();
    assert!(kept.store.processes().unwrap().is_empty());
    assert!(kept.store.task("q runs").unwrap().unwrap().reason.unwrap().contains("left"));
    assert!(kept.store.owners().unwrap().is_empty());
    assert_eq!(kept.store.take_results("r", None, None).unwrap().len(), 4);
    // Of a process that works on without being registered, others hear by what belongs to it.
    assert_eq!(kept.store.owners().unwrap(), ["r"]);
}

#[test]
fn a_process_is_registered_with_the_session_that_it_attends() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    kept.store.register_process(&NewProcess { id: "p", kind: "chat", pid: 7 }).unwrap();
    let row = kept.store.processes().unwrap().remove(0);
    assert_eq!((row.kind.as_str(), row.pid, row.workspace, row.session), ("chat", 7, None, None));
    kept.store.attend("p", &Workspace::at(temp.path()), Some(("cli", "a"))).unwrap();
    let row = kept.store.processes().unwrap().remove(0);
    assert_eq!(row.workspace.as_deref(), Some(temp.path()));
    assert_eq!(row.session, Some(("cli".to_owned(), "a".to_owned())));
    kept.store.attend("p", &Workspace::none(), None).unwrap();
    let row = kept.store.processes().unwrap().remove(0);
    assert_eq!((row.workspace.as_deref(), row.session), (Some(Path::new("")), None));
    kept.store.attend("unknown", &Workspace::none(), None).unwrap();
    assert_eq!(kept.store.processes().unwrap().len(), 1);
}

/// What two processes do at once, each with a handle of its own.
pub fn at_once<T: Send>(kept: &Kept, work: impl Fn(&Store, &str) -> T + Sync) -> [T; 2] {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let one = |owner: &'static str| {
            let (barrier, work, path) = (&barrier, &work, kept.path());
            scope.spawn(move || {
                let store = Store::open(&path).unwrap();
                barrier.wait();
                work(&store, owner)
            })
        };
        [one("p"), one("q")].map(|thread| thread.join().unwrap())
    })
}

#[test]
fn of_two_processes_one_begins_a_run_and_one_takes_a_result() {
    let kept = Kept::new();
    let names: Vec<String> = (0..60).map(|n| format!("t{n}")).collect();
    for name in &names {
        record(&kept.store, name, None);
    }
    let begun = at_once(&kept, |store, owner| {
        let begun = |name: &&String| matches!(store.begin_task(name, owner, 40).unwrap(), Begun::Yes(_));
        names.iter().filter(begun).cloned().collect::<BTreeSet<_>>()
    });
    assert!(begun[0].is_disjoint(&begun[1]));
    assert_eq!(begun[0].len() + begun[1].len(), 40, "as many as may, and none twice");
    for (owner, begun) in ["p", "q"].iter().zip(&begun) {
        for name in begun {
            assert_eq!(kept.store.task(name).unwrap().unwrap().owner.as_deref(), Some(*owner));
        }
        kept.store.bury(owner, "gone").unwrap();
    }
    let taken = at_once(&kept, |store, owner| {
        let rows = store.take_results(owner, None, None).unwrap();
        let delivered = |row: &TaskRow| store.deliver_task(&row.id, owner, Delivery::Delivered).unwrap();
        rows.into_iter().filter(delivered).map(|row| row.id).collect::<BTreeSet<_>>()
    });
    assert!(taken[0].is_disjoint(&taken[1]));
    assert_eq!(taken[0].len() + taken[1].len(), 40);
    // One of the two asks last, and the same run is one for both.
    let none = Workspace::none();
    let recorded = at_once(&kept, |store, owner| {
        let new = NewTask { turn: "one turn", ..new_task(owner, &none, Some(owner)) };
        matches!(store.record_task(&new, 1_000).unwrap(), Recorded::New(_))
    });
    assert_ne!(recorded[0], recorded[1]);
}

const OWNERS: [&str; 3] = ["p", "q", "r"];
const CAP: u64 = 2;

#[derive(Debug, Clone)]
enum Step {
    Record(Option<usize>, usize),
    Begin(usize, usize),
    Cancel(usize),
    End(usize, usize, Execution),
    Bury(usize),
    Take(usize),
    GiveUp(usize),
    Deliver(usize, usize, Delivery),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (task, owner) = (0_usize..6, 0_usize..3);
    let executions = prop::sample::select(Execution::ALL.to_vec());
    let deliveries = prop::sample::select(Delivery::ALL.to_vec());
    let step = prop_oneof![
        3 => (prop::option::weighted(0.7, owner.clone()), task.clone()).prop_map(|(o, t)| Step::Record(o, t)),
        4 => (task.clone(), owner.clone()).prop_map(|(t, o)| Step::Begin(t, o)),
        1 => task.clone().prop_map(Step::Cancel),
        4 => (task.clone(), owner.clone(), executions).prop_map(|(t, o, e)| Step::End(t, o, e)),
        1 => owner.clone().prop_map(Step::Bury),
        2 => owner.clone().prop_map(Step::Take),
        1 => owner.clone().prop_map(Step::GiveUp),
        3 => (task, owner, deliveries).prop_map(|(t, o, d)| Step::Deliver(t, o, d)),
    ];
    prop::collection::vec(step, 1..60)
}

fn all(store: &Store) -> BTreeMap<String, TaskRow> {
    let rows = store.tasks(&TaskFilter::default()).unwrap();
    rows.into_iter().map(|row| (row.id.clone(), row)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever three processes do with runs, in whatever order, and whichever of them die: what is over stays as it is, no
    /// more run than may, a result has one owner at a time and is delivered once, and none that was accepted is forgotten.
    #[test]
    fn any_course_keeps_every_run(steps in steps()) {
        let kept = Kept::new();
        let stores = OWNERS.map(|_| Store::open(&kept.path()).unwrap());
        let mut before = BTreeMap::new();
        let mut delivered: BTreeMap<String, usize> = BTreeMap::new();
        let mut accepted = BTreeSet::new();
        for step in &steps {
            let name = |task: usize| format!("t{task}");
            let held = |row: Option<&TaskRow>, owner: usize| {
                row.is_some_and(|row| row.owner.as_deref() == Some(OWNERS[owner]))
            };
            match *step {
                Step::Record(owner, task) => {
                    let store = &stores[owner.unwrap_or(0)];
                    let (id, none) = (name(task), Workspace::none());
                    let new = new_task(&id, &none, owner.map(|owner| OWNERS[owner]));
                    match store.record_task(&new, 5).unwrap() {
                        Recorded::New(row) => prop_assert!(accepted.insert(row.id)),
                        Recorded::Same(row) => prop_assert_eq!(Some(&row), before.get(&row.id)),
                        Recorded::Full { are } => prop_assert_eq!(are, accepted.len() as u64),
                    }
                }
                Step::Begin(task, owner) => {
                    let begun = stores[owner].begin_task(&name(task), OWNERS[owner], CAP).unwrap();
                    let was: Option<&TaskRow> = before.get(&name(task));
                    let free = was.is_some_and(|was| {
                        was.execution == Execution::Queued
                            && was.owner.as_deref().is_none_or(|other| other == OWNERS[owner])
                    });
                    prop_assert_eq!(free, begun != Begun::Gone);
                }
                Step::Cancel(task) => drop(stores[0].cancel_task(&name(task), "cancelled").unwrap()),
                Step::End(task, owner, execution) => {
                    let ended = stores[owner].end_task(&name(task), OWNERS[owner], &end(execution)).unwrap();
                    let was = before.get(&name(task));
                    let open = was.is_some_and(|was| !was.execution.ended());
                    prop_assert_eq!(ended, open && held(was, owner) && execution.ended());
                }
                Step::Bury(owner) => {
                    let open = |row: &&TaskRow| !row.execution.ended() && held(Some(row), owner);
                    let open = before.values().filter(open).count() as u64;
                    prop_assert_eq!(stores[(owner + 1) % 3].bury(OWNERS[owner], "dead").unwrap().lost, open);
                }
                Step::Take(owner) => {
                    for row in stores[owner].take_results(OWNERS[owner], None, None).unwrap() {
                        let was = &before[&row.id];
                        prop_assert!(was.owner.is_none() && was.execution.ended());
                        prop_assert_eq!(was.delivery, Delivery::Pending);
                    }
                }
                Step::GiveUp(owner) => stores[owner].give_up_results(OWNERS[owner]).unwrap(),
                Step::Deliver(task, owner, delivery) => {
                    if stores[owner].deliver_task(&name(task), OWNERS[owner], delivery).unwrap() {
                        let was = &before[&name(task)];
                        prop_assert!(was.execution.ended() && held(Some(was), owner));
                        *delivered.entry(name(task)).or_default() += 1;
                    }
                }
            }
            let after = all(&stores[0]);
            let run = after.values().filter(|row| row.execution == Execution::Running).count() as u64;
            prop_assert!(run <= CAP);
            for (id, was) in &before {
                let is: &TaskRow = &after[id];
                if was.execution.ended() {
                    let same = TaskRow {
                        owner: is.owner.clone(),
                        delivery: is.delivery,
                        delivered: is.delivered,
                        ..was.clone()
                    };
                    prop_assert_eq!(is, &same);
                }
                if was.delivery != Delivery::Pending {
                    prop_assert_eq!(is, was);
                }
                // It goes from one process to another only by being nobody's.
                prop_assert!(was.owner == is.owner || was.owner.is_none() || is.owner.is_none());
            }
            before = after;
        }
        for owner in OWNERS {
            stores[0].bury(owner, "dead").unwrap();
        }
        for row in stores[0].unowned_tasks(100).unwrap() {
            stores[0].cancel_task(&row.id, "nobody came").unwrap();
        }
        for row in stores[0].take_results("heir", None, None).unwrap() {
            prop_assert!(stores[0].deliver_task(&row.id, "heir", Delivery::Delivered).unwrap());
            *delivered.entry(row.id).or_default() += 1;
        }
        prop_assert!(delivered.values().all(|times| *times == 1));
        prop_assert_eq!(delivered.into_keys().collect::<BTreeSet<_>>(), accepted);
    }
}

#[test]
fn a_session_that_is_removed_takes_its_ended_runs_and_what_was_said_in_them_along() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("data/state.db")).unwrap();
    let workspace = Workspace::at(&dir.path().canonicalize().unwrap());
    let say = |channel: &str, chat: &str| {
        let message = NewMessage { speaker: "user", blocks: "[]", title: "t", source: None };
        store.append(&workspace, (channel, chat), message).unwrap();
    };
    say("cli", "gone");
    say("cli", "stays");
    for (id, chat) in [("aaaaaaaa", "gone"), ("bbbbbbbb", "gone"), ("cccccccc", "stays")] {
        let new = NewTask { id, chat, digest: id, ..new_task(id, &workspace, Some("p")) };
        assert!(matches!(store.record_task(&new, 64).unwrap(), Recorded::New(_)));
        say("task", id);
    }
    for id in ["aaaaaaaa", "cccccccc"] {
        begin(&store, id, "p");
        assert!(store.end_task(id, "p", &end(Execution::Succeeded)).unwrap());
    }
    let session = store.session(&workspace, ("cli", "gone")).unwrap().unwrap();
    assert!(store.remove_session(session).unwrap());
    let there = |id: &str| store.task(id).unwrap().is_some();
    // One that is still on its way is kept, and so is what belongs to another session.
    assert!(!there("aaaaaaaa") && there("bbbbbbbb") && there("cccccccc"));
    let transcript = |id: &str| store.session(&workspace, ("task", id)).unwrap().is_some();
    assert!(!transcript("aaaaaaaa") && transcript("bbbbbbbb") && transcript("cccccccc"));
}
