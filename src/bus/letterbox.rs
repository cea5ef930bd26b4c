//! The `message` interface of the sandbox where nobody is there to read: what is sent is kept until somebody is.

use super::Sender;
use crate::sandbox::ports::{Answer, Courier, Error, ErrorKind, Outgoing, Receipt};
use crate::store::{NewLetter, Store, Workspace};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Messages of one turn, at most: nobody reads them while it runs, and nobody stops it.
pub const MAX_LETTERS: usize = 32;

/// Keeps messages of one conversation as letters.
pub struct Letterbox {
    store: Arc<Store>,
    sender: Sender,
    silent: bool,
    /// How many were sent, or are being sent.
    sent: AtomicUsize,
}

impl Letterbox {
    /// For a sender. A silent one delivers nothing, and says so.
    pub fn new(store: Arc<Store>, sender: Sender, silent: bool) -> Self {
        Self { store, sender, silent, sent: AtomicUsize::new(0) }
    }

    /// Whether something was sent.
    pub fn sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed) > 0
    }
}

impl Courier for Letterbox {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(async move {
            let out = self.sender.admit(message)?;
            if self.silent {
                let message = "not delivered: this job was told to be silent".to_owned();
                return Err(Error { kind: ErrorKind::Unavailable, message });
            }
            if self.sent.fetch_add(1, Ordering::Relaxed) >= MAX_LETTERS {
                self.sent.fetch_sub(1, Ordering::Relaxed);
                let message =
                    format!("{MAX_LETTERS} messages were sent already; say the rest in your answer");
                return Err(Error { kind: ErrorKind::Limit, message });
            }
            let workspace = Workspace::at(&self.sender.workspace);
            let letter = NewLetter {
                workspace: &workspace,
                channel: &out.channel,
                chat: &out.chat,
                source: None,
                kind: "message",
                content: &out.content,
                attachments: &out.attachments,
            };
            self.store.put_letter(&letter).map_err(|error| {
                self.sent.fetch_sub(1, Ordering::Relaxed);
                Error { kind: ErrorKind::Failed, message: format!("the message cannot be kept: {error}") }
            })?;
            Ok(Receipt { channel: out.channel, chat: out.chat })
        })
    }
}
