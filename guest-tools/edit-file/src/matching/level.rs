//! How loosely a text is matched, and where it is then found.

use super::{lines::Lines, quotes};
use ringfence_tool::text::Pattern;
use std::ops::Range;

/// How loosely a text is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// To the letter, but for how lines end.
    Exact,
    /// Whole lines, without the blanks around each.
    Trimmed,
    /// Whole lines, without the blanks around each, curly quotes taken for straight ones.
    TrimmedQuotes,
    /// To the letter, curly quotes taken for straight ones.
    Quotes,
}

impl Level {
    /// From strict to loose; the first one that finds anything decides.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Trimmed, Self::TrimmedQuotes, Self::Quotes];

    /// Whether whole lines are matched.
    pub fn is_by_lines(self) -> bool {
        matches!(self, Self::Trimmed | Self::TrimmedQuotes)
    }

    /// Whether curly quotes were taken for straight ones.
    pub fn folds_quotes(self) -> bool {
        matches!(self, Self::TrimmedQuotes | Self::Quotes)
    }
}

/// One place that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Where, in bytes.
    pub range: Range<usize>,
    /// The line that it starts on, from 1.
    pub first_line: u64,
    /// The line that its last character is on.
    pub last_line: u64,
}

/// A text, ready to be found at one level.
#[derive(Debug)]
pub struct Matcher {
    level: Level,
    search: Search,
}

#[derive(Debug)]
enum Search {
    Text(Pattern),
    Lines(Lines),
}

impl Matcher {
    /// Prepares the search. `None` when the text leaves nothing to look for at this level.
    pub fn new(level: Level, old: &str) -> Option<Self> {
        let search = match level {
            Level::Exact => Search::Text(Pattern::exact(old)?),
            Level::Quotes => Search::Text(Pattern::new(old, |c| Some(quotes::straight(c)))?),
            Level::Trimmed => Search::Lines(Lines::new(old, false)?),
            Level::TrimmedQuotes => Search::Lines(Lines::new(old, true)?),
        };
        Some(Self { level, search })
    }

    /// Its level.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The places that match, from the start on, without overlaps.
    pub fn hits<'a>(&'a self, content: &'a str) -> impl Iterator<Item = Hit> + 'a {
        let ranges: Box<dyn Iterator<Item = Range<usize>> + 'a> = match &self.search {
            Search::Text(pattern) => Box::new(pattern.find_in(content)),
            Search::Lines(lines) => Box::new(lines.find_in(content)),
        };
        number(content, ranges)
    }
}

/// Adds line numbers to ranges that come in order.
pub fn number<'a>(
    content: &'a str,
    ranges: impl Iterator<Item = Range<usize>> + 'a,
) -> impl Iterator<Item = Hit> + 'a {
    let bytes = content.as_bytes();
    let breaks = move |from: usize, to: usize| {
        bytes.get(from..to).unwrap_or_default().iter().filter(|b| **b == b'\n').count() as u64
    };
    let mut counted = 0;
    let mut line = 1;
    ranges.map(move |range| {
        line += breaks(counted, range.start);
        counted = range.start;
        let last_line = line + breaks(range.start, range.end.saturating_sub(1));
        Hit { range, first_line: line, last_line }
    })
}
