//! What the searcher reports of one file.

use crate::arguments::{Arguments, Mode};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use ringfence_tool::sheet::one_line;
use std::io;

/// Bytes of a line that are shown.
const MAX_LINE: usize = 1_000;

/// Bytes before a match that are shown of a longer line.
const LEAD: usize = 200;

/// Text that is shown as a whole or not at all.
pub(crate) struct Chunk {
    pub(crate) text: String,
    /// Whether a match is in it: then it is one of those that are counted.
    pub(crate) is_match: bool,
}

/// What is still to be passed over and shown, in characters and matches.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) pass_over: usize,
    pub(crate) take: usize,
    pub(crate) room: usize,
    /// Whether something is shown already.
    pub(crate) begun: bool,
}

/// Collects from one file. Nothing of it is shown before the file turned out to be text.
pub(crate) struct Lines<'a> {
    path: &'a str,
    matcher: &'a RegexMatcher,
    mode: Mode,
    context: bool,
    wanted: Wanted,
    before: Vec<String>,
    /// Whether lines are added to the block of the match before.
    in_block: bool,
    pub(crate) chunks: Vec<Chunk>,
    /// Matching lines, as far as they were looked at.
    pub(crate) matches: usize,
    pub(crate) passed_over: usize,
    /// Whether there is more than is wanted.
    pub(crate) more: bool,
    pub(crate) binary: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(
        path: &'a str,
        matcher: &'a RegexMatcher,
        arguments: &Arguments,
        wanted: Wanted,
    ) -> Self {
        Self {
            path,
            matcher,
            mode: arguments.output_mode,
            context: arguments.has_context(),
            wanted,
            before: Vec::new(),
            in_block: false,
            chunks: Vec::new(),
            matches: 0,
            passed_over: 0,
            more: false,
            binary: false,
        }
    }

    /// Takes a matching line for the `content` mode; `false` when that is enough.
    fn take(&mut self, number: u64, bytes: &[u8]) -> bool {
        let before = std::mem::take(&mut self.before);
        if self.wanted.pass_over > 0 {
            self.wanted.pass_over -= 1;
            self.passed_over += 1;
            self.in_block = false;
            return true;
        }
        if self.wanted.take == 0 {
            self.more = true;
            return false;
        }
        self.wanted.take -= 1;
        let mut text = String::new();
        if !self.in_block {
            if self.wanted.begun {
                text.push('\n');
            }
            text.push_str(&format!("{}:{number}\n", one_line(self.path)));
        }
        for line in before {
            text.push_str(&line);
            text.push('\n');
        }
        let start = self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start());
        text.push_str(&format!("> {number}| {}", clip(bytes, start)));
        // Without context the searcher does not tell where blocks end: each match is one.
        self.in_block = self.context;
        self.wanted.begun = true;
        self.add(text, true)
    }

    fn add(&mut self, text: String, is_match: bool) -> bool {
        let cost = text.chars().count() + 1;
        let fits = cost <= self.wanted.room;
        self.wanted.room = self.wanted.room.saturating_sub(cost);
        self.chunks.push(Chunk { text, is_match });
        // What does not fit is added nevertheless: by it the sheet sees that it is full.
        fits
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        Ok(match self.mode {
            Mode::FilesWithMatches => false,
            Mode::Count => true,
            Mode::Content => self.take(found.line_number().unwrap_or_default(), found.bytes()),
        })
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let line = || format!("  {}| {}", found.line_number().unwrap_or_default(), clip(found.bytes(), 0));
        Ok(match found.kind() {
            SinkContextKind::After if self.in_block => self.add(line(), false),
            SinkContextKind::Before => {
                self.before.push(line());
                true
            }
            SinkContextKind::After | SinkContextKind::Other => true,
        })
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.in_block = false;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// A line without its end; of a long one, the part around `start`.
fn clip(bytes: &[u8], start: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() <= MAX_LINE {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // Cut between characters, not inside one.
    let within = |index: &usize| bytes.get(*index).is_some_and(|byte| byte & 0xC0 == 0x80);
    let mut from = start.saturating_sub(LEAD).min(bytes.len() - MAX_LINE);
    while within(&from) {
        from += 1;
    }
    let mut to = bytes.len().min(from + MAX_LINE);
    while to > from && within(&to) {
        to -= 1;
    }
    let text = String::from_utf8_lossy(bytes.get(from..to).unwrap_or_default());
    let lead = if from > 0 { "…" } else { "" };
    let tail = if to < bytes.len() { "…" } else { "" };
    format!("{lead}{text}{tail}")
}
