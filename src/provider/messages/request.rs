//! The body of a request.

use super::Messages;
use crate::provider::wire::{argument_object, sendable, text};
use crate::provider::{Block, Message, ModelRequest, Speaker, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering;

/// How many of the user's last messages are cache points: the last, and the one that was the last a request before.
const POINTS: usize = 2;

pub(super) fn body(wire: &Messages, request: ModelRequest<'_>) -> Value {
    let caches = !wire.no_cache.load(Ordering::Relaxed);
    let mut messages: Vec<Value> = Vec::new();
    for message in request.messages {
        let blocks = blocks(wire, message);
        if blocks.is_empty() {
            continue;
        }
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        messages.push(json!({ "role": role, "content": blocks }));
    }
    let mut left = if caches { POINTS } else { 0 };
    for message in messages.iter_mut().rev() {
        if left > 0 && text(message, "role") == Some("user") {
            mark(message.get_mut("content").and_then(Value::as_array_mut));
            left -= 1;
        }
    }
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(wire.model));
    set("max_tokens", json!(request.max_tokens));
    if let Some(temperature) = request.temperature
        && !wire.no_temperature.load(Ordering::Relaxed)
    {
        // Its scale ends at 1.
        set("temperature", json!(temperature.min(1.0)));
    }
    set("messages", Value::Array(messages));
    set("stream", json!(wire.streams));
    if !request.system.is_empty() {
        let mut system = vec![json!({ "type": "text", "text": request.system })];
        mark(caches.then_some(&mut system));
        set("system", Value::Array(system));
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if tools.is_empty() {
        tools = used_tools(request.messages);
        if !tools.is_empty() {
            set("tool_choice", json!({ "type": "none" }));
        }
    }
    if !tools.is_empty() {
        mark(caches.then_some(&mut tools));
        set("tools", Value::Array(tools));
    }
    Value::Object(body)
}

/// Makes the last of these a cache point: what comes before is read once and kept.
fn mark(items: Option<&mut Vec<Value>>) {
    if let Some(Value::Object(last)) = items.and_then(|items| items.last_mut()) {
        last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema })
}

/// A conversation with calls is only taken with tools; where none may be called, those of the past stand in, by name.
fn used_tools(messages: &[Message]) -> Vec<Value> {
    let mut names: Vec<_> =
        messages.iter().flat_map(Message::calls).map(|call| sendable(&call.name)).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| json!({ "name": name, "input_schema": { "type": "object" } })).collect()
}

/// The blocks of a message. Results come first: they must follow their calls directly.
fn blocks(wire: &Messages, message: &Message) -> Vec<Value> {
    let thinks = !wire.no_thinking.load(Ordering::Relaxed);
    let results = message.results().map(|result| {
        json!({
            "type": "tool_result",
            "tool_use_id": id(&result.id),
            "content": result.text,
            "is_error": result.is_error,
        })
    });
    let others = message.blocks.iter().filter_map(|block| match block {
        // Text of nothing but space is refused.
        Block::Text { text } if !text.trim().is_empty() => Some(json!({ "type": "text", "text": text })),
        Block::Thinking { provider, raw, .. }
            if thinks && *provider == wire.provider && raw.get("type").is_some() =>
        {
            Some(raw.clone())
        }
        Block::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": id(&call.id),
            "name": sendable(&call.name),
            "input": argument_object(&call.arguments),
        })),
        _ => None,
    });
    results.chain(others).collect()
}

/// An id in the characters that the service allows: a conversation may have begun with another service.
/// Two that differ in others only stay two.
fn id(id: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !id.chars().all(plain) {
        use sha2::{Digest as _, Sha256};
        let mark = Sha256::digest(id.as_bytes())
            .iter()
            .take(4)
            .fold(0_u32, |all, byte| (all << 8) | u32::from(*byte));
        let start: String = id.chars().take(40).map(|c| if plain(c) { c } else { '_' }).collect();
        return format!("{start}-{mark:08x}");
    }
    id.to_owned()
}
