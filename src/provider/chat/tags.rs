//! Thinking that a service leaves in the text of a reply: between tags at its beginning. It is told from the text while it
//! comes in, wherever the pieces are cut.

/// The tags.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Bytes of blanks after which no tag is waited for.
const BLANKS: usize = 1024;

/// A piece of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    Thought(String),
}

/// Tells one from the other.
#[derive(Debug, Default)]
pub(super) struct Tags {
    state: State,
    /// What may be a part of a tag, or stands before one.
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Begin,
    /// In front of this tag.
    Inside(&'static str),
    /// Behind it: blanks are left out.
    Behind,
    Through,
}

impl Tags {
    /// Takes more of the text; gives what is clear by now.
    pub(super) fn take(&mut self, more: &str) -> Vec<Piece> {
        self.held.push_str(more);
        let mut pieces = Vec::new();
        while let Some(piece) = self.step() {
            pieces.extend(piece);
        }
        pieces
    }

    /// The text is over; gives what was held back.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        let state = if self.state == State::Begin {
            std::mem::replace(&mut self.state, State::Through)
        } else {
            self.state
        };
        match state {
            _ if held.is_empty() => None,
            State::Inside(_) => Some(Piece::Thought(held)),
            State::Begin | State::Behind | State::Through => Some(Piece::Text(held)),
        }
    }

    /// One step, which may give a piece; `None` when more has to come.
    fn step(&mut self) -> Option<Option<Piece>> {
        match self.state {
            State::Begin => {
                let said = self.held.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| said.starts_with(open)) {
                    self.held = said.get(open.len()..).unwrap_or_default().to_owned();
                    self.state = State::Inside(close);
                } else if self.held.len() > BLANKS || !TAGS.iter().any(|(open, _)| open.starts_with(said)) {
                    self.state = State::Through;
                } else {
                    return None;
                }
                Some(None)
            }
            State::Inside(close) => {
                let (end, next) = match self.held.find(close) {
                    Some(at) => (at, Some(at + close.len())),
                    None => (self.held.len() - self.begun(close), None),
                };
                let rest = self.held.get(next.unwrap_or(end)..).unwrap_or_default().to_owned();
                self.held.truncate(end);
                let thought = std::mem::replace(&mut self.held, rest);
                if next.is_some() {
                    self.state = State::Behind;
                }
                let piece = (!thought.is_empty()).then_some(Piece::Thought(thought));
                (piece.is_some() || next.is_some()).then_some(piece)
            }
            State::Behind => {
                let said = self.held.trim_start().to_owned();
                self.state = if said.is_empty() { State::Behind } else { State::Through };
                self.held = said;
                (!self.held.is_empty()).then_some(None)
            }
            State::Through => {
                let text = std::mem::take(&mut self.held);
                (!text.is_empty()).then_some(Some(Piece::Text(text)))
            }
        }
    }

    /// How many bytes at the end may be the beginning of a tag.
    fn begun(&self, tag: &str) -> usize {
        let begins = |length: &usize| tag.get(..*length).is_some_and(|begin| self.held.ends_with(begin));
        (1..tag.len()).rev().find(begins).unwrap_or(0)
    }
}
