//! Messages as they travel.

use crate::session::SessionKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a channel adds to a message, such as the id of the one that is answered.
pub type Metadata = BTreeMap<String, String>;

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// Where it came from.
    pub channel: String,
    /// Who said it.
    pub sender: String,
    /// In which chat of the channel.
    pub chat: String,
    /// The text.
    pub content: String,
    /// What the channel adds.
    #[serde(default)]
    pub metadata: Metadata,
}

/// What is to reach somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbound {
    /// Over which channel.
    pub channel: String,
    /// Which chat of it.
    pub chat: String,
    /// The text.
    pub content: String,
    /// Files of the workspace that go with it.
    #[serde(default)]
    pub attachments: Vec<String>,
    /// What the channel is told besides.
    #[serde(default)]
    pub metadata: Metadata,
}

/// The channel of what the host itself says. Its chat is the key of the conversation that is spoken to.
pub const SYSTEM: &str = "system";

impl Inbound {
    /// The conversation that it belongs to.
    pub fn session(&self) -> SessionKey {
        if self.channel == SYSTEM {
            SessionKey::parse(&self.chat)
        } else {
            SessionKey::new(&self.channel, &self.chat)
        }
    }
}
