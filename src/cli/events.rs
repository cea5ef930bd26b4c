//! From what happens to the lines of the event stream: the one place that numbers them and puts a time on them.

use crate::agent::{Event, VERSION, What};
use crate::session::SessionKey;
use std::sync::{Mutex, PoisonError};

/// The stream of one process.
#[derive(Debug)]
pub(super) struct Stream {
    session: String,
    at: Mutex<At>,
}

#[derive(Debug, Default)]
struct At {
    seq: u64,
    turn: Option<String>,
}

impl Stream {
    /// Of a session.
    pub(super) fn new(session: &SessionKey) -> Self {
        Self { session: session.to_string(), at: Mutex::default() }
    }

    /// Of a run that did not come as far as a session.
    pub(super) fn nowhere() -> Self {
        Self { session: String::new(), at: Mutex::default() }
    }

    /// The next line, handed to `write` while the number is held, so that lines are written in the order of their numbers.
    pub(super) fn emit(&self, what: What, write: impl FnOnce(&Event)) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.seq += 1;
        let now = jiff::Timestamp::now();
        if matches!(what, What::TurnStarted { .. }) {
            at.turn = Some(format!("{:x}-{}", now.as_millisecond(), at.seq));
        }
        let over = matches!(what, What::TurnFinished { .. });
        let event = Event {
            v: VERSION,
            seq: at.seq,
            ts: now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            session: self.session.clone(),
            turn: at.turn.clone(),
            what,
        };
        write(&event);
        if over {
            at.turn = None;
        }
    }
}
