//! Attacks on background work: by a model, by a tool, by a workspace, and by carelessness.

mod floods;
mod forged;
mod identity;
mod places;
mod widening;

use crate::support::Ran;

/// A reply that makes one call.
fn call(name: &str, arguments: &str) -> String {
    format!("[[reply]]\ncalls = [{{ name = {name:?}, arguments = {arguments:?} }}]\n")
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap().replace('\u{7f}', "\\u007f")
}

#[track_caller]
fn done(ran: &Ran) -> &str {
    assert_eq!(ran.code, 0, "{ran:?}");
    &ran.stdout
}

/// Lines that begin so.
fn lines(text: &str, with: &str) -> usize {
    text.lines().filter(|line| line.starts_with(with)).count()
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}
