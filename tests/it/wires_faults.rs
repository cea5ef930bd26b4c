//! Services that fail: each fault has its stated outcome, on both wires, and nothing hangs.

use crate::support::asking::{ask, ask_with, provider, with_key};
use crate::support::model::nobody;
use crate::support::{Model, Says};
use ringfence::config::{KeySource, ProviderConfig, Wire};
use ringfence::provider::{Block, Bounds, Delta, Message, ProviderErrorKind as Kind, Stop};
use std::time::Duration;

const BOTH: [Wire; 2] = [Wire::Chat, Wire::Messages];

/// A reply that says "fine".
fn fine(wire: Wire) -> Says {
    match wire {
        Wire::Chat => {
            Says::events(&[r#"{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}"#, "[DONE]"])
        }
        _ => Says::events(&[
            r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"fine"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_stop"}"#,
        ]),
    }
}

/// The beginning of a reply, up to the middle of a call.
fn begun(wire: Wire) -> Says {
    match wire {
        Wire::Chat => Says::events(&[
            r#"{"choices":[{"delta":{"content":"I lo"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"pa"}}]}}]}"#,
        ]),
        _ => Says::events(&[
            r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"I lo"}}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"x","input":{}}}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}"#,
        ]),
    }
}

fn short() -> Bounds {
    let short = Duration::from_millis(150);
    Bounds { first: short, idle: short, line: 64 << 10, reply: 1 << 20, ..Bounds::default() }
}

fn error_body(kind: &str, message: &str) -> String {
    serde_json::json!({ "type": "error", "error": { "type": kind, "code": kind, "message": message } })
        .to_string()
}

#[test]
fn a_key_that_is_not_taken_is_told_with_its_source_and_never_shown() {
    let dir = tempfile::tempdir().unwrap();
    for (wire, status) in [(Wire::Chat, 401), (Wire::Messages, 401), (Wire::Chat, 403)] {
        let body = error_body("authentication_error", "key sk-very-secret is\n\u{1b}[31mwrong");
        let service = Model::start([Says::json(status, &body)]);
        let config = with_key(provider(wire, &service), dir.path(), "sk-very-secret");
        let asking = ask(&config);
        assert_eq!(asking.waits, [0; 0]);
        assert_eq!(asking.deltas, []);
        let error = asking.error();
        assert_eq!(error.kind, Kind::Credentials);
        assert_eq!(error.status, Some(status));
        assert_eq!(error.request_id.as_deref(), Some("req-1"));
        assert!(!error.retryable);
        let path = dir.path().join("key").display().to_string();
        assert_eq!(
            error.message,
            format!(
                "test: it does not take the key from the file {path} ({status}): key [key] is \\u{{1b}}[31mwrong"
            )
        );
        assert_eq!(service.asked().len(), 1);
    }
}

#[test]
fn a_missing_key_is_told_before_anything_is_sent() {
    let service = Model::start([]);
    let key = Some(KeySource::Env("RINGFENCE_TEST_NO_SUCH_KEY".to_owned()));
    let config = ProviderConfig { key, ..provider(Wire::Chat, &service) };
    let built = ringfence::provider::build(&config, &ringfence::egress::Client::new());
    let error = built.map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::Credentials);
    assert!(error.message.contains("RINGFENCE_TEST_NO_SUCH_KEY"), "{error}");
    assert!(service.asked().is_empty());
}

#[test]
fn a_key_is_nowhere_in_what_is_printed_for_debugging() {
    let dir = tempfile::tempdir().unwrap();
    let service = Model::start([]);
    let config = with_key(provider(Wire::Chat, &service), dir.path(), "sk-very-secret");
    let key = config.key.clone().unwrap().resolve().unwrap();
    let header = ringfence::egress::Header::Secret("authorization", "Bearer ", key.clone());
    for shown in [format!("{config:?}"), format!("{key:?}"), format!("{header:?}")] {
        assert!(!shown.contains("very-secret"), "{shown}");
    }
}

#[test]
fn a_burst_is_waited_out_as_long_as_the_service_says() {
    for wire in BOTH {
        let busy = Says::json(429, &error_body("rate_limit_error", "slow down"));
        let service = Model::start([
            busy.clone().header("retry-after", "1"),
            busy.header("retry-after", "7"),
            fine(wire),
        ]);
        let asking = ask(&provider(wire, &service));
        assert_eq!(asking.waits, [1000, 7000]);
        assert!(matches!(&asking.deltas[0], Delta::Waiting(1000, why) if why.contains("slow down")));
        assert_eq!(asking.restarts(), 0);
        assert_eq!(asking.heard(), "fine");
        assert_eq!(service.asked().len(), 3);
    }
}

#[test]
fn a_burst_without_a_time_is_waited_out_longer_each_time_and_not_for_ever() {
    let busy = Says::json(429, &error_body("rate_limit_error", "slow down"));
    let service = Model::start(vec![busy; 6]);
    let asking = ask(&provider(Wire::Chat, &service));
    assert_eq!(asking.waits, [1000, 2000, 4000, 8000]);
    let error = asking.error();
    assert_eq!((error.kind, error.status, error.retryable), (Kind::RateLimited, Some(429), true));
    assert_eq!(service.asked().len(), 5);
}

#[test]
fn a_wait_of_hours_is_told_and_not_waited() {
    let busy = Says::json(429, &error_body("rate_limit_error", "come back later"));
    let cases = [
        ("retry-after", "7200", 7200, "2 h (at 2026-03-01 14:00 UTC)"),
        ("retry-after", "Sun, 01 Mar 2026 12:10:00 GMT", 600, "10 min (at 2026-03-01 12:10 UTC)"),
    ];
    for wire in BOTH {
        for (name, value, seconds, told) in cases {
            let service = Model::start([busy.clone().header(name, value)]);
            let asking = ask(&provider(wire, &service));
            assert_eq!(asking.waits, [0; 0]);
            let error = asking.error();
            assert_eq!(error.kind, Kind::Quota);
            assert_eq!(error.retry_after, Some(Duration::from_secs(seconds)));
            assert!(error.retryable);
            assert!(error.message.ends_with(told), "{error}");
            assert_eq!(service.asked().len(), 1);
        }
    }
}

#[test]
fn limits_in_other_headers_are_understood() {
    let busy = Says::json(429, &error_body("rate_limit_error", "slow down"));
    let waited = [
        vec![("retry-after", "Sun, 01 Mar 2026 12:00:20 GMT")],
        vec![("retry-after-ms", "20000"), ("retry-after", "50")],
        vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "20s")],
        vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "0m20s")],
        vec![
            ("x-ratelimit-remaining-requests", "9"),
            ("x-ratelimit-reset-requests", "6h0m0s"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "20000ms"),
        ],
        vec![
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-03-01T12:00:20Z"),
        ],
        vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1772366420000")],
    ];
    for headers in waited {
        let says = headers.iter().fold(busy.clone(), |says, (name, value)| says.header(name, value));
        let service = Model::start([says, fine(Wire::Chat)]);
        let asking = ask(&provider(Wire::Chat, &service));
        assert_eq!(asking.waits, [20_000], "{headers:?}");
        assert_eq!(asking.heard(), "fine");
    }
    let day = busy
        .header("anthropic-ratelimit-tokens-remaining", "0")
        .header("anthropic-ratelimit-tokens-reset", "2026-03-02T12:00:00Z");
    let error = ask(&provider(Wire::Messages, &Model::start([day]))).error();
    assert_eq!((error.kind, error.retry_after), (Kind::Quota, Some(Duration::from_secs(86_400))));
}

#[test]
fn an_empty_account_is_a_quota_and_not_asked_again() {
    for (status, kind, words) in [
        (402, "payment_required", "pay"),
        (429, "insufficient_quota", "You exceeded your current quota"),
        (400, "invalid_request_error", "Your credit balance is too low to access the API"),
    ] {
        let service = Model::start([Says::json(status, &error_body(kind, words))]);
        let error = ask(&provider(Wire::Chat, &service)).error();
        assert_eq!((error.kind, error.retryable), (Kind::Quota, false), "{status}");
        assert!(error.message.contains(words));
        assert_eq!(service.asked().len(), 1);
    }
}

#[test]
fn a_broken_or_busy_service_is_asked_again_and_not_for_ever() {
    for wire in BOTH {
        for status in [500, 502, 503, 529] {
            let broken = Says::json(status, &error_body("overloaded_error", "Overloaded"));
            let service = Model::start([broken.clone(), broken.clone(), fine(wire)]);
            let asking = ask(&provider(wire, &service));
            assert_eq!(asking.waits, [1000, 2000]);
            assert_eq!(asking.heard(), "fine");

            let service = Model::start(vec![broken; 6]);
            let error = ask(&provider(wire, &service)).error();
            assert_eq!((error.kind, error.status, error.retryable), (Kind::Overloaded, Some(status), true));
            assert_eq!(service.asked().len(), 5);
        }
    }
}

#[test]
fn a_service_that_says_no_use_is_not_asked_again() {
    let broken = Says::json(500, "<html>oops</html>").header("x-should-retry", "false");
    let service = Model::start([broken]);
    let error = ask(&provider(Wire::Messages, &service)).error();
    assert_eq!(error.kind, Kind::Overloaded);
    assert!(error.message.ends_with("(500): <html>oops</html>"), "{error}");
    assert_eq!(service.asked().len(), 1);
}

#[test]
fn a_conversation_that_does_not_fit_is_told_as_that() {
    for (status, kind, words) in [
        (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (400, "exceed_context_size_error", "the request exceeds the available context size"),
        (500, "server_error", "the request exceeds the available context size, try increasing it"),
        (429, "tokens", "Request too large for m-1 on tokens per min (TPM): Limit 30000, Requested 50000."),
    ] {
        let service = Model::start([Says::json(status, &error_body(kind, words))]);
        let error = ask(&provider(Wire::Chat, &service)).error();
        assert_eq!((error.kind, error.retryable), (Kind::ContextFull, false), "{words}");
        assert_eq!(service.asked().len(), 1);
    }
}

#[test]
fn what_the_service_does_not_take_is_told_in_its_words_bounded() {
    let service = Model::start([
        Says::json(400, &error_body("invalid_request_error", &"x".repeat(5000))),
        Says::json(404, &error_body("not_found_error", "model: m-1")),
        Says::json(418, r#"{"detail":[{"msg":"odd"}]}"#),
        Says::json(404, r#"[{"error":{"message":"in a list"}}]"#),
        Says::json(404, r#"{"error":"just text"}"#),
        Says::json(302, "").header("location", "https://elsewhere.example/"),
    ]);
    let config = provider(Wire::Chat, &service);
    let told: Vec<String> = (0..6)
        .map(|_| {
            let error = ask(&config).error();
            assert_eq!((error.kind, error.retryable), (Kind::Rejected, false));
            error.message
        })
        .collect();
    assert_eq!(told[0].chars().filter(|c| *c == 'x').count(), 300);
    assert_eq!(
        told[1],
        "test: it knows no such address or model (404): model: m-1; check `base_url` and `model`"
    );
    assert!(told[2].contains("odd"));
    assert!(told[3].contains("in a list"));
    assert!(told[4].contains("just text"));
    assert!(told[5].contains("redirect"));
    assert_eq!(service.asked().len(), 6);
}

#[test]
fn a_stream_that_is_cut_begins_anew_and_not_for_ever() {
    for wire in BOTH {
        for cut in [
            begun(wire),
            begun(wire).then_cut(),
            begun(wire).until_close(),
            begun(wire).until_close().then_cut(),
        ] {
            let service = Model::start([cut.clone(), fine(wire)]);
            let asking = ask(&provider(wire, &service));
            assert_eq!(asking.restarts(), 1);
            assert_eq!(asking.heard(), "fine");
            assert_eq!(asking.waits, [500]);
            assert_eq!(asking.ok().blocks, [Block::Text { text: "fine".to_owned() }]);

            let service = Model::start(vec![cut; 4]);
            let asking = ask(&provider(wire, &service));
            assert_eq!((asking.restarts(), asking.waits.len()), (2, 2));
            let error = asking.error();
            assert_eq!((error.kind, error.retryable), (Kind::Network, true));
            assert_eq!(service.asked().len(), 3);
        }
    }
}

#[test]
fn an_error_within_a_stream_is_told_or_tried_again_by_what_it_is() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let context =
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}"#;
    let limited = r#"{"error":{"code":429,"message":"slow down"}}"#;
    for wire in BOTH {
        let service = Model::start([Says::events(&[overloaded]), Says::events(&[overloaded]), fine(wire)]);
        assert_eq!(ask(&provider(wire, &service)).heard(), "fine");
        let service = Model::start([Says::events(&[context])]);
        assert_eq!(ask(&provider(wire, &service)).error().kind, Kind::ContextFull);
    }
    let service = Model::start([Says::events(&[limited]), fine(Wire::Chat)]);
    assert_eq!(ask(&provider(Wire::Chat, &service)).heard(), "fine");
    let service = Model::start([Says::json(200, &error_body("insufficient_quota", "none left"))]);
    assert_eq!(ask(&provider(Wire::Chat, &service)).error().kind, Kind::Quota);
}

#[test]
fn an_endless_reply_ends_with_an_error() {
    let endless = [
        (Wire::Chat, "data: {\"choices\":[{\"delta\":{\"content\":\"and so on \"}}]}\n\n"),
        (Wire::Chat, ": still here\n\n"),
        (Wire::Chat, "data: {\"choices\":[{\"delta\":{\"content\":\""),
        (Wire::Chat, "{\"choices\":["),
        (Wire::Messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n"),
    ];
    for (wire, bytes) in endless {
        let service = Model::start([Says::stream("").then_endless(bytes)]);
        let asking = ask_with(&provider(wire, &service), short(), &[Message::user("hello")], &[]);
        let error = asking.error();
        assert_eq!((error.kind, error.retryable), (Kind::Garbled, false), "{bytes}");
        assert!(error.message.contains("more than"), "{error}");
        assert_eq!(service.asked().len(), 1);
    }
}

#[test]
fn a_request_is_bounded_as_a_whole() {
    let bounds = Bounds { total: Duration::from_millis(200), ..Bounds::default() };
    let service = Model::start([begun(Wire::Chat).then_silence()]);
    let error = ask_with(&provider(Wire::Chat, &service), bounds, &[Message::user("hello")], &[]).error();
    assert_eq!(error.kind, Kind::Silent);
    assert!(error.message.contains("no whole reply within 0.2 s"), "{error}");
}

#[test]
fn silence_ends_an_attempt_and_then_the_request() {
    for wire in BOTH {
        let service = Model::start([begun(wire).then_silence(), fine(wire)]);
        let asking = ask_with(&provider(wire, &service), short(), &[Message::user("hello")], &[]);
        assert_eq!((asking.restarts(), asking.heard().as_str()), (1, "fine"));

        let service = Model::start(vec![Says::stream("").then_silence(); 4]);
        let error = ask_with(&provider(wire, &service), short(), &[Message::user("hello")], &[]).error();
        assert_eq!((error.kind, error.retryable), (Kind::Silent, true));
        assert_eq!(service.asked().len(), 3);
    }
}

#[test]
fn a_reply_that_is_whole_needs_no_end() {
    let whole = r#"{"choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}"#;
    let service = Model::start([
        Says::events(&[whole]).then_silence(),
        Says::events(&[whole]).then_cut(),
        Says::events(&[whole]),
    ]);
    for _ in 0..3 {
        let asking = ask_with(&provider(Wire::Chat, &service), short(), &[Message::user("hello")], &[]);
        assert_eq!((asking.restarts(), asking.heard().as_str()), (0, "fine"));
        asking.ok();
    }
}

#[test]
fn an_empty_reply_is_asked_for_once_more_and_then_told() {
    let thought = r#"{"choices":[{"delta":{"reasoning_content":"hm"},"finish_reason":"stop"}]}"#;
    for empty in [
        Says::events(&["[DONE]"]),
        Says::events(&[r#"{"choices":[]}"#, "[DONE]"]),
        Says::events(&[r#"{"choices":[{"delta":{"content":" \n"},"finish_reason":"stop"}]}"#, "[DONE]"]),
        Says::events(&[thought, "[DONE]"]),
        Says::json(200, r#"{"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]}"#),
    ] {
        let service = Model::start([empty.clone(), fine(Wire::Chat)]);
        let asking = ask(&provider(Wire::Chat, &service));
        assert_eq!(asking.waits, [0; 0]);
        assert_eq!(asking.heard(), "fine");

        let service = Model::start(vec![empty; 3]);
        let error = ask(&provider(Wire::Chat, &service)).error();
        assert_eq!(error.kind, Kind::Garbled);
        assert!(error.message.contains("empty reply"));
        assert_eq!(service.asked().len(), 2);
    }
}

#[test]
fn what_is_no_model_service_is_told_as_that() {
    let service =
        Model::start([Says::json(200, r#"{"hello":"world"}"#), Says::json(200, r#"{"hello":"world"}"#)]);
    for wire in BOTH {
        let error = ask(&provider(wire, &service)).error();
        assert_eq!(error.kind, Kind::Garbled);
        assert!(error.message.contains("`base_url`"), "{error}");
    }
    let service = Model::start(vec![Says::stream("data: <html>\n\n"); 4]);
    let error = ask(&provider(Wire::Chat, &service)).error();
    assert_eq!(error.kind, Kind::Garbled);
    assert_eq!(service.asked().len(), 3);
}

#[test]
fn nobody_there_is_told_at_once_on_this_machine() {
    let config = ProviderConfig { base_url: Some(nobody()), ..ProviderConfig::new("test", Wire::Chat, "m") };
    let asking = ask(&config);
    assert_eq!(asking.waits, [0; 0]);
    let error = asking.error();
    assert_eq!(error.kind, Kind::Network);
    assert!(error.message.contains("start the model server"), "{error}");
}

#[test]
fn stop_reasons_of_messages_are_understood() {
    let reply = |stop: &str| {
        let body = serde_json::json!({ "content": [{ "type": "text", "text": "so" }], "stop_reason": stop });
        let service = Model::start([Says::json(200, &body.to_string())]);
        ask(&provider(Wire::Messages, &service)).reply
    };
    for (stop, means) in [
        ("end_turn", Stop::End),
        ("stop_sequence", Stop::End),
        ("something_new", Stop::End),
        ("tool_use", Stop::End),
        ("max_tokens", Stop::Length),
        ("pause_turn", Stop::Length),
        ("refusal", Stop::Refusal),
    ] {
        assert_eq!(reply(stop).unwrap().stop, means, "{stop}");
    }
    assert_eq!(reply("model_context_window_exceeded").unwrap_err().kind, Kind::ContextFull);
}

#[test]
fn dropping_a_request_drops_its_connection() {
    let service = Model::start([begun(Wire::Chat).then_silence(), fine(Wire::Chat)]);
    let config = provider(Wire::Chat, &service);
    let bounds = Bounds { total: Duration::from_millis(100), ..Bounds::default() };
    ask_with(&config, bounds, &[Message::user("hello")], &[]).error();
    service.wait_until_left();
    // The provider is as good as before.
    assert_eq!(ask(&config).heard(), "fine");
}

#[test]
fn a_key_in_a_long_complaint_is_not_cut_off_at_its_limit_and_so_missed() {
    let dir = tempfile::tempdir().unwrap();
    let key = "sk-very-secret-and-long";
    for at in 280..300 {
        let body = error_body("invalid_request_error", &format!("{}{key} more", "x".repeat(at)));
        let service = Model::start([Says::json(400, &body), Says::events(&[&body])]);
        let config = with_key(provider(Wire::Chat, &service), dir.path(), key);
        for _ in 0..2 {
            let error = ask(&config).error();
            assert!(!error.message.contains("sk-"), "{error}");
        }
    }
}

#[test]
fn a_service_that_does_not_speak_tls_is_no_connection() {
    let service = Model::start([]);
    let url = service.url().replace("http://", "https://");
    let config = ProviderConfig { base_url: Some(url), ..provider(Wire::Chat, &service) };
    let asking = ask(&config);
    assert_eq!(asking.waits, [500, 1000, 2000, 4000]);
    let error = asking.error();
    assert_eq!((error.kind, error.retryable), (Kind::Network, true), "{error}");
    assert!(service.asked().iter().all(|asked| !asked.line.contains("POST")));
}
