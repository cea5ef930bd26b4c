//! How asking a model fails.

use std::time::Duration;

/// What kind of failure it was: it decides what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderErrorKind {
    /// No key, or one that the service does not take.
    Credentials,
    /// The account has nothing left; waiting seconds does not help.
    Quota,
    /// Too many requests at once.
    RateLimited,
    /// The service is busy or broken.
    Overloaded,
    /// The conversation does not fit the model.
    ContextFull,
    /// The service does not take the request: ours or the configuration's fault.
    Rejected,
    /// The service cannot be reached, or the connection broke.
    Network,
    /// It said nothing for too long.
    Silent,
    /// What it said cannot be understood.
    Garbled,
    /// A script has no reply for this.
    ScriptEnded,
}

/// A request that gave no reply, after its retries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind.
    pub kind: ProviderErrorKind,
    /// What failed, whose fault, without any secret.
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The service's name for the request.
    pub request_id: Option<String>,
    /// Whether trying again later may help.
    pub retryable: bool,
    /// How long the service asks to wait.
    pub retry_after: Option<Duration>,
}

impl ProviderErrorKind {
    /// Its stable name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::Quota => "quota",
            Self::RateLimited => "rate-limited",
            Self::Overloaded => "overloaded",
            Self::ContextFull => "context-full",
            Self::Rejected => "rejected",
            Self::Network => "network",
            Self::Silent => "silent",
            Self::Garbled => "garbled",
            Self::ScriptEnded => "script-ended",
        }
    }
}
