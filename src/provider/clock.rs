//! Time as the wires see it, so that tests need not wait.

use jiff::Timestamp;
use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// A wait that is under way.
pub type Wait<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What retries ask of time and chance.
pub trait Clock: Send + Sync {
    /// Returns after that time.
    fn wait(&self, time: Duration) -> Wait<'_>;

    /// What time it is.
    fn now(&self) -> Timestamp;

    /// A number from 0 up to 1 that spreads retries of many clients.
    fn chance(&self) -> f64;
}

/// The real one.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn wait(&self, time: Duration) -> Wait<'_> {
        Box::pin(tokio::time::sleep(time))
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn chance(&self) -> f64 {
        f64::from(nonce()) / (f64::from(u32::MAX) + 1.0)
    }
}

/// A number that nobody can tell before: the standard library seeds its hashers so.
pub(super) fn nonce() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// How long and how much one request may take.
#[derive(Clone)]
pub struct Bounds {
    /// How long a reply may take to begin. Local models read a long prompt before they say anything.
    pub first: Duration,
    /// How long it may be silent in between.
    pub idle: Duration,
    /// How long a request may take in all, retries included.
    pub total: Duration,
    /// Bytes of one line of a stream.
    pub line: usize,
    /// Bytes of one reply on the wire.
    pub reply: usize,
    /// The clock that waits between attempts.
    pub clock: Arc<dyn Clock>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(180),
            idle: Duration::from_secs(90),
            total: Duration::from_secs(30 * 60),
            line: 4 << 20,
            reply: 32 << 20,
            clock: Arc::new(SystemClock),
        }
    }
}
