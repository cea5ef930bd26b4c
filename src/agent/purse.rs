//! What may still be taken of tokens and money, for a turn and for everything that it starts.
//!
//! What is set aside for a child is gone for its parent at once, so that the children of a turn never have more together than
//! the turn had; what a child leaves comes back.

use super::turn::Budget;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tokens and money. `None` is without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Means {
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

impl Means {
    /// What both leave.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self { tokens: least(self.tokens, other.tokens), cost: least(self.cost, other.cost) }
    }
}

/// A purse that several hold: whoever takes from it leaves the others less.
#[derive(Debug, Clone)]
pub struct Purse(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    left: Means,
    /// What was taken, limited or not.
    taken: (u64, u64),
}

impl Purse {
    /// With so much in it.
    pub fn new(means: Means) -> Self {
        Self(Arc::new(Mutex::new(Inner { left: means, taken: (0, 0) })))
    }

    /// With what a turn's budget gives.
    pub fn of(budget: &Budget) -> Self {
        Self::new(Means { tokens: budget.tokens, cost: budget.cost })
    }

    /// What is left.
    pub fn left(&self) -> Means {
        self.inner().left
    }

    /// Tokens and millionths of a dollar that were taken from it.
    pub fn taken(&self) -> (u64, u64) {
        self.inner().taken
    }

    /// Takes what a model call took. It may have taken more than there was; then nothing is left.
    pub fn take(&self, tokens: u64, cost: u64) {
        let mut inner = self.inner();
        let less = |left: Option<u64>, taken: u64| left.map(|left| left.saturating_sub(taken));
        inner.left = Means { tokens: less(inner.left.tokens, tokens), cost: less(inner.left.cost, cost) };
        inner.taken = (inner.taken.0.saturating_add(tokens), inner.taken.1.saturating_add(cost));
    }

    /// Sets something aside for a child: what it wants, as far as it is there; of what it leaves open, a quarter of what is
    /// there. `None` when nothing is left of something that is limited.
    pub fn set_aside(&self, wanted: Means) -> Option<Means> {
        let mut inner = self.inner();
        let share = |left: Option<u64>, wanted: Option<u64>| match (left, wanted) {
            (None, wanted) => Some(wanted),
            (Some(left), wanted) => {
                let share = wanted.unwrap_or(left.div_ceil(4)).min(left);
                (share > 0).then_some(Some(share))
            }
        };
        let aside = Means {
            tokens: share(inner.left.tokens, wanted.tokens)?,
            cost: share(inner.left.cost, wanted.cost)?,
        };
        let less =
            |left: Option<u64>, aside: Option<u64>| left.map(|left| left.saturating_sub(aside.unwrap_or(0)));
        inner.left =
            Means { tokens: less(inner.left.tokens, aside.tokens), cost: less(inner.left.cost, aside.cost) };
        Some(aside)
    }

    /// Puts back what was left of what was set aside. Where there is no limit, there is nothing to put back.
    pub fn put_back(&self, left: Means) {
        let mut inner = self.inner();
        let more = |had: Option<u64>, back: Option<u64>| had.map(|had| had.saturating_add(back.unwrap_or(0)));
        inner.left =
            Means { tokens: more(inner.left.tokens, left.tokens), cost: more(inner.left.cost, left.cost) };
    }

    /// Two numbers are whole after every statement on them, so a panic elsewhere does not spoil them.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
