//! The text of an answer, as much of it as fits.

use std::borrow::Cow;

/// Characters of one answer. The host bounds bytes; this bound keeps an answer readable and says where it was cut.
pub const MAX_CHARACTERS: usize = 128_000;

/// Lines of an answer, as many as fit.
#[derive(Debug)]
pub struct Sheet {
    text: String,
    room: usize,
}

impl Default for Sheet {
    fn default() -> Self {
        Self { text: String::new(), room: MAX_CHARACTERS }
    }
}

impl Sheet {
    /// Characters that still fit.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Adds a line, or several in one text; `false`, and nothing added, when it does not fit.
    pub fn line(&mut self, line: &str) -> bool {
        let cost = line.chars().count() + 1;
        if cost > self.room {
            return false;
        }
        self.room -= cost;
        self.push(line);
        true
    }

    /// Adds a closing remark in brackets, whether it fits or not: it tells what does not.
    pub fn note(&mut self, note: &str) {
        self.push(&format!("({note})"));
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }

    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

/// A name on one line: control characters in it are escaped, so that a file name cannot pose as further lines.
pub fn one_line(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for character in name.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// `1 file`, `2 files`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
