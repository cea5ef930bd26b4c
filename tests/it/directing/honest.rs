//! What stays open to everybody: reading all of it, and work that directs nobody.

use super::{EVIL, Ground, directions, furnish, main_itself, others, world};
use ringfence::authority::{DenialKind, Role};
use serde_json::json;
use std::fs;

#[test]
fn everybody_reads_what_directs_main() {
    let w = world();
    furnish(&w, Ground::Full);
    for profile in others() {
        let who = w.conversation_as(profile);
        assert!(who.call("read_file", json!({ "path": "AGENTS.md" })).text().contains("Be kind."));
        assert!(
            who.call("read_file", json!({ "path": "skills/good/SKILL.md" })).text().contains("Body of good.")
        );
        assert!(who.call("read_file", json!({ "path": "up/leaf" })).text().contains("Be kind."));
    }
}

#[test]
fn honest_work_is_not_held_up() {
    let w = world();
    for ground in [Ground::Full, Ground::Bare, Ground::Linked, Ground::Dangling] {
        for profile in others() {
            furnish(&w, ground);
            let before = directions(&w);
            let who = w.conversation_as(profile);
            let operations = json!([
                { "op": "write", "path": "new.txt", "flags": ["create"], "text": "x" },
                { "op": "write", "path": "docs/other.md", "flags": ["truncate"], "text": "x" },
                { "op": "make", "path": "sub/" },
                // Only at the root of the workspace do they direct anybody.
                { "op": "make", "path": "sub/skills" },
                { "op": "write", "path": "sub/AGENTS.md", "flags": ["create"], "text": "x" },
                { "op": "symlink", "path": "sub/link", "target": "AGENTS.md" },
                { "op": "write", "path": "sub/link", "follow": true, "text": "y" },
                { "op": "symlink", "path": "to-sub", "target": "sub" },
                { "op": "write", "path": "to-sub/later", "flags": ["create"], "follow": true, "text": "y" },
                { "op": "symlink", "path": "dangling", "target": "sub/made" },
                { "op": "write", "path": "dangling", "flags": ["create"], "follow": true, "text": "y" },
                { "op": "times", "path": "new.txt" },
                { "op": "times", "path": "." },
                { "op": "times", "path": "sub/" },
                { "op": "resize", "path": "new.txt" },
                { "op": "stream", "path": "to-sub/stream", "text": "y" },
                { "op": "rename", "from": "new.txt", "to": "sub/skills/new.txt" },
                { "op": "rename", "from": "sub", "to": "tmp/sub" },
                { "op": "keep", "path": "tmp/sub", "name": "dir" },
                { "op": "unlink", "via": "dir", "path": "skills/new.txt" },
                { "op": "remove", "via": "dir", "path": "skills" },
                { "op": "make", "path": "skills-of-mine" },
                { "op": "write", "path": "AGENTS.md.draft", "flags": ["create"], "text": "x" },
                { "op": "write", "path": ".ringfence-tmp-mine", "flags": ["create", "exclusive"], "text": "x" },
                { "op": "rename", "from": ".ringfence-tmp-mine", "to": "done.txt" },
            ]);
            let reply = who.call("direct_try", json!({ "operations": operations }));
            assert_eq!(reply.outcome(), "ok", "{ground:?}: {:?}", reply.0.outcome);
            assert_eq!(w.read("tmp/sub/AGENTS.md"), "y");
            assert_eq!(w.read("tmp/sub/made"), "y");
            assert_eq!(w.read("done.txt"), "x");
            assert_eq!(directions(&w), before, "{ground:?}");
            who.call("write_file", json!({ "path": "docs/deep/er/x.md", "content": "x" })).text();
            who.call("read_file", json!({ "path": "docs/other.md" }));
            who.call("edit_file", json!({ "path": "docs/other.md", "old_text": "x", "new_text": "z" }))
                .text();
        }
    }
}

/// Main writes into a temporary file first: whoever could change that one would change what it becomes.
#[test]
fn a_temporary_file_of_another_call_is_left_alone() {
    let w = world();
    let temporary = ".ringfence-tmp-0123456789abcdef";
    let attempts = [
        json!({ "op": "write", "path": temporary, "text": EVIL }),
        json!({ "op": "write", "path": temporary, "flags": ["create", "truncate"], "text": EVIL }),
        json!({ "op": "unlink", "path": temporary }),
        json!({ "op": "rename", "from": temporary, "to": "x" }),
        json!({ "op": "rename", "from": "tmp/AGENTS.md", "to": temporary }),
        json!({ "op": "times", "path": temporary }),
    ];
    for attempt in &attempts {
        for profile in others() {
            furnish(&w, Ground::Bare);
            w.file(temporary, "what main is about to say");
            let reply = w.conversation_as(profile).call("direct_try", json!({ "operations": [attempt] }));
            assert_eq!(reply.denial().kind, DenialKind::Directing, "{attempt}");
            assert_eq!(w.read(temporary), "what main is about to say", "{attempt}");
        }
        let main = w.conversation_as(main_itself());
        assert_eq!(main.call("direct_try", json!({ "operations": [attempt] })).outcome(), "ok", "{attempt}");
    }
    // Its own goes with the call that made it, and no other of that name.
    furnish(&w, Ground::Bare);
    let operations = json!([{ "op": "write", "path": "tmp/.ringfence-tmp-1", "flags": ["create", "exclusive"], "text": "x" }]);
    w.conversation(Role::Subagent).call("direct_try", json!({ "operations": operations })).text();
    assert!(!fs::exists(w.path("tmp/.ringfence-tmp-1")).unwrap());
}
