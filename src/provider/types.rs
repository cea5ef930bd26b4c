//! What is said to and by a model, whatever the wire.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The user, or the host on a tool's behalf.
    User,
    /// The model.
    Assistant,
}

/// One message. Results of tool calls are blocks of a user message that follows the calls immediately and completely.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// What is said, in order.
    pub blocks: Vec<Block>,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// What a model thought. Kept verbatim, and only ever sent back to the provider that it came from.
    Thinking {
        /// The provider that it came from.
        provider: String,
        /// The block as it came over the wire.
        raw: Value,
        /// The text of it that people may see.
        text: String,
    },
    /// A call that the model wants made.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
}

/// A call that the model wants made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to it. Never empty: a wire that has none is given one.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The text of its arguments as the model wrote it; an object that came as an object is its JSON text.
    pub arguments: String,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// What the model is told.
    pub text: String,
    /// Whether the call did not work.
    pub is_error: bool,
}

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools; empty for a reply without calls.
    pub tools: &'a [ToolSpec],
    /// Tokens of the reply, at most.
    pub max_tokens: u32,
    /// How freely it chooses its words, from 0 to 2; as the service has it where absent.
    pub temperature: Option<f64>,
}

/// A piece of a reply that is coming in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Text.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// The pieces so far belong to an attempt that failed; the reply begins anew.
    Restart,
    /// The wire waits before it tries again, for this many milliseconds and this reason.
    Waiting(u64, String),
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is complete. Calls in it are to be made all the same.
    End,
    /// It wants calls made.
    ToolCalls,
    /// It was cut by the limit on its length.
    Length,
    /// The model, or a filter, refused.
    Refusal,
}

/// Tokens of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Sent.
    pub input: u64,
    /// Of these, taken from the provider's cache.
    pub cached: u64,
    /// Received.
    pub output: u64,
}

impl Usage {
    /// All of them.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // What a service says is not to be trusted with our arithmetic.
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
    }
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelReply {
    /// What was said.
    pub blocks: Vec<Block>,
    /// Why it ended.
    pub stop: Stop,
    /// What it took. `None` where the service does not say.
    pub usage: Option<Usage>,
    /// The service's name for the request, for complaints.
    pub request_id: Option<String>,
}

impl Message {
    /// A text of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self { speaker: Speaker::User, blocks: vec![Block::Text { text: text.into() }] }
    }

    /// A text of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self { speaker: Speaker::Assistant, blocks: vec![Block::Text { text: text.into() }] }
    }

    /// The calls in it.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The results in it.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// All text in it.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }
}
