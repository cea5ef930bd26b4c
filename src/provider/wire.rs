//! What the wires have in common: how a request is written and a reply is read, one after the other.

use super::clock::nonce;
use super::fault::Fault;
use super::sse::Event;
use super::{Block, Delta, ModelReply, ModelRequest};
use crate::egress::Header;
use secrecy::SecretString;
use serde_json::Value;

/// One way to speak to a model service.
pub(super) trait Wire: Send + Sync {
    /// The address to post to, under a base address without a slash at its end.
    fn address(&self, base: &str) -> String;

    /// The headers that say who asks.
    fn headers(&self, key: Option<&SecretString>) -> Vec<Header>;

    /// The body of a request.
    fn body(&self, request: ModelRequest<'_>) -> Value;

    /// What reads the reply to it.
    fn reader(&self) -> Box<dyn Reader>;

    /// The service does not take the request and says why. Whether the wire now writes it in another way that may do: it
    /// does so once for each thing, and keeps to it.
    fn adapt(&self, complaint: &str) -> bool;
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    /// More comes.
    More,
    /// It is whole, but figures may follow.
    Whole,
    /// Nothing follows.
    Done,
}

/// Reads one reply.
pub(super) trait Reader: Send {
    /// Takes an event of a stream.
    fn event(&mut self, event: &Event, hear: &mut dyn FnMut(Delta)) -> Result<Progress, Fault>;

    /// Takes a reply that came in one piece.
    fn whole(&mut self, reply: &Value, hear: &mut dyn FnMut(Delta)) -> Result<(), Fault>;

    /// What was read.
    fn reply(self: Box<Self>) -> Result<ModelReply, Fault>;
}

/// The JSON of an event, or of each line of it: some services forget the empty line between events.
pub(super) fn values(data: &str) -> Result<Vec<Value>, Fault> {
    if let Ok(value) = serde_json::from_str(data) {
        return Ok(vec![value]);
    }
    let lines: Result<Vec<Value>, _> =
        data.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect();
    lines.map_err(|error| Fault {
        again: true,
        ..Fault::garbled(format!("it sent an event that is not JSON ({error})"))
    })
}

/// A string member.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A number member, whatever kind of number.
pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    let number = value.get(key)?;
    number.as_u64().or_else(|| number.as_f64().map(|f| f as u64))
}

/// Arguments of an earlier call as an object: what was no object is shown to the model as what it is.
pub(super) fn argument_object(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(object @ Value::Object(_)) => object,
        _ => serde_json::json!({ "invalid_arguments": arguments }),
    }
}

/// Blocks whose calls have the ids that they lack, or share with another.
pub(super) fn with_ids(mut blocks: Vec<Block>) -> Vec<Block> {
    let mut seen: Vec<String> = Vec::new();
    for (number, block) in blocks.iter_mut().enumerate() {
        let Block::ToolCall(call) = block else { continue };
        if call.id.is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{:08x}{number:02}", nonce());
        }
        seen.push(call.id.clone());
    }
    blocks
}
