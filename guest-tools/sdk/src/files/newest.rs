//! The newest of many, without holding all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Keeps the paths that were changed last; among equals, the first by name.
#[derive(Debug)]
pub struct Newest {
    keep: usize,
    seen: usize,
    // The greatest of a heap is at hand: here the oldest, which goes first.
    heap: BinaryHeap<(Reverse<(u64, u32)>, String)>,
}

impl Newest {
    /// Keeps as many as said.
    pub fn keeping(keep: usize) -> Self {
        Self { keep, seen: 0, heap: BinaryHeap::new() }
    }

    /// Takes note of a path and when it was last changed.
    pub fn push(&mut self, modified: (u64, u32), path: String) {
        self.seen += 1;
        self.heap.push((Reverse(modified), path));
        if self.heap.len() > self.keep {
            self.heap.pop();
        }
    }

    /// How many there were in all.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Those kept, newest first.
    pub fn into_paths(self) -> impl Iterator<Item = String> {
        self.heap.into_sorted_vec().into_iter().map(|(_, path)| path)
    }
}
