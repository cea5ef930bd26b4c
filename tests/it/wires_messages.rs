//! What services do to the messages wire, and what is made of it all the same.

use crate::support::asking::{ask, ask_with, provider};
use crate::support::{Model, Says};
use ringfence::config::Wire;
use ringfence::provider::{Block, Bounds, Message, ModelReply, Speaker, Stop, ToolCall, ToolResult, Usage};
use serde_json::{Value, json};

fn reply(events: &[Value]) -> ModelReply {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let service = Model::start([Says::events(&events.iter().map(String::as_str).collect::<Vec<_>>())]);
    ask(&provider(Wire::Messages, &service)).ok()
}

fn start(index: u64, block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": block })
}

fn delta(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn stop(reason: &str) -> [Value; 2] {
    [
        json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
        json!({ "type": "message_stop" }),
    ]
}

fn call(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: "a".to_owned(), arguments: arguments.to_owned() })
}

#[test]
fn arguments_come_in_pieces_whole_as_text_or_not_at_all() {
    let tool = |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "a", "input": input });
    let input =
        |index: u64, text: &str| delta(index, json!({ "type": "input_json_delta", "partial_json": text }));
    let events = [
        start(0, tool("pieces", json!({}))),
        start(1, tool("whole", json!({ "x": 1 }))),
        start(2, tool("text", json!("{\"x\":2}"))),
        start(3, tool("none", Value::Null)),
        start(4, tool("broken", json!({}))),
        // Pieces of several blocks mixed.
        input(4, "{\"x"),
        input(0, "{\"x\""),
        input(0, ":0}"),
        input(3, ""),
    ];
    let reply = reply(&[&events[..], &stop("tool_use")].concat());
    assert_eq!(
        reply.blocks,
        [
            call("pieces", "{\"x\":0}"),
            call("whole", "{\"x\":1}"),
            call("text", "{\"x\":2}"),
            call("none", "{}"),
            call("broken", "{\"x"),
        ]
    );
    assert_eq!((reply.stop, reply.usage), (Stop::ToolCalls, None));
}

#[test]
fn ids_that_are_missing_or_shared_are_made() {
    let tool = |id: &str| json!({ "type": "tool_use", "id": id, "name": "a", "input": {} });
    let events = [start(0, tool("")), start(1, tool("same")), start(2, tool("same"))];
    let reply = reply(&[&events[..], &stop("end_turn")].concat());
    let ids: Vec<&str> = reply
        .blocks
        .iter()
        .map(|block| match block {
            Block::ToolCall(call) => call.id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids[1], "same");
    assert!(!ids[0].is_empty() && !ids[2].is_empty() && ids[0] != ids[2] && ids[2] != "same", "{ids:?}");
    // Whatever the service says: calls are to be made.
    assert_eq!(reply.stop, Stop::ToolCalls);
}

#[test]
fn blocks_that_are_new_are_left_out_and_hidden_thinking_is_kept() {
    let hidden = json!({ "type": "redacted_thinking", "data": "c2VjcmV0" });
    let events = [
        json!({ "type": "message_start", "message": { "id": "m", "content": [], "usage": { "input_tokens": 3 } } }),
        json!({ "type": "brand_new_event", "index": 9 }),
        start(0, hidden.clone()),
        start(1, json!({ "type": "hologram", "data": 1 })),
        delta(1, json!({ "type": "hologram_delta", "data": 2 })),
        start(2, json!({ "type": "text", "text": "Hel" })),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "lo" } }),
    ];
    let reply = reply(&[&events[..], &stop("end_turn")].concat());
    let thought = Block::Thinking { provider: "test".to_owned(), raw: hidden, text: String::new() };
    assert_eq!(reply.blocks, [thought, Block::Text { text: "Hello".to_owned() }]);
    assert_eq!(reply.usage, Some(Usage { input: 3, cached: 0, output: 0 }));
}

#[test]
fn names_of_events_stand_in_for_types() {
    let service = Model::start([Says::stream(
        "event: content_block_start\ndata: {\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"ok\"}}\n\n\
         event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
         event: message_stop\ndata: {}\n\n",
    )]);
    assert_eq!(ask(&provider(Wire::Messages, &service)).ok().blocks, [Block::Text { text: "ok".to_owned() }]);
}

#[test]
fn what_a_service_does_not_take_is_left_out_for_good() {
    let complaint = |message: &str| Says::json(400, &json!({ "error": { "message": message } }).to_string());
    let fine = json!({ "content": [{ "type": "text", "text": "ok" }], "stop_reason": "end_turn" });
    let service = Model::start([
        complaint("messages.1.content.0: Invalid `signature` in `thinking` block"),
        complaint("cache_control: Extra inputs are not permitted"),
        Says::json(200, &fine.to_string()),
    ]);
    let raw = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let said =
        vec![Block::Thinking { provider: "test".to_owned(), raw, text: "hm".to_owned() }, call("i", "{}")];
    let result = ToolResult { id: "i".to_owned(), text: "done".to_owned(), is_error: false };
    let messages = [
        Message::user("hello"),
        Message { speaker: Speaker::Assistant, blocks: said },
        Message { speaker: Speaker::User, blocks: vec![Block::ToolResult(result)] },
    ];
    let asking = ask_with(&provider(Wire::Messages, &service), Bounds::default(), &messages, &[]);
    assert_eq!((asking.waits.len(), asking.heard().as_str()), (0, "ok"));
    let asked = service.asked();
    assert!(
        asked[0].body.to_string().contains("c2ln") && asked[1].body.to_string().contains("cache_control")
    );
    assert!(
        !asked[2].body.to_string().contains("c2ln") && !asked[2].body.to_string().contains("cache_control")
    );
}

#[test]
fn addresses_are_completed_as_people_write_them() {
    let fine =
        json!({ "content": [{ "type": "text", "text": "ok" }], "stop_reason": "end_turn" }).to_string();
    for (path, asked) in [
        ("", "/v1/messages"),
        ("/v1", "/v1/messages"),
        ("/a/messages", "/a/messages"),
        ("/anthropic", "/anthropic/v1/messages"),
    ] {
        let service = Model::start([Says::json(200, &fine)]);
        let mut config = provider(Wire::Messages, &service);
        config.base_url = Some(format!("{}{path}", service.url()));
        ask(&config).ok();
        assert_eq!(service.asked()[0].line, format!("POST {asked}"));
    }
}
