//! A caller that waits for a run within its own call.

use super::{Announcement, Inner, Standing, origin};
use std::sync::Arc;

/// As long as it stands, the result of a run is its caller's, and nobody else hears of it.
pub(super) struct Inline {
    inner: Arc<Inner>,
    id: String,
    turn: String,
}

impl Inline {
    /// Claims the result of a run, unless another caller has.
    pub(super) fn claim(inner: &Arc<Inner>, id: &str, turn: &str) -> Option<Self> {
        let mut state = inner.state();
        if state.inline.contains_key(id) {
            return None;
        }
        state.inline.insert(id.to_owned(), turn.to_owned());
        drop(state);
        Some(Self { inner: Arc::clone(inner), id: id.to_owned(), turn: turn.to_owned() })
    }

    /// The caller has the result: it is delivered when it stands in the conversation, as that of the call.
    pub(super) fn given(self) {
        let mut state = self.inner.state();
        state.inline.remove(&self.id);
        state.given.entry(self.turn.clone()).or_default().insert(self.id.clone());
    }
}

impl Drop for Inline {
    /// Whoever stopped waiting without a result hears of it as everybody does.
    fn drop(&mut self) {
        if self.inner.state().inline.remove(&self.id).is_none() {
            return;
        }
        if let Ok(Some(row)) = self.inner.store.task(&self.id)
            && row.execution.ended()
        {
            let announcement = Announcement::of(&row, Standing::New);
            let place = origin::place_of(&row);
            self.inner.state().arrived.entry(place).or_default().push_back(announcement);
            self.inner.ended.notify_waiters();
        }
    }
}
