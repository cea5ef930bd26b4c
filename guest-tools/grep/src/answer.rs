//! From matches to text.

use crate::arguments::{Arguments, Mode};
use crate::lines::{Lines, Wanted};
use crate::omitted::Omitted;
use ringfence_tool::files::Newest;
use ringfence_tool::page::Page;
use ringfence_tool::sheet::{Sheet, count, one_line};

/// Collects what is shown, by mode.
pub(crate) enum Answer {
    Files { page: Page, newest: Newest },
    Counts { page: Page, matches: usize },
    Content(Content),
}

/// Matching lines with those around them.
pub(crate) struct Content {
    sheet: Sheet,
    offset: usize,
    limit: usize,
    passed_over: usize,
    shown: usize,
    /// Whether there are matches after those shown.
    more: bool,
}

impl Answer {
    pub(crate) fn new(arguments: &Arguments) -> Self {
        let (offset, limit) = (arguments.offset, arguments.limit());
        match arguments.output_mode {
            Mode::FilesWithMatches => {
                let page = Page::new(offset, limit);
                let newest = Newest::keeping(page.end());
                Self::Files { page, newest }
            }
            Mode::Count => Self::Counts { page: Page::new(offset, limit), matches: 0 },
            Mode::Content => Self::Content(Content {
                sheet: Sheet::default(),
                offset,
                limit: if limit == 0 { usize::MAX } else { limit },
                passed_over: 0,
                shown: 0,
                more: false,
            }),
        }
    }

    /// What the next file may add.
    pub(crate) fn wanted(&self) -> Wanted {
        match self {
            Self::Content(content) => Wanted {
                pass_over: content.offset.saturating_sub(content.passed_over),
                take: content.limit.saturating_sub(content.shown),
                room: content.sheet.room(),
                begun: content.shown > 0,
            },
            Self::Files { .. } | Self::Counts { .. } => {
                Wanted { pass_over: 0, take: 0, room: 0, begun: false }
            }
        }
    }

    /// Adds what was found in a file; `false` when no other file can add anything.
    pub(crate) fn add(&mut self, path: &str, modified: (u64, u32), lines: Lines<'_>) -> bool {
        if lines.matches == 0 {
            return true;
        }
        match self {
            Self::Files { newest, .. } => newest.push(modified, one_line(path).into_owned()),
            Self::Counts { page, matches } => {
                page.line(&format!("{}: {}", one_line(path), lines.matches));
                *matches += lines.matches;
            }
            Self::Content(content) => content.add(lines),
        }
        !matches!(self, Self::Content(Content { more: true, .. }))
    }

    /// The text, with remarks on what it does not show.
    pub(crate) fn finish(self, omitted: &Omitted) -> String {
        let partial = omitted.is_partial();
        match self {
            Self::Files { mut page, newest } => {
                let seen = newest.seen();
                newest.into_paths().for_each(|path| page.line(&path));
                page.set_total(seen);
                let remarks = remarks(page.total(), page.position(partial), omitted);
                page.finish(&remarks)
            }
            Self::Counts { page, matches } => {
                let files = page.total();
                let least = if partial { "at least " } else { "" };
                let total = format!("total matches: {least}{matches} in {}", count(files, "file", "files"));
                let position = page.position(partial).into_iter();
                let position: Vec<String> = position.chain((files > 0).then_some(total)).collect();
                page.finish(&remarks(files, position, omitted))
            }
            Self::Content(content) => content.finish(omitted),
        }
    }
}

impl Content {
    fn add(&mut self, lines: Lines<'_>) {
        self.passed_over += lines.passed_over;
        self.more |= lines.more;
        for chunk in lines.chunks {
            if !self.sheet.line(&chunk.text) {
                self.more = true;
                break;
            }
            self.shown += usize::from(chunk.is_match);
        }
    }

    fn finish(mut self, omitted: &Omitted) -> String {
        let next = self.passed_over + self.shown;
        let position = if self.shown == 0 && self.passed_over > 0 {
            Some(format!("nothing after offset {}; {next} matches in all", self.offset))
        } else if self.more {
            let first = self.passed_over + 1;
            Some(format!("matches {first}-{next}, more follow; continue with offset={next}"))
        } else {
            None
        };
        let remarks = remarks(next, position, omitted);
        if !remarks.is_empty() {
            self.sheet.note(&remarks.join("; "));
        }
        self.sheet.into_text()
    }
}

fn remarks(found: usize, position: impl IntoIterator<Item = String>, omitted: &Omitted) -> Vec<String> {
    let nothing = (found == 0).then(|| "no matches".to_owned());
    nothing.into_iter().chain(position).chain(omitted.remarks(found == 0)).collect()
}
