//! The `message` interface of the sandbox, with a bus behind it.

use super::{Bus, Metadata, Outbound};
use crate::agent::workspace::WorkspaceReader;
use crate::sandbox::ports::{Answer, Courier, Error, ErrorKind, Outgoing, Receipt};
use crate::session::SessionKey;
use crate::toolbox::one_line;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of one attached file, at most.
pub const MAX_ATTACHMENT: u64 = 32 << 20;

/// Who sends: the conversation, and the workspace whose files can be attached. Bound in by the host, so that no component can
/// say that it is another.
#[derive(Debug, Clone)]
pub struct Sender {
    /// The conversation.
    pub key: SessionKey,
    /// The workspace.
    pub workspace: PathBuf,
}

/// Posts messages of one conversation.
#[derive(Clone)]
pub struct Post {
    bus: Arc<dyn Bus>,
    sender: Sender,
}

impl Post {
    /// For a sender.
    pub fn new(bus: Arc<dyn Bus>, sender: Sender) -> Self {
        Self { bus, sender }
    }
}

impl Sender {
    /// A message as it may leave: to the sender's own conversation, with files of the workspace alone.
    ///
    /// # Errors
    ///
    /// When there is no such target, or a file is not to be attached. Nothing is sent then.
    pub fn admit(&self, message: Outgoing) -> Result<Outbound, Error> {
        let (channel, chat) = (self.key.channel(), self.key.chat());
        let refused = |kind, message: String| Error { kind, message };
        if channel.is_empty() || chat.is_empty() {
            let problem = "there is no conversation here that a message could go to";
            return Err(refused(ErrorKind::NotFound, problem.to_owned()));
        }
        let elsewhere = message.channel.as_deref().is_some_and(|named| named != channel)
            || message.chat.as_deref().is_some_and(|named| named != chat && named != "direct");
        if elsewhere {
            let problem = format!("only this conversation, {}, can be reached from here", self.key);
            return Err(refused(ErrorKind::NotFound, problem));
        }
        if !message.attachments.is_empty() {
            let files = WorkspaceReader::open(&self.workspace)
                .map_err(|error| refused(ErrorKind::Unavailable, format!("the workspace: {error}")))?;
            for path in &message.attachments {
                attachable(&files, path).map_err(|problem| {
                    refused(ErrorKind::Invalid, format!("{}: {problem}; nothing was sent", one_line(path)))
                })?;
            }
        }
        Ok(Outbound {
            channel: channel.to_owned(),
            chat: chat.to_owned(),
            content: message.content,
            attachments: message.attachments,
            metadata: Metadata::new(),
        })
    }
}

/// Whether a file can be attached: one of the workspace's own, as the host itself sees it.
fn attachable(files: &WorkspaceReader, path: &str) -> Result<(), String> {
    let within = Path::new(path);
    let within = within.strip_prefix(files.path()).unwrap_or(within);
    if path.chars().any(char::is_control) {
        return Err("its name has control characters".to_owned());
    }
    match files.size(within) {
        Ok(size) if size > MAX_ATTACHMENT => {
            Err(format!("it has {size} bytes; at most {MAX_ATTACHMENT} can be attached"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

impl Courier for Post {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(async move {
            let out = self.sender.admit(message)?;
            let receipt = Receipt { channel: out.channel.clone(), chat: out.chat.clone() };
            match self.bus.publish_outbound(out).await {
                Ok(()) => Ok(receipt),
                Err(error) => Err(Error { kind: ErrorKind::Unavailable, message: error.to_string() }),
            }
        })
    }
}
