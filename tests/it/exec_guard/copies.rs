//! Where no mount holds what is protected, it is put back.

use super::{Yard, about, gone, moved};
use ringfence::exec::Before;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

fn looked(y: &Yard) -> Before {
    let mut before = y.look();
    before.keep_copies(&y.workspace).unwrap();
    before
}

fn full() -> Yard {
    let y = Yard::new();
    y.git("", &["init", "-q"]);
    y.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(y.at(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o644)).unwrap();
    y.write("AGENTS.md", "be kind");
    y.write(".vscode/tasks.json", "{}");
    y.write(".vscode/deep/x.json", "{}");
    symlink("../AGENTS.md", y.at(".vscode/link")).unwrap();
    y
}

#[test]
fn whatever_was_changed_removed_or_added_is_put_back() {
    let y = full();
    let (was, before) = (y.snapshot(), looked(&y));
    y.git("", &["config", "core.fsmonitor", "touch pwned"]);
    fs::set_permissions(y.at(".git/hooks/pre-commit"), fs::Permissions::from_mode(0o755)).unwrap();
    y.write(".git/hooks/post-checkout", "evil");
    fs::remove_file(y.at("AGENTS.md")).unwrap();
    symlink(y.outside(), y.at("AGENTS.md")).unwrap();
    fs::remove_dir_all(y.at(".vscode/deep")).unwrap();
    y.write(".vscode/deep", "a file now");
    fs::remove_file(y.at(".vscode/link")).unwrap();
    let found = y.after(&before);
    assert!(y.snapshot() == was, "{found:#?}");
    let evil = fs::read_to_string(moved(&y, &found, ".git/config")).unwrap();
    assert!(evil.contains("pwned"));
    assert!(about(&found, ".git/config").changed && !about(&found, ".git/hooks/post-checkout").changed);
    assert_eq!(fs::read_to_string(moved(&y, &found, ".git/hooks/post-checkout")).unwrap(), "evil");
    moved(&y, &found, "AGENTS.md");
    assert_eq!(fs::read_to_string(moved(&y, &found, ".vscode/deep")).unwrap(), "a file now");
    about(&found, ".vscode/link");
    assert_eq!(about(&found, ".vscode/deep/x.json").moved_to, None);
}

#[test]
fn without_copies_the_same_is_told_and_left() {
    let y = full();
    let before = y.look();
    y.write(".git/hooks/pre-commit", "evil");
    let found = y.after(&before);
    assert_eq!(about(&found, ".git/hooks/pre-commit").moved_to, None);
    assert_eq!(fs::read_to_string(y.at(".git/hooks/pre-commit")).unwrap(), "evil");
}

#[test]
fn a_parent_that_was_moved_away_is_made_again() {
    let y = full();
    let before = looked(&y);
    fs::rename(y.at(".git"), y.at("g")).unwrap();
    y.write(".git/hooks/pre-commit", "evil");
    symlink(y.outside(), y.at("g/hooks/link")).unwrap();
    let found = y.after(&before);
    assert_eq!(fs::read_to_string(y.at(".git/hooks/pre-commit")).unwrap(), "#!/bin/sh\nexit 0\n");
    assert!(!gone(&y, ".git/config"));
    assert_eq!(fs::read_to_string(moved(&y, &found, ".git/hooks/pre-commit")).unwrap(), "evil");

    let y = full();
    let before = looked(&y);
    fs::rename(y.at(".git"), y.outside().join("g")).unwrap();
    symlink(y.outside().join("g"), y.at(".git")).unwrap();
    let found = y.after(&before);
    assert!(fs::symlink_metadata(y.at(".git")).unwrap().is_dir(), "{found:#?}");
    assert!(fs::symlink_metadata(moved(&y, &found, ".git")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(y.outside().join("g/hooks/pre-commit")).unwrap(), "#!/bin/sh\nexit 0\n");
}

#[test]
fn a_file_that_was_changed_by_another_of_its_names_is_put_back_at_every_level() {
    let y = full();
    fs::hard_link(y.at(".git/config"), y.at("other")).unwrap();
    fs::hard_link(y.at(".git/hooks/pre-commit"), y.at("other2")).unwrap();
    let config = fs::read_to_string(y.at("other")).unwrap();
    let before = y.look();
    fs::write(y.at("other"), "[core]\n\tfsmonitor = touch pwned\n").unwrap();
    fs::write(y.at("other2"), "evil").unwrap();
    let found = y.after(&before);
    assert_eq!(fs::read_to_string(y.at(".git/config")).unwrap(), config);
    assert_eq!(fs::read_to_string(y.at(".git/hooks/pre-commit")).unwrap(), "#!/bin/sh\nexit 0\n");
    assert!(fs::read_to_string(moved(&y, &found, ".git/config")).unwrap().contains("pwned"));
    assert_eq!(fs::read_to_string(y.at("other2")).unwrap(), "evil", "the other name is not protected");
    // It has one name from here on.
    fs::write(y.at("other"), "again").unwrap();
    assert_eq!(fs::read_to_string(y.at(".git/config")).unwrap(), config);
}

#[test]
fn more_than_is_kept_is_an_error_that_says_which() {
    let y = Yard::new();
    y.write("AGENTS.md", &"x".repeat((1 << 20) + 1));
    let error = y.look().keep_copies(&y.workspace).unwrap_err().to_string();
    assert!(error.contains("AGENTS.md") && error.contains("more than is kept"), "{error}");
    y.write("AGENTS.md", &"x".repeat(1 << 20));
    y.look().keep_copies(&y.workspace).unwrap();

    for n in 0..32 {
        y.write(format!(".vscode/{n}"), &"x".repeat(1 << 20));
    }
    assert!(y.look().keep_copies(&y.workspace).is_err());
    fs::remove_dir_all(y.at(".vscode")).unwrap();

    for n in 0..5_000 {
        y.write(format!(".idea/{n}"), "");
    }
    assert!(y.look().keep_copies(&y.workspace).is_err());
    fs::remove_file(y.at(".idea/0")).unwrap();
    fs::remove_file(y.at(".idea/1")).unwrap();
    y.look().keep_copies(&y.workspace).unwrap();
    assert!(Path::new(&y.at(".idea/2")).exists());
}
