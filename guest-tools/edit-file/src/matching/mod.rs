//! What an edit does to a text: strings in, a string or a clear refusal out. Nothing here touches a file.

mod closest;
mod hints;
mod indent;
mod level;
mod lines;
mod quotes;
mod refusal;
mod replacement;
mod select;

#[cfg(test)]
mod tests;

use level::Matcher;
use replacement::Replacement;
use ringfence_tool::{Error, text::Newline};
use select::{Choice, Survey};

pub use level::Level;
pub use select::Lines;

/// One edit.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The file's name, for messages.
    pub name: &'a str,
    /// The text to replace; not empty.
    pub old: &'a str,
    /// The text to put there.
    pub new: &'a str,
    /// Whether to replace every match.
    pub replace_all: bool,
    /// Which match to replace, from 1.
    pub occurrence: Option<u64>,
    /// A line that the match covers, from 1.
    pub line_hint: Option<u64>,
    /// How many replacements there must be.
    pub expected: Option<u64>,
    /// Whether blanks at the ends of new lines mean something.
    pub keep_trailing_blanks: bool,
    /// Bytes that the result may have.
    pub limit: usize,
}

/// What an edit came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Edited {
    /// The whole new content.
    pub content: String,
    /// How many matches were replaced.
    pub replaced: u64,
    /// On which lines of the old content they began.
    pub lines: Lines,
    /// How loosely they were matched.
    pub level: Level,
}

impl Edited {
    /// One line on it.
    pub fn summary(&self) -> String {
        let note = match self.level {
            Level::Exact => "",
            Level::Trimmed => "; matched although blanks at the ends of lines differ, indentation kept",
            Level::TrimmedQuotes => "; matched although blanks and quote style differ, both kept",
            Level::Quotes => "; matched although the quote style differs, curly quotes kept",
        };
        let count = match self.replaced {
            1 => "1 replacement".to_owned(),
            count => format!("{count} replacements"),
        };
        format!("{count} on {}{note}", self.lines)
    }
}

/// Applies one edit to `content`.
///
/// # Errors
///
/// When the request makes no sense, the text is not there or not told apart, or nothing would change.
pub fn apply(content: &str, request: &Request<'_>) -> Result<Edited, Error> {
    refusal::check(request)?;
    for level in Level::ALL {
        let Some(matcher) = Matcher::new(level, request.old) else { continue };
        let survey = Survey::of(content, &matcher, request.line_hint);
        if survey.count > 0 {
            let choice = select::choose(&survey, request)?;
            return replace(content, request, &matcher, &survey, choice);
        }
    }
    Err(refusal::not_found(content, request))
}

fn replace(
    content: &str,
    request: &Request<'_>,
    matcher: &Matcher,
    survey: &Survey,
    choice: Choice,
) -> Result<Edited, Error> {
    let replacement = Replacement::new(request, matcher.level());
    // A guess that nearly always fits: growing later would hold the result twice.
    let replaced = if choice == Choice::All { survey.count } else { 1 };
    let grown = (replaced as usize).saturating_mul(request.new.len().saturating_mul(2).saturating_add(256));
    let mut result = String::with_capacity(content.len().saturating_add(grown).min(request.limit));
    let mut newline = None;
    let mut done = 0;
    let mut lines = Lines::default();
    for (number, hit) in (1..).zip(matcher.hits(content)) {
        if choice != Choice::All && choice != Choice::Nth(number) {
            continue;
        }
        let newline = *newline.get_or_insert_with(|| Newline::at(content, hit.range.start));
        let range = replacement.widened(content, hit.range);
        // A deletion may have taken the line break that a next match starts with.
        let start = range.start.max(done);
        let kept = content.get(done..start).unwrap_or_default();
        let matched = content.get(start..range.end).unwrap_or_default();
        let follows = content.get(range.end..).unwrap_or_default();
        let put = newline.apply(&replacement.text(matched, follows));
        if result.len() + kept.len() + put.len() > request.limit {
            return Err(refusal::too_large(request));
        }
        result.push_str(kept);
        result.push_str(&put);
        done = range.end;
        lines.add(hit.first_line);
    }
    let rest = content.get(done..).unwrap_or_default();
    if result.len() + rest.len() > request.limit {
        return Err(refusal::too_large(request));
    }
    result.push_str(rest);
    if result == content {
        return Err(refusal::unchanged(request));
    }
    Ok(Edited { content: result, replaced, lines, level: matcher.level() })
}
