//! The script: what the file says. Documented for people in `docs/scripted-provider.md`.

use crate::provider::{Message, ModelRequest, Speaker, Stop, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// Replies for a model to give, in the order of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What the model is called.
    #[serde(default = "model")]
    pub model: String,
    /// Tokens that request and reply have together.
    #[serde(default = "context_window")]
    pub context_window: u64,
    /// What tokens cost; nothing is known of it where absent.
    pub prices: Option<ScriptPrices>,
    /// The replies.
    #[serde(default, rename = "reply")]
    pub replies: Vec<ScriptReply>,
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptPrices {
    /// Sent.
    pub input: f64,
    /// Sent, and in the cache.
    #[serde(default)]
    pub cached: f64,
    /// Received.
    pub output: f64,
}

/// One reply: when it is given, and what it is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptReply {
    /// Only in this turn of the conversation; the first is 1.
    pub turn: Option<usize>,
    /// Only when the user's last text contains this.
    pub user: Option<String>,
    /// Only when a result of the last message contains this.
    pub result: Option<String>,
    /// Only when the request offers tools, or does not.
    pub tools: Option<bool>,
    /// How often it can be given.
    pub repeat: Repeat,
    /// What the model thinks.
    pub thinking: Option<String>,
    /// What it says.
    pub text: Option<String>,
    /// The calls that it wants made.
    pub calls: Vec<ScriptCall>,
    /// Why the reply ends; by its calls, where absent.
    pub stop: Option<Stop>,
    /// What it took.
    pub usage: Option<ScriptUsage>,
    /// The failure that comes instead of a reply.
    pub fault: Option<ScriptFault>,
    /// Milliseconds until it comes.
    pub delay_ms: u64,
}

/// How often a reply can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Repeat {
    /// So many times.
    Times(u32),
    /// Always, or once.
    Always(bool),
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Always(false)
    }
}

/// A call in a reply.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool.
    pub name: String,
    /// Its arguments: a table, or a text that is sent as it stands.
    #[serde(default = "no_arguments")]
    pub arguments: Value,
    /// The call's id; one is made where absent.
    pub id: Option<String>,
}

/// Tokens of a reply.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScriptUsage {
    /// Sent.
    pub input: u64,
    /// Of these, from the cache.
    pub cached: u64,
    /// Received.
    pub output: u64,
}

/// A failure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFault {
    /// The stable name of its kind.
    pub kind: String,
    /// What failed.
    #[serde(default)]
    pub message: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Whether trying again may help.
    #[serde(default)]
    pub retryable: bool,
    /// How long the service asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// A script that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script: {0}")]
pub struct ScriptError(String);

fn model() -> String {
    "scripted".to_owned()
}

fn context_window() -> u64 {
    200_000
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

impl Script {
    /// Understands the text of a script.
    ///
    /// # Errors
    ///
    /// Where in it, and why.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let script: Self =
            toml::from_str(text).map_err(|error| ScriptError(error.to_string().trim().to_owned()))?;
        for (index, reply) in script.replies.iter().enumerate() {
            reply.check().map_err(|problem| ScriptError(format!("reply {}: {problem}", index + 1)))?;
        }
        Ok(script)
    }
}

impl ScriptReply {
    fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            if super::kind(&fault.kind).is_none() {
                let known: Vec<&str> = super::KINDS.iter().map(|kind| kind.name()).collect();
                return Err(format!(
                    "there is no fault of kind `{}`; there are {}",
                    fault.kind,
                    known.join(", ")
                ));
            }
            if self.text.is_some() || !self.calls.is_empty() || self.thinking.is_some() {
                return Err("a fault comes instead of text, thinking and calls, not beside them".to_owned());
            }
        }
        if self.repeat == Repeat::Times(0) {
            return Err("repeat = 0 never gives it; leave the reply out".to_owned());
        }
        match self.calls.iter().find(|call| !call.arguments.is_object() && !call.arguments.is_string()) {
            Some(call) => Err(format!("the arguments of `{}` are neither a table nor a text", call.name)),
            None => Ok(()),
        }
    }

    /// How often it can be given; `None` without end.
    pub(super) fn times(&self) -> Option<u32> {
        match self.repeat {
            Repeat::Times(times) => Some(times),
            Repeat::Always(false) => Some(1),
            Repeat::Always(true) => None,
        }
    }

    /// Whether it is meant for this request.
    pub(super) fn fits(&self, request: &ModelRequest<'_>) -> bool {
        let last = request.messages.iter().rfind(|message| message.speaker == Speaker::User);
        let said = || request.messages.iter().rev().filter(|m| m.speaker == Speaker::User).map(Message::text);
        let text = || said().find(|text| !text.is_empty()).unwrap_or_default();
        self.turn.is_none_or(|turn| turn == turns(request.messages))
            && self.tools.is_none_or(|tools| tools != request.tools.is_empty())
            && self.user.as_ref().is_none_or(|wanted| text().contains(wanted))
            && self.result.as_ref().is_none_or(|wanted| {
                last.is_some_and(|message| message.results().any(|result| result.text.contains(wanted)))
            })
    }

    pub(super) fn stop(&self) -> Stop {
        let by_calls = || if self.calls.is_empty() { Stop::End } else { Stop::ToolCalls };
        self.stop.clone().unwrap_or_else(by_calls)
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.map(|ScriptUsage { input, cached, output }| Usage { input, cached, output })
    }

    pub(super) fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

/// Turns so far: messages of the user that carry no results. What begins with `[host]` is the program's, not the user's.
fn turns(messages: &[Message]) -> usize {
    let asks = |message: &&Message| {
        message.speaker == Speaker::User
            && message.results().next().is_none()
            && !message.text().starts_with("[host]")
    };
    messages.iter().filter(asks).count()
}
