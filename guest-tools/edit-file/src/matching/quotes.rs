//! Curly and straight quotes.

/// The straight form of a quote; any other character as it is.
pub fn straight(character: char) -> char {
    match character {
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        other => other,
    }
}

/// Whether a character is a curly quote.
pub fn is_curly(character: char) -> bool {
    straight(character) != character
}

/// Which quotes a text writes curly.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    double: bool,
    single: bool,
    /// Whether single quotes also open something; otherwise they are all apostrophes.
    opens_single: bool,
}

impl Style {
    /// The style that `text` shows.
    pub fn of(text: &str) -> Self {
        let is = |quote: char| text.chars().any(|c| is_curly(c) && straight(c) == quote);
        Self { double: is('"'), single: is('\''), opens_single: text.contains('\u{2018}') }
    }

    /// The text with its straight quotes in this style; `before` is the character that it follows.
    pub fn apply(self, text: &str, before: Option<char>) -> String {
        let mut previous = before;
        text.chars()
            .map(|character| {
                let opens = previous.is_none_or(opens_after);
                previous = Some(character);
                match character {
                    '"' if self.double && opens => '\u{201c}',
                    '"' if self.double => '\u{201d}',
                    '\'' if self.single && opens && self.opens_single => '\u{2018}',
                    '\'' if self.single => '\u{2019}',
                    other => other,
                }
            })
            .collect()
    }
}

fn opens_after(previous: char) -> bool {
    previous.is_whitespace()
        || matches!(previous, '(' | '[' | '{' | '<' | '=' | '/' | '-' | '\u{2013}' | '\u{2014}')
        || matches!(previous, '\u{201c}' | '\u{2018}')
}
