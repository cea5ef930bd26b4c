//! Compaction: near the model's limit a summary stands for what is older, visibly, and the history stays whole.

use crate::support::{Stage, World};
use ringfence::agent::{TurnOutcome, What};
use ringfence::authority::{Profile, Role};
use ringfence::provider::{Message, ProviderErrorKind};

fn compactions(stage: &Stage) -> Vec<(usize, usize)> {
    let seen = stage.events().into_iter().filter_map(|what| match what {
        What::Compaction { before, after } => Some((before, after)),
        _ => None,
    });
    seen.collect()
}

/// A conversation with that many exchanges of so many characters.
fn filled(stage: &mut Stage, exchanges: usize, size: usize) {
    for n in 0..exchanges {
        stage.session.append(Message::user(format!("question {n} {}", "q".repeat(size)))).unwrap();
        stage.session.append(Message::assistant(format!("answer {n} {}", "a".repeat(size)))).unwrap();
    }
}

const SUMMARY: &str = "[[reply]]\nuser = \"Sum up this conversation\"\ntools = false\ntext = \"They counted to twenty.\"\n\
                       usage = { input = 3000, output = 50 }\n";

#[test]
fn near_the_limit_what_is_older_is_summed_up_and_the_history_kept() {
    let w = World::new();
    let mut stage = Stage::new(&format!("context_window = 20000\n{SUMMARY}[[reply]]\ntext = \"twenty-one\""));
    filled(&mut stage, 20, 1_800);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "and then?");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "twenty-one"));
    let [(before, after)] = compactions(&stage)[..] else { panic!("{:?}", compactions(&stage)) };
    assert!(before == 41 && after < 15, "{before} {after}");
    let asked = stage.asked();
    assert!(asked[0].tools.is_empty() && asked[0].messages[0].text().contains("question 0"));
    assert!(!asked[0].messages[0].text().contains("and then?"), "what was just asked is not summed up");
    let sent = &asked[1].messages;
    assert!(sent[0].text().contains("They counted to twenty."), "{:?}", sent[0]);
    assert!(sent.last().unwrap().text().contains("and then?"));
    assert_eq!(stage.session.history().unwrap().len(), 42, "the history is whole");
    assert_eq!(end.iterations, 2, "the summary is a model call like any other");
    assert_eq!(end.usage.input, 3000);
}

#[test]
fn the_last_reply_tells_how_full_it_is_better_than_the_characters() {
    let w = World::new();
    let call = "calls = [{ name = \"list_dir\", arguments = { path = \".\" } }]";
    let mut stage = Stage::new(&format!(
        "context_window = 20000\n{SUMMARY}[[reply]]\n{call}\nusage = {{ input = 17000, output = 10 }}\n[[reply]]\ntext = \"done\""
    ));
    filled(&mut stage, 4, 500);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Completed);
    assert_eq!(compactions(&stage).len(), 1);
    let sent = stage.asked().last().unwrap().messages.clone();
    let (calls, results): (usize, usize) =
        sent.iter().fold((0, 0), |(c, r), m| (c + m.calls().count(), r + m.results().count()));
    assert_eq!(calls, results, "no call is without its result: {sent:?}");
}

#[test]
fn a_full_context_is_summed_up_once_and_asked_again() {
    let w = World::new();
    let full = "[[reply]]\ntools = true\nfault = { kind = \"context-full\", message = \"too long\" }\n";
    let mut stage = Stage::new(&format!("{full}{SUMMARY}[[reply]]\ntext = \"fits\""));
    filled(&mut stage, 3, 1_000);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "fits"));
    assert_eq!(compactions(&stage).len(), 1);

    let mut stage = Stage::new(&format!("{full}{SUMMARY}{full}"));
    filled(&mut stage, 3, 1_000);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    let TurnOutcome::Failed(error) = end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(error.kind, ProviderErrorKind::ContextFull);
    stage.finish();
}

#[test]
fn two_summaries_that_gain_nothing_are_the_last_of_a_turn() {
    let w = World::new();
    let long = "s".repeat(40_000);
    let call = "calls = [{ name = \"write_file\", arguments = { path = \"a\", content = \"b\" } }]";
    let mut stage = Stage::new(&format!(
        "context_window = 8000\n[[reply]]\nuser = \"Sum up this conversation\"\ntools = false\nrepeat = true\ntext = \"{long}\"\n\
         [[reply]]\n{call}\nrepeat = 6\n[[reply]]\ntext = \"done\""
    ));
    filled(&mut stage, 4, 5_000);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Completed);
    let count = compactions(&stage).len();
    assert!((2..=3).contains(&count), "{count}");
}

#[test]
fn a_summary_that_fails_does_not_end_the_turn() {
    let w = World::new();
    let mut stage = Stage::new(
        "context_window = 20000\n[[reply]]\ntools = false\nfault = { kind = \"overloaded\", message = \"busy\" }\n\
         [[reply]]\ntext = \"on we go\"",
    );
    filled(&mut stage, 20, 1_800);
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!((end.outcome, end.text.as_str()), (TurnOutcome::Completed, "on we go"));
    assert!(stage.events().iter().any(|what| matches!(what, What::Notice { text } if text.contains("busy"))));
}
