//! Every route that raw operations have.

use super::{EVIL, Ground, directions, evil_skill, furnish, main_itself, others, prompt, refused, world};
use crate::support::World;
use ringfence::authority::{Access, DenialKind, Directories, Profile, Remedy, Role};
use serde_json::{Value, json};
use std::fs;

/// A way to change what directs main: a name, what there is before, and the operations, of which the last one does it.
type Route = (&'static str, Ground, Value);

fn write(path: &str, flags: &[&str]) -> Value {
    json!({ "op": "write", "path": path, "flags": flags, "follow": true, "text": text(path) })
}

fn text(path: &str) -> String {
    if path.ends_with("SKILL.md") || path.ends_with("linked.md") { evil_skill() } else { EVIL.to_owned() }
}

fn rename(from: &str, to: &str) -> Value {
    json!({ "op": "rename", "from": from, "to": to })
}

fn link(target: &str, path: &str) -> Value {
    json!({ "op": "symlink", "target": target, "path": path })
}

fn on(op: &str, path: &str) -> Value {
    json!({ "op": op, "path": path })
}

fn keep(path: &str) -> Value {
    json!({ "op": "keep", "path": path, "name": "dir" })
}

fn via(mut operation: Value) -> Value {
    operation["via"] = json!("dir");
    operation
}

/// Those after which main's prompt says what the stranger wants.
fn telling() -> Vec<Route> {
    use Ground::{Bare, Dangling, Full, Linked};
    let create = &["create"][..];
    let anew = &["create", "exclusive"][..];
    vec![
        ("written", Full, json!([write("AGENTS.md", &[])])),
        ("written anew", Full, json!([write("AGENTS.md", &["create", "truncate"])])),
        ("truncated", Full, json!([write("AGENTS.md", &["truncate"])])),
        ("appended", Full, json!([{ "op": "stream", "path": "AGENTS.md", "text": EVIL }])),
        ("created", Bare, json!([write("AGENTS.md", create)])),
        ("created anew", Bare, json!([write("AGENTS.md", anew)])),
        ("by dots", Full, json!([write("tmp/.././tmp/../AGENTS.md", &[])])),
        ("by slashes", Full, json!([write(".//tmp//..//AGENTS.md", &["truncate"])])),
        ("renamed onto", Full, json!([rename("tmp/AGENTS.md", "AGENTS.md")])),
        ("renamed to", Bare, json!([rename("tmp/AGENTS.md", "./AGENTS.md")])),
        (
            "a temporary file renamed",
            Full,
            json!([write(".ringfence-tmp-1", anew), rename(".ringfence-tmp-1", "AGENTS.md")]),
        ),
        ("through a link to .", Full, json!([link(".", "dot"), write("dot/AGENTS.md", &["truncate"])])),
        (
            "created through a link to .",
            Bare,
            json!([link(".", "dot"), link("dot", "dots"), write("dots/AGENTS.md", create)]),
        ),
        ("renamed through a link", Full, json!([link(".", "dot"), rename("tmp/AGENTS.md", "dot/AGENTS.md")])),
        ("by a link to it", Full, json!([link("AGENTS.md", "leaf"), write("leaf", &["truncate"])])),
        (
            "by a chain of links",
            Full,
            json!([link("AGENTS.md", "one"), link("one", "two"), write("two", &[])]),
        ),
        ("by a link to nothing", Bare, json!([link("AGENTS.md", "leaf"), write("leaf", create)])),
        ("by a link that was there", Full, json!([write("up/leaf", &["truncate"])])),
        ("as a link", Bare, json!([link("tmp/AGENTS.md", "AGENTS.md")])),
        ("by a handle on .", Full, json!([keep("."), via(write("AGENTS.md", &["truncate"]))])),
        (
            "by a handle on a link",
            Bare,
            json!([link(".", "dot"), keep("dot"), via(write("AGENTS.md", create))]),
        ),
        ("from a handle", Full, json!([keep("tmp"), via(rename("AGENTS.md", "AGENTS.md"))])),
        ("a skill written", Full, json!([write("skills/good/SKILL.md", &["truncate"])])),
        ("a skill made", Full, json!([on("make", "skills/new"), write("skills/new/SKILL.md", create)])),
        (
            "skills made",
            Bare,
            json!([on("make", "skills/"), on("make", "skills/new"), write("skills/new/SKILL.md", create)]),
        ),
        ("a skill renamed to", Full, json!([rename("tmp/evil", "skills/evil")])),
        ("a skill renamed onto", Full, json!([rename("tmp/evil/SKILL.md", "skills/good/SKILL.md")])),
        ("an empty skill replaced", Full, json!([rename("tmp/evil", "skills/empty")])),
        ("skills renamed to", Bare, json!([rename("tmp", "skills")])),
        ("skills as a link", Bare, json!([link("tmp", "skills")])),
        (
            "deep skills renamed to",
            Bare,
            json!([on("make", ".agents"), rename("tmp/skills", ".agents/skills")]),
        ),
        (".agents as a link", Bare, json!([link("tmp", ".agents")])),
        (".agents renamed to", Bare, json!([rename("tmp", ".agents")])),
        ("a deep skill written", Full, json!([write(".agents/skills/deep/SKILL.md", &["truncate"])])),
        (".agents replaced", Full, json!([rename(".agents", "gone"), rename("tmp", ".agents")])),
        ("by a link to skills", Full, json!([link("skills", "s"), write("s/good/SKILL.md", &["truncate"])])),
        ("by a link up", Full, json!([write("up/skills/good/SKILL.md", &["truncate"])])),
        ("by a handle in skills", Full, json!([keep("skills/good"), via(write("SKILL.md", &["truncate"]))])),
        (
            "by a handle on a link up",
            Full,
            json!([
                keep("up/skills"),
                via(json!({ "op": "rename", "from": "good", "into": "dir", "to": "evil" })),
                write("skills/evil/SKILL.md", &["truncate"])
            ]),
        ),
        ("led to", Linked, json!([write("docs/guide.md", &["truncate"])])),
        ("led to, by a link", Linked, json!([write("via/guide.md", &["truncate"])])),
        ("led to, replaced", Linked, json!([rename("tmp/AGENTS.md", "docs/guide.md")])),
        (
            "the link on the way",
            Linked,
            json!([on("unlink", "via"), on("make", "via"), write("via/guide.md", create)]),
        ),
        (
            "the directory on the way",
            Linked,
            json!([rename("docs", "gone"), on("make", "docs"), write("docs/guide.md", create)]),
        ),
        ("the link itself", Linked, json!([on("unlink", "AGENTS.md"), write("AGENTS.md", create)])),
        (
            "skills led to",
            Linked,
            json!([on("make", "lib/skills/new"), write("lib/skills/new/SKILL.md", create)]),
        ),
        ("skills led to, moved", Linked, json!([rename("lib", "gone"), rename("tmp", "lib")])),
        ("a skill that is a link", Linked, json!([write("docs/linked.md", &["truncate"])])),
        ("deep skills led to", Linked, json!([write("config/agents/skills/deep/SKILL.md", &["truncate"])])),
        ("what a link will lead to", Dangling, json!([on("make", "later"), write("later/guide.md", create)])),
        (
            "the same at once",
            Dangling,
            json!([rename("tmp", "later"), rename("later/AGENTS.md", "later/guide.md")]),
        ),
        ("skills that a link will lead to", Dangling, json!([rename("tmp", "later-skills")])),
    ]
}

/// Those that take something away, or change what no prompt says.
fn silencing() -> Vec<Route> {
    use Ground::{Bare, Full, Linked};
    vec![
        ("removed", Full, json!([on("unlink", "AGENTS.md")])),
        ("emptied", Full, json!([on("resize", "AGENTS.md")])),
        ("renamed", Full, json!([rename("AGENTS.md", "tmp/x")])),
        ("skill removed", Full, json!([on("unlink", "skills/good/SKILL.md")])),
        ("skill renamed", Full, json!([rename("skills/good", "tmp/x")])),
        ("skill directory removed", Full, json!([on("remove", "skills/empty/")])),
        ("skills renamed", Full, json!([rename("skills", "x")])),
        ("deep skills renamed", Full, json!([rename(".agents/skills", ".agents/x")])),
        (".agents renamed", Full, json!([rename(".agents", "x")])),
        (".ringfence renamed", Full, json!([rename(".ringfence", "x")])),
        (".ringfence written", Full, json!([write(".ringfence/config.toml", &["truncate"])])),
        (".ringfence made", Bare, json!([on("make", ".ringfence")])),
        ("a file for .ringfence", Bare, json!([write(".ringfence", &["create"])])),
        ("beside a skill", Full, json!([write("skills/good/more.md", &["create"])])),
        ("a link in skills", Full, json!([link("empty", "skills/x")])),
        ("dated", Full, json!([on("times", "AGENTS.md")])),
        ("dated by a link", Full, json!([{ "op": "times", "path": "up/leaf", "follow": true }])),
        ("skills dated", Full, json!([on("times", "skills/")])),
        ("skills dated from within", Full, json!([on("times", "skills/good/..")])),
        ("skills dated by a handle", Full, json!([keep("skills"), via(on("times", "."))])),
        ("skill dated", Full, json!([on("times", "skills/good/SKILL.md")])),
        ("led to, removed", Linked, json!([on("unlink", "docs/guide.md")])),
        ("led to, dated", Linked, json!([{ "op": "times", "path": "AGENTS.md", "follow": true }])),
        ("skills led to, renamed", Linked, json!([rename("lib/skills", "lib/x")])),
    ]
}

#[test]
fn no_route_is_open_to_anybody_but_main() {
    let w = world();
    for profile in others() {
        let name = profile.name.clone();
        let who = w.conversation_as(profile);
        for (what, ground, operations) in telling().into_iter().chain(silencing()) {
            furnish(&w, ground);
            refused(&w, &who, &format!("{what}, as {name}"), &operations);
        }
    }
}

#[test]
fn every_route_is_open_to_main() {
    let w = world();
    let main = w.conversation_as(main_itself());
    for (what, ground, operations) in telling().into_iter().chain(silencing()) {
        furnish(&w, ground);
        let before = directions(&w);
        let reply = main.call("direct_try", json!({ "operations": operations }));
        assert_eq!(reply.outcome(), "ok", "{what}: {:?}", reply.0.outcome);
        assert_ne!(directions(&w), before, "{what}");
    }
    for (what, ground, operations) in telling() {
        furnish(&w, ground);
        main.call("direct_try", json!({ "operations": operations })).text();
        assert!(prompt(&w).contains(EVIL), "{what}: {}", prompt(&w));
    }
}

#[test]
fn names_that_some_file_system_takes_for_the_same_are_refused() {
    let w = world();
    let names = [
        "agents.md",
        "Agents.MD",
        "AGENTS.MD",
        "SKILLS",
        "Skills",
        "\u{17F}kills",
        "s\u{212A}ills",
        "ski\u{200D}lls",
        ".AGENTS",
        ".Agents",
        ".RingFence",
        "\u{FEFF}skills",
    ];
    let ways = |name: &str| {
        [
            json!([write(name, &["create"])]),
            json!([on("make", name)]),
            json!([link("tmp", name)]),
            json!([rename("tmp", name)]),
            json!([link(".", "dot"), rename("honest.txt", &format!("dot/{name}"))]),
        ]
    };
    for profile in others() {
        let who = w.conversation_as(profile);
        for name in names {
            for operations in ways(name) {
                furnish(&w, Ground::Bare);
                refused(&w, &who, name, &operations);
                assert!(!w.exists(name), "{name}: {operations}");
            }
        }
    }
    let main = w.conversation_as(main_itself());
    for operations in ways("agents.md") {
        furnish(&w, Ground::Bare);
        assert_eq!(main.call("direct_try", json!({ "operations": operations })).outcome(), "ok");
        assert!(w.exists("agents.md"), "{operations}");
    }
}

#[test]
fn a_handle_for_reading_sets_no_times() {
    let w = world();
    let operations = json!([on("times_by_handle", "AGENTS.md")]);
    for profile in others() {
        furnish(&w, Ground::Full);
        let before = directions(&w);
        let reply = w.conversation_as(profile).call("direct_try", json!({ "operations": operations }));
        assert_eq!(reply.outcome(), "denied", "{:?}", reply.0.outcome);
        assert_eq!(directions(&w), before);
    }
    let before = directions(&w);
    w.conversation_as(main_itself()).call("direct_try", json!({ "operations": operations })).text();
    assert_ne!(directions(&w), before);
}

#[test]
fn hard_links_are_made_by_nobody() {
    let w = world();
    furnish(&w, Ground::Full);
    let before = directions(&w);
    for profile in others().into_iter().chain([main_itself()]) {
        let who = w.conversation_as(profile);
        for (from, to) in [("AGENTS.md", "x"), ("tmp/AGENTS.md", "skills/x")] {
            let operations = json!([{ "op": "link", "from": from, "to": to }]);
            let reply = who.call("direct_try", json!({ "operations": operations }));
            assert_eq!(reply.denial().kind, DenialKind::LinkRefused, "{from} {to}");
        }
    }
    assert_eq!(directions(&w), before);
}

/// A file with two names is not read. Without the other name it would be.
#[test]
fn the_other_name_of_a_file_is_not_removed() {
    let w = world();
    let set = || {
        furnish(&w, Ground::Bare);
        w.file("docs/copy.md", EVIL);
        fs::hard_link(w.path("docs/copy.md"), w.path("AGENTS.md")).unwrap();
        w.file("docs/skill.md", evil_skill());
        fs::create_dir_all(w.path("skills/twice")).unwrap();
        fs::hard_link(w.path("docs/skill.md"), w.path("skills/twice/SKILL.md")).unwrap();
    };
    for path in ["docs/copy.md", "docs/skill.md"] {
        for operations in [json!([on("unlink", path)]), json!([rename("honest.txt", path)])] {
            for profile in others() {
                set();
                refused(&w, &w.conversation_as(profile), path, &operations);
            }
            set();
            w.conversation_as(main_itself()).call("direct_try", json!({ "operations": operations })).text();
            assert!(prompt(&w).contains(EVIL), "{path}");
        }
    }
}

/// Main narrowed to these directories.
fn narrowed_to<'a>(paths: impl IntoIterator<Item = &'a std::path::Path>) -> Profile {
    let mut profile = Profile { name: "narrow".to_owned(), ..Profile::plain(Role::Main) };
    let entries = paths.into_iter().map(|path| (path.to_owned(), Access::ReadWrite));
    profile.rights.directories = Directories::of(entries);
    profile
}

#[test]
fn a_directory_that_is_handed_over_within_is_for_reading() {
    let w = world();
    for (within, path) in
        [("skills", "good/SKILL.md"), (".agents", "skills/deep/SKILL.md"), ("skills/good", "SKILL.md")]
    {
        furnish(&w, Ground::Full);
        let who = w.conversation_as(narrowed_to([w.path(within).as_path()]));
        for operations in [
            json!([write(path, &["truncate"])]),
            json!([write("new", &["create"])]),
            json!([on("make", "new")]),
            json!([on("unlink", path)]),
            json!([on("times", ".")]),
        ] {
            refused(&w, &who, within, &operations);
        }
    }
    // Another one is not.
    furnish(&w, Ground::Full);
    let who = w.conversation_as(narrowed_to([w.path("tmp").as_path()]));
    who.call("direct_try", json!({ "operations": [write("AGENTS.md", &["truncate"])] })).text();
}

#[test]
fn a_workspace_within_a_directory_that_is_handed_over_stays_where_it_is() {
    let w = World::below("above/it/ws");
    let top = w.root().parent().unwrap().parent().unwrap().parent().unwrap().to_owned();
    let w = w.with_directory(&top, Access::ReadWrite);
    w.component(&crate::support::hostile("escape_directing"), &["files"]);
    let who = w.conversation_as(narrowed_to([top.as_path()]));
    let routes = |w: &World| {
        fs::create_dir_all(top.join("other/ws")).unwrap();
        furnish(w, Ground::Full);
        [
            json!([write("above/it/ws/AGENTS.md", &["truncate"])]),
            json!([write("above/it/ws/skills/good/SKILL.md", &["truncate"])]),
            json!([rename("above/it/ws/tmp/AGENTS.md", "above/it/ws/AGENTS.md")]),
            json!([rename("above/it/ws", "above/it/old")]),
            json!([rename("above/it", "above/old")]),
            json!([rename("above", "old")]),
            json!([keep("above/it"), via(json!({ "op": "rename", "from": "ws", "to": "x" }))]),
        ]
    };
    for operations in routes(&w) {
        furnish(&w, Ground::Full);
        refused(&w, &who, "from above", &operations);
    }
    // An empty one could be removed, or replaced by another.
    for entry in fs::read_dir(w.root()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
    }
    for operations in [json!([on("remove", "above/it/ws")]), json!([rename("other/ws", "above/it/ws")])] {
        refused(&w, &who, "from above", &operations);
    }
    assert!(w.root().is_dir());
    // What lies beside it is free, and so is what lies in it and directs nobody.
    who.call("direct_try", json!({ "operations": [
        write("above/it/ws/new.txt", &["create"]), rename("other", "above/it/other"), on("make", "above/skills"),
    ] }))
    .text();
    // As main the workspace can be moved.
    let main = w.conversation_as(main_itself());
    for operations in routes(&w) {
        assert_eq!(
            main.call("direct_try", json!({ "operations": operations })).outcome(),
            "ok",
            "{operations}"
        );
        for (from, to) in [
            ("above/it/old", "above/it/ws"),
            ("above/old", "above/it"),
            ("old", "above"),
            ("above/it/x", "above/it/ws"),
        ] {
            let _ = fs::rename(top.join(from), top.join(to));
        }
    }
}

#[test]
fn who_holds_what_another_left_is_not_main_itself() {
    let w = world();
    furnish(&w, Ground::Full);
    let grant = ringfence::authority::Grant(ringfence::authority::Rights::all());
    let parent = w.agent(main_itself()).effective(&grant);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let arguments = json!({ "operations": [write("AGENTS.md", &["truncate"])] }).to_string();
    for (role, told) in [
        (Role::Main, Remedy::UseRole(Role::Main)),
        (
            Role::Subagent,
            Remedy::Nothing(
                "say in your answer what it should be, and let the main agent write it".to_owned(),
            ),
        ),
    ] {
        let agent = w.agent(Profile::plain(role)).under(parent.clone());
        let before = directions(&w);
        let toolbox = w.toolbox().read().unwrap();
        let outcome = runtime.block_on(toolbox.call(&agent, "direct_try", &arguments)).outcome;
        drop(toolbox);
        match outcome {
            ringfence::toolbox::Outcome::Denied(denial) => {
                assert_eq!((denial.kind, denial.remedy), (DenialKind::Directing, told));
            }
            other => panic!("{role}: {other:?}"),
        }
        assert_eq!(directions(&w), before);
    }
}
