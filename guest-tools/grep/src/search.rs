//! Going through files.

use crate::answer::Answer;
use crate::arguments::{Arguments, Mode};
use crate::lines::Lines;
use crate::omitted::Omitted;
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ringfence_tool::files::{Filter, Found, Kind, Place, Reader, Walk};
use ringfence_tool::{Error, ErrorKind};
use std::io::{self, Read as _};
use std::time::{Duration, Instant};

/// Bytes of a file that is come by in a directory.
const MAX_FOUND: u64 = 2 * 1024 * 1024;

/// Bytes of a file that is named.
const MAX_NAMED: u64 = 100 * 1024 * 1024;

/// Bytes that are held of a file: its longest line has to fit.
const MAX_HELD: usize = 8 * 1024 * 1024;

/// Bytes at the start of a file that are looked at before it is searched; a NUL among them makes it binary.
const HEAD: usize = 8 * 1024;

/// How long a search goes on. What was found by then is more use than a call that the host ends.
const MAX_TIME: Duration = Duration::from_secs(20);

/// A search that goes on from file to file.
pub(crate) struct Search<'a> {
    matcher: &'a RegexMatcher,
    arguments: &'a Arguments,
    searcher: Searcher,
    answer: Answer,
    omitted: Omitted,
}

impl<'a> Search<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, arguments: &'a Arguments, answer: Answer) -> Self {
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_HELD));
        if arguments.output_mode == Mode::Content {
            builder.before_context(arguments.context_before).after_context(arguments.context_after);
        }
        Self { matcher, arguments, searcher: builder.build(), answer, omitted: Omitted::default() }
    }

    /// Searches what a walk comes by. What cannot be searched is counted.
    pub(crate) fn directory(&mut self, mut walk: Walk<'_>, filter: &Filter) {
        let started = Instant::now();
        while let Some(found) = walk.next() {
            if !filter.admits(&found.place, walk.relative(&found.place)) || !self.is_file(&found) {
                continue;
            }
            if started.elapsed() > MAX_TIME {
                self.omitted.late = true;
                break;
            }
            match self.found_file(&found.place) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => self.omitted.unreadable += 1,
            }
        }
        self.omitted.walk = walk.omitted();
    }

    /// Searches the one file that was named; that it cannot be searched is an error.
    pub(crate) fn only_file(&mut self, place: &Place<'_>) -> Result<(), Error> {
        let mut reader = place.open()?;
        if reader.stat().size > MAX_NAMED {
            return Err(place.too_large(reader.stat().size, MAX_NAMED));
        }
        self.file(place, &mut reader).map_err(|e| {
            let error = place.io_error(&e);
            Error::new(error.kind, format!("{} (a line may have at most 8 MiB)", error.message))
        })?;
        if self.omitted.binary > 0 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{} is a binary file; only text files can be searched", place.shown()),
            ));
        }
        Ok(())
    }

    /// The text of the answer.
    pub(crate) fn finish(self) -> String {
        self.answer.finish(&self.omitted)
    }

    /// Whether this is a file or a link to one. A link that cannot be followed counts as unreadable.
    fn is_file(&mut self, found: &Found<'_>) -> bool {
        match found.kind {
            Kind::File => true,
            Kind::Directory => false,
            Kind::Special => {
                self.omitted.unreadable += 1;
                false
            }
            Kind::Link => match found.place.stat() {
                Ok(stat) => stat.kind == Kind::File,
                Err(_) => {
                    self.omitted.unreadable += 1;
                    false
                }
            },
        }
    }

    fn found_file(&mut self, place: &Place<'_>) -> Result<bool, Error> {
        let mut reader = place.open()?;
        if reader.stat().size > MAX_FOUND {
            self.omitted.large += 1;
            return Ok(true);
        }
        self.file(place, &mut reader).map_err(|e| place.io_error(&e))
    }

    /// Searches an open file; `false` when no other file can add anything.
    fn file(&mut self, place: &Place<'_>, reader: &mut Reader) -> io::Result<bool> {
        let mut head = vec![0; HEAD];
        let count = reader.read(&mut head)?;
        head.truncate(count);
        if head.contains(&0) {
            self.omitted.binary += 1;
            return Ok(true);
        }
        let modified = reader.stat().modified;
        let path = place.shown();
        let mut lines = Lines::new(&path, self.matcher, self.arguments, self.answer.wanted());
        self.searcher.search_reader(self.matcher, head.as_slice().chain(reader), &mut lines)?;
        if lines.binary {
            self.omitted.binary += 1;
            return Ok(true);
        }
        Ok(self.answer.add(&path, modified, lines))
    }
}
