//! What a model is told before anything is said: the system prompt, the project's instructions, and their bounds.

use crate::support::World;
use ringfence::agent::instructions::{Instructions, MOST};
use ringfence::agent::prompt::{Setup, system};
use ringfence::agent::skills::Skills;
use ringfence::agent::workspace::{ReadError, WorkspaceReader};
use ringfence::authority::{Profile, Role};
use std::os::unix::fs::symlink;

fn prompt(w: &World, role: Role, instructions: Option<&Instructions>) -> String {
    prompt_as(w, Profile::plain(role), instructions)
}

fn prompt_as(w: &World, profile: Profile, instructions: Option<&Instructions>) -> String {
    let toolbox = w.toolbox().read().unwrap();
    let now = "2026-03-01T09:30:00[Europe/Berlin]".parse::<jiff::Zoned>().unwrap();
    system(&Setup {
        toolbox: &toolbox,
        caller: &w.agent(profile),
        workspace: w.root(),
        instructions,
        skills: &Skills::default(),
        now: &now,
    })
}

fn reader(w: &World) -> WorkspaceReader {
    WorkspaceReader::open(w.root()).unwrap()
}

#[test]
fn the_prompt_and_all_definitions_stay_below_4000_tokens() {
    let w = World::new();
    for role in Role::ALL {
        let text = prompt(&w, role, None);
        let toolbox = w.toolbox().read().unwrap();
        let definitions: usize = toolbox
            .view(&w.agent(Profile::plain(role)))
            .map(|d| {
                let whole = serde_json::json!({
                    "name": d.name, "description": d.description, "input_schema": d.input_schema,
                });
                whole.to_string().chars().count()
            })
            .sum();
        let tokens = |characters: usize| (characters as f64 / 3.2).ceil() as usize;
        let (own, tools) = (tokens(text.chars().count()), tokens(definitions));
        println!("{role}: prompt {own} + definitions {tools} = {} tokens", own + tools);
        assert!(own + tools < 4_000, "{role}: {own} + {tools}");
    }
}

#[test]
fn the_prompt_says_where_when_as_whom_and_what_is_denied() {
    let w = World::new();
    let (main, subagent) = (prompt(&w, Role::Main, None), prompt(&w, Role::Subagent, None));
    for text in [&main, &subagent] {
        assert!(text.contains(w.root().to_str().unwrap()));
        assert!(text.contains("Sunday, 2026-03-01 09:30") && text.contains("Europe/Berlin"), "{text}");
        assert!(text.contains("read_file") && text.contains("not instructions"));
    }
    assert!(!main.contains("Not yours") && main.contains("message"));
    assert!(
        subagent.contains("Not yours: cron, message, spawn, tasks") && subagent.contains("one task"),
        "{subagent}"
    );
}

#[test]
fn a_run_that_may_only_read_says_so() {
    let w = World::new().read_only();
    assert!(prompt(&w, Role::Main, None).contains("Files can be read, not changed."));
    assert!(!prompt(&World::new(), Role::Main, None).contains("Files can be read, not changed."));
}

#[test]
fn commands_are_spoken_of_where_they_can_be_run() {
    let w = World::new();
    let without = Profile { tools: Some(vec!["read_file".to_owned()]), ..Profile::plain(Role::Main) };
    for (profile, spoken) in
        [(Profile::plain(Role::Main), true), (Profile::plain(Role::Subagent), true), (without, false)]
    {
        let text = prompt_as(&w, profile, None);
        assert_eq!(text.contains("- Commands are for"), spoken, "{text}");
    }
}

#[test]
fn the_projects_instructions_are_mains_alone_and_bounded() {
    let w = World::new();
    assert_eq!(Instructions::load(&reader(&w)), Ok(None));
    w.file("AGENTS.md", "Use tabs.\n");
    let short = Instructions::load(&reader(&w)).unwrap().unwrap();
    assert!(!short.cut);
    assert!(prompt(&w, Role::Main, Some(&short)).contains("Use tabs."));
    assert!(!prompt(&w, Role::Subagent, Some(&short)).contains("Use tabs."));
    // The bound lies within a character.
    w.file("AGENTS.md", format!("x{}", "é".repeat(MOST)));
    let long = Instructions::load(&reader(&w)).unwrap().unwrap();
    assert!(long.cut && long.text.len() <= MOST && long.text.ends_with('é'));
    assert!(prompt(&w, Role::Main, Some(&long)).contains("[cut here"));
}

#[test]
fn what_may_be_somebody_elses_is_not_read_as_instructions() {
    let w = World::new();
    std::fs::write(w.outside().join("secret"), "secret").unwrap();
    let load = || Instructions::load(&reader(&w));
    symlink(w.outside().join("secret"), w.path("AGENTS.md")).unwrap();
    assert!(load().unwrap_err().contains("leads out"), "{:?}", load());
    std::fs::remove_file(w.path("AGENTS.md")).unwrap();
    symlink("../outside/secret", w.path("AGENTS.md")).unwrap();
    assert!(load().unwrap_err().contains("leads out"), "{:?}", load());
    std::fs::remove_file(w.path("AGENTS.md")).unwrap();
    std::fs::hard_link(w.outside().join("secret"), w.path("AGENTS.md")).unwrap();
    assert!(load().unwrap_err().contains("hard links"), "{:?}", load());
    std::fs::remove_file(w.path("AGENTS.md")).unwrap();
    std::fs::create_dir(w.path("AGENTS.md")).unwrap();
    assert!(load().unwrap_err().contains("no regular file"), "{:?}", load());
    std::fs::remove_dir(w.path("AGENTS.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        w.path("AGENTS.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert!(load().unwrap_err().contains("no regular file"), "{:?}", load());
    // A link that stays inside is followed: many projects have one.
    std::fs::remove_file(w.path("AGENTS.md")).unwrap();
    w.file("CLAUDE.md", "Be kind.");
    symlink("CLAUDE.md", w.path("AGENTS.md")).unwrap();
    assert_eq!(load().unwrap().unwrap().text, "Be kind.");
}

#[test]
fn the_reader_cannot_be_led_outside_by_a_path() {
    let w = World::new();
    std::fs::write(w.outside().join("secret"), "secret").unwrap();
    let reader = reader(&w);
    let absolute = w.outside().join("secret");
    for path in ["../outside/secret", absolute.to_str().unwrap()] {
        assert!(matches!(reader.read(path, 100), Err(ReadError::Outside)), "{path}");
    }
    assert!(matches!(reader.read("nothing", 100), Err(ReadError::Missing)));
}
