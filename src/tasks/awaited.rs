//! Whose results are whose, where several work in one session at once: a job is told of what it started itself, and nobody else
//! is, who may hold more.

use super::{Announcement, Inner, Place, State, Tasks};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The turns of somebody who waits for what they started. As long as it stands, their results are handed out by it alone.
pub(super) struct Awaited {
    inner: Arc<Inner>,
    place: Place,
    turns: Mutex<HashSet<String>>,
}

impl Tasks {
    /// For somebody who works in a session. No turn is among theirs yet.
    pub(super) fn awaiting(&self, place: &Place) -> Awaited {
        Awaited { inner: Arc::clone(&self.0), place: place.clone(), turns: Mutex::default() }
    }
}

impl Awaited {
    fn turns(&self) -> MutexGuard<'_, HashSet<String>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more turn, before it begins.
    pub(super) fn add(&self, turn: &str) {
        self.turns().insert(turn.to_owned());
        self.inner.state().awaited.insert(turn.to_owned());
    }

    /// What has ended of what they started, oldest first.
    pub(super) fn arrived(&self) -> Vec<Announcement> {
        let turns = self.turns();
        self.inner.state().take_arrived(&self.place, |_, one| turns.contains(&one.row.turn))
    }

    /// Waits until something has. `None` when nothing of the session waits or runs any more.
    pub(super) async fn arrival_or_none(&self, tasks: &Tasks) -> Option<Vec<Announcement>> {
        loop {
            let ended = self.inner.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            let arrived = self.arrived();
            if !arrived.is_empty() {
                return Some(arrived);
            }
            if tasks.unended(&self.place) == 0 {
                // The last one may have ended between the two looks.
                return Some(self.arrived()).filter(|arrived| !arrived.is_empty());
            }
            ended.await;
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let turns = std::mem::take(&mut *self.turns());
        self.inner.state().awaited.retain(|turn| !turns.contains(turn));
        self.inner.ended.notify_waiters();
    }
}

impl State {
    /// Takes out what has ended of a session's runs and is so, oldest first. Told is also which turns somebody waits for.
    pub(super) fn take_arrived(
        &mut self,
        place: &Place,
        is_so: impl Fn(&HashSet<String>, &Announcement) -> bool,
    ) -> Vec<Announcement> {
        let waiting = self.arrived.remove(place).unwrap_or_default();
        let (taken, left): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|one| is_so(&self.awaited, one));
        if !left.is_empty() {
            self.arrived.insert(place.clone(), left.into());
        }
        taken
    }

    /// Takes out the first that nobody in particular waits for.
    pub(super) fn first_arrived(&mut self, place: &Place) -> Option<Announcement> {
        let waiting = self.arrived.get_mut(place)?;
        let at = waiting.iter().position(|one| !self.awaited.contains(&one.row.turn))?;
        waiting.remove(at)
    }
}
