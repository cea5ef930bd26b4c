//! Parity M: messages to people, what they may carry and where they may go.

use super::support::clockwork::{Clockwork, MINUTE, every};
use super::support::{Program, World};
use ringfence::authority::Role;
use ringfence::bus::{Bus as _, Letterbox, Local, Post, Sender};
use ringfence::sandbox::ports::{Courier, ErrorKind, Outgoing};
use ringfence::session::SessionKey;
use ringfence::store::{LetterFilter, Store};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

fn message(content: &str) -> Outgoing {
    Outgoing { content: content.to_owned(), channel: None, chat: None, attachments: Vec::new() }
}

fn attached(files: &[&str]) -> Outgoing {
    Outgoing { attachments: files.iter().map(|file| (*file).to_owned()).collect(), ..message("see these") }
}

fn sender(chat: &str, workspace: &Path) -> Sender {
    Sender { key: SessionKey::new("cli", chat), workspace: workspace.to_owned() }
}

fn nothing_was_published(bus: &Local) -> bool {
    futures_util::FutureExt::now_or_never(bus.next_outbound()).is_none()
}

#[tokio::test]
async fn parity_m1_a_message_without_a_target_is_an_error() {
    let bus = Arc::new(Local::new());
    let nowhere = Post::new(bus.clone(), sender("", Path::new("/")));
    let error = nowhere.send(message("hello")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("no conversation"), "{}", error.message);
    assert!(nothing_was_published(&bus));
    // With a target it arrives.
    let somewhere = Post::new(bus.clone(), sender("1", Path::new("/")));
    somewhere.send(message("hello")).await.unwrap();
    assert_eq!(bus.next_outbound().await.unwrap().unwrap().content, "hello");
}

#[test]
fn parity_m2_buttons_of_any_shape_are_refused_before_anything_is_sent() {
    let w = World::new();
    let shapes = [json!("[[a]]"), json!([["a"], "b"]), json!(7), json!(null), json!([["yes", "no"]])];
    for buttons in shapes {
        let reply = w.call("message", json!({ "content": "choose", "buttons": buttons }));
        assert_eq!(reply.0.outcome.name(), "arguments", "{:?}", reply.0.outcome);
        assert!(w.ports().messages().is_empty());
    }
    w.call("message", json!({ "content": "choose" })).text();
    assert_eq!(w.ports().messages().len(), 1);
    // Whoever has no messages has none without buttons either.
    assert_eq!(w.call_as(Role::Subagent, "message", json!({ "content": "x" })).0.outcome.name(), "denied");
    assert_eq!(w.ports().messages().len(), 1);
}

fn letters(store: &Store) -> Vec<(String, String)> {
    let taken = store.take_letters("reader", &LetterFilter::default(), 64).unwrap();
    taken.into_iter().map(|letter| (letter.kind, letter.content)).collect()
}

#[tokio::test]
async fn parity_m5_a_silent_letterbox_says_that_it_delivers_nothing_and_a_real_one_works_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("data/state.db")).unwrap();
    let silent = Letterbox::new(Arc::clone(&store), sender("1", dir.path()), true);
    let error = silent.send(message("psst")).await.unwrap_err();
    assert!(error.message.starts_with("not delivered"), "{}", error.message);
    assert!(!silent.sent());
    assert_eq!(letters(&store), []);
    let real = Letterbox::new(Arc::clone(&store), sender("1", dir.path()), false);
    real.send(message("hello")).await.unwrap();
    assert!(real.sent());
    assert_eq!(letters(&store), [("message".to_owned(), "hello".to_owned())]);
}

#[tokio::test]
async fn parity_m7_another_chat_is_refused_and_the_own_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("data/state.db")).unwrap();
    let bus = Arc::new(Local::new());
    let couriers: [Arc<dyn Courier>; 2] = [
        Arc::new(Post::new(bus.clone(), sender("1", dir.path()))),
        Arc::new(Letterbox::new(Arc::clone(&store), sender("1", dir.path()), false)),
    ];
    for courier in &couriers {
        for (channel, chat) in
            [(Some("cli"), Some("2")), (Some("web"), None), (None, Some("1 ")), (Some("CLI"), None)]
        {
            let to = Outgoing {
                channel: channel.map(str::to_owned),
                chat: chat.map(str::to_owned),
                ..message("hello")
            };
            assert_eq!(courier.send(to).await.unwrap_err().kind, ErrorKind::NotFound, "{channel:?} {chat:?}");
        }
        let own = Outgoing { channel: Some("cli".into()), chat: Some("1".into()), ..message("mine") };
        courier.send(own).await.unwrap();
    }
    assert_eq!(bus.next_outbound().await.unwrap().unwrap().content, "mine");
    assert!(nothing_was_published(&bus));
    assert_eq!(letters(&store).len(), 1);
}

#[tokio::test]
async fn only_regular_files_of_the_workspace_are_attached() {
    let dir = tempfile::tempdir().unwrap();
    let ws = dir.path().canonicalize().unwrap().join("ws");
    std::fs::create_dir_all(ws.join("sub")).unwrap();
    std::fs::write(ws.join("sub/report.txt"), "x").unwrap();
    std::fs::write(dir.path().join("secret.txt"), "s").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret.txt"), ws.join("link.txt")).unwrap();
    std::fs::hard_link(dir.path().join("secret.txt"), ws.join("hard.txt")).unwrap();
    std::os::unix::fs::symlink(dir.path(), ws.join("out")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        ws.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let large = std::fs::File::create(ws.join("large.bin")).unwrap();
    large.set_len(ringfence::bus::MAX_ATTACHMENT + 1).unwrap();
    let bus = Arc::new(Local::new());
    let post = Post::new(bus.clone(), sender("1", &ws));
    let outside = dir.path().join("secret.txt").display().to_string();
    for bad in [
        "../secret.txt",
        outside.as_str(),
        "link.txt",
        "hard.txt",
        "out/secret.txt",
        "pipe",
        "sub",
        "missing.txt",
        "large.bin",
        "/dev/zero",
        "a\u{1b}[2Jb",
        "",
    ] {
        let error = post.send(attached(&["sub/report.txt", bad])).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{bad}");
        assert!(!error.message.chars().any(char::is_control), "{:?}", error.message);
        assert!(nothing_was_published(&bus), "{bad}");
    }
    let whole = ws.join("sub/report.txt").display().to_string();
    post.send(attached(&["sub/report.txt", &whole])).await.unwrap();
    assert_eq!(bus.next_outbound().await.unwrap().unwrap().attachments, ["sub/report.txt".to_owned(), whole]);
}

#[test]
fn an_attachment_is_named_to_the_person() {
    let program = Program::scripted(
        r#"
[[reply]]
result = "sent to"
text = "Sent."
[[reply]]
calls = [{ name = "message", arguments = { content = "Here it is.", media = ["a.txt"] } }]
"#,
    );
    program.file("a.txt", "x");
    let ran = program.run(&["run", "send it"]);
    assert_eq!((ran.code, ran.stdout.trim()), (0, "Sent."), "{ran:?}");
    assert!(ran.stderr.contains("message: Here it is.\n  attached: a.txt"), "{}", ran.stderr);
}

/// A job whose turn sends what `call` says, where it says something, and ends with a text of its own.
fn job_that(call: &str) -> Vec<(String, String)> {
    let calls = if call.is_empty() { String::new() } else { format!("calls = [{call}]\n") };
    let first = if call.is_empty() { "" } else { "[[reply]]\ntools = true\n" };
    let script = format!("{first}{calls}\n[[reply]]\ntext = \"The final text.\"\nrepeat = true\n");
    let c = Clockwork::new(&script);
    let (service, job) = (c.service(), c.add("a", every(60), "Report."));
    c.later(MINUTE);
    c.turn(&service);
    assert_eq!(c.outcomes(&job.id).len(), 1);
    c.letters().into_iter().map(|letter| (letter.kind, letter.content)).collect()
}

#[test]
fn parity_m4_who_has_written_to_a_chat_does_not_answer_it_once_more() {
    let of = |kind: &str, text: &str| (kind.to_owned(), text.to_owned());
    // To the conversation itself: that was the answer.
    let sent = r#"{ name = "message", arguments = { content = "Written." } }"#;
    assert_eq!(job_that(sent), [of("message", "Written.")]);
    // To another one, which is refused here: the answer is given.
    let elsewhere = r#"{ name = "message", arguments = { content = "Written.", chat_id = "b" } }"#;
    assert_eq!(job_that(elsewhere), [of("answer", "The final text.")]);
    assert_eq!(job_that(""), [of("answer", "The final text.")]);
}
