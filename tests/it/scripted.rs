//! The scripted provider, as its documentation says.

use ringfence::agent::TurnOutcome;
use ringfence::authority::{Profile, Role};
use ringfence::provider::scripted::{Script, Scripted};
use ringfence::provider::{
    Delta, Message, ModelReply, ModelRequest, Provider, ProviderError, ProviderErrorKind, Stop, Usage,
};
use std::sync::Mutex;

use crate::support::{Stage, World};

fn ask(model: &Scripted, messages: &[Message]) -> Result<ModelReply, ProviderError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let request = ModelRequest { system: "", messages, tools: &[], max_tokens: 100, temperature: None };
    runtime.block_on(model.ask(request, &|_| {}))
}

fn scripted(text: &str) -> Scripted {
    Scripted::new(Script::parse(text).unwrap())
}

#[test]
fn replies_come_in_order_and_conditions_choose_among_them() {
    let model = scripted(
        "[[reply]]\nturn = 2\ntext = \"second\"\n[[reply]]\nuser = \"hello\"\ntext = \"hi\"\n[[reply]]\ntext = \"else\"\nrepeat = 2",
    );
    let said = |text: &str| ask(&model, &[Message::user(text)]).unwrap();
    let text = |reply: ModelReply| {
        Message { speaker: ringfence::provider::Speaker::Assistant, blocks: reply.blocks }.text()
    };
    assert_eq!(text(said("what")), "else");
    assert_eq!(text(said("oh, hello")), "hi");
    assert_eq!(text(said("hello")), "else", "each is given once");
    assert_eq!(model.unused(), [1]);
    let conversation = [Message::user("a"), Message::assistant("b"), Message::user("c")];
    assert_eq!(text(ask(&model, &conversation).unwrap()), "second");
    model.finish().unwrap();
}

#[test]
fn missing_and_unused_replies_are_clear_errors() {
    let model = scripted("[[reply]]\nuser = \"never\"\ntext = \"x\"");
    let error = ask(&model, &[Message::user("a")]).unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::ScriptEnded);
    assert!(error.message.contains("request 1") && error.message.contains("conditions"), "{}", error.message);
    let error = model.finish().unwrap_err();
    assert_eq!(error.kind, ProviderErrorKind::ScriptEnded);
    assert!(error.message.contains("never asked for: 1"), "{}", error.message);
    let error = ask(&scripted(""), &[Message::user("a")]).unwrap_err();
    assert!(error.message.contains("no replies left"), "{}", error.message);
}

#[test]
fn a_reply_has_everything_that_the_script_says() {
    let model = scripted(
        r#"
        model = "m"
        context_window = 1000
        prices = { input = 2.0, cached = 1.0, output = 10.0 }
        [[reply]]
        thinking = "let me see"
        text = "one two"
        calls = [{ name = "a", arguments = { n = 1 } }, { name = "b", arguments = "{broken", id = "own" }]
        usage = { input = 10, cached = 4, output = 3 }
        "#,
    );
    assert_eq!((model.model(), model.name(), model.context_window()), ("m", "scripted", 1000));
    let deltas = Mutex::new(Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let request = ModelRequest {
        system: "",
        messages: &[Message::user("x")],
        tools: &[],
        max_tokens: 100,
        temperature: None,
    };
    let reply = runtime.block_on(model.ask(request, &|delta| deltas.lock().unwrap().push(delta))).unwrap();
    let deltas = deltas.into_inner().unwrap();
    assert_eq!(deltas[3..], [Delta::Text("one ".into()), Delta::Text("two".into())]);
    assert_eq!(reply.stop, Stop::ToolCalls);
    let message = Message { speaker: ringfence::provider::Speaker::Assistant, blocks: reply.blocks };
    let calls: Vec<_> =
        message.calls().map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str())).collect();
    assert_eq!(calls, [("call_1", "a", "{\"n\":1}"), ("own", "b", "{broken")]);
    assert_eq!(model.cost(Usage { input: 10, cached: 4, output: 3 }), Some(12 + 4 + 30));
    assert_eq!(scripted("").cost(Usage::default()), None);
}

#[test]
fn what_makes_no_sense_is_refused_when_it_is_read() {
    for (text, wanted) in [
        ("[[reply]]\ntxt = \"a\"", "txt"),
        ("[[reply]]\nfault = { kind = \"odd\" }", "rate-limited"),
        ("[[reply]]\ntext = \"a\"\nfault = { kind = \"network\" }", "instead of"),
        ("[[reply]]\ntext = \"a\"\nrepeat = 0", "repeat = 0"),
        ("[[reply]]\ncalls = [{ name = \"a\", arguments = 3 }]", "neither a table nor a text"),
        ("reply = 3", "reply"),
    ] {
        let error = Script::parse(text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn every_kind_of_fault_can_be_played() {
    for kind in [
        "credentials",
        "quota",
        "rate-limited",
        "overloaded",
        "context-full",
        "rejected",
        "network",
        "silent",
        "garbled",
        "script-ended",
    ] {
        let model = scripted(&format!("[[reply]]\nfault = {{ kind = \"{kind}\", retry_after_ms = 1500 }}"));
        let error = ask(&model, &[Message::user("a")]).unwrap_err();
        assert_eq!(error.kind.name(), kind);
        assert_eq!(error.retry_after, Some(std::time::Duration::from_millis(1500)));
    }
}

/// The script of `ringfence demo` on its own scratch files: every reply is played, and the file is changed.
#[test]
fn the_demonstration_plays_to_its_end() {
    let w = World::new();
    w.file("README.md", "# Lighthouse\n");
    w.file("src/banner.txt", "*** Lighthouse ***\nshining since 1926\n");
    let mut stage = Stage::new(include_str!("../../assets/demo.toml"));
    let end = stage.play(&w, &w.agent(Profile::plain(Role::Main)), "correct the banner");
    assert_eq!(end.outcome, TurnOutcome::Completed, "{:?}", stage.outcomes());
    stage.finish();
    assert_eq!(w.read("src/banner.txt"), "*** Lighthouse ***\nshining since 2026\n");
    assert_eq!(w.ports().messages(), ["The banner says 2026 now."]);
    assert!(stage.results().iter().all(|(_, is_error)| !is_error), "{:?}", stage.results());
    let denied = w.call_as(Role::Subagent, "message", serde_json::json!({ "content": "no" }));
    assert_eq!(denied.denial().kind, ringfence::authority::DenialKind::NotForRole);
    assert_eq!(w.ports().messages().len(), 1);
}
