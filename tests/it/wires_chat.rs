//! What services do to chat completions, and what is made of it all the same.

use crate::support::asking::{Asking, ask, ask_with, provider};
use crate::support::{Model, Says};
use ringfence::config::Wire;
use ringfence::provider::{
    Block, Bounds, Message, ModelReply, ProviderErrorKind as Kind, Speaker, Stop, ToolCall, ToolResult,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn says(deltas: &[Value], finish: &str) -> Says {
    let mut events: Vec<String> = deltas
        .iter()
        .map(|delta| json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string())
        .collect();
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }).to_string());
    events.push("[DONE]".to_owned());
    Says::events(&events.iter().map(String::as_str).collect::<Vec<_>>())
}

fn asking(deltas: &[Value], finish: &str) -> Asking {
    ask(&provider(Wire::Chat, &Model::start([says(deltas, finish)])))
}

fn reply(deltas: &[Value], finish: &str) -> ModelReply {
    asking(deltas, finish).ok()
}

fn piece(piece: Value) -> Value {
    json!({ "tool_calls": [piece] })
}

/// Name and arguments of each call; the ids are checked to be there and to differ.
fn calls(reply: &ModelReply) -> Vec<(String, String)> {
    let calls: Vec<&ToolCall> = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    let ids: BTreeSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), calls.len(), "{calls:?}");
    assert!(!ids.contains(""));
    calls.iter().map(|call| (call.name.clone(), call.arguments.clone())).collect()
}

fn two() -> Vec<(String, String)> {
    vec![("a".to_owned(), r#"{"x":1}"#.to_owned()), ("b".to_owned(), r#"{"y":2}"#.to_owned())]
}

#[test]
fn calls_are_put_together_whatever_their_pieces_lack() {
    let cases: Vec<(&str, Vec<Value>)> = vec![
        (
            "as it should be",
            vec![
                piece(json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": "" } })),
                piece(json!({ "index": 0, "function": { "arguments": "{\"x\"" } })),
                piece(json!({ "index": 0, "function": { "arguments": ":1}" } })),
                piece(json!({ "index": 1, "id": "j", "function": { "name": "b", "arguments": "" } })),
                piece(json!({ "index": 1, "function": { "arguments": "{\"y\":2}" } })),
            ],
        ),
        (
            "pieces of two calls mixed",
            vec![
                piece(json!({ "index": 0, "id": "i", "function": { "name": "a" } })),
                piece(json!({ "index": 1, "id": "j", "function": { "name": "b" } })),
                piece(json!({ "index": 1, "function": { "arguments": "{\"y\"" } })),
                piece(json!({ "index": 0, "function": { "arguments": "{\"x\"" } })),
                piece(json!({ "index": 1, "function": { "arguments": ":2}" } })),
                piece(json!({ "index": 0, "function": { "arguments": ":1}" } })),
            ],
        ),
        (
            "no index",
            vec![
                piece(json!({ "id": "i", "function": { "name": "a", "arguments": "{\"x\"" } })),
                piece(json!({ "function": { "arguments": ":1}" } })),
                piece(json!({ "id": "j", "function": { "name": "b", "arguments": "{\"y\":2}" } })),
            ],
        ),
        (
            "index 0 for all",
            vec![
                piece(
                    json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": "{\"x\":1}" } }),
                ),
                piece(json!({ "index": 0, "id": "j", "function": { "name": "b", "arguments": "{\"y\"" } })),
                piece(json!({ "index": 0, "function": { "arguments": ":2}" } })),
            ],
        ),
        (
            "neither index nor id",
            vec![
                piece(json!({ "function": { "name": "a", "arguments": "{\"x\":1}" } })),
                piece(json!({ "function": { "name": "b", "arguments": "{\"y\":2}" } })),
            ],
        ),
        (
            "index 0 for all and no id",
            vec![
                piece(json!({ "index": 0, "function": { "name": "a", "arguments": "{\"x\":1}" } })),
                piece(json!({ "index": 0, "function": { "name": "b", "arguments": "{\"y\":2}" } })),
            ],
        ),
        (
            "both in one piece, ids null and empty",
            vec![json!({ "tool_calls": [
                { "index": 0, "id": null, "function": { "name": "a", "arguments": "{\"x\":1}" } },
                { "index": 1, "id": "", "function": { "name": "b", "arguments": "{\"y\":2}" } },
            ]})],
        ),
        (
            "the same id for both",
            vec![
                piece(
                    json!({ "index": 0, "id": "call", "function": { "name": "a", "arguments": "{\"x\":1}" } }),
                ),
                piece(
                    json!({ "index": 1, "id": "call", "function": { "name": "b", "arguments": { "y": 2 } } }),
                ),
            ],
        ),
        (
            "id and name in every piece",
            vec![
                piece(json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": "{\"x\"" } })),
                piece(json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": ":1}" } })),
                piece(
                    json!({ "index": 1, "id": "j", "function": { "name": "b", "arguments": "{\"y\":2}" } }),
                ),
            ],
        ),
        (
            "an id of its own for each piece",
            vec![
                piece(json!({ "index": 0, "id": "i1", "function": { "name": "a", "arguments": "{\"x\"" } })),
                piece(json!({ "index": 0, "id": "i2", "function": { "name": null, "arguments": ":1}" } })),
                piece(
                    json!({ "index": 1, "id": "j1", "function": { "name": "b", "arguments": "{\"y\":2}" } }),
                ),
            ],
        ),
        (
            "the name in every piece and no id",
            vec![
                piece(json!({ "index": 0, "function": { "name": "a", "arguments": "{\"x\"" } })),
                piece(json!({ "index": 0, "function": { "name": "a", "arguments": ":1}" } })),
                piece(json!({ "index": 1, "function": { "name": "b", "arguments": "{\"y\":2}" } })),
            ],
        ),
        (
            "arguments as objects",
            vec![
                piece(json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": { "x": 1 } } })),
                piece(json!({ "index": 1, "id": "j", "function": { "name": "b", "arguments": { "y": 2 } } })),
            ],
        ),
    ];
    for (what, deltas) in cases {
        for finish in ["tool_calls", "stop", "function_call"] {
            let reply = reply(&deltas, finish);
            assert_eq!(calls(&reply), two(), "{what}");
            assert_eq!(reply.stop, Stop::ToolCalls, "{what}");
        }
    }
}

#[test]
fn ids_that_two_calls_share_are_told_apart() {
    let body = json!({ "choices": [{ "finish_reason": "tool_calls", "message": { "tool_calls": [
        { "id": "", "function": { "name": "a", "arguments": "{\"x\":1}" } },
        { "id": "", "function": { "name": "b", "arguments": "{\"y\":2}" } },
    ]}}]});
    let service = Model::start([Says::json(200, &body.to_string())]);
    assert_eq!(calls(&ask(&provider(Wire::Chat, &service)).ok()), two());
}

#[test]
fn merged_calls_become_calls_again() {
    let merged = piece(
        json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": "{\"x\":1}{\"x\":2}" } }),
    );
    let expected: Vec<(String, String)> =
        [r#"{"x":1}"#, r#"{"x":2}"#].map(|arguments| ("a".to_owned(), arguments.to_owned())).into();
    assert_eq!(calls(&reply(&[merged], "tool_calls")), expected);
}

#[test]
fn arguments_and_names_are_passed_on_as_the_model_wrote_them() {
    for (wrote, passed) in [
        (json!(""), "{}"),
        (json!(null), "{}"),
        (json!("  "), "{}"),
        (json!("{\"x\": 1, }"), "{\"x\": 1, }"),
        (json!("{\"x\": \"unfinished"), "{\"x\": \"unfinished"),
        (json!("\"{\\\"x\\\":1}\""), "\"{\\\"x\\\":1}\""),
        (json!({}), "{}"),
    ] {
        let delta = piece(
            json!({ "index": 0, "id": "i", "function": { "name": "no_such_tool", "arguments": wrote } }),
        );
        let reply = reply(&[delta], "tool_calls");
        assert_eq!(calls(&reply), [("no_such_tool".to_owned(), passed.to_owned())]);
    }
}

#[test]
fn a_reply_cut_by_its_length_says_so_even_in_a_call() {
    let delta = piece(json!({ "index": 0, "id": "i", "function": { "name": "a", "arguments": "{\"x" } }));
    assert_eq!(reply(&[delta], "length").stop, Stop::Length);
    assert_eq!(reply(&[json!({ "content": "so" })], "length").stop, Stop::Length);
    assert_eq!(reply(&[], "length").stop, Stop::Length);
    assert_eq!(reply(&[], "content_filter").stop, Stop::Refusal);
    assert_eq!(reply(&[json!({ "refusal": "I will not." })], "stop").stop, Stop::Refusal);
}

#[test]
fn thinking_is_heard_under_any_of_its_names_and_kept() {
    for (field, deltas) in [
        (
            "reasoning_content",
            vec![json!({ "reasoning_content": "Let me " }), json!({ "reasoning_content": "see." })],
        ),
        ("reasoning", vec![json!({ "reasoning": "Let me " }), json!({ "reasoning": "see." })]),
        // Both at once are one.
        (
            "reasoning_content",
            vec![json!({ "reasoning": "Let me see.", "reasoning_content": "Let me see." })],
        ),
    ] {
        let deltas = [deltas, vec![json!({ "content": "Done.", "reasoning_content": null })]].concat();
        let asking = asking(&deltas, "stop");
        assert_eq!(asking.heard(), "Done.");
        let reply = asking.ok();
        let raw = json!({ field: "Let me see." });
        let thought = Block::Thinking { provider: "test".to_owned(), raw, text: "Let me see.".to_owned() };
        assert_eq!(reply.blocks, [thought, Block::Text { text: "Done.".to_owned() }]);
    }
    let parts = json!({ "content": [
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] },
        { "type": "text", "text": "Done." },
    ]});
    let reply = reply(&[parts], "stop");
    assert!(matches!(&reply.blocks[0], Block::Thinking { text, .. } if text == "Hm."));
    assert_eq!(reply.blocks[1], Block::Text { text: "Done.".to_owned() });
}

#[test]
fn details_of_thinking_are_put_together_and_go_back() {
    let detail = |value: Value| json!({ "reasoning_details": [value] });
    let deltas = [
        detail(json!({ "type": "reasoning.text", "index": 0, "text": "Let me " })),
        detail(json!({ "type": "reasoning.text", "index": 0, "text": "see.", "signature": null })),
        detail(json!({ "type": "reasoning.text", "index": 0, "signature": "c2ln" })),
        json!({ "tool_calls": [{ "index": 0, "id": "i", "function": { "name": "a", "arguments": "{}" } }] }),
    ];
    let service = Model::start([says(&deltas, "tool_calls"), says(&[json!({ "content": "ok" })], "stop")]);
    let config = provider(Wire::Chat, &service);
    let blocks = ask(&config).ok().blocks;
    ask_with(&config, Bounds::default(), &turn(blocks), &[]).ok();
    let sent = &service.asked()[1].body["messages"][2];
    let whole = json!([{ "type": "reasoning.text", "index": 0, "text": "Let me see.", "signature": "c2ln" }]);
    assert_eq!(sent["reasoning_details"], whole);
}

/// A turn in which these blocks were said, and their call `i` was answered.
fn turn(blocks: Vec<Block>) -> Vec<Message> {
    let result = ToolResult { id: "i".to_owned(), text: "done".to_owned(), is_error: false };
    vec![
        Message::user("hello"),
        Message { speaker: Speaker::Assistant, blocks },
        Message { speaker: Speaker::User, blocks: vec![Block::ToolResult(result)] },
    ]
}

fn thinking_call() -> Vec<Block> {
    vec![
        Block::Thinking {
            provider: "test".to_owned(),
            raw: json!({ "reasoning_content": "hm" }),
            text: "hm".to_owned(),
        },
        Block::ToolCall(ToolCall { id: "i".to_owned(), name: "a".to_owned(), arguments: "{}".to_owned() }),
    ]
}

#[test]
fn thinking_goes_back_within_its_turn_and_not_after() {
    let fine = says(&[json!({ "content": "ok" })], "stop");
    let service = Model::start([fine.clone(), fine]);
    let config = provider(Wire::Chat, &service);
    ask_with(&config, Bounds::default(), &turn(thinking_call()), &[]).ok();
    let mut later = turn(thinking_call());
    later.extend([Message::assistant("ok"), Message::user("and now?")]);
    ask_with(&config, Bounds::default(), &later, &[]).ok();
    let [within, after] = &service.asked()[..] else { panic!("two requests") };
    assert_eq!(within.body["messages"][2]["reasoning_content"], "hm");
    assert_eq!(after.body["messages"][2].get("reasoning_content"), None);
}

#[test]
fn what_a_service_does_not_take_is_left_out_for_good() {
    let complaint = |message: &str| Says::json(400, &json!({ "error": { "message": message } }).to_string());
    let fine = says(&[json!({ "content": "ok" })], "stop");
    let service = Model::start([
        complaint("unknown field stream_options"),
        complaint("property 'messages.2.reasoning_content' is unsupported"),
        complaint(
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        ),
        fine,
    ]);
    let asking = ask_with(&provider(Wire::Chat, &service), Bounds::default(), &turn(thinking_call()), &[]);
    assert_eq!(asking.waits, [0; 0]);
    assert_eq!(asking.heard(), "ok");
    let last = &service.asked()[3].body;
    assert_eq!(last.get("stream_options"), None);
    assert_eq!(last["messages"][2].get("reasoning_content"), None);
    assert_eq!((last.get("max_tokens"), &last["max_completion_tokens"]), (None, &json!(100)));

    // The same complaint twice is a fault of the request.
    let service = Model::start(vec![complaint("reasoning is not to be sent"); 3]);
    let error = ask(&provider(Wire::Chat, &service)).error();
    assert_eq!(error.kind, Kind::Rejected);
    assert_eq!(service.asked().len(), 2);
}

#[test]
fn figures_are_found_where_services_put_them_or_are_missing() {
    let usage = |chunk: Value| {
        let delta =
            json!({ "choices": [{ "delta": { "content": "ok" }, "finish_reason": "stop" }] }).to_string();
        let service = Model::start([Says::events(&[&delta, &chunk.to_string(), "[DONE]"])]);
        ask(&provider(Wire::Chat, &service)).ok().usage.map(|usage| (usage.input, usage.cached, usage.output))
    };
    assert_eq!(usage(json!({ "choices": [], "usage": null })), None);
    assert_eq!(usage(json!({ "usage": { "prompt_tokens": 5, "completion_tokens": 2 } })), Some((5, 0, 2)));
    assert_eq!(
        usage(
            json!({ "choices": null, "usage": { "prompt_tokens": 5.0, "completion_tokens": 2, "prompt_cache_hit_tokens": 4 } })
        ),
        Some((5, 4, 2))
    );
    assert_eq!(
        usage(json!({ "x_groq": { "usage": { "prompt_tokens": 7, "completion_tokens": 1 } } })),
        Some((7, 0, 1))
    );
}

#[test]
fn of_several_choices_the_first_is_the_reply() {
    let choice = |index: u64, text: &str| json!({ "index": index, "delta": { "content": text }, "finish_reason": "stop" });
    let event = json!({ "choices": [choice(1, "another"), choice(0, "the one")] }).to_string();
    let asking = ask(&provider(Wire::Chat, &Model::start([Says::events(&[&event, "[DONE]"])])));
    assert_eq!(asking.heard(), "the one");
}
