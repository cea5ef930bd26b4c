//! Both wires as they are meant: what goes out, and what a well-behaved service's reply becomes.

use crate::support::asking::{ask, ask_with, configured, provider, with_key};
use crate::support::{Model, Says};
use ringfence::config::{ProviderConfig, Wire};
use ringfence::provider::{
    Block, Bounds, Delta, Message, Speaker, Stop, ToolCall, ToolResult, ToolSpec, Usage,
};
use serde_json::{Value, json};

fn text(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() })
}

fn result(id: &str, text: &str, is_error: bool) -> Block {
    Block::ToolResult(ToolResult { id: id.to_owned(), text: text.to_owned(), is_error })
}

fn thinking(provider: &str, raw: Value) -> Block {
    Block::Thinking { provider: provider.to_owned(), raw, text: "hm".to_owned() }
}

fn user(blocks: Vec<Block>) -> Message {
    Message { speaker: Speaker::User, blocks }
}

fn model(blocks: Vec<Block>) -> Message {
    Message { speaker: Speaker::Assistant, blocks }
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("{name} something"),
        input_schema: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
    };
    vec![tool("read_file"), tool("list_dir")]
}

const CHAT: &[&str] = &[
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"lo"},"new_field":{"a":[1]}}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    r#"{"id":"c-1","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}"#,
    "[DONE]",
];

const MESSAGES: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":4,"cache_creation_input_tokens":2,"cache_read_input_tokens":6,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I read it."}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":".txt\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_2","name":"list_dir","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_chat_stream_becomes_a_reply() {
    let service = Model::start([Says::events(CHAT)]);
    let asking = ask(&provider(Wire::Chat, &service));
    assert_eq!(asking.deltas, [Delta::Text("Hel".to_owned()), Delta::Text("lo".to_owned())]);
    assert_eq!(asking.waits, [0; 0]);
    let reply = asking.ok();
    assert_eq!(reply.blocks, [text("Hello")]);
    assert_eq!(reply.stop, Stop::End);
    assert_eq!(reply.usage, Some(Usage { input: 12, cached: 8, output: 3 }));
    assert_eq!(reply.request_id.as_deref(), Some("req-1"));
}

#[test]
fn a_messages_stream_becomes_a_reply_with_thinking_kept_verbatim() {
    let service = Model::start([Says::stream(MESSAGES)]);
    let asking = ask(&provider(Wire::Messages, &service));
    assert_eq!(
        asking.deltas,
        [
            Delta::Thinking("Let me ".to_owned()),
            Delta::Thinking("see.".to_owned()),
            Delta::Text("I read it.".to_owned()),
        ]
    );
    let reply = asking.ok();
    let raw = json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" });
    let thought = Block::Thinking { provider: "test".to_owned(), raw, text: "Let me see.".to_owned() };
    assert_eq!(
        reply.blocks,
        [
            thought,
            text("I read it."),
            call("toolu_1", "read_file", "{\"path\": \"a.txt\"}"),
            call("toolu_2", "list_dir", "{}"),
        ]
    );
    assert_eq!(reply.stop, Stop::ToolCalls);
    assert_eq!(reply.usage, Some(Usage { input: 12, cached: 6, output: 20 }));
}

/// A conversation with everything in it: thinking of two providers, two calls, results, and a follow-up beside them.
fn conversation() -> Vec<Message> {
    vec![
        Message::user("look around"),
        model(vec![
            thinking("test", json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" })),
            thinking("other", json!({ "type": "thinking", "thinking": "ha", "signature": "eA" })),
            text("I look."),
            call("a:1", "read_file", r#"{"path": "a.txt"}"#),
            call("b", "list_dir", "{path"),
        ]),
        user(vec![text("and hurry"), result("a:1", "content", false), result("b", "not JSON", true)]),
        model(vec![call("c", "list_dir", "")]),
        user(vec![result("c", "a.txt", false)]),
    ]
}

#[test]
fn a_chat_request_is_written_as_the_service_wants_it() {
    let service = Model::start([Says::events(CHAT)]);
    let dir = tempfile::tempdir().unwrap();
    let config = with_key(provider(Wire::Chat, &service), dir.path(), "sk-secret-1");
    ask_with(&config, Bounds::default(), &conversation(), &tools()).ok();
    let asked = &service.asked()[0];
    assert_eq!(asked.line, "POST /chat/completions");
    assert_eq!(asked.header("authorization"), Some("Bearer sk-secret-1"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("user-agent"), Some(concat!("ringfence/", env!("CARGO_PKG_VERSION"))));
    let tool = |name: &str| {
        json!({ "type": "function", "function": {
            "name": name, "description": format!("{name} something"),
            "parameters": { "type": "object", "properties": { "path": { "type": "string" } } },
        }})
    };
    let called = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    assert_eq!(
        asked.body,
        json!({
            "model": "m-1",
            "max_tokens": 100,
            "stream": true,
            "stream_options": { "include_usage": true },
            "tools": [tool("read_file"), tool("list_dir")],
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": "look around" },
                { "role": "assistant", "content": "I look.", "tool_calls": [
                    called("a:1", "read_file", r#"{"path": "a.txt"}"#),
                    called("b", "list_dir", r#"{"invalid_arguments":"{path"}"#),
                ]},
                { "role": "tool", "tool_call_id": "a:1", "content": "content" },
                { "role": "tool", "tool_call_id": "b", "content": "not JSON" },
                { "role": "user", "content": "and hurry" },
                { "role": "assistant", "content": null, "tool_calls": [called("c", "list_dir", "{}")] },
                { "role": "tool", "tool_call_id": "c", "content": "a.txt" },
            ],
        })
    );
}

#[test]
fn a_messages_request_is_written_as_the_service_wants_it() {
    let service = Model::start([Says::stream(MESSAGES)]);
    let dir = tempfile::tempdir().unwrap();
    let config = with_key(provider(Wire::Messages, &service), dir.path(), "sk-secret-1");
    ask_with(&config, Bounds::default(), &conversation(), &tools()).ok();
    let asked = &service.asked()[0];
    assert_eq!(asked.line, "POST /v1/messages");
    assert_eq!(asked.header("x-api-key"), Some("sk-secret-1"));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let point = json!({ "type": "ephemeral" });
    assert_eq!(
        asked.body,
        json!({
            "model": "m-1",
            "max_tokens": 100,
            "stream": true,
            "system": [{ "type": "text", "text": "be brief", "cache_control": point }],
            "tools": [
                { "name": "read_file", "description": "read_file something", "input_schema": schema },
                { "name": "list_dir", "description": "list_dir something", "input_schema": schema, "cache_control": point },
            ],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "look around" }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                    { "type": "text", "text": "I look." },
                    { "type": "tool_use", "id": "a_1-2b2c40a6", "name": "read_file", "input": { "path": "a.txt" } },
                    { "type": "tool_use", "id": "b", "name": "list_dir", "input": { "invalid_arguments": "{path" } },
                ]},
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "a_1-2b2c40a6", "content": "content", "is_error": false },
                    { "type": "tool_result", "tool_use_id": "b", "content": "not JSON", "is_error": true },
                    { "type": "text", "text": "and hurry", "cache_control": point },
                ]},
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "list_dir", "input": {} }] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c", "content": "a.txt", "is_error": false, "cache_control": point },
                ]},
            ],
        })
    );
}

#[test]
fn what_a_model_thought_goes_back_to_its_own_provider_only_and_unchanged() {
    let service = Model::start([Says::stream(MESSAGES), Says::stream(MESSAGES), Says::stream(MESSAGES)]);
    let own = provider(Wire::Messages, &service);
    let reply = ask(&own).ok();
    let messages = [
        Message::user("hello"),
        model(reply.blocks.clone()),
        user(vec![result("toolu_1", "x", false), result("toolu_2", "y", false)]),
    ];
    ask_with(&own, Bounds::default(), &messages, &tools()).ok();
    let other = ProviderConfig { name: "elsewhere".to_owned(), ..own };
    ask_with(&other, Bounds::default(), &messages, &tools()).ok();
    let [_, same, foreign] = &service.asked()[..] else { panic!("three requests") };
    assert_eq!(
        same.body["messages"][1]["content"][0],
        json!({ "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" })
    );
    assert!(!foreign.body.to_string().contains("c2ln"));
    assert_eq!(foreign.body["messages"][1]["content"][0]["type"], "text");
}

#[test]
fn a_closing_request_without_tools_still_names_those_of_the_past_on_messages() {
    let service = Model::start([Says::stream(MESSAGES)]);
    ask_with(&provider(Wire::Messages, &service), Bounds::default(), &conversation(), &[]).ok();
    let body = &service.asked()[0].body;
    assert_eq!(body["tool_choice"], json!({ "type": "none" }));
    let names: Vec<&Value> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_dir", "read_file"]);
}

#[test]
fn replies_that_do_not_stream_are_asked_for_and_read() {
    let body = r#"{"id":"c-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"x","type":"function","function":{"name":"list_dir","arguments":{"path":"."}}}]}}],
        "usage":{"prompt_tokens":5,"completion_tokens":2}}"#;
    let service = Model::start([Says::json(200, body)]);
    let url = service.url();
    let config = configured(&format!(
        "[providers.test]\nwire = \"chat\"\nmodel = \"m\"\nstream = false\nbase_url = \"{url}/v1/\"\n\
         [providers.test.headers]\nx-team = \"seven\"\n[providers.test.body]\ntemperature = 0.5\n"
    ));
    let reply = ask(&config).ok();
    assert_eq!(reply.blocks, [call("x", "list_dir", r#"{"path":"."}"#)]);
    assert_eq!(reply.stop, Stop::ToolCalls);
    assert_eq!(reply.usage, Some(Usage { input: 5, cached: 0, output: 2 }));
    let asked = &service.asked()[0];
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert_eq!(asked.header("x-team"), Some("seven"));
    assert_eq!(asked.body["stream"], json!(false));
    assert_eq!(asked.body["temperature"], json!(0.5));
    assert_eq!(asked.body.get("stream_options"), None);
}

#[test]
fn json_instead_of_a_stream_is_a_reply_all_the_same() {
    let chat = r#" {"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}"#;
    let service = Model::start([Says::stream(chat), Says::json(200, chat).byte_by_byte()]);
    for _ in 0..2 {
        let asking = ask(&provider(Wire::Chat, &service));
        assert_eq!(asking.heard(), "whole");
        assert_eq!(asking.ok().blocks, [text("whole")]);
    }
    let messages = r#"{"id":"msg_1","type":"message","content":[{"type":"text","text":"whole"}],
        "stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let service = Model::start([Says::json(200, messages)]);
    let asking = ask(&provider(Wire::Messages, &service));
    assert_eq!(asking.heard(), "whole");
    assert_eq!(asking.ok().blocks, [text("whole")]);
}

#[test]
fn tokens_cost_what_the_configuration_says() {
    let config = configured(
        "[providers.test]\nwire = \"chat\"\nmodel = \"m\"\nprices = { input = 2.0, cached = 0.5, output = 10 }\n",
    );
    let prices = config.prices.unwrap();
    assert_eq!(prices.cost(1_000_000, 400_000, 100_000), 2_400_000);
    assert_eq!(prices.cost(1, 0, 0), 2);
    let provider = ringfence::provider::build(&config, &ringfence::egress::Client::new()).unwrap();
    assert_eq!(provider.cost(Usage { input: 10, cached: 10, output: 1 }), Some(15));
    let free = ProviderConfig { prices: None, ..config };
    let provider = ringfence::provider::build(&free, &ringfence::egress::Client::new()).unwrap();
    assert_eq!(provider.cost(Usage { input: 10, cached: 10, output: 1 }), None);
}
