//! Which conversation.

use crate::config::fresh_id;
use std::fmt;

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
        Self::new(TERMINAL, &fresh_id())
    }

    /// The conversation of a background run, which is what is on record of its course.
    pub fn of_task(id: &str) -> Self {
        Self::new(TASK, id)
    }

    /// Whether it is that of a background run.
    pub fn is_task(&self) -> bool {
        self.channel == TASK
    }

    /// Whether it stands for the host itself, whose messages name the conversation that they are for: nobody talks in it.
    pub fn is_host(&self) -> bool {
        self.channel == HOST
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

/// The channel of what the host says.
const HOST: &str = "system";

/// The channel of background runs.
pub(super) const TASK: &str = "task";

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.chat)
    }
}
