//! The lines of one answer, with a footer that says where they end.

use crate::scan::Scan;
use ringfence_tool::Error;
use ringfence_tool::sheet::{Sheet, count};
use std::borrow::Cow;

/// Marks where a line was cut.
const CUT: &str = "…";

/// What is shown.
pub(crate) struct Page {
    pub(crate) text: String,
    /// The first and last line shown; both 0 when there is none.
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Numbers the lines that were held, as many as fit.
pub(crate) fn show(scan: &Scan, path: &str) -> Result<Page, Error> {
    let total = scan.total_lines();
    if total == 0 {
        return Ok(Page { text: format!("(Empty file: {path})"), first: 0, last: 0 });
    }
    let first = scan.first();
    if first > total {
        let lines = count_lines(total);
        return Err(Error::invalid(format!("offset {first} is past the end: {path} has {lines}")));
    }
    let mut sheet = Sheet::default();
    let mut next = first;
    let mut cut = false;
    for bytes in scan.lines() {
        let line = format!("{next}| {}", decode(bytes, scan.is_utf8(), next == 1));
        if !sheet.line(&line) {
            // A line that fits no answer is shown as far as it goes; any other starts the next answer.
            if next == first {
                cut = sheet.line(&shorten(&line, sheet.room()));
                next += 1;
            }
            break;
        }
        next += 1;
    }
    let last = next - 1;
    sheet.note(&footer(first, last, total, cut));
    Ok(Page { text: sheet.into_text(), first, last })
}

fn footer(first: u64, last: u64, total: u64, cut: bool) -> String {
    let remark = if cut {
        format!("Line {last} is too long for one answer, its end is not shown; grep finds what is in it. ")
    } else {
        String::new()
    };
    if last < total {
        format!("{remark}Lines {first}-{last} of {total}. To continue: offset={}", last + 1)
    } else {
        format!("{remark}End of file: {}", count_lines(total))
    }
}

fn count_lines(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "line", "lines")
}

/// The text of a line. What is not UTF-8 is taken as Latin-1; a byte order mark at the start is not text.
fn decode(bytes: &[u8], utf8: bool, at_start: bool) -> Cow<'_, str> {
    if !utf8 {
        return bytes.iter().copied().map(char::from).collect::<String>().into();
    }
    // Not lossless only where a line that is too long was cut inside a character, which is then not shown.
    let text = String::from_utf8_lossy(bytes);
    match text.strip_prefix('\u{feff}') {
        Some(rest) if at_start => Cow::Owned(rest.to_owned()),
        _ => text,
    }
}

/// The start of a line that is too long, with a mark, in `room` characters with its end.
fn shorten(line: &str, room: usize) -> String {
    let kept = room.saturating_sub(CUT.chars().count() + 1);
    line.chars().take(kept).chain(CUT.chars()).collect()
}
