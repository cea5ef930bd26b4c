//! The `message` interface of the sandbox, with a bus behind it.

use super::{Bus, Metadata, Outbound};
use crate::sandbox::ports::{Answer, Courier, Error, ErrorKind, Outgoing, Receipt};
use crate::session::SessionKey;
use std::sync::Arc;

/// Posts messages of one conversation. Who is speaking is bound in here, so that no component can say that it is another.
#[derive(Clone)]
pub struct Post {
    bus: Arc<dyn Bus>,
    origin: SessionKey,
}

impl Post {
    /// For the conversation `origin`.
    pub fn new(bus: Arc<dyn Bus>, origin: SessionKey) -> Self {
        Self { bus, origin }
    }
}

/// Whether a message can go where it is to go: to its own conversation.
pub(super) fn reaches(origin: &SessionKey, message: &Outgoing) -> Result<(), Error> {
    let (channel, chat) = (origin.channel(), origin.chat());
    let elsewhere = message.channel.as_deref().is_some_and(|named| named != channel)
        || message.chat.as_deref().is_some_and(|named| named != chat && named != "direct");
    if elsewhere {
        let message = format!("only this conversation, {origin}, can be reached from here");
        return Err(Error { kind: ErrorKind::NotFound, message });
    }
    Ok(())
}

impl Courier for Post {
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(async move {
            reaches(&self.origin, &message)?;
            let (channel, chat) = (self.origin.channel(), self.origin.chat());
            if !message.attachments.is_empty() {
                let message = "this channel takes no attachments".to_owned();
                return Err(Error { kind: ErrorKind::Invalid, message });
            }
            let out = Outbound {
                channel: channel.to_owned(),
                chat: chat.to_owned(),
                content: message.content,
                metadata: Metadata::new(),
            };
            let receipt = Receipt { channel: out.channel.clone(), chat: out.chat.clone() };
            match self.bus.publish_outbound(out).await {
                Ok(()) => Ok(receipt),
                Err(error) => Err(Error { kind: ErrorKind::Unavailable, message: error.to_string() }),
            }
        })
    }
}
