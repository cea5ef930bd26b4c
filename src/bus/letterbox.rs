//! The `message` interface of the sandbox where nobody is there to read: what is sent is kept until somebody is.

use super::courier::reaches;
use crate::sandbox::ports::{Answer, Courier, Error, ErrorKind, Outgoing, Receipt};
use crate::session::SessionKey;
use crate::store::{NewLetter, Store, Workspace};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps messages of one conversation as letters.
pub struct Letterbox {
    store: Arc<Store>,
    workspace: PathBuf,
    origin: SessionKey,
    silent: bool,
    sent: AtomicBool,
}

impl Letterbox {
    /// For the conversation `origin` in a workspace. A silent one delivers nothing, and says so.
    pub fn new(store: Arc<Store>, workspace: &Path, origin: SessionKey, silent: bool) -> Self {
        Self { store, workspace: workspace.to_owned(), origin, silent, sent: AtomicBool::new(false) }
    }

    /// Whether something was sent.
    pub fn sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Courier for Letterbox {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(async move {
            reaches(&self.origin, &message)?;
            if self.silent {
                let message = "not delivered: this job was told to be silent".to_owned();
                return Err(Error { kind: ErrorKind::Unavailable, message });
            }
            let (channel, chat) = (self.origin.channel(), self.origin.chat());
            let workspace = Workspace::at(&self.workspace);
            let letter = NewLetter {
                workspace: &workspace,
                channel,
                chat,
                source: None,
                kind: "message",
                content: &message.content,
                attachments: &message.attachments,
            };
            self.store.put_letter(&letter).map_err(|error| Error {
                kind: ErrorKind::Failed,
                message: format!("the message cannot be kept: {error}"),
            })?;
            self.sent.store(true, Ordering::Relaxed);
            Ok(Receipt { channel: channel.to_owned(), chat: chat.to_owned() })
        })
    }
}
