//! What the wires have in common: how a request is written and a reply is read, one after the other.

use super::clock::nonce;
use super::fault::Fault;
use super::sse::Event;
use super::{Block, Delta, ModelReply, ModelRequest};
use crate::egress::Header;
use secrecy::SecretString;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Calls of one reply, and other blocks of it, at most.
pub(super) const BLOCKS: usize = 256;

/// Tokens that a service may say it took: more is no figure.
const TOKENS: u64 = 1_000_000_000_000;

/// Bytes of an id that is kept as it came.
const ID: usize = 64;

/// Levels of what is kept of a reply as it came.
const LEVELS: usize = 64;

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
    number.as_u64().or_else(|| number.as_f64().map(|f| f as u64)).map(|count| count.min(TOKENS))
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

/// Blocks whose calls have the ids that they lack, share with another, or have in a form that no service would take back;
/// and names that are one line, no longer than it takes to show that they are none.
pub(super) fn with_ids(mut blocks: Vec<Block>) -> Vec<Block> {
    let mut seen = BTreeSet::new();
    for (number, block) in blocks.iter_mut().enumerate() {
        let Block::ToolCall(call) = block else { continue };
        let usable = (1..=ID).contains(&call.id.len()) && call.id.bytes().all(|b| b.is_ascii_graphic());
        if !usable || seen.contains(&call.id) {
            call.id = format!("call_{:08x}{number:02}", nonce());
        }
        seen.insert(call.id.clone());
        call.name = line_of(&call.name);
    }
    blocks
}

/// The beginning of a name, in one line.
fn line_of(name: &str) -> String {
    let start = name.get(..name.floor_char_boundary(2 * ID)).unwrap_or_default();
    start.chars().map(|c| if c.is_control() { '_' } else { c }).collect()
}

/// A name as services take it: they refuse a conversation in which a model once called what can be no tool.
pub(super) fn sendable(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=ID).contains(&name.len()) && name.chars().all(plain) {
        return Cow::Borrowed(name);
    }
    let name: String = name.chars().take(ID).map(|c| if plain(c) { c } else { '_' }).collect();
    Cow::Owned(if name.is_empty() { "_".to_owned() } else { name })
}

/// Whether a value can be kept and read again. What was read within something deeper may be too deep on its own.
pub(super) fn is_shallow(value: &Value) -> bool {
    fn within(value: &Value, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        match value {
            Value::Object(map) => map.values().all(|inner| within(inner, left)),
            Value::Array(items) => items.iter().all(|inner| within(inner, left)),
            _ => true,
        }
    }
    within(value, LEVELS)
}

/// More than is taken.
pub(super) fn too_many() -> Fault {
    Fault::garbled(format!("it sent a reply with more than {BLOCKS} calls or blocks"))
}
