//! That what is asked for again and again costs the same however much is on record.

use super::{Store, jobs, outbox, processes, sessions, tasks};
use rusqlite::Connection;

const HOT: &[&[&str]] = &[
    tasks::COURSE,
    tasks::LOOKING,
    tasks::RESULTS,
    outbox::HOT,
    jobs::DUE,
    jobs::RUNS,
    sessions::HOT,
    processes::HOT,
];

/// The tables that grow.
const LARGE: &[&str] = &["tasks", "jobs", "job_runs", "outbox", "messages", "sessions", "o", "m", "s"];

/// The steps of a statement's plan.
fn plan(connection: &Connection, statement: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let nothing = vec![rusqlite::types::Null; explain.parameter_count()];
    let steps = explain.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
    steps.collect::<Result<_, _>>().unwrap()
}

/// Whether a step goes through a whole table that grows.
fn scans(step: &str) -> bool {
    step.strip_prefix("SCAN ").is_some_and(|rest| LARGE.contains(&rest.split(' ').next().unwrap_or_default()))
}

#[test]
fn nothing_that_is_asked_for_often_goes_through_a_table() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::open(&temp.path().join("state.db")).unwrap();
    let connection = store.connection.lock().unwrap();
    let mut searched = 0;
    for statement in HOT.iter().flat_map(|group| group.iter()) {
        let plan = plan(&connection, statement);
        assert!(!plan.iter().any(|step| scans(step)), "{statement}\n{plan:#?}");
        // What waits or is due comes out of the index in order.
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{statement}\n{plan:#?}");
        searched += plan.iter().filter(|step| step.starts_with("SEARCH")).count();
    }
    assert!(searched >= HOT.iter().map(|group| group.len()).sum::<usize>() - 4, "{searched}");
}

#[test]
fn a_scan_is_seen() {
    let temp = tempfile::tempdir().unwrap();
    let store = Store::open(&temp.path().join("state.db")).unwrap();
    let connection = store.connection.lock().unwrap();
    for statement in [
        "SELECT id FROM tasks WHERE label = ''",
        "SELECT count(*) FROM jobs",
        "DELETE FROM outbox WHERE kind = ''",
    ] {
        assert!(plan(&connection, statement).iter().any(|step| scans(step)), "{statement}");
    }
}
