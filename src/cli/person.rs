//! The person at the terminal, as a port: a message to them is a line on stderr, since stdout is for the result.

use super::printer::Printer;
use crate::sandbox::ports::{Answer, Courier, Error, ErrorKind, Outgoing, Receipt};

/// Where the person at the terminal is.
const CHANNEL: &str = "cli";
const CHAT: &str = "direct";

/// The person at the terminal.
#[derive(Debug)]
pub(super) struct Person(Printer);

impl Person {
    pub(super) fn new() -> Self {
        Self(Printer::new())
    }
}

impl Courier for Person {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        let elsewhere = message.channel.as_deref().is_some_and(|channel| channel != CHANNEL)
            || message.chat.as_deref().is_some_and(|chat| chat != CHAT);
        let answer = if elsewhere {
            let message = format!("only {CHANNEL}:{CHAT} can be reached from here");
            Err(Error { kind: ErrorKind::NotFound, message })
        } else if !message.attachments.is_empty() {
            let message = "a terminal takes no attachments".to_owned();
            Err(Error { kind: ErrorKind::Invalid, message })
        } else {
            self.0.note(&format!("message: {}", message.content));
            Ok(Receipt { channel: CHANNEL.to_owned(), chat: CHAT.to_owned() })
        };
        Box::pin(async move { answer })
    }
}
