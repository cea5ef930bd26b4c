//! Parity F72 and W16: what was looked up or tried twice in a turn is refused the third time.

use crate::support::{Stage, World};
use ringfence::agent::{TurnEnd, TurnOutcome};
use ringfence::authority::{Profile, Role};

fn play(w: &World, calls: &[&str]) -> (Stage, TurnEnd) {
    let one = |call: &&str| format!("[[reply]]\ncalls = [{call}]\n");
    let mut stage =
        Stage::new(&format!("{}[[reply]]\ntext = \"done\"", calls.iter().map(one).collect::<String>()));
    let end = stage.play(w, &w.agent(Profile::plain(Role::Main)), "go");
    assert_eq!(end.outcome, TurnOutcome::Completed);
    (stage, end)
}

#[test]
fn parity_w16_the_third_identical_look_up_is_refused_however_it_is_written() {
    let w = World::new();
    w.file("a.txt", "x\n");
    let (stage, _) = play(
        &w,
        &[
            r#"{ name = "grep", arguments = { pattern = "x", path = "." } }"#,
            r#"{ name = "grep", arguments = '{"path":".",   "pattern":"x"}' }"#,
            r#"{ name = "grep", arguments = '{"arguments":{"path":".","pattern":"x"}}' }"#,
            r#"{ name = "grep", arguments = { pattern = "y", path = "." } }"#,
        ],
    );
    assert_eq!(stage.outcomes(), ["grep done", "grep done", "grep refused repeated-look-up", "grep done"]);
    let refused = &stage.results()[2];
    assert!(refused.1 && refused.0.starts_with("refused:"), "{refused:?}");
}

#[test]
fn reading_one_file_three_times_is_refused_although_the_second_answer_is_shorter() {
    let w = World::new();
    w.file("a.txt", "x\n");
    let read = r#"{ name = "read_file", arguments = { path = "a.txt" } }"#;
    let (stage, _) = play(&w, &[read, read, read]);
    assert_eq!(stage.outcomes(), ["read_file done", "read_file done", "read_file refused repeated-look-up"]);
}

#[test]
fn three_at_once_are_two_and_a_refusal() {
    let w = World::new();
    let list = r#"{ name = "list_dir", arguments = { path = "." } }"#;
    let (stage, _) = play(&w, &[&format!("{list}, {list}, {list}")]);
    let mut outcomes = stage.outcomes();
    outcomes.sort();
    assert_eq!(outcomes, ["list_dir done", "list_dir done", "list_dir refused repeated-look-up"]);
}

#[test]
fn a_change_in_between_makes_it_another_look_up() {
    let w = World::new();
    w.file("a.txt", "x\n");
    let read = r#"{ name = "read_file", arguments = { path = "a.txt" } }"#;
    let write = r#"{ name = "write_file", arguments = { path = "a.txt", content = "y\n" } }"#;
    let (stage, _) = play(&w, &[read, read, write, read]);
    assert_eq!(stage.outcomes().last().unwrap(), "read_file done");
    assert!(stage.results()[3].0.contains('y'));
}

#[test]
fn a_new_turn_counts_anew() {
    let w = World::new();
    let mut stage = Stage::new(
        "[[reply]]\ntools = true\nturn = 1\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\nrepeat = 2\n\
         [[reply]]\nturn = 1\ntext = \"one\"\n\
         [[reply]]\nturn = 2\ncalls = [{ name = \"list_dir\", arguments = { path = \".\" } }]\n\
         [[reply]]\ntext = \"two\"",
    );
    let agent = w.agent(Profile::plain(Role::Main));
    stage.play(&w, &agent, "go");
    stage.play(&w, &agent, "again");
    assert_eq!(stage.outcomes(), ["list_dir done", "list_dir done", "list_dir done"]);
}

#[test]
fn parity_f72_the_third_probe_of_a_place_outside_is_refused_whichever_tool_tries() {
    let w = World::new();
    std::fs::write(w.outside().join("secret"), "s").unwrap();
    let secret = w.outside().join("secret").display().to_string();
    let around = format!("{}/../outside/./secret", w.outside().display());
    let (stage, end) = play(
        &w,
        &[
            &format!("{{ name = \"read_file\", arguments = {{ path = \"{secret}\" }} }}"),
            &format!("{{ name = \"grep\", arguments = {{ pattern = \"s\", path = \"{around}\" }} }}"),
            &format!("{{ name = \"write_file\", arguments = {{ path = \"{secret}\", content = \"t\" }} }}"),
            "{ name = \"read_file\", arguments = { path = \"../outside/secret\", offset = 2 } }",
        ],
    );
    assert_eq!(
        stage.outcomes(),
        [
            "read_file denied outside-workspace",
            "grep denied outside-workspace",
            "write_file refused repeated-probe",
            "read_file refused repeated-probe"
        ]
    );
    assert_eq!(end.denied.len(), 2);
    assert!(stage.results()[2].0.contains("ask the user"), "{}", stage.results()[2].0);
    assert_eq!(std::fs::read_to_string(w.outside().join("secret")).unwrap(), "s");
}

#[test]
fn parity_f72_a_link_that_leads_outside_is_one_place_as_well() {
    let w = World::new();
    std::fs::write(w.outside().join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(w.outside().join("secret"), w.path("link")).unwrap();
    let read = |offset: u32| {
        format!("{{ name = \"read_file\", arguments = {{ path = \"link\", offset = {offset} }} }}")
    };
    let (stage, _) = play(
        &w,
        &[&read(1), &read(2), "{ name = \"grep\", arguments = { pattern = \"s\", path = \"link\" } }"],
    );
    assert_eq!(stage.outcomes().last().unwrap(), "grep refused repeated-probe");
}
