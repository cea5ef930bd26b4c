//! Who sees to what has ended of a session's runs.

use super::{Inner, Place, Tasks};
use std::sync::Arc;

/// As long as it stands, nobody is told of the session's arrivals who waits for those of any session.
pub struct Claim {
    inner: Arc<Inner>,
    place: Place,
}

impl Tasks {
    /// From now on the caller sees to what arrives in a session.
    pub fn claim(&self, place: &Place) -> Claim {
        *self.0.state().claimed.entry(place.clone()).or_default() += 1;
        Claim { inner: Arc::clone(&self.0), place: place.clone() }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.inner.state();
        if let Some(claims) = state.claimed.get_mut(&self.place) {
            *claims = claims.saturating_sub(1);
            if *claims == 0 {
                state.claimed.remove(&self.place);
            }
        }
        drop(state);
        // What came in meanwhile and was not seen to is everybody's again.
        self.inner.ended.notify_waiters();
    }
}
