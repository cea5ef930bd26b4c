//! New configuration of a repository: it stays only if all that git reads in it is harmless.

use super::{Yard, gone, moved};
use proptest::prelude::*;
use std::process::Command;

/// Keys that may be there, without what stands between the first and the last dot.
const HARMLESS: &[&str] = &[
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.autocrlf",
    "core.eol",
    "core.compression",
    "user.name",
    "user.email",
    "init.defaultbranch",
    "branch.remote",
    "branch.merge",
    "branch.rebase",
    "remote.url",
    "remote.fetch",
    "extensions.objectformat",
];

/// Whether a new configuration stays after a command.
fn stays(y: &Yard, text: &str) -> bool {
    let _ = std::fs::remove_dir_all(y.at(".git"));
    let before = y.look();
    y.write(".git/config", text);
    let found = y.after(&before);
    if gone(y, ".git/config") {
        assert_eq!(std::fs::read_to_string(moved(y, &found, ".git/config")).unwrap(), text);
        return false;
    }
    assert!(found.files.is_empty(), "{found:#?}");
    true
}

/// The keys that git itself reads in it. `None` where git does not take it.
fn keys(y: &Yard) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["config", "--file"])
        .arg(y.at(".git/config"))
        .args(["--no-includes", "--list", "--name-only", "-z"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    output.status.success().then(|| text.split_terminator('\0').map(str::to_owned).collect())
}

fn plain(key: &str) -> String {
    match (key.split_once('.'), key.rsplit_once('.')) {
        (Some((first, _)), Some((_, last))) => format!("{first}.{last}"),
        _ => key.to_owned(),
    }
}

/// Lines of which some are harmless, in pieces that together may mean something else.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[core]",
        "[core",
        "]",
        "[Core \"x\"]",
        "[core.x]",
        "[remote \"origin\"]",
        "[remote \"",
        "\"]",
        "[branch \"m\"]",
        "[include]",
        "[alias]",
        "[user]",
        "[extensions]",
        "[filter \"x\"]",
        "\n",
        "\n",
        "\n",
        "\n\t",
        "\r\n",
        "\\\n",
        " ",
        "\t",
        "bare = false",
        "filemode",
        " = ",
        "=",
        "true",
        "fsmonitor = x",
        "hooksPath = x",
        "path = ../x",
        "name = A",
        "url = https://h/p",
        "url = ext::sh -c x",
        "fetch = +refs/heads/*:refs/remotes/o/*",
        "remote = o",
        "merge = refs/heads/m",
        "worktree = ..",
        "#",
        ";",
        "\"",
        "\\",
        "\u{FEFF}",
        "\0",
        "é",
        "editor=!x",
        "objectformat = sha1",
        "compression=9",
        "co\\nre",
        "[]",
        "[ core ]",
        "x = y",
        "-c",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// Configuration as git writes it.
fn written() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "[core]\n\tbare = false\n",
        "[core]\n\tfilemode = true\n\tignorecase = true\n",
        "[user]\n\tname = A. B-C\n\temail = a@b.example\n",
        "[remote \"up/stream\"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/up/*\n",
        "[remote \"o\"]\n\turl = https://example.org/x\n",
        "[branch \"a b\"]\n\tremote = o\n\tmerge = refs/heads/x\n\trebase = true\n",
        "# comment\n",
        "\n",
        "[extensions]\n\tobjectformat = sha256\n",
        "[init]\n\tdefaultBranch = main\n",
    ]);
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_what_stays_git_reads_nothing_that_is_not_harmless(text in pieces()) {
        let y = Yard::new();
        if stays(&y, &text) {
            let keys = keys(&y).expect("git takes what stays");
            for key in keys {
                prop_assert!(HARMLESS.contains(&plain(&key).as_str()), "{key} in {text:?}");
            }
        }
    }

    #[test]
    fn what_git_writes_by_itself_stays_and_one_bad_line_moves_it(
        text in written(),
        rest in written(),
        bad in prop::sample::select(vec![
            "[core]\n\tfsmonitor = x\n", "[core]\n\thooksPath = x\n", "[include]\n\tpath = x\n", "[alias]\n\ta = !x\n",
            "[core]\n\tsshCommand = x\n", "[remote \"o\"]\n\turl = ext::x\n", "[core]\n\tworktree = x\n",
            "[filter \"x\"]\n\tsmudge = x\n", "[user]\n\tname = \\\n", "[gpg]\n\tprogram = x\n",
        ]),
    ) {
        let y = Yard::new();
        let (good, worse) = (format!("{text}{rest}"), format!("{text}{bad}{rest}"));
        prop_assert!(stays(&y, &good));
        prop_assert!(!stays(&y, &worse));
    }
}

#[test]
fn a_configuration_that_another_name_could_change_does_not_stay() {
    let y = Yard::new();
    let before = y.look();
    y.write(".git/config", "[core]\n\tbare = false\n");
    std::fs::hard_link(y.at(".git/config"), y.at("other")).unwrap();
    let found = y.after(&before);
    moved(&y, &found, ".git/config");
    assert!(gone(&y, ".git/config") && !gone(&y, "other"));

    let before = y.look();
    std::fs::create_dir_all(y.at(".git/config/x")).unwrap();
    let found = y.after(&before);
    assert!(moved(&y, &found, ".git/config").join("x").is_dir());
}
