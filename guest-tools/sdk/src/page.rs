//! A page of a long list.

use crate::sheet::{MAX_CHARACTERS, Sheet};

/// Some of many lines. Only those on the page are held, however many there are.
#[derive(Debug)]
pub struct Page {
    offset: usize,
    limit: usize,
    shown: usize,
    total: usize,
    sheet: Sheet,
}

impl Page {
    /// The lines after the first `offset` ones: `limit` of them, or all that fit for 0.
    pub fn new(offset: usize, limit: usize) -> Self {
        // More cannot fit: a line has at least one character, and its end.
        let limit = if limit == 0 { MAX_CHARACTERS / 2 } else { limit };
        Self { offset, limit, shown: 0, total: 0, sheet: Sheet::default() }
    }

    /// How many lines, from the first one, decide what is on the page.
    pub fn end(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    /// Takes note of the next line, and shows it if it is on the page.
    pub fn line(&mut self, line: &str) {
        // Once a line did not fit, none after it is shown: a page has no holes.
        let next = self.total == self.offset.saturating_add(self.shown);
        if next && self.shown < self.limit && self.sheet.line(line) {
            self.shown += 1;
        }
        self.total += 1;
    }

    /// Tells how many lines there are, where not all of them were given to [`Page::line`].
    pub fn set_total(&mut self, total: usize) {
        self.total = total;
    }

    /// How many lines there are.
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many of them are shown.
    pub fn shown(&self) -> usize {
        self.shown
    }

    /// Which lines are shown and how to get those that follow; `None` when all are shown. `partial` says that there may
    /// be more lines than are known.
    pub fn position(&self, partial: bool) -> Option<String> {
        let total = format!("{}{}", if partial { "at least " } else { "" }, self.total);
        let next = self.offset.saturating_add(self.shown);
        if self.shown == self.total {
            None
        } else if self.offset >= self.total {
            Some(format!("nothing after offset {}; {total} in all", self.offset))
        } else if next < self.total {
            Some(format!("{}-{next} of {total}; continue with offset={next}", self.offset + 1))
        } else {
            Some(format!("{}-{next} of {total}", self.offset + 1))
        }
    }

    /// The text of the page, and what is to be remarked on it.
    pub fn finish(mut self, remarks: &[String]) -> String {
        if !remarks.is_empty() {
            self.sheet.note(&remarks.join("; "));
        }
        self.sheet.into_text()
    }
}
