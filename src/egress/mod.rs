//! The only way out to the network: no other room builds an HTTP client.

mod client;
mod error;
mod request;

pub use client::Client;
pub use error::EgressError;
pub use request::{Header, Reply, Request};
