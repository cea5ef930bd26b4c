//! What Ctrl-C means: first the running turn ends, then the program.

use std::time::{Duration, Instant};

/// How soon the second Ctrl-C has to follow.
pub const SOON: Duration = Duration::from_secs(2);

/// What is going on when Ctrl-C is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum During {
    /// A turn.
    Turn,
    /// The prompt, with something typed.
    Typing,
    /// The prompt, with nothing typed.
    Idle,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The turn ends; what was said is kept.
    EndTurn,
    /// What was typed goes.
    ClearLine,
    /// The program ends.
    Leave,
}

/// Remembers the last Ctrl-C.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ladder {
    last: Option<Instant>,
}

impl Ladder {
    /// One Ctrl-C.
    pub fn press(&mut self, during: During, now: Instant) -> Step {
        let soon = self.last.is_some_and(|last| now.saturating_duration_since(last) <= SOON);
        self.last = Some(now);
        match during {
            During::Idle => Step::Leave,
            _ if soon => Step::Leave,
            During::Turn => Step::EndTurn,
            During::Typing => Step::ClearLine,
        }
    }
}
