//! Cases K and M8: what is typed in a chat, and what the person sees of it. Named by their numbers.

use super::support::Program;
use ringfence::cli::finished;
use ringfence::cli::ladder::{During, Ladder, Step};
use ringfence::cli::slash::{COMMANDS, Line, Slash, help, understand};
use ringfence::cli::status::{Status, context_percent};
use ringfence::provider::Usage;
use std::time::{Duration, Instant};

fn wrong(line: &str) -> String {
    match understand(line) {
        Line::Wrong(problem) => problem,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn parity_k1_commands_in_any_case_and_with_space_around_them() {
    for line in ["/new", "/NEW", " /new ", "/New\t"] {
        assert_eq!(understand(line), Line::Command(Slash::New), "{line:?}");
    }
    for (name, _, _) in COMMANDS {
        assert!(matches!(understand(name), Line::Command(_)), "{name}");
        assert!(help().contains(name), "{name}");
    }
    assert_eq!(understand("/history"), Line::Command(Slash::History(10)));
    assert_eq!(understand("/history 3"), Line::Command(Slash::History(3)));
    assert_eq!(understand("/history 900"), Line::Command(Slash::History(50)));
    assert_eq!(understand("/model  big-One "), Line::Command(Slash::Model(Some("big-One".into()))));
}

#[test]
fn parity_k1_a_near_name_is_suggested_and_a_far_one_points_to_help() {
    assert!(wrong("/neaw").contains("did you mean /new?"));
    assert!(wrong("/histroy").contains("did you mean /history?"));
    let far = wrong("/frobnicate");
    assert!(far.contains("/help") && !far.contains("mean"), "{far}");
}

#[test]
fn parity_k1_arguments_where_none_belong_are_refused() {
    for name in ["/status", "/new", "/stop", "/tools", "/compact", "/exit", "/help"] {
        assert!(wrong(&format!("{name} now")).contains("takes no arguments"), "{name}");
    }
    assert!(wrong("/history many").contains("a number"));
}

#[test]
fn parity_k1_ordinary_text_is_no_command() {
    for line in ["hello", "!x", "a /new day", "/etc/hosts: what is in it?", "/"] {
        match understand(line) {
            Line::Say(text) => assert_eq!(text, line),
            Line::Wrong(_) if line == "/" => {}
            other => panic!("{line}: {other:?}"),
        }
    }
    assert_eq!(understand("  "), Line::Empty);
}

#[test]
fn parity_k4_status_has_every_field_and_the_context_is_capped() {
    assert_eq!(context_percent(0, 100_000, 8_192), 0);
    assert_eq!(context_percent(50_000, 108_000, 8_000), 50);
    assert_eq!(context_percent(10_000_000, 108_000, 8_000), 999);
    assert_eq!(context_percent(5, 0, 8_192), 500);
    let status = Status {
        model: "m (p)".into(),
        session: "cli:a".into(),
        role: "main".into(),
        workspace: "/w".into(),
        sandbox: "commands run at level full or higher".into(),
        messages: 4,
        context: 50_000,
        window: 108_000,
        reply: 8_000,
        used: Usage { input: 200, cached: 50, output: 30 },
        cost: None,
        turns: 1,
        waiting: 2,
        tasks: 3,
        uptime: Duration::from_secs(3_723),
    };
    let lines = status.lines();
    for part in [
        env!("CARGO_PKG_VERSION"),
        "m (p)",
        "cli:a, 4 messages",
        "main in /w",
        "level full or higher",
        "50 % of 100000 tokens",
        "200 sent (25 % of them cached), 30 received; price unknown",
        "1 turns, 3 background agents; 2 messages wait",
        "1:02:03",
    ] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
}

#[test]
fn the_first_ctrl_c_ends_the_turn_and_the_second_within_two_seconds_leaves() {
    let start = Instant::now();
    let after = |ms: u64| start + Duration::from_millis(ms);
    let mut ladder = Ladder::default();
    assert_eq!(ladder.press(During::Turn, after(0)), Step::EndTurn);
    assert_eq!(ladder.press(During::Turn, after(2_001)), Step::EndTurn);
    assert_eq!(ladder.press(During::Turn, after(4_001)), Step::Leave);
    let mut ladder = Ladder::default();
    assert_eq!(ladder.press(During::Typing, after(0)), Step::ClearLine);
    assert_eq!(ladder.press(During::Typing, after(1_000)), Step::Leave);
    assert_eq!(Ladder::default().press(During::Idle, after(0)), Step::Leave);
}

#[test]
fn blocks_are_finished_by_empty_lines_and_closed_fences_alone() {
    for (text, done) in [
        ("", ""),
        ("half a line", ""),
        ("a line\n", ""),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\ntwo\n\n", "one\n\ntwo\n\n"),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n\nmore\n```\nafter", "```\ncode\n\nmore\n```\n"),
        ("~~~\n```\n\n~~~\n", "~~~\n```\n\n~~~\n"),
        ("- a\n\n- b", "- a\n\n"),
    ] {
        assert_eq!(&text[..finished(text)], done, "{text:?}");
    }
}

#[test]
fn parity_m8_what_a_model_thinks_reaches_neither_the_answer_nor_the_person() {
    let program = Program::scripted(
        r#"
[[reply]]
thinking = "SECRET-THOUGHT"
text = "On it."
calls = [{ name = "message", arguments = { content = "working" } }]
[[reply]]
thinking = "SECRET-THOUGHT"
text = "done"
"#,
    );
    for flags in [&["run", "-v"][..], &["run", "-o", "json"][..]] {
        let ran = program.run(&[flags, &["go"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!format!("{ran:?}").contains("SECRET-THOUGHT"), "{ran:?}");
    }
}
