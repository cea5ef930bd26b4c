//! How a request fails before a service says anything, or while it does.

use std::time::Duration;

/// A request that did not come to its end. No text of it holds a header, or more of the address than its host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The client cannot be made: certificates, or a proxy that makes no sense.
    #[error("no HTTP client can be made: {0}")]
    Setup(String),
    /// The address or a header makes no sense. Nothing was sent.
    #[error("{0}")]
    Request(String),
    /// Nobody answers there.
    #[error("no connection to {host}: {problem}")]
    Connect {
        /// Where.
        host: String,
        /// Why not.
        problem: String,
        /// Somebody is there and said no: nothing listens on the port.
        refused: bool,
    },
    /// The connection broke.
    #[error("the connection to {host} broke: {problem}")]
    Broken {
        /// To where.
        host: String,
        /// How.
        problem: String,
    },
    /// Nothing came for too long.
    #[error("{host} said nothing for {} s", time.as_secs_f32())]
    Silent {
        /// Who.
        host: String,
        /// How long.
        time: Duration,
    },
    /// More came than is taken.
    #[error("{host} sent more than {most} bytes")]
    TooLarge {
        /// Who.
        host: String,
        /// How much is taken.
        most: usize,
    },
}
