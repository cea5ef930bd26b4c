//! `ringfence:host/message`: messages, behind the courier. Implemented for main's data alone.

use super::MainState;
use crate::sandbox::bindings::ringfence::host::message::{Host, Outgoing, Receipt};
use crate::sandbox::ports::{Error, ErrorKind};

/// Bytes of a message's text, at most.
const MAX_CONTENT: usize = 64 << 10;

/// Attachments of a message, at most.
const MAX_ATTACHMENTS: usize = 16;

impl Host for MainState {
    async fn send(&mut self, message: Outgoing) -> wasmtime::Result<Result<Receipt, Error>> {
        let refusal = if message.content.trim().is_empty() {
            Some((ErrorKind::Invalid, "the message is empty".to_owned()))
        } else if message.content.len() > MAX_CONTENT {
            let text = format!("the message has {} bytes; at most {MAX_CONTENT}", message.content.len());
            Some((ErrorKind::Limit, text))
        } else if message.attachments.len() > MAX_ATTACHMENTS {
            let text = format!("{} attachments; at most {MAX_ATTACHMENTS}", message.attachments.len());
            Some((ErrorKind::Limit, text))
        } else {
            None
        };
        if let Some((kind, message)) = refusal {
            return Ok(Err(Error { kind, message }));
        }
        Ok(self.courier.send(message).await)
    }
}
