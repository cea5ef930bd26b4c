//! `list_dir`, `find_files` and `grep`, by the rows of the parity table.

use crate::support::World;
use ringfence::authority::DenialKind;
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, SystemTime};

fn call(w: &World, tool: &str, arguments: Value) -> String {
    w.call(tool, arguments).text()
}

/// Sets when a file was last changed, in seconds before now.
fn age(w: &World, path: &str, seconds: u64) {
    let file = std::fs::File::options().write(true).open(w.path(path)).expect("a file");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
}

#[test]
fn parity_f52_lists_what_is_below_without_ignored_directories() {
    let w = World::new();
    w.file("src/main.py", "");
    w.file("README.md", "");
    w.file("node_modules/x/index.js", "");
    w.file(".git/config", "");
    w.file("src/__pycache__/main.pyc", "");
    w.file("out/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55");
    let text = call(&w, "list_dir", json!({ "path": ".", "recursive": true }));
    assert_eq!(text, "README.md\nsrc/\nsrc/main.py\n(4 ignored directories left out)");
    let flat = call(&w, "list_dir", json!({ "path": "src" }));
    assert_eq!(flat, "main.py\n(1 ignored directory left out)");
}

#[test]
fn parity_f53_says_how_many_entries_there_are() {
    let w = World::new();
    for n in 0..10 {
        w.file(format!("f{n}.txt"), "");
    }
    let text = call(&w, "list_dir", json!({ "path": ".", "max_entries": 3 }));
    let mut lines = text.lines();
    assert_eq!(lines.by_ref().take(3).collect::<Vec<_>>(), ["f0.txt", "f1.txt", "f2.txt"]);
    let note = lines.next().expect("a note");
    assert!(note.starts_with("(truncated: 3 of 10 entries"), "{note}");
    assert_eq!(lines.next(), None);
}

#[test]
fn parity_f55_finds_by_words_glob_and_type() {
    let w = World::new();
    w.file("src/settings/Settings.tsx", "");
    w.file("src/settings/settings.css", "");
    w.file("src/other/panel.ts", "");
    w.file("docs/settings.ts", "");
    let text = call(&w, "find_files", json!({ "query": "settings", "glob": "src/**", "type": "ts" }));
    assert_eq!(text, "src/settings/Settings.tsx");
}

#[test]
fn parity_f56_finds_directories_too() {
    let w = World::new();
    w.file("src/settings/panel.rs", "");
    w.file("src/main.rs", "");
    let arguments = json!({ "query": "settings", "include_dirs": true });
    assert_eq!(call(&w, "find_files", arguments), "src/settings/\nsrc/settings/panel.rs");
    assert_eq!(call(&w, "find_files", json!({ "query": "settings" })), "src/settings/panel.rs");
}

#[test]
fn parity_f58_paths_outside_are_refused() {
    let w = World::new();
    w.file("a.txt", "x");
    std::fs::write(w.outside().join("secret"), "do not leak").expect("a file");
    std::os::unix::fs::symlink("../outside", w.path("link")).expect("a link");
    let before = w.snapshot_outside();
    let outside = w.outside().to_string_lossy().into_owned();
    for path in [outside.as_str(), "../outside", "..", "/", "link"] {
        for (tool, arguments) in [
            ("list_dir", json!({ "path": path })),
            ("find_files", json!({ "path": path })),
            ("grep", json!({ "path": path, "pattern": "leak" })),
        ] {
            let denial = w.call(tool, arguments).denial();
            assert_eq!(denial.kind, DenialKind::OutsideWorkspace, "{tool} {path}: {denial}");
        }
    }
    w.assert_outside_unchanged(&before);
}

#[test]
fn parity_f59_shows_matches_with_the_lines_around_them() {
    let w = World::new();
    w.file("app.py", "import os\n\ndef main():\n    pass\n");
    w.file("notes.md", "def main():\n");
    let arguments = json!({
        "pattern": "def main", "glob": "*.py", "output_mode": "content", "context_before": 1, "context_after": 1
    });
    assert_eq!(call(&w, "grep", arguments), "app.py:3\n  2| \n> 3| def main():\n  4|     pass");
}

#[test]
fn parity_f61_searches_literally_in_any_case_and_by_type() {
    let w = World::new();
    w.file("log.txt", "[2026-04-02 10:00] start\n2026-04-02 10:00\n");
    w.file("auth.py", "# OAuth flow\n");
    w.file("auth.md", "OAuth\n");
    let literal = json!({ "pattern": "[2026-04-02 10:00]", "fixed_strings": true, "output_mode": "content" });
    assert_eq!(call(&w, "grep", literal), "log.txt:1\n> 1| [2026-04-02 10:00] start");
    let any_case = json!({ "pattern": "oauth", "case_insensitive": true, "type": "py" });
    assert_eq!(call(&w, "grep", any_case), "auth.py");
    assert_eq!(call(&w, "grep", json!({ "pattern": "oauth" })), "(no matches)");
}

#[test]
fn parity_f62_counts_by_file_and_in_all() {
    let w = World::new();
    w.file("a.txt", "x\nx\ny\n");
    w.file("b.txt", "x\n");
    w.file("c.txt", "y\n");
    let text = call(&w, "grep", json!({ "pattern": "x", "output_mode": "count" }));
    assert_eq!(text, "a.txt: 2\nb.txt: 1\n(total matches: 3 in 2 files)");
}

#[test]
fn grep_lists_the_newest_file_first() {
    let w = World::new();
    for (path, seconds) in [("old.txt", 300), ("new.txt", 100), ("middle.txt", 200)] {
        w.file(path, "needle\n");
        age(&w, path, seconds);
    }
    assert_eq!(call(&w, "grep", json!({ "pattern": "needle" })), "new.txt\nmiddle.txt\nold.txt");
    let page = json!({ "pattern": "needle", "offset": 1, "head_limit": 1 });
    assert_eq!(call(&w, "grep", page), "middle.txt\n(2-2 of 3; continue with offset=2)");
    let found = json!({ "sort": "modified", "head_limit": 2 });
    assert_eq!(call(&w, "find_files", found), "new.txt\nmiddle.txt\n(1-2 of 3; continue with offset=2)");
}

#[test]
fn grep_pages_through_matches() {
    let w = World::new();
    w.file("a.txt", "x1\nx2\nx3\n");
    w.file("b.txt", "x4\n");
    let page = |offset: usize| {
        call(
            &w,
            "grep",
            json!({ "pattern": "x", "output_mode": "content", "head_limit": 2, "offset": offset }),
        )
    };
    assert_eq!(
        page(0),
        "a.txt:1\n> 1| x1\n\na.txt:2\n> 2| x2\n(matches 1-2, more follow; continue with offset=2)"
    );
    assert_eq!(page(2), "a.txt:3\n> 3| x3\n\nb.txt:1\n> 1| x4");
    assert_eq!(page(9), "(nothing after offset 9; 4 matches in all)");
    // The older names of the limit mean the same.
    for name in ["max_matches", "max_results"] {
        let text = call(&w, "grep", json!({ "pattern": "x", "output_mode": "content", name: 2 }));
        assert_eq!(text, page(0), "{name}");
    }
}

#[test]
fn grep_anchors_are_about_lines() {
    let w = World::new();
    w.file("a.txt", "one\r\n\r\ntwo\r\n");
    w.file("b.txt", "one\n\ntwo");
    let text = call(&w, "grep", json!({ "pattern": r"^\s*$|^two$", "output_mode": "content" }));
    let block = |path: &str| format!("{path}:2\n> 2| \n\n{path}:3\n> 3| two");
    assert_eq!(text, format!("{}\n\n{}", block("a.txt"), block("b.txt")));
}

#[test]
fn grep_shows_lines_between_matches_once() {
    let w = World::new();
    w.file("a.txt", "1\nx\n3\nx\n5\n6\n7\n8\nx\n");
    let arguments =
        json!({ "pattern": "x", "output_mode": "content", "context_before": 1, "context_after": 1 });
    assert_eq!(
        call(&w, "grep", arguments),
        "a.txt:2\n  1| 1\n> 2| x\n  3| 3\n> 4| x\n  5| 5\n\na.txt:9\n  8| 8\n> 9| x"
    );
}

#[test]
fn grep_skips_binary_and_large_files_and_says_so() {
    let w = World::new();
    w.file("a.txt", "needle\r\n");
    w.file("b.bin", b"needle\n\0");
    w.file("late.bin", [b"needle\n", b"straw\n".repeat(10_000).as_slice(), b"\0needle\n"].concat());
    w.file("c.log", "needle\n".repeat(400_000));
    let text = call(&w, "grep", json!({ "pattern": "needle$", "output_mode": "content" }));
    assert_eq!(
        text,
        "a.txt:1\n> 1| needle\n(2 binary files skipped; 1 file over 2 MB skipped; name one as path to search it)"
    );
    let named = json!({ "pattern": "needle", "path": "c.log", "output_mode": "count" });
    assert_eq!(call(&w, "grep", named), "c.log: 400000\n(total matches: 400000 in 1 file)");
    let (kind, message) = w.call("grep", json!({ "pattern": "needle", "path": "b.bin" })).error();
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(message.contains("binary"), "{message}");
    std::fs::File::create(w.path("huge")).expect("a file").set_len(10 << 30).expect("a sparse file");
    let (kind, _) = w.call("grep", json!({ "pattern": "needle", "path": "huge" })).error();
    assert_eq!(kind, ErrorKind::TooLarge);
}

#[test]
fn grep_results_are_bounded() {
    let w = World::new();
    w.file("a.txt", format!("needle {}\n", "x".repeat(900)).repeat(1500));
    let text = call(&w, "grep", json!({ "pattern": "needle", "output_mode": "content", "head_limit": 0 }));
    assert!(text.chars().count() < 128_500, "{} characters", text.chars().count());
    let next = text.rsplit_once("offset=").expect("a hint").1.trim_end_matches(')');
    let rest = json!({ "pattern": "needle", "output_mode": "content", "offset": next.parse::<u64>().expect("a number") });
    let first = next.parse::<u64>().expect("a number") + 1;
    assert!(call(&w, "grep", rest).starts_with(&format!("a.txt:{first}\n")));
}

#[test]
fn grep_a_long_line_is_cut_around_the_match() {
    let w = World::new();
    w.file("min.js", format!("{}needle{}\n", "é".repeat(100_000), "z".repeat(100_000)));
    let text = call(&w, "grep", json!({ "pattern": "needle", "output_mode": "content" }));
    assert!(text.starts_with("min.js:1\n> 1| …é") && text.ends_with("z…"), "{text}");
    assert!(text.contains("éneedlez") && text.chars().count() < 1_100, "{text}");
}

#[test]
fn grep_patterns_that_cannot_be_used_are_explained() {
    let w = World::new();
    w.file("a.txt", "x");
    for pattern in ["(", r"(\w{1000}){1000}", "a\nb", r"(?=x)", &"(".repeat(10_000), &"x".repeat(100_000)] {
        let (kind, message) = w.call("grep", json!({ "pattern": pattern })).error();
        assert_eq!(kind, ErrorKind::InvalidArguments);
        assert!(message.starts_with("pattern ") && message.len() < 4_000, "{message}");
    }
    // Known to take exponential time elsewhere.
    w.file("a.txt", "a".repeat(100_000));
    assert_eq!(call(&w, "grep", json!({ "pattern": "(a+)+b" })), "(no matches)");
}

#[test]
fn search_filters_that_make_no_sense_are_explained() {
    let w = World::new();
    for (tool, mut arguments) in [("find_files", json!({})), ("grep", json!({ "pattern": "x" }))] {
        arguments["type"] = json!("nosuch");
        let (kind, message) = w.call(tool, arguments.clone()).error();
        assert_eq!(kind, ErrorKind::InvalidArguments);
        assert!(message.contains("type `nosuch` is not known"), "{message}");
        arguments["type"] = json!("rust");
        arguments["glob"] = json!("[");
        let (kind, message) = w.call(tool, arguments).error();
        assert_eq!(kind, ErrorKind::InvalidArguments);
        assert!(message.starts_with("glob `[`"), "{message}");
    }
}

#[test]
fn search_names_that_are_not_utf_8_are_counted() {
    let w = World::new();
    w.file("good.txt", "needle\n");
    std::fs::write(w.root().join(OsStr::from_bytes(b"bad-\xff.txt")), "needle\n").expect("a file");
    let note = "(1 entry skipped: cannot be read)";
    assert_eq!(call(&w, "list_dir", json!({ "path": "." })), format!("good.txt\n{note}"));
    assert_eq!(call(&w, "find_files", json!({})), format!("good.txt\n{note}"));
    assert_eq!(call(&w, "grep", json!({ "pattern": "needle" })), format!("good.txt\n{note}"));
}

#[test]
fn search_entries_that_are_refused_are_counted() {
    let w = World::new();
    w.file("good.txt", "needle\n");
    std::fs::write(w.outside().join("secret.txt"), "needle\n").expect("a file");
    std::os::unix::fs::symlink("../outside/secret.txt", w.path("escape.txt")).expect("a link");
    std::os::unix::fs::symlink("nowhere", w.path("dangling.txt")).expect("a link");
    std::os::unix::fs::symlink("good.txt", w.path("inside.txt")).expect("a link");
    std::os::unix::fs::symlink("../outside", w.path("dir")).expect("a link");
    std::fs::hard_link(w.outside().join("secret.txt"), w.path("hard.txt")).expect("a hard link");
    let _listener = std::os::unix::net::UnixListener::bind(w.path("socket")).expect("a socket");
    // Two links that lead outside, one that leads nowhere, the hard link and the socket.
    let text = call(&w, "grep", json!({ "pattern": "needle", "output_mode": "count" }));
    assert_eq!(
        text,
        "good.txt: 1\ninside.txt: 1\n(total matches: 2 in 2 files; 5 entries skipped: cannot be read)"
    );
    let text = call(&w, "find_files", json!({}));
    assert_eq!(text, "good.txt\nhard.txt\ninside.txt\n(3 entries skipped: cannot be read)");
    let text = call(&w, "list_dir", json!({ "path": ".", "recursive": true }));
    assert_eq!(
        text,
        "dangling.txt (link)\ndir (link)\nescape.txt (link)\ngood.txt\nhard.txt\ninside.txt (link)\n\
         socket (device, pipe or socket)"
    );
}

#[test]
fn search_below_a_directory_called_build_finds_what_is_there() {
    let w = World::new();
    w.file("build/dist/node_modules/lib/a.txt", "needle\n");
    let start = "build/dist/node_modules";
    let absolute = w.path(start).to_string_lossy().into_owned();
    for path in [start, absolute.as_str()] {
        assert_eq!(call(&w, "list_dir", json!({ "path": path, "recursive": true })), "lib/\nlib/a.txt");
        let found = format!("{start}/lib/a.txt");
        assert_eq!(call(&w, "find_files", json!({ "path": path })), found);
        assert_eq!(call(&w, "grep", json!({ "path": path, "pattern": "needle" })), found);
    }
    // From above it is an ignored directory.
    assert_eq!(call(&w, "find_files", json!({})), "(no files found; 1 ignored directory left out)");
}

#[test]
fn search_wrong_kinds_and_missing_paths_are_explained() {
    let w = World::new();
    w.file("a.txt", "x");
    for tool in ["list_dir", "find_files"] {
        let (kind, message) = w.call(tool, json!({ "path": "a.txt" })).error();
        assert_eq!(kind, ErrorKind::Unsupported);
        assert!(message.contains("not a directory"), "{message}");
        let (kind, message) = w.call(tool, json!({ "path": "b.txt" })).error();
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(message.contains("does not exist"), "{message}");
    }
    let (kind, _) = w.call("grep", json!({ "path": "none", "pattern": "x" })).error();
    assert_eq!(kind, ErrorKind::NotFound);
    std::fs::create_dir(w.path("empty")).expect("a directory");
    assert_eq!(call(&w, "list_dir", json!({ "path": "empty" })), "(empty is empty)");
}

#[test]
fn search_pages_and_all_entries() {
    let w = World::new();
    for n in 0..300 {
        w.file(format!("d/f{n:03}"), "");
    }
    let text = call(&w, "find_files", json!({}));
    assert_eq!(text.lines().count(), 201);
    assert!(text.ends_with("(1-200 of 300; continue with offset=200)"), "{text}");
    let text = call(&w, "find_files", json!({ "offset": 200 }));
    assert!(text.starts_with("d/f200\n") && text.ends_with("d/f299\n(201-300 of 300)"), "{text}");
    assert_eq!(call(&w, "find_files", json!({ "head_limit": 0 })).lines().count(), 300);
    assert_eq!(call(&w, "find_files", json!({ "offset": 500 })), "(nothing after offset 500; 300 in all)");
}

#[test]
fn search_a_name_with_a_line_break_stays_one_line() {
    let w = World::new();
    w.file("a\nb.txt", "needle\n");
    for (tool, arguments) in [
        ("list_dir", json!({ "path": "." })),
        ("find_files", json!({})),
        ("grep", json!({ "pattern": "needle" })),
    ] {
        assert_eq!(call(&w, tool, arguments), r"a\nb.txt");
    }
}

#[test]
fn search_a_circle_of_links_ends() {
    let w = World::new();
    w.file("d/a.txt", "needle\n");
    std::os::unix::fs::symlink("..", w.path("d/up")).expect("a link");
    assert_eq!(call(&w, "find_files", json!({})), "d/a.txt");
    assert_eq!(call(&w, "grep", json!({ "pattern": "needle" })), "d/a.txt");
    let listed = call(&w, "list_dir", json!({ "path": ".", "recursive": true }));
    assert_eq!(listed, "d/\nd/a.txt\nd/up (link)");
}
