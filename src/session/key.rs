//! Which conversation.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Which conversation: `channel:chat_id`, split at the first colon.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    channel: String,
    chat: String,
}

impl SessionKey {
    /// Of a channel and a chat.
    pub fn new(channel: &str, chat: &str) -> Self {
        match channel.split_once(':') {
            // So that no two keys are written alike.
            Some((channel, rest)) => Self { channel: channel.to_owned(), chat: format!("{rest}:{chat}") },
            None => Self { channel: channel.to_owned(), chat: chat.to_owned() },
        }
    }

    /// Of what a person typed: a key, or the name of a chat at the terminal.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some((channel, chat)) => Self::new(channel, chat),
            None => Self::new(TERMINAL, text),
        }
    }

    /// A new conversation at the terminal: `cli:` and eight characters.
    pub fn fresh() -> Self {
        // The seed of a hash map comes from the system and differs each time.
        let mut bits = RandomState::new().build_hasher().finish();
        let mut chat = String::new();
        for _ in 0..8 {
            // Without letters that are taken for digits; 40 bits in all.
            let letter = b"abcdefghjkmnpqrstuvwxyz023456789".get((bits % 32) as usize).copied();
            chat.push(char::from(letter.unwrap_or(b'a')));
            bits /= 32;
        }
        Self::new(TERMINAL, &chat)
    }

    /// Where its messages come from.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Which chat there.
    pub fn chat(&self) -> &str {
        &self.chat
    }
}

/// The channel of the terminal.
pub(super) const TERMINAL: &str = "cli";

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.chat)
    }
}
