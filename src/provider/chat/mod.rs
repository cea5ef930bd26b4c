//! Chat completions, as OpenAI has them and nearly everybody else offers them.

mod calls;
mod reader;
mod reasoning;
mod request;
mod tags;

use super::ModelRequest;
use super::wire::{Reader, Wire};
use crate::egress::Header;
use secrecy::SecretString;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// The wire.
#[derive(Debug)]
pub(super) struct Chat {
    /// The provider's name in configuration.
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) streams: bool,
    /// Whether the limit on the reply goes by its newer name.
    pub(super) newer_limit: AtomicBool,
    /// Whether the service was found not to take these.
    pub(super) no_reasoning: AtomicBool,
    pub(super) no_stream_options: AtomicBool,
    pub(super) no_temperature: AtomicBool,
    /// What was changed on the service's complaint.
    pub(super) swapped_limit: AtomicBool,
}

impl Chat {
    pub(super) fn new(provider: &str, model: &str, streams: bool, newer_limit: bool) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            streams,
            newer_limit: AtomicBool::new(newer_limit),
            no_reasoning: AtomicBool::new(false),
            no_stream_options: AtomicBool::new(false),
            no_temperature: AtomicBool::new(false),
            swapped_limit: AtomicBool::new(false),
        }
    }
}

impl Wire for Chat {
    fn address(&self, base: &str) -> String {
        if base.ends_with("/chat/completions") { base.to_owned() } else { format!("{base}/chat/completions") }
    }

    fn headers(&self, key: Option<&SecretString>) -> Vec<Header> {
        key.map(|key| Header::Secret("authorization", "Bearer ", key.clone())).into_iter().collect()
    }

    fn body(&self, request: ModelRequest<'_>) -> Value {
        request::body(self, request)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::ChatReader::new(&self.provider))
    }

    fn adapt(&self, complaint: &str) -> bool {
        let complaint = complaint.to_lowercase();
        let first_time = |flag: &AtomicBool| !flag.swap(true, Ordering::Relaxed);
        if complaint.contains("stream_options") && first_time(&self.no_stream_options) {
            return true;
        }
        if complaint.contains("max_tokens") || complaint.contains("max_completion_tokens") {
            // Only where the member itself is refused; a value that is too large is the user's to correct.
            let refused =
                ["unsupported", "not supported", "unrecognized", "unknown", "extra", "not permitted"];
            if refused.iter().any(|word| complaint.contains(word)) && first_time(&self.swapped_limit) {
                self.newer_limit.fetch_xor(true, Ordering::Relaxed);
                return true;
            }
        }
        // Models that think have one of their own, and refuse another.
        if complaint.contains("temperature") && first_time(&self.no_temperature) {
            return true;
        }
        complaint.contains("reasoning") && first_time(&self.no_reasoning)
    }
}
