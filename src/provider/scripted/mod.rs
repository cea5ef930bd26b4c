//! A model service that says what a script says: for tests, for the demonstration, and for people without a key.
//!
//! It does not look at what it is asked beyond the conditions of the script, and opens no connection.

mod script;

pub use script::{
    Repeat, Script, ScriptCall, ScriptError, ScriptFault, ScriptPrices, ScriptReply, ScriptUsage,
};

use super::{
    Answer, Block, Delta, ModelReply, ModelRequest, Provider, ProviderError, ProviderErrorKind, ToolCall,
    Usage,
};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// Its name in configuration.
const NAME: &str = "scripted";

/// The failures that a script can name.
const KINDS: &[ProviderErrorKind] = &[
    ProviderErrorKind::Credentials,
    ProviderErrorKind::Quota,
    ProviderErrorKind::RateLimited,
    ProviderErrorKind::Overloaded,
    ProviderErrorKind::ContextFull,
    ProviderErrorKind::Rejected,
    ProviderErrorKind::Network,
    ProviderErrorKind::Silent,
    ProviderErrorKind::Garbled,
    ProviderErrorKind::ScriptEnded,
];

fn kind(name: &str) -> Option<ProviderErrorKind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// A model that follows a script.
#[derive(Debug)]
pub struct Scripted {
    script: Script,
    name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How often each reply was given.
    given: Vec<u32>,
    /// Requests so far.
    asked: u32,
    /// Calls so far, for their ids.
    calls: u32,
}

impl Scripted {
    /// Follows a script from its beginning.
    pub fn new(script: Script) -> Self {
        let given = vec![0; script.replies.len()];
        Self { script, name: NAME.to_owned(), state: Mutex::new(State { given, ..State::default() }) }
    }

    /// The same under the name that the configuration gives it.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The numbers of the replies that were never given, from 1.
    pub fn unused(&self) -> Vec<usize> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.given.iter().enumerate().filter(|(_, given)| **given == 0).map(|(index, _)| index + 1).collect()
    }

    /// Says whether all of the script was played.
    ///
    /// # Errors
    ///
    /// When replies are left that were never given.
    pub fn finish(&self) -> Result<(), ProviderError> {
        let unused: Vec<String> = self.unused().iter().map(ToString::to_string).collect();
        if unused.is_empty() {
            return Ok(());
        }
        Err(failure(
            ProviderErrorKind::ScriptEnded,
            format!("the script has replies that were never asked for: {}", unused.join(", ")),
        ))
    }

    /// The reply for a request, and the number of the first of its calls.
    fn take(&self, request: &ModelRequest<'_>) -> Result<(&ScriptReply, u32), ProviderError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += 1;
        let asked = state.asked;
        let mut left = 0;
        for (reply, given) in self.script.replies.iter().zip(&mut state.given) {
            if reply.times().is_some_and(|times| *given >= times) {
                continue;
            }
            if !reply.fits(request) {
                left += 1;
                continue;
            }
            *given += 1;
            let first = state.calls + 1;
            state.calls += u32::try_from(reply.calls.len()).unwrap_or(u32::MAX);
            return Ok((reply, first));
        }
        let why = match left {
            0 => "it has no replies left".to_owned(),
            left => format!("the conditions of all {left} replies that are left do not fit it"),
        };
        Err(failure(
            ProviderErrorKind::ScriptEnded,
            format!("the script has no reply for request {asked}: {why}; add a [[reply]] to it"),
        ))
    }
}

impl Provider for Scripted {
    fn model(&self) -> &str {
        &self.script.model
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn context_window(&self) -> u64 {
        self.script.context_window
    }

    fn cost(&self, usage: Usage) -> Option<u64> {
        let prices = self.script.prices?;
        let dollars = |tokens: u64, price: f64| tokens as f64 * price;
        // Dollars for a million tokens are millionths of a dollar for one.
        let fresh = usage.input.saturating_sub(usage.cached);
        let cost = dollars(fresh, prices.input)
            + dollars(usage.cached, prices.cached)
            + dollars(usage.output, prices.output);
        Some(cost.ceil() as u64)
    }

    fn ask<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a (dyn Fn(Delta) + Send + Sync)) -> Answer<'a> {
        Box::pin(async move {
            let (reply, first) = self.take(&request)?;
            if reply.delay_ms > 0 {
                tokio::time::sleep(reply.delay()).await;
            }
            if let Some(fault) = &reply.fault {
                return Err(as_error(fault));
            }
            let mut blocks = Vec::new();
            if let Some(text) = &reply.thinking {
                pieces(text, |piece| deltas(Delta::Thinking(piece)));
                let raw = serde_json::json!({ "type": "thinking", "thinking": text });
                blocks.push(Block::Thinking { provider: self.name.clone(), raw, text: text.clone() });
            }
            if let Some(text) = &reply.text {
                pieces(text, |piece| deltas(Delta::Text(piece)));
                blocks.push(Block::Text { text: text.clone() });
            }
            for (call, number) in reply.calls.iter().zip(first..) {
                let id = call.id.clone().unwrap_or_else(|| format!("call_{number}"));
                let arguments = match &call.arguments {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                blocks.push(Block::ToolCall(ToolCall { id, name: call.name.clone(), arguments }));
            }
            Ok(ModelReply { blocks, stop: reply.stop(), usage: reply.usage(), request_id: None })
        })
    }
}

/// Text as it comes in from a service: word by word.
fn pieces(text: &str, hear: impl Fn(String)) {
    text.split_inclusive(char::is_whitespace).for_each(|piece| hear(piece.to_owned()));
}

fn as_error(fault: &ScriptFault) -> ProviderError {
    let kind = kind(&fault.kind).unwrap_or(ProviderErrorKind::Rejected);
    let message = match fault.message.as_str() {
        "" => format!("the script fails here: {}", kind.name()),
        text => text.to_owned(),
    };
    ProviderError {
        status: fault.status,
        retryable: fault.retryable,
        retry_after: fault.retry_after_ms.map(std::time::Duration::from_millis),
        ..failure(kind, message)
    }
}

fn failure(kind: ProviderErrorKind, message: String) -> ProviderError {
    ProviderError { kind, message, status: None, request_id: None, retryable: false, retry_after: None }
}
