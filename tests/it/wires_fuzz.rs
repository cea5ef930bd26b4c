//! Replies with anything in any place: there is always an outcome, and what is heard is what is kept.

use crate::support::asking::{ask, provider};
use crate::support::{Model, Says};
use proptest::prelude::*;
use ringfence::config::Wire;
use ringfence::provider::Block;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The members that the wires look at, and one that they do not.
const MEMBERS: &[&str] = &[
    "choices",
    "delta",
    "message",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "index",
    "usage",
    "finish_reason",
    "error",
    "reasoning_content",
    "reasoning_details",
    "type",
    "content_block",
    "text",
    "thinking",
    "partial_json",
    "stop_reason",
    "input",
    "other",
];

/// Values that mean something in some place.
const WORDS: &[&str] = &[
    "",
    "a",
    "{\"x\":1}",
    "{\"x",
    "stop",
    "tool_calls",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "text",
    "thinking",
    "tool_use",
    "text_delta",
    "input_json_delta",
    "thinking_delta",
    "signature_delta",
    "error",
    "pause_turn",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop_oneof![Just(-1i64), 0..3i64, Just(i64::MAX)].prop_map(Value::from),
        Just(json!(1.5e300)),
        proptest::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let member = (proptest::sample::select(MEMBERS), inner.clone());
        prop_oneof![
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
            3 => proptest::collection::vec(member, 0..5).prop_map(|members| {
                Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
            }),
        ]
    })
}

/// An event that begins well and has anything in one place.
fn event() -> impl Strategy<Value = Value> {
    (value(), 0..9usize).prop_map(|(value, shape)| match shape {
        0 => value,
        1 => json!({ "choices": [{ "delta": value }] }),
        2 => json!({ "choices": [{ "delta": { "content": value, "tool_calls": [{ "index": 0, "function": { "name": "a" } }] } }] }),
        3 => json!({ "choices": [{ "delta": { "tool_calls": [value] } }] }),
        4 => json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": value } }] } }] }),
        5 => json!({ "choices": [{ "finish_reason": value }], "usage": { "prompt_tokens": 1 } }),
        6 => json!({ "type": "content_block_start", "index": 0, "content_block": value }),
        7 => json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "tool_use", "name": "a", "input": value } }),
        _ => json!({ "type": "content_block_delta", "index": 0, "delta": value }),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn anything_in_any_place_has_an_outcome(events in proptest::collection::vec(event(), 1..6), chat in any::<bool>(), whole in any::<bool>()) {
        let wire = if chat { Wire::Chat } else { Wire::Messages };
        let says = if whole {
            Says::json(200, &events[0].to_string())
        } else {
            let mut events: Vec<String> = events.iter().map(Value::to_string).collect();
            events.push(if chat { "[DONE]" } else { "{\"type\":\"message_stop\"}" }.to_owned());
            Says::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let service = Model::start(vec![says; 12]);
        let asking = ask(&provider(wire, &service));
        prop_assert!(service.asked().len() <= 8);
        let heard = asking.heard();
        if let Ok(reply) = asking.reply {
            let said: String = reply.blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                _ => None,
            }).collect();
            prop_assert_eq!(heard, said);
            let calls = reply.blocks.iter().filter_map(|block| match block {
                Block::ToolCall(call) => Some(call),
                _ => None,
            });
            let mut ids = BTreeSet::new();
            for call in calls {
                prop_assert!(!call.name.is_empty() && !call.id.is_empty() && ids.insert(call.id.clone()));
            }
        } else {
            prop_assert!(!asking.reply.unwrap_err().message.is_empty());
        }
    }
}
