//! What background runs may take together, and who comes when: bounds, fairness, budgets, and runs that end badly.

use crate::support::Program;
use crate::support::yard::{HANGS, Process, Yard, budget, buried, request};
use proptest::prelude::*;
use ringfence::agent::{Means, Purse};
use ringfence::sandbox::ports::{ErrorKind, Execution as Seen};
use ringfence::store::{Delivery, Execution, Store, TaskFilter, TaskRow};
use serde_json::json;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Says how much it counted, or hangs.
fn counts() -> String {
    format!(
        "{HANGS}[[reply]]\nuser = \"count\"\ntext = \"there are 3\"\nrepeat = true\nusage = {{ input = 30, output = 5 }}\n\
         [[reply]]\nuser = \"keep quiet\"\ntext = \"there are 4\"\nrepeat = true\n"
    )
}

fn running(yard: &Yard) -> Vec<String> {
    let rows = yard.rows().into_iter();
    rows.filter(|row| row.execution == Execution::Running).map(|row| row.id).collect()
}

/// Ends the one that runs; the one that begins then.
fn next(yard: &Yard, process: &Process) -> String {
    let one = running(yard).pop().unwrap();
    process.end(yard, &one);
    process.until_begun(1);
    // What was cancelled may be on its way out; what begins is another one.
    let mut now = running(yard);
    now.retain(|id| *id != one);
    now.pop().unwrap()
}

#[test]
fn a_session_that_floods_does_not_keep_another_waiting() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\n", &[]);
    let process = yard.process();
    let (loud, quiet) = (process.at(&yard, "loud"), process.at(&yard, "quiet"));
    let first = process.start_hanging(&loud, "0");
    let flood: Vec<String> =
        (1..10).map(|n| process.start(&loud, request(&format!("hang {n}"))).unwrap()).collect();
    let other = process.start(&quiet, request("hang elsewhere")).unwrap();
    assert_eq!(running(&yard), [first]);
    assert_eq!((process.tasks.unended(&loud.place), process.tasks.unended(&quiet.place)), (10, 1));
    // Sessions take turns: one more of the flood at most, though nine stand before it.
    assert_eq!(next(&yard, &process), flood[0]);
    assert_eq!(next(&yard, &process), other);
    assert_eq!(next(&yard, &process), flood[1]);
    process.close();
}

#[test]
fn no_session_runs_more_at_once_than_it_may() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 3\nrunning_per_session = 2\n", &[]);
    let process = yard.process();
    let (one, two) = (process.at(&yard, "one"), process.at(&yard, "two"));
    let flood: Vec<String> =
        (0..5).map(|n| process.start(&one, request(&format!("hang {n}"))).unwrap()).collect();
    process.until_begun(2);
    let other = process.start_hanging(&two, "elsewhere");
    assert_eq!(running(&yard), [flood[0].clone(), flood[1].clone(), other]);
    process.close();
    assert!(yard.rows().iter().all(|row| row.execution == Execution::Cancelled));
}

#[test]
fn the_same_task_twice_in_a_turn_is_one_run_and_in_two_turns_two() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let turn = process.at(&yard, "s");
    let first = process.start(&turn, request("count them")).unwrap();
    let mut again = request("  count them ");
    again.label = Some("called otherwise".to_owned());
    assert_eq!(process.start(&turn, again).unwrap(), first);
    assert_ne!(process.start(&turn, request("count others")).unwrap(), first);
    assert_eq!(yard.rows().len(), 2);
    let next = process.at(&yard, "s");
    assert_ne!(process.start(&next, request("count them")).unwrap(), first);
    assert_eq!(yard.rows().len(), 3);
    process.close();
}

#[test]
fn a_result_that_is_waited_for_is_given_once_and_delivered_when_it_is_kept() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let at = process.at(&yard, "s");
    let finished = process.block_on(at.spawner.run(request("count them"), 60_000)).unwrap();
    assert_eq!((finished.execution, finished.text.as_str()), (Seen::Succeeded, "there are 3"));
    assert_eq!(process.tasks.arrived(&at.place), []);
    assert!(process.tasks.is_idle());
    assert_eq!(yard.row(&finished.id).delivery, Delivery::Pending, "the turn may still be lost");
    process.tasks.given_is_kept(&at.origin.turn);
    assert_eq!(yard.row(&finished.id).delivery, Delivery::Delivered);
    // Without the wait it is announced.
    let announced = process.run(&at, request("count others"));
    assert!(announced.text.contains("there are 3"), "{}", announced.text);
    process.close();
}

#[test]
fn who_stops_waiting_hears_of_the_result_as_everybody_does() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let at = process.at(&yard, "s");
    // The time is over first.
    let finished = process.block_on(at.spawner.run(request("hang on"), 1)).unwrap();
    assert!(!matches!(finished.execution, Seen::Succeeded | Seen::Cancelled), "{finished:?}");
    assert_eq!(finished.text, "");
    // The call is dropped, as when its turn is ended.
    process.until_begun(1);
    let spawner = std::sync::Arc::clone(&at.spawner);
    let waiting = process.beside(async move { spawner.run(request("hang again"), 300_000).await });
    process.until_begun(1);
    waiting.abort();
    assert!(process.block_on(waiting).unwrap_err().is_cancelled());
    assert_eq!(process.tasks.cancel_by_session(&at.place, "enough"), 2);
    let mut ids = vec![process.arrival(&at.place).id, process.arrival(&at.place).id];
    ids.sort();
    let mut all: Vec<String> = yard.rows().into_iter().map(|row| row.id).collect();
    all.sort();
    assert_eq!(ids, all);
    assert!(process.tasks.arrived(&at.place).is_empty() && process.tasks.is_idle());
    process.close();
}

#[test]
fn a_session_is_cancelled_and_no_other() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 2\n", &[]);
    let process = yard.process();
    let (one, two) = (process.at(&yard, "one"), process.at(&yard, "two"));
    let runs = process.start_hanging(&one, "0");
    let stays = process.start_hanging(&two, "elsewhere");
    let waits = process.start(&one, request("hang 1")).unwrap();
    assert_eq!(process.tasks.cancel_by_session(&one.place, "the person stopped it"), 2);
    let mut ids = [process.arrival(&one.place).id, process.arrival(&one.place).id];
    ids.sort();
    let mut wanted = [runs.clone(), waits.clone()];
    wanted.sort();
    assert_eq!(ids, wanted);
    for id in [&runs, &waits] {
        let row = yard.row(id);
        assert_eq!(row.execution, Execution::Cancelled);
        assert_eq!(row.reason.as_deref(), Some("the person stopped it"));
    }
    assert_eq!(yard.row(&waits).started, None);
    assert_eq!(yard.row(&stays).execution, Execution::Running);
    assert_eq!((process.tasks.unended(&one.place), process.tasks.unended(&two.place)), (0, 1));
    process.close();
}

/// A run that is just about to begin is in somebody's hands all the time.
#[test]
fn a_run_can_be_ended_and_waited_for_at_every_moment() {
    let yard = Yard::with(&counts(), "[tasks]\nper_session = 10000\n", &[]);
    let process = yard.process();
    let at = process.at(&yard, "s");
    for n in 0..300 {
        let id = process.start(&at, request(&format!("hang {n}"))).unwrap();
        (0..n % 7).for_each(|_| std::thread::yield_now());
        if n % 2 == 0 {
            assert_eq!(process.tasks.cancel_by_session(&at.place, "enough"), 1, "round {n}");
        } else {
            process.block_on(at.spawner.cancel(id.clone())).unwrap();
        }
        let ended = process.block_on(process.tasks.arrival_or_none(&at.place)).unwrap();
        assert_eq!((ended.id, ended.execution), (id, Execution::Cancelled));
    }
    for n in 0..300 {
        let id = process.start(&at, request(&format!("count {n}"))).unwrap();
        (0..n % 7).for_each(|_| std::thread::yield_now());
        let ended = process.block_on(process.tasks.arrival_or_none(&at.place));
        assert_eq!(ended.map(|ended| ended.id), Some(id), "round {n}");
    }
    assert!(process.tasks.is_idle());
    process.close();
}

/// The same where other processes run as many as may, so that it waits on again and again.
#[test]
fn a_run_that_waits_for_other_processes_can_be_ended_and_waited_for() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\nper_session = 10000\n", &[]);
    let (other, process) = (yard.process(), yard.process());
    let busy = other.at(&yard, "busy");
    other.start_hanging(&busy, "on");
    let at = process.at(&yard, "s");
    for n in 0..100 {
        let id = process.start(&at, request(&format!("hang {n}"))).unwrap();
        (0..n % 7).for_each(|_| std::thread::yield_now());
        assert_eq!(process.tasks.unended(&at.place), 1, "round {n}");
        if n % 2 == 0 {
            assert_eq!(process.tasks.cancel_by_session(&at.place, "enough"), 1, "round {n}");
        } else {
            process.block_on(at.spawner.cancel(id.clone())).unwrap();
        }
        let ended = process.block_on(process.tasks.arrival_or_none(&at.place)).unwrap();
        assert_eq!((ended.id, ended.execution), (id.clone(), Execution::Cancelled));
        assert_eq!(yard.row(&id).started, None);
    }
    // It begins when there is room.
    let id = process.start(&at, request("count")).unwrap();
    other.end_all(&busy.place);
    assert_eq!(process.arrival(&at.place).id, id);
    other.close();
    process.close();
}

#[test]
fn a_panic_fails_its_run_alone() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let at = process.at(&yard, "s");
    let beside = process.start_hanging(&at, "beside");
    process.panics.store(1, Ordering::SeqCst);
    let failed = process.run(&at, request("count them"));
    assert_eq!(failed.execution, Execution::Failed);
    assert!(failed.text.contains("the program failed") && failed.line.contains("failed"), "{failed:?}");
    assert_eq!(yard.row(&beside).execution, Execution::Running);
    // The place that it had is free again.
    assert_eq!(process.run(&at, request("count others")).execution, Execution::Succeeded);
    assert_eq!(process.tasks.running(), 1);
    process.close();
}

#[test]
fn a_run_ends_when_its_time_is_over() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let at = process.at(&yard, "s");
    let ended = process.run(&at, with_time("hang on", 50));
    assert_eq!(ended.execution, Execution::TimedOut);
    assert!(ended.text.contains("timed out: its 50 milliseconds were over"), "{}", ended.text);
    assert_eq!(process.tasks.unended(&at.place), 0);
    // Nobody asks for more time than the configuration leaves.
    let id = process.start(&at, with_time("hang for ever", u64::MAX)).unwrap();
    assert_eq!(Duration::from_millis(yard.row(&id).time_ms), yard.ground.config.tasks.timeout);
    process.close();
}

fn with_time(task: &str, ms: u64) -> ringfence::sandbox::ports::Request {
    let mut request = request(task);
    request.timeout_ms = Some(ms);
    request
}

#[test]
fn who_starts_a_run_goes_on_while_it_hangs() {
    let yard = Yard::new(&counts());
    let process = yard.process();
    let at = process.at(&yard, "s");
    let hangs = process.start_hanging(&at, "0");
    // Both the tool and the port answer while nothing of it has come.
    let main = ringfence::authority::Profile::plain(ringfence::authority::Role::Main);
    let text = process.call(&yard, &main, &at, "spawn", &json!({ "task": "hang 1" })).text();
    assert!(text.starts_with("started hang 1 (id "), "{text}");
    let listed = process.block_on(at.spawner.list()).unwrap();
    assert_eq!(listed.len(), 2);
    let waited = process.block_on(at.spawner.wait(vec![hangs.clone()], 1)).unwrap();
    assert_eq!(waited[0].execution, Seen::Running);
    assert_eq!(yard.row(&hangs).execution, Execution::Running);
    process.close();
}

#[test]
fn what_is_too_much_is_refused_and_told_with_the_numbers() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\nqueued = 2\nper_session = 5\n", &[]);
    let process = yard.process();
    let at = process.at(&yard, "s");
    process.start_hanging(&at, "0");
    for n in 1..3 {
        process.start(&at, request(&format!("hang {n}"))).unwrap();
    }
    let full = process.start(&at, request("hang 3")).unwrap_err();
    assert_eq!(full.kind, ErrorKind::Limit);
    assert!(full.message.starts_with("1 background tasks run (1 may) and 2 wait (2 may)"), "{full:?}");
    assert_eq!(yard.rows().len(), 3);
    process.end_all(&at.place);
    for n in 3..5 {
        process.start(&at, request(&format!("hang {n}"))).unwrap();
    }
    let full = process.start(&at, request("hang 5")).unwrap_err();
    assert_eq!(full.kind, ErrorKind::Limit);
    assert!(full.message.starts_with("this conversation has had 5 of 5 background tasks"), "{full:?}");
    assert_eq!(yard.rows().len(), 5);
    // Another conversation has its own.
    process.end_all(&at.place);
    process.start(&process.at(&yard, "other"), request("count them")).unwrap();
    process.close();
}

#[test]
fn what_is_refused_takes_nothing_out_of_the_purse() {
    let yard = Yard::with(&counts(), "[tasks]\nrunning = 1\nqueued = 0\nper_session = 3\n", &[]);
    let process = yard.process();
    let purse = Purse::of(&budget(Some(1_000_000)));
    let at = process.at_with(&yard, "s", &yard.rights(), purse.clone());
    let ask = |task: &str| {
        let mut request = request(task);
        request.max_tokens = Some(100_000);
        request
    };
    process.start(&at, ask("hang 0")).unwrap();
    assert_eq!(purse.left().tokens, Some(900_000));
    // The same once more, one too many, and a profile that there is not.
    process.start(&at, ask("hang 1")).unwrap_err();
    let mut unknown = ask("hang 2");
    unknown.profile = Some("nobody".to_owned());
    process.start(&at, unknown).unwrap_err();
    assert_eq!(purse.left().tokens, Some(900_000));
    // What a run leaves comes back, to the last token.
    process.end_all(&at.place);
    assert_eq!(purse.left().tokens, Some(1_000_000));
    let ended = process.run(&at, ask("count them"));
    assert_eq!((ended.row.input, ended.row.output), (30, 5));
    assert_eq!(purse.left().tokens, Some(1_000_000 - 35));
    // What a service does not say is estimated, and not free.
    process.run(&at, ask("keep quiet"));
    let left = purse.left().tokens.unwrap();
    assert!((900_000 - 35..1_000_000 - 35).contains(&left), "{left}");
    process.start(&at, ask("count others")).unwrap_err();
    assert_eq!(purse.left().tokens, Some(left), "the session is full");
    process.close();
}

/// A model that starts further agents as long as it is let, and so does every agent that it starts.
fn always_spawning() -> String {
    let task = |name: &str| format!("{name} {}", buried("down below"));
    let usage = json!({ "input": 40, "output": 10 });
    let mut replies = vec![
        json!({ "user": "down below", "result": "denied", "text": "I could not.", "usage": usage, "repeat": true }),
        json!({
            "user": "down below", "usage": usage, "repeat": true,
            "calls": [{ "name": "spawn", "arguments": { "task": "go deeper" } }],
        }),
        json!({ "tools": false, "text": "That is how far I came.", "usage": usage, "repeat": true }),
    ];
    for step in 0..40 {
        let call =
            |n: usize| json!({ "name": "spawn", "arguments": { "task": task(&format!("{step} {n}")) } });
        replies.push(json!({ "calls": [call(0), call(1), call(2)], "usage": usage }));
    }
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

fn at_work(rows: &[TaskRow], at: i64) -> Vec<&TaskRow> {
    let over = |row: &TaskRow| row.ended.is_some_and(|ended| ended <= at);
    rows.iter().filter(|row| row.created <= at && !over(row)).collect()
}

#[test]
fn a_model_that_always_spawns_is_stopped_by_every_cap() {
    const TOKENS: u64 = 2_000_000;
    let program = Program::scripted(&always_spawning());
    let tokens = TOKENS.to_string();
    let arguments = ["run", "-q", "-s", "s", "--max-turns", "40", "--max-tokens", &tokens, "spawn for ever"];
    let ran = program.run(&arguments);
    assert_eq!(ran.code, 6, "{ran:?}");
    let store = Store::open(&program.state()).unwrap();
    let mut rows = store.tasks(&TaskFilter::default()).unwrap();
    rows.sort_by_key(|row| row.nth);
    assert!((20..=64).contains(&rows.len()), "{}", rows.len());
    assert!(rows.iter().all(|row| row.execution.ended() && row.chat == "s"), "nobody below had a child");
    assert!(rows.iter().all(|row| row.delivery == Delivery::Delivered));

    let raw = rusqlite::Connection::open(program.state()).unwrap();
    let mut usage = raw.prepare("SELECT at, input + output FROM usage WHERE session = 'cli:s'").unwrap();
    let taken = usage.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap();
    let taken: Vec<(i64, u64)> = taken.map(|row| row.map(|(at, sum)| (at, sum as u64)).unwrap()).collect();
    for row in &rows {
        let at = row.created;
        let waiting_or_running = at_work(&rows, at);
        assert!(waiting_or_running.len() <= 20, "{} at once", waiting_or_running.len());
        // What all that were there then may take, what those before them took, and what the parent took itself.
        let held: u64 = waiting_or_running.iter().map(|row| row.max_tokens.unwrap()).sum();
        let over = rows.iter().filter(|row| row.ended.is_some_and(|ended| ended <= at));
        let used: u64 = over.map(|row| row.input + row.output).sum();
        let own: u64 = taken.iter().filter(|(when, _)| *when <= at).map(|(_, tokens)| tokens).sum();
        assert!(held + used + own <= TOKENS, "{held} + {used} + {own}");
    }
    for at in rows.iter().filter_map(|row| row.started) {
        let runs = at_work(&rows, at).into_iter().filter(|row| row.started.is_some_and(|began| began <= at));
        assert!(runs.count() <= 4);
    }
    for row in &rows {
        let used = row.input + row.output;
        assert!(used <= row.max_tokens.unwrap(), "{used}");
    }
}

#[derive(Debug, Clone)]
enum Act {
    Take(u64, u64),
    SetAside(Option<u64>, Option<u64>),
    /// Which one is over, and how many hundredths it used.
    PutBack(usize, u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let some = || prop::option::of(0..2_000_u64);
    let act = prop_oneof![
        (0..500_u64, 0..500_u64).prop_map(|(tokens, cost)| Act::Take(tokens, cost)),
        (some(), some()).prop_map(|(tokens, cost)| Act::SetAside(tokens, cost)),
        (0..64_usize, 0..=100_u64).prop_map(|(which, used)| Act::PutBack(which, used)),
    ];
    prop::collection::vec(act, 0..200)
}

proptest! {
    /// Whatever happens in whichever order: what is left, what is set aside, and what was used are what there was.
    #[test]
    fn a_purse_never_gives_out_more_than_there_was(tokens in 0..10_000_u64, cost in 0..10_000_u64, acts in acts()) {
        let purse = Purse::new(Means { tokens: Some(tokens), cost: Some(cost) });
        let mut aside: Vec<(u64, u64)> = Vec::new();
        let mut used = (0, 0);
        for act in acts {
            let left = purse.left();
            let (had, money) = (left.tokens.unwrap(), left.cost.unwrap());
            match act {
                Act::Take(tokens, cost) => {
                    purse.take(tokens, cost);
                    used = (used.0 + tokens.min(had), used.1 + cost.min(money));
                }
                Act::SetAside(tokens, cost) => match purse.set_aside(Means { tokens, cost }) {
                    Some(means) => {
                        let (given, sum) = (means.tokens.unwrap(), means.cost.unwrap());
                        prop_assert!((1..=had).contains(&given) && (1..=money).contains(&sum));
                        prop_assert!(tokens.is_none_or(|wanted| given <= wanted));
                        prop_assert!(cost.is_none_or(|wanted| sum <= wanted));
                        aside.push((given, sum));
                    }
                    None => {
                        let nothing = |left: u64, wanted: Option<u64>| left == 0 || wanted == Some(0);
                        prop_assert!(nothing(had, tokens) || nothing(money, cost));
                        prop_assert_eq!(purse.left(), left);
                    }
                },
                Act::PutBack(which, hundredths) if !aside.is_empty() => {
                    let (given, sum) = aside.swap_remove(which % aside.len());
                    let (took, paid) = (given * hundredths / 100, sum * hundredths / 100);
                    used = (used.0 + took, used.1 + paid);
                    purse.put_back(Means { tokens: Some(given - took), cost: Some(sum - paid) });
                }
                Act::PutBack(..) => {}
            }
            let left = purse.left();
            let out: (u64, u64) = aside.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            prop_assert_eq!(left.tokens.unwrap() + out.0 + used.0, tokens);
            prop_assert_eq!(left.cost.unwrap() + out.1 + used.1, cost);
        }
    }

    /// Where nothing is limited, what is wanted is given, and nothing is put back where nothing was taken.
    #[test]
    fn a_purse_without_a_limit_gives_what_is_wanted(wanted in prop::option::of(0..u64::MAX), cost in prop::option::of(0..u64::MAX)) {
        let purse = Purse::new(Means::default());
        let means = Means { tokens: wanted, cost };
        prop_assert_eq!(purse.set_aside(means), Some(means));
        purse.put_back(means);
        purse.take(u64::MAX, u64::MAX);
        prop_assert_eq!(purse.left(), Means::default());
    }
}

#[test]
fn a_purse_that_many_hold_at_once_gives_out_what_there_was() {
    const THERE: u64 = 100_000;
    let purse = Purse::new(Means { tokens: Some(THERE), cost: None });
    let used: u64 = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..8_u64)
            .map(|hand| {
                let purse = purse.clone();
                scope.spawn(move || {
                    let mut used = 0;
                    for round in 0..2_000_u64 {
                        let wanted = Means { tokens: Some(hand * 7 + round % 13 + 1), cost: None };
                        let Some(aside) = purse.set_aside(wanted) else { continue };
                        let given = aside.tokens.unwrap();
                        let took = given.min(round % 3);
                        used += took;
                        purse.put_back(Means { tokens: Some(given - took), cost: None });
                    }
                    used
                })
            })
            .collect();
        hands.into_iter().map(|hand| hand.join().unwrap()).sum()
    });
    assert!(used > 0 && used <= THERE);
    assert_eq!(purse.left().tokens, Some(THERE - used));
}
