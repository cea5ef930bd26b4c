//! Model services: wire-neutral types, and the wires that speak them.

mod build;
mod chat;
mod clock;
mod error;
mod fault;
mod limits;
mod messages;
mod retry;
pub mod scripted;
mod service;
pub mod sse;
mod types;
mod wire;

pub use build::{build, build_with};
pub use clock::{Bounds, Clock, SystemClock, Wait};
pub use error::{ProviderError, ProviderErrorKind};
pub use types::{
    Block, Delta, Message, ModelReply, ModelRequest, Speaker, Stop, ToolCall, ToolResult, ToolSpec, Usage,
};

use std::future::Future;
use std::pin::Pin;

/// What a model answers, later.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<ModelReply, ProviderError>> + Send + 'a>>;

/// A model service. One call is one request over its wire, retries included; it is ended by dropping it.
pub trait Provider: Send + Sync {
    /// The model that answers, as the service calls it.
    fn model(&self) -> &str;

    /// Its name in configuration and messages.
    fn name(&self) -> &str;

    /// Tokens that request and reply may have together.
    fn context_window(&self) -> u64;

    /// What these tokens cost, in millionths of a dollar; `None` where the price is not known.
    fn cost(&self, usage: Usage) -> Option<u64> {
        let _ = usage;
        None
    }

    /// Asks. While the reply comes in, `deltas` hears its pieces; the reply itself is whole.
    fn ask<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a (dyn Fn(Delta) + Send + Sync)) -> Answer<'a>;
}
