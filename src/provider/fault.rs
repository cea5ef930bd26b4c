//! What went wrong in one attempt, and what the service says about it.

use super::ProviderErrorKind as Kind;
use super::sse::TooLong;
use crate::egress::EgressError;
use serde_json::Value;
use std::time::Duration;

/// Characters of a service's own words that are passed on.
const WORDS: usize = 300;

/// When a fault happened: it decides how often it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before a reply began.
    Begin,
    /// While it came in.
    Reply,
    /// It came and said nothing.
    Empty,
}

/// One failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// What failed and whose fault it is, without the provider's name.
    pub(super) message: String,
    /// What the service said itself. It is bounded, and rid of secrets, when it is told.
    pub(super) said: String,
    /// What to do about it.
    pub(super) advice: String,
    pub(super) phase: Phase,
    /// Whether this attempt is worth another one right away.
    pub(super) again: bool,
    pub(super) status: Option<u16>,
    pub(super) request_id: Option<String>,
    pub(super) retry_after: Option<Duration>,
}

impl Fault {
    fn new(kind: Kind, message: String, phase: Phase, again: bool) -> Self {
        Self {
            kind,
            message,
            said: String::new(),
            advice: String::new(),
            phase,
            again,
            status: None,
            request_id: None,
            retry_after: None,
        }
    }

    /// Something that cannot be understood, and will not be the next time.
    pub(super) fn garbled(message: impl Into<String>) -> Self {
        Self::new(Kind::Garbled, message.into(), Phase::Reply, false)
    }

    /// Something that broke on the way: another attempt may go well.
    pub(super) fn broken(kind: Kind, message: impl Into<String>) -> Self {
        Self::new(kind, message.into(), Phase::Reply, true)
    }

    /// A fault that ends the request.
    pub(super) fn last(kind: Kind, message: impl Into<String>) -> Self {
        Self::new(kind, message.into(), Phase::Reply, false)
    }

    /// A reply without text and without calls.
    pub(super) fn empty() -> Self {
        Self::new(
            Kind::Garbled,
            "it sent an empty reply, and so when asked again".to_owned(),
            Phase::Empty,
            true,
        )
    }

    /// The connection failed.
    pub(super) fn of_egress(error: &EgressError, phase: Phase, local: bool) -> Self {
        let (kind, again) = match error {
            EgressError::Setup(_) | EgressError::Request(_) => (Kind::Rejected, false),
            // A server of this machine that is not started does not start within seconds.
            EgressError::Connect { refused, .. } => (Kind::Network, !(*refused && local)),
            EgressError::Broken { .. } => (Kind::Network, true),
            EgressError::Silent { .. } => (Kind::Silent, true),
            EgressError::TooLarge { .. } => (Kind::Garbled, false),
        };
        // What was silent before it began is as slow as what was silent later, and is not asked four times.
        let phase = if kind == Kind::Silent { Phase::Reply } else { phase };
        let mut fault = Self::new(kind, error.to_string(), phase, again);
        if matches!(error, EgressError::Connect { refused: true, .. }) && local {
            fault.advice = "; start the model server, or correct `base_url`".to_owned();
        }
        fault
    }

    /// The service answered with an error.
    pub(super) fn of_status(status: u16, body: &str, key: &str) -> Self {
        let said = Said::parse(body);
        let (kind, again) = said.kind(status);
        let (message, advice) = match kind {
            Kind::Credentials => (format!("it does not take {key}"), ""),
            Kind::Quota => ("the account has nothing left".to_owned(), ""),
            Kind::RateLimited => ("too many requests".to_owned(), ""),
            Kind::Overloaded => ("the service is busy or broken".to_owned(), ""),
            Kind::ContextFull => ("the conversation does not fit the model".to_owned(), ""),
            _ if (300..400).contains(&status) => {
                ("it answers with a redirect, which is not followed".to_owned(), "; correct `base_url`")
            }
            _ if status == 404 => {
                ("it knows no such address or model".to_owned(), "; check `base_url` and `model`")
            }
            _ => ("it does not take the request".to_owned(), ""),
        };
        Self {
            status: Some(status),
            said: said.words(body),
            advice: advice.to_owned(),
            ..Self::new(kind, format!("{message} ({status})"), Phase::Begin, again)
        }
    }

    /// An error that came instead of a reply, under a status that said all is well.
    pub(super) fn of_event(error: &Value) -> Self {
        let said = Said::of(error);
        // Services that name a status in the event mean it as if it had been the reply's.
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let (kind, again) = match code {
            Some(status) if status >= 400 => said.kind(status),
            _ => said.kind_by_name().unwrap_or((Kind::Overloaded, true)),
        };
        let message = "the reply ended with an error".to_owned();
        Self { status: code, said: said.words(""), ..Self::new(kind, message, Phase::Reply, again) }
    }

    /// The whole of it for people: what failed, what the service said, without the key, and what to do.
    pub(super) fn told(&self, name: &str, key: Option<&str>) -> String {
        let scrub = |text: &str| match key {
            Some(key) if !key.is_empty() => text.replace(key, "[key]"),
            _ => text.to_owned(),
        };
        let said = escape(&scrub(&self.said));
        let said = if said.is_empty() { said } else { format!(": {said}") };
        format!("{name}: {}{said}{}", scrub(&self.message), self.advice)
    }
}

impl From<TooLong> for Fault {
    fn from(error: TooLong) -> Self {
        Self::garbled(error.to_string())
    }
}

/// What an error's body says.
struct Said {
    message: String,
    /// Type and code, in lower case.
    names: String,
}

impl Said {
    fn parse(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(items)) => items.first().map_or_else(|| Self::of(&Value::Null), Self::of_body),
            Ok(value) => Self::of_body(&value),
            Err(_) => Self { message: String::new(), names: String::new() },
        }
    }

    fn of_body(body: &Value) -> Self {
        match body.get("error") {
            Some(error @ (Value::Object(_) | Value::String(_))) => Self::of(error),
            _ => Self::of(body),
        }
    }

    fn of(error: &Value) -> Self {
        if let Some(text) = error.as_str() {
            return Self { message: text.to_owned(), names: String::new() };
        }
        let message = match error.get("message").or_else(|| error.get("detail")) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let names: Vec<&str> =
            ["type", "code", "status"].iter().filter_map(|key| error.get(key)?.as_str()).collect();
        Self { message, names: names.join(" ").to_lowercase() }
    }

    /// The service's words, as they are.
    fn words(&self, otherwise: &str) -> String {
        let text = if self.message.trim().is_empty() { otherwise } else { &self.message };
        text.trim().to_owned()
    }

    fn kind(&self, status: u16) -> (Kind, bool) {
        match status {
            401 | 403 => (Kind::Credentials, false),
            402 => (Kind::Quota, false),
            _ if self.is_context() || status == 413 => (Kind::ContextFull, false),
            429 if self.is_quota() => (Kind::Quota, false),
            // A request that alone is more than a minute's allowance fits at no time.
            429 if self.message.to_lowercase().contains("request too large") => (Kind::ContextFull, false),
            429 => (Kind::RateLimited, true),
            408 | 409 | 425 => (Kind::Overloaded, true),
            501 | 505 => (Kind::Rejected, false),
            500.. => (Kind::Overloaded, true),
            _ if self.is_quota() => (Kind::Quota, false),
            _ => (Kind::Rejected, false),
        }
    }

    fn kind_by_name(&self) -> Option<(Kind, bool)> {
        if self.is_context() {
            return Some((Kind::ContextFull, false));
        }
        if self.is_quota() {
            return Some((Kind::Quota, false));
        }
        let known = [
            ("overloaded", (Kind::Overloaded, true)),
            ("rate_limit", (Kind::RateLimited, true)),
            ("authentication", (Kind::Credentials, false)),
            ("permission", (Kind::Credentials, false)),
            ("invalid_request", (Kind::Rejected, false)),
            ("not_found", (Kind::Rejected, false)),
        ];
        known.into_iter().find(|(name, _)| self.names.contains(name)).map(|(_, kind)| kind)
    }

    fn is_quota(&self) -> bool {
        let text = self.message.to_lowercase();
        ["insufficient_quota", "billing", "credit", "insufficient_balance"]
            .iter()
            .any(|name| self.names.contains(name))
            || [
                "exceeded your current quota",
                "credit balance is too low",
                "insufficient balance",
                "insufficient credits",
            ]
            .iter()
            .any(|words| text.contains(words))
    }

    fn is_context(&self) -> bool {
        let text = self.message.to_lowercase();
        ["context_length_exceeded", "exceed_context_size", "request_too_large"]
            .iter()
            .any(|name| self.names.contains(name))
            || [
                "maximum context length",
                "context length exceeded",
                "prompt is too long",
                "exceed context limit",
                "exceeds the context window",
                "exceeds the available context",
                "exceeds the context size",
                "maximum number of tokens allowed",
                "longer than the maximum model length",
                "reduce the length of the messages",
            ]
            .iter()
            .any(|words| text.contains(words))
    }
}

/// At most [`WORDS`] characters, without anything that a terminal obeys.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(WORDS) {
        match character {
            '\n' | '\r' | '\t' => out.push(' '),
            hidden if hidden.is_control() || is_invisible(hidden) => out.extend(hidden.escape_unicode()),
            shown => out.push(shown),
        }
    }
    if text.chars().nth(WORDS).is_some() {
        out.push('…');
    }
    out
}

/// Characters that change how others are shown.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
