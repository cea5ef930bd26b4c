//! Budgets hold for every model call of a turn.

use crate::support::{Stage, World};
use ringfence::agent::{Incomplete, TurnOutcome};
use ringfence::authority::{Profile, Role};
use std::time::Duration;

/// A model that never comes to an end, and what it says when it has to.
const ENDLESS: &str = r#"
[[reply]]
tools = true
repeat = true
text = "still at it"
calls = [{ name = "write_file", arguments = { path = "log", content = "x" } }]
usage = { input = 1000, output = 100 }

[[reply]]
tools = false
text = "This is how far I came."
usage = { input = 1000, output = 100 }
"#;

#[test]
fn at_the_limit_of_calls_the_model_is_heard_once_more_without_tools() {
    let w = World::new();
    for (role, limit) in [(Role::Main, 40), (Role::Subagent, 15)] {
        let mut stage = Stage::new(ENDLESS);
        stage.budget.iterations = limit;
        let end = stage.play(&w, &w.agent(Profile::plain(role)), "go");
        assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Iterations));
        assert_eq!(end.text, "This is how far I came.");
        let asked = stage.asked();
        assert_eq!(asked.len(), limit as usize + 1);
        assert!(
            asked.last().unwrap().tools.is_empty() && asked.iter().rev().skip(1).all(|a| !a.tools.is_empty())
        );
        assert_eq!(u64::from(end.iterations) * 1000, end.usage.input, "the closing call is counted");
        assert_eq!(stage.session.messages().last().unwrap().text(), end.text);
    }
}

#[test]
fn tokens_end_a_turn_before_they_are_exceeded_and_bound_each_reply() {
    let w = World::new();
    let mut stage = Stage::new(ENDLESS);
    stage.budget.tokens = Some(5_000);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Tokens));
    assert!(end.usage.total() <= 5_000, "{:?}", end.usage);
    let asked = stage.asked();
    assert!(asked.len() >= 3);
    let mut spent = 0;
    for request in &asked {
        assert!(u64::from(request.max_tokens) + spent <= 5_000, "a reply may not take more than is left");
        spent += 1_100;
    }
}

#[test]
fn cost_ends_a_turn_and_cannot_be_limited_without_prices() {
    let w = World::new();
    let agent = w.agent(Profile::plain(Role::Main));
    let mut stage = Stage::new(&format!("prices = {{ input = 1.0, output = 10.0 }}\n{ENDLESS}"));
    // Each call takes 1,000 + 100 x 10 = 2,000 millionths.
    stage.budget.cost = Some(9_000);
    let end = stage.play(&w, &agent, "go");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Cost));
    assert!((3..=4).contains(&end.iterations), "{}", end.iterations);
    assert!(stage.asked().iter().all(|request| request.max_tokens <= 900));

    let mut stage = Stage::new(ENDLESS);
    stage.budget.cost = Some(9_000);
    let end = stage.play(&w, &agent, "go");
    let TurnOutcome::Failed(error) = end.outcome else { panic!("{:?}", end.outcome) };
    assert!(error.message.contains("prices"), "{}", error.message);
    assert!(stage.asked().is_empty(), "nothing was asked");
}

#[test]
fn tokens_are_estimated_where_the_service_does_not_say() {
    let w = World::new();
    let silent = ENDLESS.replace("usage = { input = 1000, output = 100 }", "");
    let mut stage = Stage::new(&silent);
    stage.budget.tokens = Some(20_000);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Tokens));
}

#[test]
fn time_ends_a_turn_wherever_it_stands() {
    let w = World::new();
    let mut stage = Stage::new("[[reply]]\ntext = \"late\"\ndelay_ms = 3600000\n[[reply]]\ntext = \"next\"");
    stage.budget.time = Some(Duration::from_millis(20));
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Time));
    stage.budget.time = None;
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "again");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "next"));
}

#[test]
fn continuations_count_against_the_limit_of_calls() {
    let w = World::new();
    let mut stage = Stage::new("[[reply]]\ntext = \"more \"\nstop = \"length\"\nrepeat = true");
    stage.budget.iterations = 2;
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Iterations));
    assert_eq!((end.text.as_str(), end.iterations), ("more more ", 2));
}
