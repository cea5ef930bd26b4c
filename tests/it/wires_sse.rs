//! The reader of server-sent events: where the bytes are cut, and how lines end, makes no difference.

use crate::support::asking::{ask, provider};
use crate::support::{Model, Says};
use proptest::prelude::*;
use ringfence::config::Wire;
use ringfence::provider::sse::{Event, Parser, TooLong};

fn events<'b>(chunks: impl IntoIterator<Item = &'b [u8]>) -> Vec<Event> {
    let mut parser = Parser::new(1 << 16);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.feed(chunk, &mut events).unwrap();
    }
    parser.finish(&mut events).unwrap();
    events
}

fn data(text: &str) -> Vec<String> {
    events([text.as_bytes()]).into_iter().map(|event| event.data).collect()
}

#[test]
fn every_spelling_of_an_event_is_read() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "data:a\n\ndata:b\n\n",
        "\u{feff}data: a\n\n: a comment\n\ndata: b",
        ":\n\n\n\nid: 7\nretry: 1\nevent: x\ndata: a\nother\n\nevent\n\ndata: b\n",
    ] {
        assert_eq!(data(text), ["a", "b"], "{text:?}");
    }
    assert_eq!(data("data: a\ndata: b\n\n"), ["a\nb"]);
    assert_eq!(data("data\n\n"), [""]);
    assert_eq!(data("event: lonely\n\n"), [""; 0]);
    assert_eq!(data("data:  two\n\n"), [" two"]);
}

#[test]
fn lines_and_events_have_a_limit() {
    let mut parser = Parser::new(100);
    let mut events = Vec::new();
    assert_eq!(parser.feed(&[b'x'; 101], &mut events), Err(TooLong(100)));
    let mut parser = Parser::new(100);
    let line = format!("data: {}\n", "x".repeat(60));
    assert_eq!(parser.feed(line.as_bytes(), &mut events), Ok(()));
    assert_eq!(parser.feed(line.as_bytes(), &mut events), Err(TooLong(100)));
    assert_eq!(events, []);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b": comment".to_vec()),
        Just("é😀\u{feff}".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn where_the_bytes_are_cut_makes_no_difference(bytes in pieces(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let whole = events([&bytes[..]]);
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let parts = events(at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]));
        prop_assert_eq!(&whole, &parts);
        prop_assert_eq!(&whole, &events(bytes.chunks(1)));
    }

    #[test]
    fn data_comes_out_as_it_went_in(lines in proptest::collection::vec("[^\r\n\u{feff}]{0,20}", 1..5), end in "\n|\r\n|\r") {
        let text: String = lines.iter().map(|line| format!("data: {line}{end}")).collect();
        let expected = Event { name: String::new(), data: lines.join("\n") };
        prop_assert_eq!(events([text.as_bytes()]), [expected]);
    }
}

#[test]
fn streams_are_read_byte_by_byte_and_under_every_line_end() {
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"h\u{e9}llo 😀\"}}]}\n\n: keep-alive\n\n\
        data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"i\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\n\
        data: [DONE]\n\n";
    let messages = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[]}}\n\n\
        event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"h\u{e9}llo 😀\"}}\n\n\
        event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
        event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    for (wire, stream) in [(Wire::Chat, chat), (Wire::Messages, messages)] {
        let service = Model::start([
            Says::stream(stream),
            Says::stream(stream).byte_by_byte(),
            Says::stream(stream.replace('\n', "\r\n")).byte_by_byte(),
            Says::stream(stream.replace("data: ", "data:")).until_close(),
            Says::stream(stream.replace('\n', "\r")),
            // The empty lines between events forgotten.
            Says::stream(stream.replace("\n\n", "\n")),
        ]);
        let replies: Vec<_> = (0..6)
            .map(|_| {
                let asking = ask(&provider(wire, &service));
                assert_eq!((asking.restarts(), asking.heard().as_str()), (0, "h\u{e9}llo 😀"));
                let mut reply = asking.ok();
                reply.request_id = None;
                reply
            })
            .collect();
        assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:#?}");
    }
}
