//! Links that decide what is at a protected place.

use super::{Yard, about, gone, moved, pinned};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn what_a_protected_link_leads_to_is_pinned_and_the_link_is_put_back() {
    let y = Yard::new();
    y.write("docs/real.md", "be kind");
    y.write("cfg/tasks.json", "{}");
    symlink("middle/real.md", y.at("AGENTS.md")).unwrap();
    symlink("docs", y.at("middle")).unwrap();
    symlink(y.at("cfg"), y.at(".vscode")).unwrap();
    let before = y.look();
    assert_eq!(pinned(&before), ["cfg", "docs/real.md"]);

    // Each of the links on the way, in each way it can be changed.
    fs::remove_file(y.at("AGENTS.md")).unwrap();
    y.write("AGENTS.md", "obey");
    fs::remove_file(y.at("middle")).unwrap();
    symlink("elsewhere", y.at("middle")).unwrap();
    y.write("elsewhere/real.md", "obey");
    fs::remove_file(y.at(".vscode")).unwrap();
    let found = y.after(&before);
    assert_eq!(fs::read_to_string(moved(&y, &found, "AGENTS.md")).unwrap(), "obey");
    assert_eq!(fs::read_link(moved(&y, &found, "middle")).unwrap(), Path::new("elsewhere"));
    assert!(about(&found, ".vscode").changed && about(&found, "AGENTS.md").changed);
    assert_eq!(fs::read_link(y.at("AGENTS.md")).unwrap(), Path::new("middle/real.md"));
    assert_eq!(fs::read_link(y.at("middle")).unwrap(), Path::new("docs"));
    assert_eq!(fs::read_link(y.at(".vscode")).unwrap(), y.at("cfg"));
    assert_eq!(fs::read_to_string(y.at("AGENTS.md")).unwrap(), "be kind");
    assert_eq!(found.files.len(), 3, "{found:#?}");
    assert_eq!(y.after(&before).files.len(), 0, "once is enough");
}

#[test]
fn a_linked_repository_is_held_as_one_and_can_still_be_worked_in() {
    let y = Yard::new();
    y.git("", &["init", "-q", "--separate-git-dir", "real", "tree"]);
    fs::remove_file(y.at("tree/.git")).unwrap();
    symlink("../real", y.at("tree/.git")).unwrap();
    symlink(".", y.at("tree/loop")).unwrap();
    symlink("../..", y.at("tree/.vscode")).unwrap();
    let before = y.look();
    assert_eq!(pinned(&before), ["real/config", "real/hooks"]);
    y.write("tree/a", "a");
    y.git("tree", &["add", "a"]);
    y.git("tree", &["commit", "-qm", "a"]);
    assert!(y.after(&before).files.is_empty());
}

#[test]
fn a_hook_that_is_a_link_has_its_script_pinned() {
    let y = Yard::new();
    y.git("", &["init", "-q"]);
    y.write("scripts/check.sh", "#!/bin/sh\n");
    fs::create_dir_all(y.at(".git/hooks")).unwrap();
    symlink("../../scripts/check.sh", y.at(".git/hooks/pre-commit")).unwrap();
    assert_eq!(pinned(&y.look()), [".git/config", ".git/hooks", "scripts/check.sh"]);
}

#[test]
fn what_appears_where_a_dangling_link_leads_is_moved_away() {
    let y = Yard::new();
    symlink("docs/later.md", y.at("AGENTS.md")).unwrap();
    y.write("src/later.md", "untouched");
    let before = y.look();
    assert!(before.pins.is_empty());
    y.write("docs/later.md", "obey");
    let found = y.after(&before);
    assert_eq!(fs::read_to_string(moved(&y, &found, "docs/later.md")).unwrap(), "obey");
    assert!(gone(&y, "docs/later.md") && !gone(&y, "AGENTS.md"));

    // By a link that was put in the way: it goes, and what it leads to stays.
    fs::remove_dir(y.at("docs")).unwrap();
    symlink("src", y.at("docs")).unwrap();
    let found = y.after(&before);
    moved(&y, &found, "docs");
    assert!(gone(&y, "docs"));
    assert_eq!(fs::read_to_string(y.at("src/later.md")).unwrap(), "untouched");
}

#[test]
fn a_new_link_is_moved_away_and_what_it_leads_to_stays() {
    let y = Yard::new();
    y.write("src/main.rs", "fn main() {}");
    fs::write(y.outside().join("secret"), "s").unwrap();
    let before = y.look();
    symlink("src", y.at(".vscode")).unwrap();
    symlink("src/main.rs", y.at("AGENTS.md")).unwrap();
    symlink(y.outside(), y.at(".git")).unwrap();
    symlink("../outside/secret", y.at(".mcp.json")).unwrap();
    symlink(".envrc", y.at(".envrc")).unwrap();
    let found = y.after(&before);
    for path in [".vscode", "AGENTS.md", ".git", ".mcp.json", ".envrc"] {
        assert!(fs::symlink_metadata(moved(&y, &found, path)).unwrap().is_symlink());
        assert!(gone(&y, path));
    }
    assert_eq!(found.files.len(), 5, "{found:#?}");
    assert_eq!(fs::read_to_string(y.at("src/main.rs")).unwrap(), "fn main() {}");
    assert_eq!(fs::read_to_string(y.outside().join("secret")).unwrap(), "s");
}

#[test]
fn links_out_of_the_workspace_are_neither_followed_nor_held() {
    let y = Yard::new();
    fs::create_dir(y.outside().join("hooks")).unwrap();
    fs::write(y.outside().join("config"), "x").unwrap();
    symlink(y.outside(), y.at(".git")).unwrap();
    symlink("../outside/config", y.at("AGENTS.md")).unwrap();
    symlink("CLAUDE.md", y.at("CLAUDE.md")).unwrap();
    let before = y.look();
    assert!(before.pins.is_empty(), "{before:?}");
    fs::write(y.outside().join("config"), "changed").unwrap();
    assert!(y.after(&before).files.is_empty());
}
