//! The bus: messages keep their order, a session has one turn at a time, and nothing that was said is lost.

use futures_util::FutureExt as _;
use ringfence::bus::{
    Admission, Answer, Bus, Desk, FOLLOW_UPS, Inbound, Local, Metadata, Outbound, Post, QUEUE, Sender,
    Sitting,
};
use ringfence::sandbox::ports::{Courier as _, ErrorKind, Outgoing};
use ringfence::session::SessionKey;
use std::sync::{Arc, Mutex};

fn inbound(chat: &str, content: &str) -> Inbound {
    Inbound {
        channel: "test".into(),
        sender: "someone".into(),
        chat: chat.into(),
        content: content.into(),
        metadata: Metadata::new(),
    }
}

fn begin(desk: &Desk, chat: &str, content: &str) -> Sitting {
    match desk.admit(inbound(chat, content)).unwrap() {
        Admission::Begin(sitting, message) => {
            assert_eq!(message.content, content);
            sitting
        }
        Admission::Queued(n) => panic!("queued as {n}"),
    }
}

fn sender(channel: &str, chat: &str, workspace: &std::path::Path) -> Sender {
    Sender { key: SessionKey::new(channel, chat), workspace: workspace.to_owned() }
}

fn texts(messages: Vec<Inbound>) -> Vec<String> {
    messages.into_iter().map(|message| message.content).collect()
}

#[tokio::test]
async fn the_local_bus_hands_on_in_order_and_in_both_directions() {
    let bus = Local::new();
    for text in ["one", "two"] {
        bus.publish_inbound(inbound("1", text)).await.unwrap();
        let out = Outbound {
            channel: "test".into(),
            chat: "1".into(),
            content: text.to_uppercase(),
            attachments: Vec::new(),
            metadata: Metadata::new(),
        };
        bus.publish_outbound(out).await.unwrap();
    }
    assert_eq!(bus.next_inbound().await.unwrap().unwrap().content, "one");
    assert_eq!(bus.next_inbound().await.unwrap().unwrap().content, "two");
    bus.close_outbound().await;
    assert_eq!(bus.next_outbound().await.unwrap().unwrap().content, "ONE");
    assert_eq!(bus.next_outbound().await.unwrap().unwrap().content, "TWO");
    assert_eq!(bus.next_outbound().await.unwrap(), None);
    let late = Outbound {
        channel: "t".into(),
        chat: "1".into(),
        content: String::new(),
        attachments: Vec::new(),
        metadata: Metadata::new(),
    };
    assert!(bus.publish_outbound(late).await.unwrap_err().to_string().contains("closed"));
}

/// A queue elsewhere, as far as the rooms above can tell.
#[derive(Default)]
struct Elsewhere(Mutex<Vec<String>>);

impl Bus for Elsewhere {
    fn publish_inbound(&self, _: Inbound) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
    fn next_inbound(&self) -> Answer<'_, Option<Inbound>> {
        Box::pin(async { Ok(None) })
    }
    fn publish_outbound(&self, message: Outbound) -> Answer<'_, ()> {
        // As another machine would be handed it.
        self.0.lock().unwrap().push(serde_json::to_string(&message).unwrap());
        Box::pin(async { Ok(()) })
    }
    fn next_outbound(&self) -> Answer<'_, Option<Outbound>> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn another_bus_can_stand_behind_the_message_interface_and_no_other_chat_is_reached() {
    let bus = Arc::new(Elsewhere::default());
    let post = Post::new(bus.clone(), sender("test", "1", std::path::Path::new("/")));
    let to = |channel: Option<&str>, chat: Option<&str>| Outgoing {
        content: "hello".into(),
        channel: channel.map(Into::into),
        chat: chat.map(Into::into),
        attachments: Vec::new(),
    };
    let receipt = post.send(to(None, None)).await.unwrap();
    assert_eq!((receipt.channel.as_str(), receipt.chat.as_str()), ("test", "1"));
    post.send(to(Some("test"), Some("1"))).await.unwrap();
    for (channel, chat) in [(Some("other"), None), (None, Some("2"))] {
        assert_eq!(post.send(to(channel, chat)).await.unwrap_err().kind, ErrorKind::NotFound);
    }
    let sent = bus.0.lock().unwrap().clone();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], r#"{"channel":"test","chat":"1","content":"hello","attachments":[],"metadata":{}}"#);
}

#[test]
fn a_busy_session_queues_twenty_messages_and_refuses_the_next_with_the_number() {
    let desk = Desk::default();
    let sitting = begin(&desk, "1", "first");
    for n in 1..=QUEUE {
        match desk.admit(inbound("1", &n.to_string())).unwrap() {
            Admission::Queued(waiting) => assert_eq!(waiting, n),
            Admission::Begin(..) => panic!("two turns of one session"),
        }
    }
    let refused = desk.admit(inbound("1", "too many")).unwrap_err();
    assert_eq!(refused.waiting, 20);
    assert!(refused.to_string().contains("20"), "{refused}");
    // The running turn is handed a few at once, in order.
    assert_eq!(texts(sitting.follow_ups()), ["1", "2", "3"]);
    assert_eq!(desk.waiting(sitting.key()), QUEUE - FOLLOW_UPS);
}

#[test]
fn what_waits_at_the_end_of_a_turn_begins_the_next_one() {
    let desk = Desk::default();
    let sitting = begin(&desk, "1", "first");
    desk.admit(inbound("1", "second")).unwrap();
    let (sitting, message) = sitting.next().unwrap();
    assert_eq!(message.content, "second");
    assert!(matches!(desk.admit(inbound("1", "third")), Ok(Admission::Queued(1))));
    let (sitting, message) = sitting.next().unwrap();
    assert_eq!(message.content, "third");
    assert!(sitting.next().is_none());
    assert_eq!(desk.busy(), 0);
    drop(begin(&desk, "1", "fourth"));
    assert_eq!(desk.busy(), 0);
}

#[test]
fn a_turn_that_is_dropped_frees_its_session_and_loses_nothing_that_waits() {
    let desk = Desk::default();
    let sitting = begin(&desk, "1", "first");
    desk.admit(inbound("1", "second")).unwrap();
    drop(sitting);
    assert_eq!(desk.busy(), 0);
    let Ok(Admission::Begin(sitting, message)) = desk.admit(inbound("1", "third")) else {
        panic!("the session is not free");
    };
    assert_eq!(message.content, "second");
    assert_eq!(texts(sitting.follow_ups()), ["third"]);
}

#[tokio::test]
async fn sessions_have_turns_side_by_side_up_to_the_number() {
    let desk = Desk::new(2);
    let (a, b, c) = (begin(&desk, "a", "x"), begin(&desk, "b", "x"), begin(&desk, "c", "x"));
    let first = a.permit().await.unwrap();
    let _second = b.permit().await.unwrap();
    let mut third = Box::pin(c.permit());
    assert!((&mut third).now_or_never().is_none(), "three turns at once");
    drop(first);
    assert!(third.await.is_some());
}

#[tokio::test]
async fn stopping_reaches_the_running_turn_alone_and_not_the_next_one() {
    let desk = Desk::default();
    let sitting = begin(&desk, "1", "first");
    let other = begin(&desk, "2", "first");
    assert_eq!(desk.stop(sitting.key()).drained, []);
    sitting.stopped().await;
    assert!(other.stopped().now_or_never().is_none());
    desk.admit(inbound("1", "second")).unwrap();
    let (sitting, _) = sitting.next().unwrap();
    assert!(sitting.stopped().now_or_never().is_none());
}
