//! Finding text in a file without copying the file, and keeping its line breaks. Strings in, ranges out.
//!
//! A file may be as large as a good part of a guest's memory, so nothing here holds a second form of it, and every search
//! is linear in the file's length.

use std::ops::Range;

/// What characters are compared as: a character becomes another one, or is passed over.
pub type Fold = fn(char) -> Option<char>;

/// Items that are searched for in a stream of items (Knuth, Morris and Pratt's way).
#[derive(Debug)]
pub struct Sequence<T> {
    items: Vec<T>,
    /// For each item, how many of the first items the ones up to it end with.
    fall: Vec<usize>,
}

impl<T: PartialEq> Sequence<T> {
    /// Prepares a search for these items. `None` when there are none.
    pub fn new(items: Vec<T>) -> Option<Self> {
        if items.is_empty() {
            return None;
        }
        let mut sequence = Self { fall: Vec::with_capacity(items.len()), items: Vec::new() };
        let mut matched = 0;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                matched = sequence.step(&items, matched, item);
            }
            sequence.fall.push(matched);
        }
        sequence.items = items;
        Some(sequence)
    }

    /// How many items there are.
    pub fn size(&self) -> usize {
        self.items.len()
    }

    /// How many items are matched after `next`, when `matched` were before it.
    pub fn advance<Q: ?Sized>(&self, matched: usize, next: &Q) -> usize
    where
        T: PartialEq<Q>,
    {
        self.step(&self.items, matched, next)
    }

    fn step<Q: ?Sized>(&self, items: &[T], mut matched: usize, next: &Q) -> usize
    where
        T: PartialEq<Q>,
    {
        loop {
            if items.get(matched).is_some_and(|item| item == next) {
                return matched + 1;
            }
            if matched == 0 {
                return 0;
            }
            matched = self.fall.get(matched - 1).copied().unwrap_or(0);
        }
    }
}

/// A text to look for. A line break in it is found in the file whether written `\n` or `\r\n` there.
#[derive(Debug)]
pub struct Pattern {
    characters: Sequence<char>,
    fold: Fold,
}

impl Pattern {
    /// Prepares a search for `text`, compared by `fold`. `None` when that leaves nothing to look for.
    pub fn new(text: &str, fold: Fold) -> Option<Self> {
        let items = Characters::new(text).filter_map(|(_, c)| fold(c)).collect();
        Some(Self { characters: Sequence::new(items)?, fold })
    }

    /// Prepares a search for exactly `text`. `None` when it is empty.
    pub fn exact(text: &str) -> Option<Self> {
        Self::new(text, Some)
    }

    /// Where `content` holds the text, from the start on, without overlaps.
    pub fn find_in<'a>(&'a self, content: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut characters = Characters::new(content);
        let mut matched = 0;
        std::iter::from_fn(move || {
            for (offset, character) in characters.by_ref() {
                let Some(folded) = (self.fold)(character) else { continue };
                matched = self.characters.advance(matched, &folded);
                if matched == self.characters.size() {
                    matched = 0;
                    let end = offset + character.len_utf8();
                    return Some(self.start_before(content, end)..end);
                }
            }
            None
        })
    }

    /// Walks back over one match that ends at `end`: folded characters may be longer or shorter in the file.
    fn start_before(&self, content: &str, end: usize) -> usize {
        let matched = content.get(..end).unwrap_or_default();
        let mut left = self.characters.size();
        let mut later = None;
        let mut start = end;
        for (offset, character) in matched.char_indices().rev() {
            let half_break = character == '\r' && later == Some('\n');
            if left == 0 {
                // A line break is found whole.
                return if half_break { offset } else { start };
            }
            later = Some(character);
            if !half_break && (self.fold)(character).is_some() {
                left -= 1;
                start = offset;
            }
        }
        start
    }
}

/// The characters of a text with their offsets, without the first half of `\r\n`.
struct Characters<'a>(std::iter::Peekable<std::str::CharIndices<'a>>);

impl<'a> Characters<'a> {
    fn new(text: &'a str) -> Self {
        Self(text.char_indices().peekable())
    }
}

impl Iterator for Characters<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (offset, character) = self.0.next()?;
            let half_break = character == '\r' && self.0.peek().is_some_and(|(_, next)| *next == '\n');
            if !half_break {
                return Some((offset, character));
            }
        }
    }
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newline {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
}

impl Newline {
    /// How the line at `position` ends; where none ends there any more, how the first line of the text does.
    pub fn at(content: &str, position: usize) -> Self {
        let bytes = content.as_bytes();
        let end_from = |from: usize| content.get(from..).and_then(|rest| rest.find('\n')).map(|at| from + at);
        let end = end_from(position).or_else(|| end_from(0));
        match end.and_then(|end| end.checked_sub(1)).and_then(|before| bytes.get(before)) {
            Some(b'\r') => Self::CrLf,
            _ => Self::Lf,
        }
    }

    /// The text with each of its line breaks written this way.
    pub fn apply(self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self {
            Self::Lf => plain,
            Self::CrLf => plain.replace('\n', "\r\n"),
        }
    }
}
