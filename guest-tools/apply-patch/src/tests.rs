//! What one edit does to a text, one test a rule.

use crate::edit::{Edit, Lines, apply};
use ringfence_tool::ErrorKind;

fn edit(action: &str, old: Option<&str>, new: Option<&str>) -> Edit {
    Edit {
        path: "a.txt".to_owned(),
        action: action.to_owned(),
        old_text: old.map(str::to_owned),
        new_text: new.map(str::to_owned),
    }
}

#[track_caller]
fn applied(content: Option<&str>, edit: &Edit) -> (String, Lines) {
    match apply(content, edit, "a.txt") {
        Ok(done) => done,
        Err(error) => panic!("refused: {}", error.message),
    }
}

#[track_caller]
fn refused(content: Option<&str>, edit: &Edit, kind: ErrorKind, part: &str) {
    match apply(content, edit, "a.txt") {
        Ok(done) => panic!("applied: {done:?}"),
        Err(error) => {
            assert_eq!(error.kind, kind, "{}", error.message);
            assert!(error.message.contains("a.txt"), "{}", error.message);
            assert!(error.message.contains(part), "{part:?} is not in {:?}", error.message);
        }
    }
}

#[test]
fn replace_changes_the_one_place() {
    let done = applied(Some("a\nb\nc\n"), &edit("replace", Some("b"), Some("x\ny")));
    assert_eq!(done, ("a\nx\ny\nc\n".to_owned(), Lines { added: 2, removed: 1 }));
}

#[test]
fn replace_keeps_crlf() {
    let done = applied(Some("a\r\nb\r\nc\r\n"), &edit("replace", Some("a\nb"), Some("x\ny")));
    assert_eq!(done.0, "x\r\ny\r\nc\r\n");
    let same_ends = edit("replace", Some("a\r\nb"), Some("a\nb"));
    refused(Some("a\r\nb\r\n"), &same_ends, ErrorKind::Conflict, "change nothing");
}

#[test]
fn replace_counts_only_lines_that_differ() {
    let done = applied(Some("a\nb\nc\n"), &edit("replace", Some("a\nb\nc\n"), Some("a\nx\nc\n")));
    assert_eq!(done.1, Lines { added: 1, removed: 1 });
    let done = applied(Some("a\nb\nc\n"), &edit("replace", Some("b\n"), Some("")));
    assert_eq!(done, ("a\nc\n".to_owned(), Lines { added: 0, removed: 1 }));
}

#[test]
fn replace_needs_one_match() {
    let twice = edit("replace", Some("x"), Some("y"));
    refused(Some("x\na\nx\n"), &twice, ErrorKind::Conflict, "2 times, on lines 1, 3");
    refused(Some("a\n"), &twice, ErrorKind::NotFound, "was not found");
    let block = edit("replace", Some("b\nz"), Some("y"));
    refused(Some("a\n  b\nc\n"), &block, ErrorKind::NotFound, "on line 2");
    refused(None, &twice, ErrorKind::NotFound, "use add");
}

#[test]
fn replace_needs_its_texts() {
    refused(Some("a"), &edit("replace", None, Some("b")), ErrorKind::InvalidArguments, "needs old_text");
    refused(Some("a"), &edit("replace", Some(""), Some("b")), ErrorKind::InvalidArguments, "needs old_text");
    refused(Some("a"), &edit("replace", Some("a"), None), ErrorKind::InvalidArguments, "needs new_text");
    refused(Some("a"), &edit("replace", Some("a"), Some("a")), ErrorKind::InvalidArguments, "the same");
}

#[test]
fn add_creates_with_a_line_break_at_the_end() {
    let add = |text| applied(None, &edit("add", None, Some(text)));
    assert_eq!(add("a\nb"), ("a\nb\n".to_owned(), Lines { added: 2, removed: 0 }));
    assert_eq!(add("a\n\n"), ("a\n\n".to_owned(), Lines { added: 2, removed: 0 }));
    assert_eq!(add("a\r\nb").0, "a\r\nb\r\n");
    assert_eq!(add(""), (String::new(), Lines::default()));
}

#[test]
fn add_appends_on_a_line_of_its_own() {
    let add = |content, text| applied(Some(content), &edit("add", None, Some(text))).0;
    assert_eq!(add("a", "b"), "a\nb\n");
    assert_eq!(add("a\n", "b\n\n"), "a\nb\n\n");
    assert_eq!(add("a\r\nb", "c\nd"), "a\r\nb\r\nc\r\nd\r\n");
    assert_eq!(add("", "b"), "b\n");
}

#[test]
fn add_takes_new_text_only() {
    refused(Some("a"), &edit("add", Some("a"), Some("b")), ErrorKind::InvalidArguments, "no old_text");
    refused(Some("a"), &edit("add", None, None), ErrorKind::InvalidArguments, "needs new_text");
    refused(Some("a"), &edit("add", None, Some("")), ErrorKind::InvalidArguments, "empty");
}

#[test]
fn other_actions_are_unknown() {
    refused(Some("a"), &edit("delete", None, None), ErrorKind::InvalidArguments, "unknown action");
}
