//! The block of a file that is most like a text that was not found.

use super::lines::split;
use similar::DiffTag;
use similar::algorithms::{Capture, Replace, myers};
use std::collections::VecDeque;

/// Above this similarity, in thousandths, a block is shown.
const ENOUGH: u64 = 500;

/// Lines of a text for which differences are worked out.
const MAX_LINES: usize = 400;

/// Characters of the differences that are shown, and of one line of them.
const SHOWN: usize = 3_000;
const SHOWN_OF_LINE: usize = 240;

/// Equal lines shown around each difference.
const CONTEXT: usize = 2;

/// The most similar block in words, with how it differs. `None` when nothing is similar enough.
pub fn block(content: &str, old: &str) -> Option<String> {
    let (wanted, _) = split(old);
    let found = nearest(content, &wanted)?;
    let last = found.first_line + found.lines.len().saturating_sub(1);
    let place = match found.first_line {
        first if first == last => format!("line {first}"),
        first => format!("lines {first} to {last}"),
    };
    let heading = format!("Most like it ({} %): {place}", found.similarity / 10);
    if wanted.len() > MAX_LINES {
        return Some(heading);
    }
    Some(heading + &differences(&wanted, &found.lines))
}

/// The differences in the usual form: lines of the given text after `-`, lines of the file after `+`.
fn differences(given: &[&str], there: &[&str]) -> String {
    let mut differences = Replace::new(Capture::new());
    // One algorithm by name: the choice of all would be most of the finished component.
    if myers::diff(&mut differences, given, 0..given.len(), there, 0..there.len()).is_err() {
        return String::new();
    }
    let mut shown = String::from("\n--- old_text\n+++ file");
    for (index, group) in differences.into_inner().into_grouped_ops(CONTEXT).into_iter().enumerate() {
        let mut lines = Vec::new();
        if index > 0 {
            lines.push(("...", ""));
        }
        for op in group {
            let (tag, old, new) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                lines.extend(given.get(old).unwrap_or_default().iter().map(|l| (" ", *l)));
            } else {
                lines.extend(given.get(old).unwrap_or_default().iter().map(|l| ("-", *l)));
                lines.extend(there.get(new).unwrap_or_default().iter().map(|l| ("+", *l)));
            }
        }
        for (mark, line) in lines {
            if shown.len() + line.len().min(SHOWN_OF_LINE) > SHOWN {
                shown.push_str("\n(and more)");
                return shown;
            }
            shown.push('\n');
            shown.push_str(mark);
            shown.push_str(cut(line));
        }
    }
    shown
}

struct Found<'a> {
    first_line: usize,
    lines: Vec<&'a str>,
    similarity: u64,
}

/// Looks at each run of as many lines as are wanted, in one pass: how many pairs of neighbouring bytes they share with
/// the wanted ones (Dice's coefficient).
fn nearest<'a>(content: &'a str, wanted: &[&str]) -> Option<Found<'a>> {
    let mut target = Pairs::new();
    wanted.iter().for_each(|line| target.add(line));
    let mut window = Pairs::new();
    let mut lines: VecDeque<&str> = VecDeque::with_capacity(wanted.len());
    let mut shared = 0_usize;
    let mut best: Option<Found<'a>> = None;
    let all = || content.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l));
    for (index, line) in all().enumerate() {
        if lines.len() == wanted.len()
            && let Some(oldest) = lines.pop_front()
        {
            shared -= window.remove(oldest, &target);
        }
        shared += window.add_shared(line, &target);
        lines.push_back(line);
        let similarity = 2_000 * shared as u64 / (window.total + target.total).max(1) as u64;
        if similarity > best.as_ref().map_or(ENOUGH, |b| b.similarity) {
            let first_line = index + 2 - lines.len();
            best = Some(Found { first_line, lines: Vec::new(), similarity });
        }
    }
    let mut best = best?;
    best.lines = all().skip(best.first_line - 1).take(wanted.len()).collect();
    Some(best)
}

/// How often each pair of neighbouring bytes occurs.
struct Pairs {
    counts: Vec<u32>,
    total: usize,
}

impl Pairs {
    fn new() -> Self {
        Self { counts: vec![0; 1 << 16], total: 0 }
    }

    /// The pairs of a line; its indentation does not count, its end does.
    fn of(line: &str) -> impl Iterator<Item = usize> {
        let bytes = line.trim().as_bytes();
        let next = bytes.iter().skip(1).chain(std::iter::once(&b'\n'));
        bytes.iter().zip(next).map(|(a, b)| usize::from(*a) << 8 | usize::from(*b))
    }

    fn count(&self, pair: usize) -> u32 {
        self.counts.get(pair).copied().unwrap_or(0)
    }

    fn add(&mut self, line: &str) {
        for pair in Self::of(line) {
            self.total += 1;
            if let Some(count) = self.counts.get_mut(pair) {
                *count += 1;
            }
        }
    }

    /// Adds a line; how many of its pairs are further ones that `target` has too.
    fn add_shared(&mut self, line: &str, target: &Self) -> usize {
        let mut shared = 0;
        for pair in Self::of(line) {
            self.total += 1;
            if let Some(count) = self.counts.get_mut(pair) {
                *count += 1;
                shared += usize::from(*count <= target.count(pair));
            }
        }
        shared
    }

    /// Removes a line; how many pairs fewer are shared with `target`.
    fn remove(&mut self, line: &str, target: &Self) -> usize {
        let mut unshared = 0;
        for pair in Self::of(line) {
            self.total -= 1;
            if let Some(count) = self.counts.get_mut(pair) {
                unshared += usize::from(*count <= target.count(pair));
                *count = count.saturating_sub(1);
            }
        }
        unshared
    }
}

fn cut(line: &str) -> &str {
    match line.char_indices().nth(SHOWN_OF_LINE) {
        Some((end, _)) => line.get(..end).unwrap_or_default(),
        None => line,
    }
}
