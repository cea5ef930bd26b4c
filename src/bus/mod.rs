//! Messages between people and agents: what comes in, what goes out, and the desk that sees to it that a session has one
//! turn at a time. The rooms above speak to a [`Bus`], so that another channel, or another machine's queue, can stand
//! behind it.

mod courier;
mod desk;
mod letterbox;
mod local;
mod message;

pub use courier::{MAX_ATTACHMENT, Post, Sender};
pub use desk::{Admission, Desk, FOLLOW_UPS, QUEUE, Refused, Sitting, Stopped, TURNS};
pub use letterbox::{Letterbox, MAX_LETTERS};
pub use local::Local;
pub use message::{Inbound, Metadata, Outbound, SYSTEM};

use std::future::Future;
use std::pin::Pin;

/// What a bus answers, later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, BusError>> + Send + 'a>>;

/// A bus that does not take or give messages any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the message bus: {0}")]
pub struct BusError(pub String);

/// Two queues, each message of which is handed to one reader, in the order in which they came.
pub trait Bus: Send + Sync {
    /// Hands in what somebody said.
    fn publish_inbound(&self, message: Inbound) -> Answer<'_, ()>;
    /// The next thing that somebody said; waits for it. `None` when nothing will come any more.
    fn next_inbound(&self) -> Answer<'_, Option<Inbound>>;
    /// Hands out what is to reach somebody.
    fn publish_outbound(&self, message: Outbound) -> Answer<'_, ()>;
    /// The next thing that is to reach somebody; waits for it. `None` when nothing will come any more.
    fn next_outbound(&self) -> Answer<'_, Option<Outbound>>;
}
