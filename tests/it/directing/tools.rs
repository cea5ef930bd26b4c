//! The built-in tools, and the command line.

use super::{EVIL, Ground, directions, evil_skill, furnish, main_itself, others, prompt, world};
use crate::support::{Conversation, Program, World};
use ringfence::authority::{DenialKind, Remedy, Role};
use serde_json::{Value, json};
use std::fs;

/// A call by which main would be told something else.
type Attempt = (Ground, &'static str, Value);

fn attempts() -> Vec<Attempt> {
    use Ground::{Bare, Dangling, Full, Linked};
    let write =
        |ground, path: &str, text: &str| (ground, "write_file", json!({ "path": path, "content": text }));
    let add = |path: &str, text: &str| json!({ "path": path, "action": "add", "new_text": text });
    let edit = |path: &str, old: &str| json!({ "path": path, "old_text": old, "new_text": EVIL });
    let skill = evil_skill();
    vec![
        write(Full, "AGENTS.md", EVIL),
        write(Bare, "AGENTS.md", EVIL),
        write(Full, "up/leaf", EVIL),
        write(Full, "skills/new/SKILL.md", &skill),
        write(Bare, "skills/new/SKILL.md", &skill),
        write(Bare, ".agents/skills/new/SKILL.md", &skill),
        write(Full, "up/skills/new/SKILL.md", &skill),
        write(Linked, "docs/guide.md", EVIL),
        write(Linked, "AGENTS.md", EVIL),
        write(Linked, "lib/skills/new/SKILL.md", &skill),
        write(Dangling, "AGENTS.md", EVIL),
        write(Dangling, "later/guide.md", EVIL),
        (Full, "edit_file", edit("AGENTS.md", "Be kind.")),
        (Full, "edit_file", edit("skills/good/SKILL.md", "Body of good.")),
        (Bare, "edit_file", edit("AGENTS.md", "")),
        (Full, "apply_patch", json!({ "edits": [add("AGENTS.md", EVIL)] })),
        (Full, "apply_patch", json!({ "edits": [add("new.txt", "x"), add("skills/new/SKILL.md", &skill)] })),
        (
            Full,
            "apply_patch",
            json!({ "edits": [{ "path": "AGENTS.md", "action": "replace", "old_text": "Be kind.", "new_text": EVIL }] }),
        ),
    ]
}

/// Makes one attempt, after everything that it changes was read.
fn attempt(w: &World, who: &Conversation<'_>, (ground, tool, arguments): &Attempt) -> crate::support::Reply {
    furnish(w, *ground);
    for path in ["AGENTS.md", "skills/good/SKILL.md", "docs/guide.md", "up/leaf"] {
        who.call("read_file", json!({ "path": path }));
    }
    who.call(tool, arguments.clone())
}

fn leftovers(w: &World) -> Vec<String> {
    let names = fs::read_dir(w.root()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.contains("-tmp-")).collect()
}

#[test]
fn no_built_in_tool_changes_what_directs_main_but_for_main() {
    let w = world();
    for profile in others() {
        let (name, role) = (profile.name.clone(), profile.role);
        let who = w.conversation_as(profile);
        for each in attempts() {
            furnish(&w, each.0);
            let before = prompt(&w);
            let reply = attempt(&w, &who, &each);
            let after = directions(&w);
            assert_eq!(reply.outcome(), "directing", "{each:?} as {name}: {:?}", reply.0.outcome);
            let denial = reply.denial();
            assert_eq!(denial.kind, DenialKind::Directing);
            assert_eq!(denial.remedy, Remedy::UseRole(Role::Main), "{role}");
            assert!(!denial.subject.contains("-tmp-"), "{denial}");
            assert!(denial.to_string().contains("only main itself may change it"), "{denial}");
            assert_eq!(after.1, before, "{each:?} as {name}");
            furnish(&w, each.0);
            assert_eq!(
                directions(&w).0.into_keys().collect::<Vec<_>>(),
                after.0.into_keys().collect::<Vec<_>>(),
                "{each:?} as {name}"
            );
        }
    }
    let main = w.conversation_as(main_itself());
    for each in attempts() {
        let reply = attempt(&w, &main, &each);
        assert_eq!(reply.outcome(), "ok", "{each:?}: {:?}", reply.0.outcome);
        assert!(prompt(&w).contains(EVIL), "{each:?}");
        assert_eq!(leftovers(&w), Vec::<String>::new(), "{each:?}");
    }
}

#[test]
fn the_file_that_directs_is_the_one_that_is_named() {
    let w = world();
    furnish(&w, Ground::Full);
    let add = |path: &str| json!({ "path": path, "action": "add", "new_text": "x" });
    let edits = json!({ "edits": [add("docs/a.md"), add("skills/good/more.md"), add("docs/b.md")] });
    let denial = w.conversation(Role::Subagent).call("apply_patch", edits).denial();
    assert_eq!((denial.kind, denial.subject.as_str()), (DenialKind::Directing, "skills/good/more.md"));
    assert!(!w.exists("docs/a.md") && !w.exists("docs/b.md"));
}

#[test]
fn a_refused_write_leaves_no_temporary_file() {
    let w = world();
    let who = w.conversation(Role::Subagent);
    for each in attempts() {
        assert_eq!(attempt(&w, &who, &each).outcome(), "directing");
        assert_eq!(leftovers(&w), Vec::<String>::new(), "{each:?}");
    }
}

#[test]
fn the_command_line_says_who_may_and_what_to_type() {
    let program = Program::bare();
    program.configure("[profiles.writer]\nrole = \"main\"\n");
    for role in ["subagent", "writer"] {
        let asked = ["tools", "run", "--role", role, "write_file", "path=AGENTS.md", "content=Be loud."];
        let ran = program.run(&asked);
        assert_eq!(ran.code, 5, "{ran:?}");
        assert_eq!(
            ran.stderr,
            format!(
                "denied: AGENTS.md directs the main agent, or would: only main itself may change it, and `write_file` ran as \
                 {role}\n  to run it as main: ringfence tools run write_file 'path=AGENTS.md' 'content=Be loud.'\n"
            )
        );
        assert!(!program.workspace().join("AGENTS.md").exists());
        let told = program.run(&[&["tools", "run", "-o", "json"][..], &asked[2..]].concat());
        assert!(told.stdout.contains("\"directing\""), "{told:?}");
    }
    let ran = program.run(&["tools", "run", "write_file", "path=AGENTS.md", "content=Be loud."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(program.workspace().join("AGENTS.md")).unwrap(), "Be loud.");
}
