//! One model service: attempts over its wire until there is a reply, or no use in another attempt.

use super::clock::Bounds;
use super::fault::{Fault, Phase};
use super::limits;
use super::retry::{self, Next, Retries};
use super::sse;
use super::wire::{Progress, Wire};
use super::{
    Answer, Block, Delta, ModelReply, ModelRequest, Provider, ProviderError, ProviderErrorKind as Kind, Stop,
    Usage,
};
use crate::config::Prices;
use crate::egress::{Client, Header, Reply, Request};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of an error's body that are looked at.
const ERROR_BODY: usize = 64 << 10;

/// How long figures after a whole reply are waited for.
const FIGURES: Duration = Duration::from_secs(5);

/// How long the end of a body is waited for, so that its connection can be used again.
const END: Duration = Duration::from_millis(20);

/// Headers in which services name a request.
const REQUEST_IDS: [&str; 4] = ["x-request-id", "request-id", "x-generation-id", "cf-ray"];

/// A service that is asked over HTTP.
pub(super) struct Service {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) window: u64,
    pub(super) prices: Option<Prices>,
    pub(super) url: String,
    /// Whether it is on this machine.
    pub(super) local: bool,
    pub(super) key: Option<SecretString>,
    /// Where the key comes from, for messages.
    pub(super) key_source: String,
    pub(super) headers: Vec<Header>,
    /// Members that every request's body gets.
    pub(super) extra: Map<String, Value>,
    pub(super) wire: Box<dyn Wire>,
    pub(super) client: Client,
    pub(super) bounds: Bounds,
}

impl Provider for Service {
    fn model(&self) -> &str {
        &self.model
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn context_window(&self) -> u64 {
        self.window
    }

    fn cost(&self, usage: Usage) -> Option<u64> {
        self.prices.map(|prices| prices.cost(usage.input, usage.cached, usage.output))
    }

    fn ask<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a (dyn Fn(Delta) + Send + Sync)) -> Answer<'a> {
        Box::pin(async move {
            let total = self.bounds.total;
            match tokio::time::timeout(total, self.attempts(request, deltas)).await {
                Ok(answer) => answer,
                Err(_) => {
                    let time = total.as_secs_f32();
                    Err(self.error(Fault::last(Kind::Silent, format!("no whole reply within {time} s"))))
                }
            }
        })
    }
}

impl Service {
    async fn attempts(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelReply, ProviderError> {
        let clock = self.bounds.clock.as_ref();
        let mut retries = Retries::default();
        loop {
            let heard = AtomicBool::new(false);
            let hear = |delta: Delta| {
                heard.store(true, Ordering::Relaxed);
                deltas(delta);
            };
            let fault = match self.attempt(request, &hear).await {
                Ok(reply) if !is_empty(&reply) => return Ok(reply),
                Ok(reply) => Fault { request_id: reply.request_id, ..Fault::empty() },
                Err(fault) => fault,
            };
            let adapts = matches!(fault.status, Some(400 | 422)) && self.wire.adapt(&fault.said);
            match retries.next(&fault, adapts, clock) {
                Next::GiveUp => return Err(self.error(fault)),
                Next::AtOnce => {}
                Next::After(wait) => {
                    let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    deltas(Delta::Waiting(ms, self.error(fault).message));
                    clock.wait(wait).await;
                }
            }
            if heard.into_inner() {
                deltas(Delta::Restart);
            }
        }
    }

    async fn attempt(
        &self,
        request: ModelRequest<'_>,
        hear: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelReply, Fault> {
        let mut body = self.wire.body(request);
        if let Value::Object(members) = &mut body {
            members.extend(self.extra.clone());
        }
        let mut headers = self.wire.headers(self.key.as_ref());
        headers.push(Header::Plain("content-type".to_owned(), "application/json".to_owned()));
        headers.extend(self.headers.iter().cloned());
        let request = Request {
            url: &self.url,
            headers,
            body: body.to_string().into_bytes(),
            patience: self.bounds.first,
        };
        let mut reply = self
            .client
            .post(request)
            .await
            .map_err(|error| Fault::of_egress(&error, Phase::Begin, self.local))?;
        let request_id = REQUEST_IDS.iter().find_map(|name| reply.header(name)).map(str::to_owned);
        let read = if (200..300).contains(&reply.status()) {
            self.read(&mut reply, hear).await
        } else {
            Err(self.refusal(reply).await)
        };
        match read {
            Ok(mut reply) => {
                reply.request_id = request_id.or(reply.request_id).filter(|id| is_id(id));
                Ok(reply)
            }
            Err(fault) => Err(Fault {
                request_id: fault.request_id.clone().or(request_id).filter(|id| is_id(id)),
                ..fault
            }),
        }
    }

    /// What a reply with an error's status means.
    async fn refusal(&self, reply: Reply) -> Fault {
        let headers: Vec<(&str, &str)> = reply.headers().collect();
        let wait = limits::wait_asked(&headers, self.bounds.clock.now());
        let advice = reply.header("x-should-retry").map(str::to_owned);
        let status = reply.status();
        let body = reply.beginning(ERROR_BODY, self.bounds.idle.min(Duration::from_secs(10))).await;
        let mut fault = Fault::of_status(status, &body, &self.key_source);
        match advice.as_deref() {
            Some("false") => fault.again = false,
            Some("true") => fault.again = true,
            _ => {}
        }
        retry::heed(fault, wait, self.bounds.clock.now())
    }

    /// Reads a reply as it comes in: a stream of events, or, from services that do not stream, one JSON object.
    async fn read(
        &self,
        reply: &mut Reply,
        hear: &(dyn Fn(Delta) + Send + Sync),
    ) -> Result<ModelReply, Fault> {
        let mut reader = self.wire.reader();
        let mut hear = |delta: Delta| hear(delta);
        let mut parser = sse::Parser::new(self.bounds.line);
        let mut events = Vec::new();
        let mut begun = Vec::new();
        let mut streams = None;
        let mut progress = Progress::More;
        while progress != Progress::Done {
            let patience = match progress {
                Progress::More => self.bounds.idle,
                _ => self.bounds.idle.min(FIGURES),
            };
            let bytes = match reply.chunk(self.bounds.reply, patience).await {
                Ok(bytes) => bytes,
                // It was whole already.
                Err(_) if progress == Progress::Whole => break,
                Err(error) => return Err(Fault::of_egress(&error, Phase::Reply, self.local)),
            };
            let ended = bytes.is_none();
            if begun.len() > self.bounds.line {
                return Err(sse::TooLong(self.bounds.line).into());
            }
            let bytes = bytes.unwrap_or_default();
            if streams.is_none() {
                begun.extend_from_slice(&bytes);
                streams = first_byte(&begun).map(|byte| byte != b'{');
            } else if streams == Some(false) {
                begun.extend_from_slice(&bytes);
            }
            match streams {
                Some(true) if !begun.is_empty() => parser.feed(&std::mem::take(&mut begun), &mut events)?,
                Some(true) => parser.feed(&bytes, &mut events)?,
                Some(false) if ended => {
                    reader.whole(&json(&begun)?, &mut hear)?;
                    return reader.reply();
                }
                _ => {}
            }
            if ended {
                parser.finish(&mut events)?;
            }
            for event in events.drain(..) {
                if progress != Progress::Done {
                    progress = progress.max(reader.event(&event, &mut hear)?);
                }
            }
            if ended && progress == Progress::More {
                return Err(Fault::broken(Kind::Network, "the reply ended in the middle"));
            }
            if ended {
                break;
            }
        }
        if progress == Progress::Done {
            let _ = reply.chunk(self.bounds.reply, END).await;
        }
        reader.reply()
    }

    /// The fault as those above see it: with the service's name, and without the key, whatever the service said.
    fn error(&self, fault: Fault) -> ProviderError {
        let message = fault.told(&self.name, self.key.as_ref().map(|key| key.expose_secret()));
        let retryable = fault.again || fault.retry_after.is_some();
        ProviderError {
            kind: fault.kind,
            message,
            status: fault.status,
            request_id: fault.request_id,
            retryable,
            retry_after: fault.retry_after,
        }
    }
}

/// Whether it can be shown to people as the name of a request.
fn is_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

fn first_byte(bytes: &[u8]) -> Option<u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn json(bytes: &[u8]) -> Result<Value, Fault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        let eof = error.is_eof();
        Fault { again: eof, ..Fault::garbled(format!("it sent a reply that is not JSON ({error})")) }
    })
}

/// Whether nothing was said: no text and no call. A reply that was refused or cut short says something by that.
fn is_empty(reply: &ModelReply) -> bool {
    let says = |block: &Block| match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::ToolCall(_) | Block::ToolResult(_) => true,
        Block::Thinking { .. } => false,
    };
    matches!(reply.stop, Stop::End | Stop::ToolCalls) && !reply.blocks.iter().any(says)
}
