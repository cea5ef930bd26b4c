//! Runs that wait for their turn. Sessions take turns, so that one that asks for many does not keep the others waiting.

use super::Place;
use std::collections::{HashMap, VecDeque};

/// Waiting runs by session. Every operation takes a time that does not grow with how many wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: HashMap<Place, VecDeque<String>>,
    /// Sessions that have something waiting, the next one first.
    order: VecDeque<Place>,
    len: usize,
}

impl Queue {
    pub(super) fn push(&mut self, place: Place, id: String) {
        let line = self.waiting.entry(place.clone()).or_default();
        if line.is_empty() {
            self.order.push_back(place);
        }
        line.push_back(id);
        self.len += 1;
    }

    /// The next run of the session whose turn it is, passing over sessions that may not start another.
    pub(super) fn pop(&mut self, may: impl Fn(&Place) -> bool) -> Option<(String, Place)> {
        for _ in 0..self.order.len() {
            let place = self.order.pop_front()?;
            if !may(&place) {
                self.order.push_back(place);
                continue;
            }
            let Some(line) = self.waiting.get_mut(&place) else { continue };
            let Some(id) = line.pop_front() else { continue };
            self.len -= 1;
            if line.is_empty() {
                self.waiting.remove(&place);
            } else {
                self.order.push_back(place.clone());
            }
            return Some((id, place));
        }
        None
    }

    /// Puts back what could not begin, where it stood.
    pub(super) fn put_back(&mut self, place: Place, id: String) {
        let line = self.waiting.entry(place.clone()).or_default();
        if line.is_empty() {
            self.order.push_front(place);
        }
        line.push_front(id);
        self.len += 1;
    }

    /// Takes one out. Whether it was there.
    pub(super) fn remove(&mut self, place: &Place, id: &str) -> bool {
        let Some(line) = self.waiting.get_mut(place) else { return false };
        let before = line.len();
        line.retain(|waiting| waiting != id);
        let gone = before - line.len();
        self.len -= gone;
        if line.is_empty() {
            self.waiting.remove(place);
            self.order.retain(|waiting| waiting != place);
        }
        gone > 0
    }

    /// Takes out everything of some sessions.
    pub(super) fn drain(&mut self, which: impl Fn(&Place) -> bool) -> Vec<(String, Place)> {
        let places: Vec<Place> = self.order.iter().filter(|place| which(place)).cloned().collect();
        let mut gone = Vec::new();
        for place in places {
            let line = self.waiting.remove(&place).unwrap_or_default();
            self.len -= line.len();
            gone.extend(line.into_iter().map(|id| (id, place.clone())));
        }
        self.order.retain(|place| !which(place));
        gone
    }

    /// Whether it waits here.
    pub(super) fn has(&self, place: &Place, id: &str) -> bool {
        self.waiting.get(place).is_some_and(|line| line.iter().any(|waiting| waiting == id))
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn of(&self, place: &Place) -> usize {
        self.waiting.get(place).map_or(0, VecDeque::len)
    }
}
