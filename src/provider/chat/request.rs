//! The body of a request.

use super::Chat;
use crate::provider::wire::{argument_object, sendable};
use crate::provider::{Block, Message, ModelRequest, Speaker, ToolSpec};
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering;

pub(super) fn body(chat: &Chat, request: ModelRequest<'_>) -> Value {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    // Reasoning is a part of the turn that is under way; of turns before, services want or allow none of it.
    let turn = request.messages.iter().rposition(|message| {
        message.speaker == Speaker::User && message.blocks.iter().any(|b| matches!(b, Block::Text { .. }))
    });
    for (number, message) in request.messages.iter().enumerate() {
        let reasoning = turn.is_none_or(|turn| number > turn) && !chat.no_reasoning.load(Ordering::Relaxed);
        match message.speaker {
            Speaker::User => user(message, &mut messages),
            Speaker::Assistant => messages.extend(assistant(chat, message, reasoning)),
        }
    }
    let limit = if chat.newer_limit.load(Ordering::Relaxed) { "max_completion_tokens" } else { "max_tokens" };
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(chat.model));
    set("messages", Value::Array(messages));
    set("stream", json!(chat.streams));
    set(limit, json!(request.max_tokens));
    if let Some(temperature) = request.temperature
        && !chat.no_temperature.load(Ordering::Relaxed)
    {
        set("temperature", json!(temperature));
    }
    if chat.streams && !chat.no_stream_options.load(Ordering::Relaxed) {
        set("stream_options", json!({ "include_usage": true }));
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    Value::Object(body)
}

fn tool(tool: &ToolSpec) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
    }})
}

/// Results come first, right after their calls; then what the user says.
fn user(message: &Message, messages: &mut Vec<Value>) {
    for result in message.results() {
        messages.push(json!({ "role": "tool", "tool_call_id": result.id, "content": result.text }));
    }
    let text = message.text();
    if !text.is_empty() {
        messages.push(json!({ "role": "user", "content": text }));
    }
}

fn assistant(chat: &Chat, message: &Message, reasoning: bool) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message.calls().map(|call| {
        // Some services read the arguments of earlier calls, and fail on what is no JSON object.
        let valid = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
        let arguments =
            if valid { call.arguments.clone() } else { argument_object(&call.arguments).to_string() };
        json!({ "id": call.id, "type": "function", "function": { "name": sendable(&call.name), "arguments": arguments } })
    }).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut said = Map::new();
    said.insert("role".to_owned(), json!("assistant"));
    said.insert("content".to_owned(), if text.is_empty() { Value::Null } else { json!(text) });
    if !calls.is_empty() {
        said.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    for block in &message.blocks {
        match block {
            Block::Thinking { provider, raw: Value::Object(raw), .. }
                if reasoning && *provider == chat.provider =>
            {
                let fields = super::reasoning::FIELDS.iter();
                said.extend(fields.filter_map(|key| Some(((*key).to_owned(), raw.get(*key)?.clone()))));
            }
            _ => {}
        }
    }
    Some(Value::Object(said))
}
