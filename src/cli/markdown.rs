//! Markdown on a terminal: finished blocks are laid out, the open one is shown as it is written.

use crate::toolbox::escape_controls;
use termimad::MadSkin;

/// Lines are no longer than this, however wide the terminal is.
const WIDTH: usize = 100;

/// How many bytes at the beginning of `text` are finished blocks: up to the last empty line, or end of a fenced block, that
/// nothing behind it can change.
pub fn finished(text: &str) -> usize {
    let (mut at, mut done) = (0, 0);
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if !line.ends_with('\n') {
            break;
        }
        let bare = line.trim();
        match fence {
            Some(mark) if bare.starts_with(mark) && bare.trim_start_matches(['`', '~']).is_empty() => {
                fence = None;
                done = at;
            }
            Some(_) => {}
            None => match ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)) {
                Some(mark) => fence = Some(mark),
                None if bare.is_empty() => done = at,
                None => {}
            },
        }
    }
    done
}

/// Lays Markdown out. Whatever it is, its text is all there.
pub(super) fn render(text: &str) -> String {
    let (width, _) = termimad::terminal_size();
    let plain = escape_controls(text);
    MadSkin::default().text(&plain, Some(usize::from(width).clamp(20, WIDTH))).to_string()
}

/// The end of `text`, at most `lines` lines of the terminal's width, for showing it as it is written.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let (width, _) = termimad::terminal_size();
    let width = usize::from(width).clamp(20, WIDTH) - 4;
    let plain = escape_controls(text);
    let mut rows: Vec<String> = Vec::new();
    for line in plain.lines() {
        let characters: Vec<char> = line.chars().collect();
        rows.extend(characters.chunks(width / 2).map(|row| row.iter().collect()));
    }
    let skip = rows.len().saturating_sub(lines);
    rows.into_iter().skip(skip).collect::<Vec<_>>().join("\n")
}
