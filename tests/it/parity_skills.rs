//! Parity Q1: skills.

use crate::support::World;
use ringfence::agent::prompt::{Setup, system};
use ringfence::agent::skills::{Skills, Sources};
use ringfence::agent::workspace::WorkspaceReader;
use ringfence::authority::{Profile, Role};
use std::fs;
use std::path::Path;

fn load_with(w: &World, user: Option<&Path>, disabled: &[&str]) -> Skills {
    let disabled: Vec<String> = disabled.iter().map(|name| (*name).to_owned()).collect();
    let user = user.map(|path| WorkspaceReader::open(path).unwrap());
    Skills::load(&Sources {
        workspace: &WorkspaceReader::open(w.root()).unwrap(),
        user: user.as_ref(),
        disabled: &disabled,
        has_program: &|name| name == "git",
        has_variable: &|name| name == "HOME",
    })
}

fn load(w: &World) -> Skills {
    load_with(w, None, &[])
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn skill(w: &World, name: &str, front: &str) {
    w.file(format!("skills/{name}/SKILL.md"), format!("---\nname: {name}\n{front}\n---\nBody of {name}.\n"));
}

fn prompt(w: &World, skills: &Skills) -> String {
    let toolbox = w.toolbox().read().unwrap();
    let caller = w.agent(Profile::plain(Role::Main));
    let now = jiff::Zoned::now();
    system(&Setup {
        toolbox: &toolbox,
        caller: &caller,
        workspace: w.root(),
        instructions: None,
        skills,
        now: &now,
    })
}

#[test]
fn parity_q1_front_matter_folded_literal_and_typed() {
    let w = World::new();
    skill(&w, "folded", "description: >\n  one\n  line");
    skill(&w, "literal", "description: |\n  first\n  second");
    skill(&w, "quoted", "description: \"a: b\"\nlicense: MIT\nmetadata:\n  author: me\n  version: 1.0");
    skill(&w, "typed", "description: 2026");
    skill(
        &w,
        "nulls",
        "description: x\nrequires:\nmetadata:\n  nanobot:\n    requires:\n      bins: null\n      env:",
    );
    let skills = load(&w);
    assert_eq!(names(&skills), ["folded", "literal", "nulls", "quoted", "typed"], "{:?}", skills.warnings);
    let description = |name: &str| skills.get(name).unwrap().description.clone();
    assert_eq!(description("folded"), "one line");
    assert_eq!(description("literal"), "first second");
    assert_eq!(description("quoted"), "a: b");
    assert_eq!(description("typed"), "2026");
    assert!(skills.warnings.is_empty(), "{:?}", skills.warnings);
}

#[test]
fn parity_q1_a_workspaces_skill_hides_the_users_of_that_name() {
    let w = World::new();
    let user = w.outside().join("skills");
    for (name, text) in [("weather", "the user's"), ("mine", "only the user's")] {
        fs::create_dir_all(user.join(name)).unwrap();
        fs::write(
            user.join(name).join("SKILL.md"),
            format!("---\nname: {name}\ndescription: {text}\n---\nx"),
        )
        .unwrap();
    }
    w.file(".agents/skills/weather/SKILL.md", "---\nname: weather\ndescription: the project's\n---\nx");
    w.file("skills/weather/SKILL.md", "---\nname: weather\ndescription: the older place's\n---\nx");
    let skills = load_with(&w, Some(&user), &[]);
    assert_eq!(names(&skills), ["mine", "weather"]);
    assert_eq!(skills.get("weather").unwrap().description, "the project's");
    assert_eq!(skills.get("weather").unwrap().path, ".agents/skills/weather/SKILL.md");
    let mine = Path::new(&skills.get("mine").unwrap().path).to_owned();
    assert_eq!(mine, fs::canonicalize(&user).unwrap().join("mine/SKILL.md"));
}

#[test]
fn parity_q1_unmet_requirements_hide_and_disabled_ones_are_gone() {
    let w = World::new();
    skill(&w, "has-git", "description: x\nrequires: { bins: [git], env: [HOME] }");
    skill(
        &w,
        "no-bin",
        "description: x\nmetadata: { nanobot: { requires: { bins: [git, absent-program] } } }",
    );
    skill(&w, "no-env", "description: x\nmetadata: { openclaw: { requires: { env: [ABSENT_KEY] } } }");
    skill(&w, "unwanted", "description: x");
    assert_eq!(names(&load(&w)), ["has-git", "unwanted"]);
    assert_eq!(names(&load_with(&w, None, &["unwanted"])), ["has-git"]);
}

#[test]
fn parity_q1_named_skills_are_loaded_in_the_order_of_their_names_in_the_prompt() {
    let w = World::new();
    skill(&w, "aa", "description: x");
    skill(&w, "bb", "description: y");
    let skills = load(&w);
    let text = skills.with_named("use $bb, then $aa and $bb again; $5 is money");
    let (b, a) = (text.find("Body of bb.").unwrap(), text.find("Body of aa.").unwrap());
    assert!(b < a && text.matches("Body of bb.").count() == 1);
    assert!(text.starts_with("use $bb, then $aa and $bb again; $5 is money\n"));
    assert_eq!(skills.with_named("nothing"), "nothing");
}

#[test]
fn the_catalogue_comes_first_and_the_body_on_demand_unless_it_is_always_on() {
    let w = World::new();
    skill(&w, "on-demand", "description: When it rains.");
    skill(&w, "always-on", "description: x\nmetadata: { nanobot: { always: true } }");
    let skills = load(&w);
    let text = prompt(&w, &skills);
    assert!(text.contains("- on-demand: When it rains. (skills/on-demand/SKILL.md)"), "{text}");
    assert!(!text.contains("Body of on-demand.") && text.contains("Body of always-on."));
    let body = w.call("read_file", serde_json::json!({ "path": skills.get("on-demand").unwrap().path }));
    assert!(body.text().contains("Body of on-demand."));
}

#[test]
fn what_is_wrong_is_left_out_with_a_warning_and_the_rest_stays() {
    let w = World::new();
    skill(&w, "good", "description: x");
    w.file("skills/no-front/SKILL.md", "just text");
    w.file("skills/broken/SKILL.md", "---\nname: [\n---\nx");
    skill(&w, "silent", "license: MIT");
    w.file("skills/Bad Name/SKILL.md", "---\nname: Bad Name\ndescription: x\n---\nx");
    w.file("skills/hidden/SKILL.md", "---\nname: hidden\ndescription: \"a\u{200b}b\"\n---\nx");
    fs::create_dir_all(w.path("skills/empty")).unwrap();
    fs::write(w.outside().join("SKILL.md"), "---\nname: linked\ndescription: x\n---\nsecret").unwrap();
    fs::create_dir_all(w.path("skills/linked")).unwrap();
    std::os::unix::fs::symlink(w.outside().join("SKILL.md"), w.path("skills/linked/SKILL.md")).unwrap();
    std::os::unix::fs::symlink(w.outside(), w.path("skills/whole")).unwrap();
    w.file(
        "skills/other-name/SKILL.md",
        format!("---\nname: renamed\ndescription: {}\n---\nx", "d".repeat(2000)),
    );
    let skills = load(&w);
    assert_eq!(names(&skills), ["good", "renamed"], "{:?}", skills.warnings);
    assert_eq!(skills.get("renamed").unwrap().description.len(), 1024);
    for wanted in
        ["no-front", "broken", "silent", "Bad Name", "hidden", "linked", "cut to 1024", "other-name"]
    {
        assert!(skills.warnings.iter().any(|line| line.contains(wanted)), "{wanted}: {:?}", skills.warnings);
    }
    assert!(
        skills.warnings.iter().all(|line| !line.contains('\n') && line.len() < 300),
        "{:?}",
        skills.warnings
    );
}

#[test]
fn a_flood_of_skills_is_bounded() {
    let w = World::new();
    for n in 0..200 {
        skill(&w, &format!("skill-{n:03}"), &format!("description: {}", "d".repeat(200)));
    }
    let skills = load(&w);
    assert_eq!(skills.iter().count(), 128);
    let text = prompt(&w, &skills);
    assert!(text.len() < 16_000 && text.contains("more that are not listed here"), "{}", text.len());
}
