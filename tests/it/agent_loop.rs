//! The loop of a turn, with a scripted model and the real tools.

use crate::support::{Stage, World};
use ringfence::agent::{Incomplete, TurnOutcome, What};
use ringfence::authority::{Profile, Role};
use ringfence::provider::{ProviderErrorKind, Speaker};

fn main_agent(w: &World) -> ringfence::toolbox::Agent {
    w.agent(Profile::plain(Role::Main))
}

#[test]
fn a_turn_calls_tools_and_ends_with_an_answer() {
    let w = World::new();
    w.file("notes.txt", "the code is 4711\n");
    let mut stage = Stage::new(
        r#"
        [[reply]]
        turn = 1
        calls = [{ name = "read_file", arguments = { path = "notes.txt" } }]
        usage = { input = 100, output = 20 }

        [[reply]]
        result = "4711"
        text = "It is 4711."
        usage = { input = 150, cached = 100, output = 5 }
        "#,
    );
    let end = stage.play(&w, &main_agent(&w), "what is the code?");
    assert_eq!((end.outcome, end.text.as_str(), end.iterations), (TurnOutcome::Completed, "It is 4711.", 2));
    assert_eq!((end.usage.input, end.usage.cached, end.usage.output), (250, 100, 25));
    assert_eq!(stage.outcomes(), ["read_file done"]);
    stage.finish();
    let speakers: Vec<Speaker> = stage.session.messages().iter().map(|m| m.speaker).collect();
    assert_eq!(speakers, [Speaker::User, Speaker::Assistant, Speaker::User, Speaker::Assistant]);
    let streamed: String = stage
        .events()
        .into_iter()
        .filter_map(|what| match what {
            What::TextDelta { text } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(streamed, "It is 4711.");
}

#[test]
fn a_subagent_is_shown_what_it_holds_and_nothing_else() {
    let w = World::new();
    let tools = |role| {
        let mut stage = Stage::new("[[reply]]\ntext = \"done\"");
        stage.play(&w, &w.agent(Profile::plain(role)), "go");
        stage.asked()[0].tools.clone()
    };
    let (main, subagent) = (tools(Role::Main), tools(Role::Subagent));
    let mains_alone: Vec<&String> = main.iter().filter(|tool| !subagent.contains(tool)).collect();
    assert_eq!(mains_alone, ["cron", "message", "spawn", "tasks"]);
    assert!(subagent.contains(&"read_file".to_owned()) && subagent.len() == main.len() - 4);
}

#[test]
fn calls_that_only_read_run_together_and_the_others_in_order() {
    let w = World::new();
    w.file("a.txt", "one\n");
    w.file("b.txt", "two\n");
    let mut stage = Stage::new(
        r#"
        [[reply]]
        calls = [
            { name = "read_file", arguments = { path = "a.txt" } },
            { name = "read_file", arguments = { path = "b.txt" } },
            { name = "write_file", arguments = { path = "a.txt", content = "three\n" } },
            { name = "write_file", arguments = { path = "a.txt", content = "four\n" } },
            { name = "grep", arguments = { pattern = "four", path = "a.txt" } },
        ]
        [[reply]]
        text = "done"
        "#,
    );
    stage.play(&w, &main_agent(&w), "go");
    let order: Vec<String> = stage
        .events()
        .into_iter()
        .filter_map(|what| match what {
            What::ToolStarted { id, .. } => Some(format!("+{}", &id[5..])),
            What::ToolFinished { id, .. } => Some(format!("-{}", &id[5..])),
            _ => None,
        })
        .collect();
    assert_eq!(order[..2], ["+1", "+2"], "the two reads begin before either is over: {order:?}");
    assert_eq!(order[4..], ["+3", "-3", "+4", "-4", "+5", "-5"]);
    // Results stand in the order of the calls, whatever was over first.
    let results = stage.results();
    assert!(results[0].0.contains("one") && results[1].0.contains("two"), "{results:?}");
    assert!(results[4].0.contains("a.txt"), "the search sees what was written before it: {results:?}");
    assert_eq!(w.read("a.txt"), "four\n");
}

#[test]
fn errors_of_tools_go_back_to_the_model() {
    let w = World::new();
    let mut stage = Stage::new(
        r#"
        [[reply]]
        calls = [
            { name = "read_file", arguments = { path = "missing.txt" } },
            { name = "read_fil", arguments = { path = "a" } },
            { name = "read_file", arguments = { path = "/etc/hostname" } },
        ]
        [[reply]]
        result = "does not exist"
        text = "not there"
        "#,
    );
    let end = stage.play(&w, &main_agent(&w), "go");
    assert_eq!(end.outcome, TurnOutcome::Completed);
    let outcomes = stage.outcomes();
    assert_eq!(outcomes.len(), 3);
    for wanted in ["read_file failed not-found", "read_fil unknown", "read_file denied outside-workspace"] {
        assert!(outcomes.iter().any(|o| o == wanted), "{outcomes:?}");
    }
    let results = stage.results();
    assert!(results.iter().all(|(_, is_error)| *is_error));
    assert!(results[1].0.contains("did you mean `read_file`?"), "{}", results[1].0);
    assert_eq!(end.denied.len(), 1);
}

#[test]
fn arguments_that_are_no_json_are_answered_with_the_schema_and_end_the_turn_at_the_third_time() {
    let w = World::new();
    let bad = "[[reply]]\ncalls = [{ name = \"read_file\", arguments = '{\"path\": ' }]\n";
    let mut stage = Stage::new(&format!("{bad}{bad}{bad}[[reply]]\ntext = \"never\""));
    let end = stage.play(&w, &main_agent(&w), "go");
    let TurnOutcome::Failed(error) = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(error.kind, ProviderErrorKind::Garbled);
    assert!(error.message.contains("read_file") && error.message.contains("3 times"), "{}", error.message);
    assert_eq!(end.iterations, 3);
    let results = stage.results();
    assert!(results[0].0.contains("not JSON") && results[0].0.contains("\"path\""), "{}", results[0].0);
    // The conversation can go on: every call has its result.
    assert_eq!(results.len(), 3);
}

#[test]
fn a_usable_call_in_between_starts_the_count_anew() {
    let w = World::new();
    w.file("a.txt", "x\n");
    let bad = "[[reply]]\ncalls = [{ name = \"read_file\", arguments = '{' }]\n";
    let good = "[[reply]]\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\n";
    let mut stage = Stage::new(&format!("{bad}{bad}{good}{bad}{bad}[[reply]]\ntext = \"well\""));
    let end = stage.play(&w, &main_agent(&w), "go");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "well"));
}

#[test]
fn an_empty_reply_is_asked_for_again_then_nudged_then_a_failure() {
    let w = World::new();
    let empty = "[[reply]]\nthinking = \"hm\"\n";
    let mut stage = Stage::new(&format!("{empty}{empty}[[reply]]\nuser = \"[host]\"\ntext = \"here\""));
    let end = stage.play(&w, &main_agent(&w), "go");
    assert_eq!((end.outcome, end.text.as_str(), end.iterations), (TurnOutcome::Completed, "here", 3));
    let asked = stage.asked();
    assert_eq!(asked[0].messages, asked[1].messages, "the first retry says nothing");
    assert_eq!(stage.session.messages().len(), 2, "neither nudge nor empty replies are kept");

    let mut stage = Stage::new(&empty.repeat(3));
    let end = stage.play(&w, &main_agent(&w), "go");
    let TurnOutcome::Failed(error) = end.outcome else { panic!("{:?}", end.outcome) };
    assert!(error.message.contains("empty reply"), "{}", error.message);
}

#[test]
fn a_reply_cut_by_its_length_is_continued_at_most_three_times() {
    let w = World::new();
    let cut = |text: &str| format!("[[reply]]\ntext = \"{text}\"\nstop = \"length\"\n");
    let script = format!("{}{}[[reply]]\ntext = \"three\"", cut("one, "), cut("two, "));
    let mut stage = Stage::new(&script);
    let end = stage.play(&w, &main_agent(&w), "count");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "one, two, three"));
    assert_eq!(stage.session.messages().len(), 2, "it is one message");
    assert!(stage.asked()[1].messages.last().unwrap().text().contains("[host]"));

    let mut stage = Stage::new(&format!("{}repeat = true", cut("more ")));
    let end = stage.play(&w, &main_agent(&w), "count");
    assert_eq!(end.outcome, TurnOutcome::Incomplete(Incomplete::Length));
    assert_eq!((end.text.as_str(), end.iterations), ("more more more more ", 4));
}

#[test]
fn what_a_person_says_meanwhile_stands_behind_the_results() {
    let w = World::new();
    let mut stage = Stage::new(
        r#"
        [[reply]]
        calls = [{ name = "list_dir", arguments = { path = "." } }]
        [[reply]]
        user = "in French"
        text = "Voilà."
        [[reply]]
        user = "thanks"
        text = "De rien."
        "#,
    )
    .meanwhile(&[&["in French, please"], &["thanks"]]);
    let end = stage.play(&w, &main_agent(&w), "go");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "Voilà.\n\nDe rien."));
    let message = &stage.session.messages()[2];
    assert_eq!(message.results().count(), 1);
    assert_eq!(message.text(), "in French, please");
    assert!(!message.results().any(|result| result.text.contains("French")));
}

#[test]
fn a_turn_that_is_dropped_leaves_a_conversation_that_goes_on() {
    let w = World::new();
    let mut stage = Stage::new(
        r#"
        [[reply]]
        calls = [{ name = "list_dir", arguments = { path = "." } }, { name = "write_file", arguments = { path = "a", content = "b" } }]
        [[reply]]
        user = "again"
        text = "fine"
        "#,
    );
    let agent = main_agent(&w);
    stage.abandon(&w, &agent, "go", |what| matches!(what, What::ToolStarted { .. }));
    let end = stage.play(&w, &agent, "again");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "fine"));
    let asked = stage.asked();
    let messages = &asked.last().unwrap().messages;
    assert_eq!(messages[1].calls().count(), 2);
    assert_eq!(messages[2].results().count(), 2, "each call has a result: {messages:?}");
}

#[test]
fn a_failure_of_the_service_ends_the_turn_with_its_kind() {
    let w = World::new();
    let mut stage = Stage::new(
        "[[reply]]\nfault = { kind = \"rate-limited\", message = \"too fast\", status = 429, retryable = true }",
    );
    let end = stage.play(&w, &main_agent(&w), "go");
    let TurnOutcome::Failed(error) = end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(
        (error.kind, error.status, error.retryable),
        (ProviderErrorKind::RateLimited, Some(429), true)
    );
}
