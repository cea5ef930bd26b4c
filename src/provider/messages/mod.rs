//! Anthropic's messages, and those who speak like it.

mod reader;
mod request;

use super::ModelRequest;
use super::wire::{Reader, Wire};
use crate::egress::Header;
use secrecy::SecretString;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of the interface that is spoken.
const VERSION: &str = "2023-06-01";

/// The wire.
#[derive(Debug)]
pub(super) struct Messages {
    /// The provider's name in configuration.
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) streams: bool,
    /// Whether the service was found not to take these.
    pub(super) no_thinking: AtomicBool,
    pub(super) no_cache: AtomicBool,
    pub(super) no_temperature: AtomicBool,
}

impl Messages {
    pub(super) fn new(provider: &str, model: &str, streams: bool) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            streams,
            no_thinking: AtomicBool::new(false),
            no_cache: AtomicBool::new(false),
            no_temperature: AtomicBool::new(false),
        }
    }
}

impl Wire for Messages {
    fn address(&self, base: &str) -> String {
        if base.ends_with("/messages") {
            base.to_owned()
        } else if base.ends_with("/v1") {
            format!("{base}/messages")
        } else {
            format!("{base}/v1/messages")
        }
    }

    fn headers(&self, key: Option<&SecretString>) -> Vec<Header> {
        let mut headers = vec![Header::Plain("anthropic-version".to_owned(), VERSION.to_owned())];
        headers.extend(key.map(|key| Header::Secret("x-api-key", "", key.clone())));
        headers
    }

    fn body(&self, request: ModelRequest<'_>) -> Value {
        request::body(self, request)
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(reader::MessagesReader::new(&self.provider))
    }

    fn adapt(&self, complaint: &str) -> bool {
        let complaint = complaint.to_lowercase();
        let first_time = |flag: &AtomicBool| !flag.swap(true, Ordering::Relaxed);
        if complaint.contains("cache_control") && first_time(&self.no_cache) {
            return true;
        }
        if complaint.contains("temperature") && first_time(&self.no_temperature) {
            return true;
        }
        // Thinking whose signature the service does not know is dropped; without thinking there is nothing to sign.
        complaint.contains("signature") && first_time(&self.no_thinking)
    }
}
