//! The matching rules, one test a rule.

use super::{Edited, Level, Request, apply};
use ringfence_tool::{Error, ErrorKind};

fn request<'a>(old: &'a str, new: &'a str) -> Request<'a> {
    Request {
        name: "a.txt",
        old,
        new,
        replace_all: false,
        occurrence: None,
        line_hint: None,
        expected: None,
        keep_trailing_blanks: false,
        limit: 1 << 20,
    }
}

fn all<'a>(old: &'a str, new: &'a str) -> Request<'a> {
    Request { replace_all: true, ..request(old, new) }
}

#[track_caller]
fn edited(content: &str, request: &Request<'_>) -> Edited {
    match apply(content, request) {
        Ok(edited) => edited,
        Err(error) => panic!("refused: {}", error.message),
    }
}

#[track_caller]
fn result(content: &str, old: &str, new: &str) -> String {
    edited(content, &request(old, new)).content
}

#[track_caller]
fn refused(content: &str, request: &Request<'_>) -> Error {
    match apply(content, request) {
        Ok(edited) => panic!("applied: {:?}", edited.content),
        Err(error) => error,
    }
}

#[track_caller]
fn has(error: &Error, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(error.kind, kind, "{}", error.message);
    for part in parts {
        assert!(error.message.contains(part), "{part:?} is not in {:?}", error.message);
    }
}

#[test]
fn an_exact_match_is_replaced_and_nothing_else() {
    let edited = edited("one two three\nfour\n", &request("two", "2"));
    assert_eq!(edited.content, "one 2 three\nfour\n");
    assert_eq!((edited.summary().as_str(), edited.level), ("1 replacement on line 1", Level::Exact));
}

#[test]
fn same_old_and_new_is_refused() {
    has(&refused("x", &request("x", "x")), ErrorKind::InvalidArguments, &["a.txt", "the same"]);
}

#[test]
fn a_result_like_the_file_is_refused() {
    has(&refused("x\n", &request("x", "x  ")), ErrorKind::Conflict, &["change nothing"]);
}

#[test]
fn crlf_is_found_by_lf_and_kept() {
    assert_eq!(result("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(result("a\r\nb\r\n", "\nb", ""), "a\r\n");
    assert_eq!(result("a\nb\n", "a\r\nb", "x\r\ny"), "x\ny\n");
}

#[test]
fn mixed_line_ends_stay_where_nothing_was_edited() {
    assert_eq!(result("a\r\nb\nc\r\nd\n", "c\nd", "x\ny"), "a\r\nb\nx\r\ny\n");
    assert_eq!(result("a\r\nb\nc\nd\r\n", "b\nc", "x\ny"), "a\r\nx\ny\nd\r\n");
}

#[test]
fn several_matches_are_counted_and_placed() {
    let error = refused("x\ny\nx\n", &request("x", "z"));
    has(
        &error,
        ErrorKind::Conflict,
        &["occurs 2 times", "lines 1 and 3", "replace_all", "occurrence", "line_hint"],
    );
}

#[test]
fn many_matches_are_listed_shortly() {
    let error = refused(&"x\n".repeat(1_000), &request("x", "z"));
    has(&error, ErrorKind::Conflict, &["occurs 1000 times", "9, 10 and more"]);
    assert!(error.message.len() < 400);
}

#[test]
fn replace_all_replaces_all() {
    let edited = edited("x y x\nx\n", &all("x", "long"));
    assert_eq!(edited.content, "long y long\nlong\n");
    assert_eq!(edited.summary(), "3 replacements on lines 1 and 2");
}

#[test]
fn replace_all_keeps_each_match_s_indentation() {
    let content = "if a:\n    go()\n    stop()\nif b:\n        go()\n        stop()\ngo()\nstop()\n";
    let edited = edited(content, &all("  go()\n  stop()", "  run()\n    deep()"));
    assert_eq!(
        edited.content,
        "if a:\n    run()\n      deep()\nif b:\n        run()\n          deep()\nrun()\n  deep()\n"
    );
    assert_eq!(edited.level, Level::Trimmed);
}

#[test]
fn occurrence_picks_one() {
    let second = Request { occurrence: Some(2), ..request("x", "z") };
    assert_eq!(edited("x\nx\nx\n", &second).content, "x\nz\nx\n");
    has(&refused("x\n", &second), ErrorKind::Conflict, &["no occurrence 2", "line 1"]);
    let zero = Request { occurrence: Some(0), ..second };
    has(&refused("x\n", &zero), ErrorKind::InvalidArguments, &["occurrence"]);
    let both = Request { replace_all: true, ..second };
    has(&refused("x\nx\n", &both), ErrorKind::InvalidArguments, &["replace_all and occurrence"]);
}

#[test]
fn line_hint_picks_the_match_on_that_line() {
    let hint = |line| Request { line_hint: Some(line), ..request("x", "z") };
    assert_eq!(edited("a\nx\nb\nx\n", &hint(4)).content, "a\nx\nb\nz\n");
    has(&refused("a\nx\nb\nc\n", &hint(4)), ErrorKind::Conflict, &["line 4", "on line 2"]);
    has(&refused("x x\n", &hint(1)), ErrorKind::Conflict, &["ambiguous", "2 times"]);
    has(&refused("x\n", &hint(0)), ErrorKind::InvalidArguments, &["line_hint"]);
    let both = Request { replace_all: true, ..hint(1) };
    has(&refused("x\n", &both), ErrorKind::InvalidArguments, &["line_hint"]);
    let both = Request { occurrence: Some(1), ..hint(1) };
    has(&refused("x\n", &both), ErrorKind::InvalidArguments, &["line_hint"]);
}

#[test]
fn line_hint_may_point_inside_a_match() {
    let inside = Request { line_hint: Some(3), ..request("a\nb\nc", "z") };
    assert_eq!(edited("0\na\nb\nc\n1\n", &inside).content, "0\nz\n1\n");
    let after = Request { line_hint: Some(5), ..request("a\nb\nc\n", "z\n") };
    has(&refused("0\na\nb\nc\n1\n", &after), ErrorKind::Conflict, &["line 5"]);
}

#[test]
fn expected_replacements_must_be_met() {
    let three = Request { expected: Some(3), ..all("x", "z") };
    assert_eq!(edited("x x x", &three).content, "z z z");
    has(&refused("x x", &three), ErrorKind::Conflict, &["expected_replacements is 3", "2 would be made"]);
    let two = Request { expected: Some(2), ..request("x", "z") };
    has(&refused("x", &two), ErrorKind::Conflict, &["expected_replacements is 2"]);
}

#[test]
fn curly_quotes_are_found_by_straight_ones_and_kept() {
    let content = "He said \u{201c}hello\u{201d} and it\u{2019}s fine.\n";
    assert_eq!(
        result(content, "said \"hello\"", "said \"goodbye\""),
        "He said \u{201c}goodbye\u{201d} and it\u{2019}s fine.\n"
    );
    assert_eq!(
        result(content, "it's fine", "it's what's fine"),
        "He said \u{201c}hello\u{201d} and it\u{2019}s what\u{2019}s fine.\n"
    );
    assert_eq!(
        result(content, "\"hello\" and", "a \"new\" (\"word\") and"),
        "He said a \u{201c}new\u{201d} (\u{201c}word\u{201d}) and it\u{2019}s fine.\n"
    );
}

#[test]
fn quotes_in_kept_text_stay_as_they_are() {
    let content = "say(\"\u{201c}a\u{201d} b\")\n";
    assert_eq!(result(content, "say(\"\"a\" b\")", "say(\"\"a\" c\")"), "say(\"\u{201c}a\u{201d} c\")\n");
}

#[test]
fn indentation_and_quotes_may_both_differ() {
    let content = "  title: \u{201c}old\u{201d}\n  body: x\n";
    let edited = edited(content, &request("title: \"old\"\nbody: x", "title: \"new\"\nbody: x"));
    assert_eq!(edited.content, "  title: \u{201c}new\u{201d}\n  body: x\n");
    assert_eq!(edited.level, Level::TrimmedQuotes);
}

#[test]
fn an_exact_match_goes_before_looser_ones() {
    let edited = edited("  x = 1\nx = 1;\n", &request("x = 1;", "y"));
    assert_eq!((edited.content.as_str(), edited.level), ("  x = 1\ny\n", Level::Exact));
}

#[test]
fn deleting_a_line_leaves_no_blank_line() {
    assert_eq!(result("line1\nline2\nline3\n", "line2", ""), "line1\nline3\n");
    assert_eq!(result("line1\r\nline2\r\nline3\r\n", "line2", ""), "line1\r\nline3\r\n");
    assert_eq!(result("line1\nline2\nline3\n", "line2\n", ""), "line1\nline3\n");
    assert_eq!(result("a\n    b  \nc\n", "b", ""), "a\nc\n");
    assert_eq!(result("a\nb", "b", ""), "a\n");
    assert_eq!(result("a\nb\nc\nd\n", "b\nc", ""), "a\nd\n");
}

#[test]
fn deleting_a_part_of_a_line_touches_nothing_else() {
    assert_eq!(result("one two three\nfour\n", "two ", ""), "one three\nfour\n");
    assert_eq!(result("one two\nfour\n", " two", ""), "one\nfour\n");
    assert_eq!(result("one two\nfour\n", "one ", ""), "two\nfour\n");
    assert_eq!(result("a\n\n\nb\n", "\n\n\n", "\n"), "a\nb\n");
    assert_eq!(result("a\n\n\nb\n", "a\n\n", ""), "\nb\n");
}

#[test]
fn deleting_all_matches_takes_their_lines() {
    assert_eq!(edited("x\nx\na\nx\n", &all("x", "")).content, "a\n");
}

#[test]
fn trailing_blanks_of_new_text_are_left_out() {
    assert_eq!(result("a\n", "a", "b  \nc\t"), "b\nc\n");
    assert_eq!(result("a b\n", "a ", "c "), "c b\n");
    assert_eq!(result("  a\n  b\n", "a\nb", "c  \nd  "), "  c\n  d\n");
    let markdown = Request { keep_trailing_blanks: true, ..request("a", "b  ") };
    assert_eq!(edited("a\n", &markdown).content, "b  \n");
}

#[test]
fn tabs_stay_tabs() {
    let content = "fn f() {\n\tif x {\n\t\tgo();\n\t}\n}\n";
    let old = "    if x {\n        go();\n    }";
    let new = "    if x {\n        go();\n        if y {\n            stop();\n        }\n    }";
    assert_eq!(
        result(content, old, new),
        "fn f() {\n\tif x {\n\t\tgo();\n\t\tif y {\n\t\t\tstop();\n\t\t}\n\t}\n}\n"
    );
}

#[test]
fn a_last_line_without_a_break_stays_without() {
    assert_eq!(result("a\n  b", "a\nb\n", "a\nc\n"), "a\n  c");
}

#[test]
fn blank_lines_alone_are_only_matched_exactly() {
    has(&refused("a\nb\n", &request("  \n  ", "x")), ErrorKind::NotFound, &["not found"]);
}

#[test]
fn what_is_not_there_is_shown_beside_what_is_most_like_it() {
    let content = "fn one() {\n    let total = count + 1;\n    total\n}\n\nfn two() {}\n";
    let error = refused(content, &request("    let total = counts + 2;\n    total", "x"));
    has(
        &error,
        ErrorKind::NotFound,
        &["a.txt", "lines 2 to 3", "-    let total = counts + 2;\n+    let total = count + 1;\n     total"],
    );
}

#[test]
fn nothing_alike_shows_no_block() {
    let error = refused("alpha\nbeta\n", &request("zzzz yyyy", "x"));
    has(&error, ErrorKind::NotFound, &["read the file again"]);
    assert!(!error.message.contains("Most like"), "{}", error.message);
}

#[test]
fn hints_name_the_difference() {
    let hint = |content, old| refused(content, &request(old, "new text")).message;
    assert!(hint("a\nHello World\n", "hello world").contains("line 2 it is there if upper and lower case"));
    assert!(hint("a = [1, 2]\n", "a=[1,2]").contains("line 1 it is there if blanks"));
    assert!(hint("let a = 'x';\n", "let a = \"x\";").contains("another kind of quotes"));
    assert!(hint("a\nb\n", "a\\nb").contains("two characters \\n"));
    assert!(hint("a\nbb\n", "1| a\n2| bb").contains("line numbers"));
}

#[test]
fn an_empty_file_says_so() {
    has(&refused("", &request("a", "b")), ErrorKind::NotFound, &["is empty", "empty old_text"]);
}

#[test]
fn a_result_over_the_limit_is_refused() {
    let long = "y".repeat(2_000);
    let many = Request { limit: 100_000, ..all("x", &long) };
    has(&refused(&"x".repeat(1_000), &many), ErrorKind::TooLarge, &["100000 bytes"]);
}

#[test]
fn characters_of_any_width_are_no_boundary() {
    assert_eq!(
        result("gr\u{fc}\u{df}e \u{1f600}\n", "\u{fc}\u{df}", "u\u{1f601}"),
        "gru\u{1f601}e \u{1f600}\n"
    );
    assert_eq!(result("\u{201c}\u{1f600}\u{201d}", "\"\u{1f600}\"", "\"\u{fc}\""), "\u{201c}\u{fc}\u{201d}");
}

#[test]
fn odd_repetitions_are_found_without_overlaps() {
    assert_eq!(edited("aaaaa", &all("aa", "b")).content, "bba");
    assert_eq!(edited("abababac", &request("ababac", "x")).content, "abx");
}

#[test]
fn messages_stay_short_for_long_texts() {
    let content = format!("{}\n", "some words that repeat ".repeat(2_000)).repeat(20);
    let old = content.replace("repeat", "repent");
    assert!(refused(&content, &request(&old, "x")).message.len() < 8_000);
}

/// Random small texts: an edit never panics, and an applied one changes only what it says.
#[test]
fn small_texts_of_all_kinds_are_edited_or_refused() {
    let alphabet =
        ["a", "b", " ", "\t", "\n", "\r\n", "\"", "\u{201c}", "\u{201d}", "'", "\u{2019}", "\u{fc}"];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below) as usize
    };
    for _ in 0..50_000 {
        let mut text = |most: u64| -> String {
            let count = next(most);
            (0..count).map(|_| alphabet[next(alphabet.len() as u64)]).collect()
        };
        let (content, old, new) = (text(14), text(5), text(5));
        if old.is_empty() {
            continue;
        }
        for replace_all in [false, true] {
            if let Ok(edited) = apply(&content, &Request { replace_all, ..request(&old, &new) }) {
                assert_ne!(edited.content, content);
            }
        }
    }
}
