//! What is kept of a command's output: the beginning and the end of each stream, as text without anything that a terminal would
//! act on. However much is printed, what is held stays within a bound.

use anstream::adapter::StripBytes;
use std::collections::VecDeque;

/// Characters of the beginning that are kept, and as many of the end: what one answer can have at most.
const KEPT: usize = 50_000;

/// Characters of a control sequence, at most. One that does not end is no sequence.
const SEQUENCE: usize = 4096;

/// What is taken out of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// The beginning and the end, with a line between them where something is left out.
    pub text: String,
    /// Characters that are left out.
    pub dropped: u64,
}

/// One stream of a command, from its first byte on.
#[derive(Default)]
pub struct Stream {
    strip: StripBytes,
    /// Characters since something was more than a control sequence.
    silent: usize,
    /// The beginning of a character whose end has not come.
    partial: Vec<u8>,
    /// Whether the last character was a carriage return.
    returned: bool,
    total: u64,
    head: String,
    head_count: usize,
    tail: VecDeque<char>,
    /// Characters between head and tail that are gone.
    between: u64,
    wanted: Option<Wanted>,
}

/// A text that somebody waits for.
struct Wanted {
    text: String,
    /// The last characters that came, as many as could begin it.
    recent: String,
    seen: bool,
}

impl Stream {
    /// Takes in what a command printed. How it is cut into pieces changes nothing.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        for part in bytes.chunks(SEQUENCE) {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(part);
            self.decode(&whole);
        }
    }

    /// Nothing more comes: what was begun is ended.
    pub fn finish(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.strip("\u{FFFD}");
        }
        if std::mem::take(&mut self.returned) {
            self.keep("\n");
        }
    }

    /// Bytes that came, control sequences and all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Looks for a text from here on: in what is held since the last answer, and in what comes.
    pub fn watch_for(&mut self, text: Option<String>) {
        self.wanted = text.filter(|text| !text.is_empty()).map(|text| {
            let tail: String = self.tail.iter().collect();
            let seen = self.head.contains(&text)
                || tail.contains(&text)
                || (self.between == 0 && format!("{}{tail}", self.head).contains(&text));
            let recent = if tail.is_empty() { self.head.clone() } else { tail };
            Wanted { recent: end_of(&recent, text.chars().count()), text, seen }
        });
    }

    /// Whether the text that is looked for has come.
    pub fn seen(&self) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.seen)
    }

    /// What came since the last time, at most so many characters of it.
    pub fn take(&mut self, most: usize) -> Taken {
        let head = std::mem::take(&mut self.head);
        let tail: String = std::mem::take(&mut self.tail).into_iter().collect();
        let (head_count, between) = (std::mem::take(&mut self.head_count), std::mem::take(&mut self.between));
        let tail_count = tail.chars().count();
        if between == 0 && head_count + tail_count <= most {
            return Taken { text: head + &tail, dropped: 0 };
        }
        // The whole is `head`, what is gone, `tail`; of it the first half and the last half of what may be shown.
        let whole: Vec<char> = head.chars().chain(tail.chars()).collect();
        let (first, last) = (most / 2, most - most / 2);
        let first = if between > 0 { first.min(head_count) } else { first.min(whole.len()) };
        let last = if between > 0 { last.min(tail_count) } else { last.min(whole.len() - first) };
        let dropped = between + (whole.len() - first - last) as u64;
        let beginning: String = whole.iter().take(first).collect();
        let end: String = whole.iter().skip(whole.len() - last).collect();
        Taken { text: format!("{beginning}\n[{dropped} characters left out]\n{end}"), dropped }
    }

    fn decode(&mut self, mut bytes: &[u8]) {
        loop {
            match std::str::from_utf8(bytes) {
                Ok(text) => return self.strip(text),
                Err(error) => {
                    let (good, rest) = bytes.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(good) {
                        self.strip(text);
                    }
                    match error.error_len() {
                        Some(bad) => {
                            self.strip("\u{FFFD}");
                            bytes = rest.get(bad..).unwrap_or_default();
                        }
                        None => {
                            self.partial = rest.to_vec();
                            return;
                        }
                    }
                }
            }
        }
    }

    /// Takes control sequences out, also those that are cut in the middle. Outside of a sequence, text without control characters is
    /// taken as a whole; all else character by character, since what the library makes of a piece depends on where it begins.
    fn strip(&mut self, text: &str) {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let plain = if self.strip == StripBytes::new() {
                rest.find(|c: char| c.is_control() && c != '\n' && c != '\t').unwrap_or(rest.len())
            } else {
                0
            };
            let (first, more) = rest.split_at(plain);
            kept.push_str(first);
            let Some(c) = more.chars().next() else { break };
            let (one, more) = more.split_at(c.len_utf8());
            rest = more;
            let left: Vec<u8> = self.strip.strip_next(one.as_bytes()).flatten().copied().collect();
            // A character within a sequence may have been cut.
            kept.push_str(&String::from_utf8_lossy(&left));
            self.silent =
                if left.is_empty() && self.strip != StripBytes::new() { self.silent + 1 } else { 0 };
            if self.silent > SEQUENCE {
                (self.strip, self.silent) = (StripBytes::new(), 0);
            }
        }
        self.take_in(&kept);
    }

    /// Line ends are made one kind, and what is not to be seen is left out.
    fn take_in(&mut self, text: &str) {
        let plain = |c: char| c == '\n' || c == '\t' || !(c.is_control() || hidden(c));
        if !self.returned && text.chars().all(plain) {
            return self.keep(text);
        }
        let mut clean = String::with_capacity(text.len());
        for c in text.chars() {
            if c == '\r' {
                self.returned = true;
                continue;
            }
            // A return by itself begins the line anew; here it is a line of its own.
            if std::mem::take(&mut self.returned) && c != '\n' {
                clean.push('\n');
            }
            if plain(c) {
                clean.push(c);
            }
        }
        self.keep(&clean);
    }

    fn keep(&mut self, text: &str) {
        if let Some(wanted) = self.wanted.as_mut().filter(|wanted| !wanted.seen) {
            wanted.recent.push_str(text);
            wanted.seen = wanted.recent.contains(&wanted.text);
            wanted.recent = end_of(&wanted.recent, wanted.text.chars().count());
        }
        let mut rest = text;
        if self.head_count < KEPT && self.tail.is_empty() {
            let room = KEPT - self.head_count;
            let cut = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
            let (first, more) = rest.split_at(cut);
            self.head.push_str(first);
            self.head_count += first.chars().count();
            rest = more;
        }
        let count = rest.chars().count();
        let skipped = count.saturating_sub(KEPT);
        let over = (self.tail.len() + count - skipped).saturating_sub(KEPT);
        self.tail.drain(..over.min(self.tail.len()));
        self.between += (skipped + over) as u64;
        self.tail.extend(rest.chars().skip(skipped));
    }
}

/// Characters that change how others are read, and are not seen themselves.
fn hidden(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The last characters of a text.
fn end_of(text: &str, count: usize) -> String {
    let from = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(bytes: &[u8], pieces: &[usize]) -> (Taken, u64) {
        let mut stream = Stream::default();
        let mut rest = bytes;
        for piece in pieces {
            let (first, more) = rest.split_at((*piece).min(rest.len()));
            stream.push(first);
            rest = more;
        }
        stream.push(rest);
        stream.finish();
        (stream.take(1_000), stream.total())
    }

    #[test]
    fn what_a_terminal_would_act_on_is_gone() {
        let text = b"\x1b[31mred\x1b[0m \x1b]0;title\x07a\r\nb\rc\x08\x1b]52;c;aGk=\x1b\\d\xffe\xe2\x80\xaef";
        assert_eq!(all(text, &[]).0.text, "red a\nb\ncd\u{FFFD}ef");
    }

    #[test]
    fn the_middle_is_left_out_and_counted() {
        let text = [vec![b'A'; 60_000], vec![b'\n'], vec![b'B'; 60_000]].concat();
        let (taken, _) = all(&text, &[7, 50_000, 30_000]);
        assert!(taken.text.starts_with('A') && taken.text.ends_with('B'), "{}", taken.text);
        assert_eq!(taken.dropped, 120_001 - 1_000);
    }

    #[test]
    fn a_sequence_without_an_end_swallows_not_everything() {
        let mut stream = Stream::default();
        stream.push(b"\x1b]0;");
        stream.push(&vec![b'x'; 3 * SEQUENCE]);
        stream.push(b"seen");
        assert!(stream.take(50_000).text.ends_with("seen"));
    }

    #[test]
    fn a_text_is_seen_across_pieces_and_in_what_is_held() {
        let mut stream = Stream::default();
        stream.push(b"rea");
        stream.watch_for(Some("ready".to_owned()));
        assert!(!stream.seen());
        stream.push(b"d");
        stream.push(b"y\n");
        assert!(stream.seen());
        stream.watch_for(Some("ready".to_owned()));
        assert!(stream.seen(), "it came before");
        stream.take(1_000);
        stream.watch_for(Some("ready".to_owned()));
        assert!(!stream.seen(), "it was given already");
    }

    proptest! {
        #[test]
        fn pieces_change_nothing_and_nothing_acts(
            bytes in proptest::collection::vec(any::<u8>(), 0..3_000),
            pieces in proptest::collection::vec(0_usize..400, 0..8),
        ) {
            let (whole, total) = all(&bytes, &[]);
            let (cut, _) = all(&bytes, &pieces);
            prop_assert_eq!(&whole, &cut);
            prop_assert_eq!(total, bytes.len() as u64);
            prop_assert!(!whole.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(whole.text.chars().count() <= 1_000 + 40);
        }
    }
}
