//! What one edit does to a text: strings in, a string or a clear refusal out. Nothing here touches a file.

use ringfence_tool::{
    Error, ErrorKind,
    text::{Newline, Pattern},
};

/// Bytes of the longest text that is looked for.
const MAX_TEXT: usize = 1024 * 1024;

/// Matches whose lines a message lists.
const LINES_SHOWN: usize = 10;

/// One edit, as it is given.
#[derive(Debug, serde::Deserialize)]
pub struct Edit {
    /// The file.
    pub path: String,
    /// `replace` or `add`.
    pub action: String,
    /// The text to replace.
    pub old_text: Option<String>,
    /// The text to put there, or to add.
    pub new_text: Option<String>,
}

/// How many lines came and went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are no more.
    pub removed: usize,
}

impl Lines {
    /// Adds those of a further edit.
    pub fn add(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// Applies an edit to a file's content, `None` when it does not exist. `name` is the file's, for messages.
///
/// # Errors
///
/// When the edit makes no sense, or its text is not there exactly once.
pub fn apply(content: Option<&str>, edit: &Edit, name: &str) -> Result<(String, Lines), Error> {
    let text = |value: &Option<String>| value.as_ref().filter(|text| !text.is_empty()).cloned();
    match edit.action.as_str() {
        "replace" => {
            let Some(old) = text(&edit.old_text) else {
                return Err(Error::invalid(format!(
                    "{name}: replace needs old_text, the text to replace; use add to create a file or to append"
                )));
            };
            let Some(new) = &edit.new_text else {
                return Err(Error::invalid(format!(
                    "{name}: replace needs new_text; give an empty one to delete old_text"
                )));
            };
            let Some(content) = content else {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("{name} does not exist; use add to create it"),
                ));
            };
            replace(content, &old, new, name)
        }
        "add" => {
            if text(&edit.old_text).is_some() {
                return Err(Error::invalid(format!(
                    "{name}: add takes no old_text; use replace to change a text that is there"
                )));
            }
            let Some(new) = &edit.new_text else {
                return Err(Error::invalid(format!("{name}: add needs new_text, the text to add")));
            };
            add(content, new, name)
        }
        other => Err(Error::invalid(format!(
            "{name}: unknown action {other:?}; there are replace and add (nothing here deletes or moves files)"
        ))),
    }
}

fn replace(content: &str, old: &str, new: &str, name: &str) -> Result<(String, Lines), Error> {
    if old == new {
        return Err(Error::invalid(format!(
            "{name}: old_text and new_text are the same, so nothing would change"
        )));
    }
    if old.len() > MAX_TEXT {
        return Err(Error::new(
            ErrorKind::TooLarge,
            format!("{name}: old_text has {} bytes; the limit is {MAX_TEXT} bytes", old.len()),
        ));
    }
    let pattern = Pattern::exact(old);
    let mut found = pattern.iter().flat_map(|p| p.find_in(content));
    let Some(range) = found.next() else { return Err(not_found(content, old, name)) };
    if let Some(second) = found.next() {
        let starts = [range.start, second.start].into_iter().chain(found.map(|r| r.start));
        return Err(ambiguous(content, starts, name));
    }
    let before = content.get(..range.start).unwrap_or_default();
    let after = content.get(range.end..).unwrap_or_default();
    let put = Newline::at(content, range.start).apply(new);
    let lines = difference(content.get(range).unwrap_or_default(), &put);
    let mut result = String::with_capacity(before.len() + put.len() + after.len());
    result.push_str(before);
    result.push_str(&put);
    result.push_str(after);
    if result == content {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{name}: the edit would change nothing (lines keep the ending that the file has)"),
        ));
    }
    Ok((result, lines))
}

/// Creates or appends. Added text starts on a line of its own and ends with a line break.
fn add(content: Option<&str>, new: &str, name: &str) -> Result<(String, Lines), Error> {
    let Some(content) = content.filter(|content| !content.is_empty()) else {
        if new.is_empty() && content.is_some() {
            return Err(Error::invalid(format!("{name}: new_text is empty, so nothing would be added")));
        }
        let newline = Newline::at(new, 0);
        let text = closed(new.to_owned(), newline);
        let lines = Lines { added: text.lines().count(), removed: 0 };
        return Ok((text, lines));
    };
    if new.is_empty() {
        return Err(Error::invalid(format!("{name}: new_text is empty, so nothing would be added")));
    }
    let newline = Newline::at(content, content.len());
    let put = closed(newline.apply(new), newline);
    let lines = Lines { added: put.lines().count(), removed: 0 };
    let mut result = String::with_capacity(content.len() + put.len() + 2);
    result.push_str(content);
    let mut result = closed(result, newline);
    result.push_str(&put);
    Ok((result, lines))
}

/// The text with a line break at its end, unless it is empty.
fn closed(mut text: String, newline: Newline) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(if newline == Newline::CrLf { "\r\n" } else { "\n" });
    }
    text
}

/// How many lines of a replaced piece differ, without those that both have at either end.
fn difference(old: &str, new: &str) -> Lines {
    let lines = |text: &'_ str| text.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let (mut old, mut new) = (lines(old), lines(new));
    while old.last().is_some() && old.last() == new.last() {
        old.pop();
        new.pop();
    }
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    Lines { added: new.len() - same, removed: old.len() - same }
}

fn ambiguous(content: &str, starts: impl Iterator<Item = usize>, name: &str) -> Error {
    let mut lines = Vec::new();
    let mut count = 0;
    for start in starts {
        count += 1;
        if lines.len() < LINES_SHOWN {
            lines.push(line_of(content, start).to_string());
        }
    }
    let more = if count > lines.len() { ", ..." } else { "" };
    Error::new(
        ErrorKind::Conflict,
        format!(
            "{name}: old_text occurs {count} times, on lines {}{more}; it must occur once. Give more of the text around it",
            lines.join(", ")
        ),
    )
}

fn not_found(content: &str, old: &str, name: &str) -> Error {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty());
    let place = first.and_then(|first| content.find(first)).map(|at| line_of(content, at));
    let hint = match place {
        Some(line) => format!("its first line is on line {line}, but not all of it follows to the letter"),
        None => "not even its first line".to_owned(),
    };
    Error::new(
        ErrorKind::NotFound,
        format!(
            "{name}: old_text was not found ({hint}). Read the file again and copy the text exactly, or use edit_file, which takes other indentation"
        ),
    )
}

fn line_of(content: &str, position: usize) -> usize {
    let before = content.as_bytes().get(..position).unwrap_or_default();
    1 + before.iter().filter(|b| **b == b'\n').count()
}
