//! What is put in the place of one match.

use super::{Level, Request, indent::Indents, lines, quotes::Style};
use std::ops::Range;

/// The new text of one edit, made to fit each match.
#[derive(Debug)]
pub struct Replacement<'a> {
    old: String,
    new: String,
    level: Level,
    request: &'a Request<'a>,
}

impl<'a> Replacement<'a> {
    /// The new text for matches of this level.
    pub fn new(request: &'a Request<'a>, level: Level) -> Self {
        let plain = |text: &str| text.replace("\r\n", "\n");
        let mut new = plain(request.new);
        if !request.keep_trailing_blanks {
            new = without_trailing_blanks(&new);
        }
        Self { old: plain(request.old), new, level, request }
    }

    /// What a match really takes away: deleting all that a line holds takes the line.
    pub fn widened(&self, content: &str, range: Range<usize>) -> Range<usize> {
        if !self.new.is_empty() || self.old.starts_with('\n') || self.old.trim().is_empty() {
            return range;
        }
        let before = content.get(..range.start).unwrap_or_default().trim_end_matches([' ', '\t']);
        if !before.is_empty() && !before.ends_with('\n') {
            return range;
        }
        if self.old.ends_with('\n') {
            return before.len()..range.end;
        }
        let after = content.get(range.end..).unwrap_or_default();
        let rest = after.trim_start_matches([' ', '\t']);
        let end = match rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
            Some(next) => content.len() - next.len(),
            None if rest.is_empty() => content.len(),
            None => return range,
        };
        before.len()..end
    }

    /// What to put in the place of `matched`, which `follows` comes after. Lines end in `\n`.
    pub fn text(&self, matched: &str, follows: &str) -> String {
        if self.new.is_empty() {
            return String::new();
        }
        let matched = matched.replace("\r\n", "\n");
        let put = match self.level {
            Level::Exact => self.new.clone(),
            Level::Quotes => in_the_files_quotes(&self.old, &self.new, &matched, Style::of(&matched)),
            Level::Trimmed | Level::TrimmedQuotes => return self.line_by_line(&matched),
        };
        let at_line_end = follows.is_empty() || follows.starts_with('\n') || follows.starts_with("\r\n");
        if at_line_end && !self.request.keep_trailing_blanks {
            let end = put.trim_end_matches([' ', '\t']).len();
            return put.get(..end).unwrap_or_default().to_owned();
        }
        put
    }

    /// Lines that old and new text have in common at either end stay as the file has them; those between are moved to
    /// where the file's lines stand.
    fn line_by_line(&self, matched: &str) -> String {
        let (old, old_closed) = lines::split(&self.old);
        let (new, new_closed) = lines::split(&self.new);
        let (found, found_closed) = lines::split(matched);
        let (head, tail) = common_ends(&old, &new, |a, b| a.trim_end() == b.trim_end());
        let indents = Indents::learn(&old, &found);
        let style = self.level.folds_quotes().then(|| Style::of(matched));
        let mut result: Vec<String> = Vec::with_capacity(new.len());
        result.extend(found.get(..head).unwrap_or_default().iter().map(|l| (*l).to_owned()));
        for (index, line) in new.iter().enumerate().take(new.len() - tail).skip(head) {
            let line =
                if self.request.keep_trailing_blanks { line } else { line.trim_end_matches([' ', '\t']) };
            let line = indents.apply(line, (index < old.len()).then_some(index));
            let pair = old.get(index).zip(found.get(index));
            result.push(match (style, pair) {
                (Some(style), Some((old, found))) => {
                    in_the_files_quotes(old.trim(), &line, found.trim(), style)
                }
                (Some(style), None) => style.apply(&line, None),
                (None, _) => line,
            });
        }
        result.extend(
            found.get(found.len().saturating_sub(tail)..).unwrap_or_default().iter().map(|l| (*l).to_owned()),
        );
        let mut text = result.join("\n");
        // The file's last line may lack the break that the given text has.
        if new_closed && (found_closed || !old_closed) {
            text.push('\n');
        }
        text
    }
}

/// The new text with the file's quotes: what old and new text have in common at either end, but for indentation, stays
/// as it was found; quotes between take its style.
fn in_the_files_quotes(old: &str, new: &str, found: &str, style: Style) -> String {
    let indent = if old.starts_with(char::is_whitespace) { 0 } else { new.len() - new.trim_start().len() };
    let (indent, new) = new.split_at_checked(indent).unwrap_or_default();
    let characters = |text: &str| text.chars().collect::<Vec<_>>();
    let (old, new, found) = (characters(old), characters(new), characters(found));
    let (head, tail) = common_ends(&old, &new, |a, b| a == b);
    let start: String = found.get(..head).unwrap_or_default().iter().collect();
    let end: String = found.get(found.len().saturating_sub(tail)..).unwrap_or_default().iter().collect();
    let between: String = new.get(head..new.len() - tail).unwrap_or_default().iter().collect();
    let between = style.apply(&between, start.chars().next_back());
    format!("{indent}{start}{between}{end}")
}

/// How many items two sequences have in common at the start, and then at the end.
fn common_ends<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let left = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(a, b)| same(a, b)).count();
    (head, tail)
}

/// Without blanks before line breaks. The last line keeps its own: the file may go on after it.
fn without_trailing_blanks(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.strip_suffix('\n') {
            Some(line) => {
                result.push_str(line.trim_end_matches([' ', '\t']));
                result.push('\n');
            }
            None => result.push_str(line),
        }
    }
    result
}
