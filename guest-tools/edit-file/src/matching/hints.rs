//! What a text that was not found may have been meant to be.

use super::level::number;
use ringfence_tool::text::{Fold, Pattern};

/// Reasons why `old` is not in `content` although something much like it is.
pub fn of(content: &str, old: &str) -> Vec<String> {
    let mut hints = Vec::new();
    let mut add = |text: &str, fold: Fold, reason: &str| {
        if let Some(line) = first_line(content, text, fold) {
            hints.push(format!("on line {line} it is there {reason}"));
        }
    };
    add(old, same_case, "if upper and lower case are not told apart");
    add(old, without_blanks, "if blanks and line breaks are passed over: copy them exactly");
    add(old, one_quote, "with another kind of quotes");
    if old.contains("\\n") {
        let broken = old.replace("\\n", "\n");
        add(&broken, Some, "with a line break where old_text has the two characters \\n");
    }
    if let Some(plain) = without_line_numbers(old) {
        add(&plain, without_blanks, "without the line numbers that read_file shows: leave them out");
    }
    hints
}

fn first_line(content: &str, text: &str, fold: Fold) -> Option<u64> {
    let pattern = Pattern::new(text, fold)?;
    let mut hits = number(content, pattern.find_in(content));
    hits.next().map(|hit| hit.first_line)
}

fn same_case(character: char) -> Option<char> {
    character.to_lowercase().next()
}

fn without_blanks(character: char) -> Option<char> {
    (!character.is_whitespace()).then_some(character)
}

fn one_quote(character: char) -> Option<char> {
    match super::quotes::straight(character) {
        '\'' | '`' | '\u{b4}' | '\u{ab}' | '\u{bb}' => Some('"'),
        other => Some(other),
    }
}

/// The text without `12| ` before each line, when each line has that.
fn without_line_numbers(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let (number, rest) = line.split_once('|')?;
        let number = number.trim();
        if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        plain.push_str(rest);
        plain.push('\n');
    }
    Some(plain)
}
