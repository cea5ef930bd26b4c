//! Finding whole lines without the blanks around each.

use super::quotes;
use ringfence_tool::text::Sequence;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

/// Lines to look for.
#[derive(Debug)]
pub struct Lines {
    lines: Sequence<String>,
    /// Whether the last line's break belongs to them.
    closed: bool,
    straight_quotes: bool,
}

impl Lines {
    /// Prepares a search. `None` when all lines are blank: those are told apart by nothing but their blanks.
    pub fn new(text: &str, straight_quotes: bool) -> Option<Self> {
        let (lines, closed) = split(text);
        let lines: Vec<String> = lines.iter().map(|l| fold(l, straight_quotes).into_owned()).collect();
        if lines.iter().all(String::is_empty) {
            return None;
        }
        Some(Self { lines: Sequence::new(lines)?, closed, straight_quotes })
    }

    /// Where `content` holds the lines, from the start on, without overlaps.
    pub fn find_in<'a>(&'a self, content: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let size = self.lines.size();
        // Where the lines that may belong to a match start.
        let mut starts = VecDeque::with_capacity(size);
        let mut position = 0;
        let mut matched = 0;
        let mut rest = content.split_inclusive('\n');
        std::iter::from_fn(move || {
            for line in rest.by_ref() {
                if starts.len() == size {
                    starts.pop_front();
                }
                starts.push_back(position);
                position += line.len();
                matched = self.lines.advance(matched, fold(line, self.straight_quotes).as_ref());
                if matched == size {
                    matched = 0;
                    let start = starts.front().copied().unwrap_or(position);
                    let end = if self.closed { position } else { position - break_length(line) };
                    return Some(start..end);
                }
            }
            None
        })
    }
}

/// The lines of a text without their breaks, and whether the last one has a break.
pub fn split(text: &str) -> (Vec<&str>, bool) {
    let closed = text.ends_with('\n');
    let mut lines: Vec<&str> = text.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l)).collect();
    if closed {
        lines.pop();
    }
    (lines, closed)
}

fn break_length(line: &str) -> usize {
    if line.ends_with("\r\n") { 2 } else { usize::from(line.ends_with('\n')) }
}

fn fold(line: &str, straight_quotes: bool) -> Cow<'_, str> {
    let line = line.trim();
    if straight_quotes && line.chars().any(quotes::is_curly) {
        Cow::Owned(line.chars().map(quotes::straight).collect())
    } else {
        Cow::Borrowed(line)
    }
}
