//! Conversations: what is kept, what a model is shown of it, and what remains of a damaged one.

use proptest::prelude::*;
use ringfence::provider::{Block, Message, Speaker, ToolCall, ToolResult};
use ringfence::session::{Session, SessionKey};
use ringfence::store::Store;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A store of its own.
pub struct Kept {
    pub temp: tempfile::TempDir,
    pub store: Arc<Store>,
}

impl Kept {
    pub fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::open(&temp.path().join("data/state.db")).unwrap();
        Self { temp, store }
    }

    pub fn path(&self) -> PathBuf {
        self.store.path().to_owned()
    }

    /// The database, bare.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }

    pub fn session(&self, name: &str) -> Session {
        Session::open(&self.store, SessionKey::parse(name)).unwrap()
    }

    pub fn session_in(&self, workspace: &Path, name: &str) -> Session {
        Session::open_in(&self.store, workspace, SessionKey::parse(name)).unwrap()
    }
}

/// Whether a conversation is one that both wires take: chat completions and messages.
pub fn valid_for_wires(messages: &[Message]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let wanted = if at % 2 == 0 { Speaker::User } else { Speaker::Assistant };
        if message.speaker != wanted {
            return Err(format!("message {at} is of {:?}", message.speaker));
        }
        if message.blocks.iter().all(|block| matches!(block, Block::Thinking { .. })) {
            return Err(format!("message {at} is empty"));
        }
        if message.blocks.iter().any(|b| matches!(b, Block::Text { text } if text.trim().is_empty())) {
            return Err(format!("message {at} has an empty text"));
        }
        let results: Vec<&str> = message.results().map(|result| result.id.as_str()).collect();
        let leading = message.blocks.iter().take_while(|b| matches!(b, Block::ToolResult(_))).count();
        if results != open || leading != results.len() {
            return Err(format!("message {at} answers {results:?}, and the calls are {open:?}"));
        }
        open = message.calls().map(|call| call.id.as_str()).collect();
        if wanted == Speaker::User && !open.is_empty() {
            return Err(format!("message {at} is the user's and has calls"));
        }
        if let Some(id) = open.iter().find(|id| id.is_empty() || !ids.insert(**id)) {
            return Err(format!("message {at} has a call of the id {id:?}, which is empty or not the first"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} have no result")) }
}

pub fn says(text: &str) -> Message {
    Message::assistant(text)
}

pub fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| {
        let (id, name) = ((*id).to_owned(), "read_file".to_owned());
        Block::ToolCall(ToolCall { id, name, arguments: "{\"path\":\"a\"}".to_owned() })
    };
    Message { speaker: Speaker::Assistant, blocks: ids.iter().map(call).collect() }
}

pub fn results(ids: &[&str]) -> Message {
    let result = |id: &&str| {
        let (id, text) = ((*id).to_owned(), format!("result of {id}"));
        Block::ToolResult(ToolResult { id, text, is_error: false })
    };
    Message { speaker: Speaker::User, blocks: ids.iter().map(result).collect() }
}

pub fn user(text: &str) -> Message {
    Message::user(text)
}

fn view(messages: &[Message]) -> Vec<Message> {
    let mut session = Session::ephemeral(SessionKey::parse("view"));
    for message in messages {
        session.append(message.clone()).unwrap();
        valid_for_wires(session.messages()).unwrap();
    }
    session.messages().to_vec()
}

fn interrupted(message: &Message) -> Vec<&str> {
    message
        .results()
        .filter(|r| r.is_error && r.text.starts_with("interrupted"))
        .map(|r| r.id.as_str())
        .collect()
}

#[test]
fn the_checker_knows_a_broken_conversation() {
    let valid = [user("a"), calls(&["1", "2"]), results(&["1", "2"]), says("b")];
    valid_for_wires(&valid).unwrap();
    let broken: [&[Message]; 8] = [
        &[says("b")],
        &[user("a"), user("b")],
        &[user("a"), calls(&["1"])],
        &[user("a"), calls(&["1"]), user("b")],
        &[user("a"), calls(&["1", "2"]), results(&["1"])],
        &[user("a"), says("b"), results(&["1"])],
        &[user("a"), calls(&["1"]), results(&["1"]), calls(&["1"]), results(&["1"])],
        &[user(" ")],
    ];
    for messages in broken {
        valid_for_wires(messages).unwrap_err();
    }
}

#[test]
fn a_whole_conversation_is_shown_as_it_was() {
    let said =
        [user("a"), calls(&["1", "2"]), results(&["1", "2"]), calls(&["3"]), results(&["3"]), says("b")];
    assert_eq!(view(&said), said);
}

#[test]
fn a_call_without_a_result_is_interrupted() {
    let shown = view(&[user("a"), calls(&["1", "2"])]);
    assert_eq!(shown.len(), 3);
    assert_eq!(interrupted(&shown[2]), ["1", "2"]);
    let shown = view(&[user("a"), calls(&["1", "2"]), results(&["2"]), user("go on")]);
    assert_eq!(interrupted(&shown[2]), ["1"]);
    assert_eq!(shown[2].text(), "go on");
}

#[test]
fn a_late_result_finds_its_call() {
    let shown = view(&[user("a"), calls(&["1"]), user("meanwhile"), results(&["1"]), says("b")]);
    assert_eq!(shown.len(), 4);
    assert_eq!(shown[2].results().next().unwrap().text, "result of 1");
    assert_eq!(shown[2].text(), "meanwhile");
}

#[test]
fn results_that_are_too_many_are_dropped() {
    let again = ToolResult { id: "1".to_owned(), text: "another".to_owned(), is_error: false };
    let again = Message { speaker: Speaker::User, blocks: vec![Block::ToolResult(again)] };
    let said = [user("a"), calls(&["1"]), results(&["1"]), again, results(&["nobody"]), says("b")];
    assert_eq!(view(&said), [user("a"), calls(&["1"]), results(&["1"]), says("b")]);
}

#[test]
fn the_same_speaker_twice_is_one_message() {
    let shown = view(&[user("a"), user("b"), says("c"), says("d")]);
    assert_eq!(shown.iter().map(Message::text).collect::<Vec<_>>(), ["a\nb", "c\nd"]);
}

#[test]
fn an_id_that_comes_again_is_given_another() {
    let turn = [user("a"), calls(&["call_0"]), results(&["call_0"]), says("b")];
    let shown = view(&[turn.clone(), turn].concat());
    let ids: Vec<&str> = shown.iter().flat_map(Message::calls).map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_0_2"]);
    assert_eq!(shown[6].results().next().unwrap().text, "result of call_0");
}

#[test]
fn thoughts_stay_with_what_they_led_to_and_are_nothing_alone() {
    let thought = Block::Thinking {
        provider: "p".to_owned(),
        raw: serde_json::json!({ "type": "thinking", "signature": "s" }),
        text: "hm".to_owned(),
    };
    let mut reply = says("b");
    reply.blocks.insert(0, thought.clone());
    let alone = Message { speaker: Speaker::Assistant, blocks: vec![thought] };
    assert_eq!(view(&[user("a"), alone, reply.clone()]), [user("a"), reply]);
}

#[test]
fn a_lost_beginning_is_said_to_be_lost() {
    let shown = view(&[calls(&["1"]), results(&["1"]), says("b")]);
    assert_eq!(shown[1..], [calls(&["1"]), results(&["1"]), says("b")]);
    assert!(shown[0].text().contains("could not be read"));
}

/// A turn: a prompt, then replies with so many calls each, then an answer. Ids are used again where `reused`.
fn turns() -> impl Strategy<Value = Vec<Message>> {
    let turn = (prop::collection::vec(1_usize..4, 0..4), any::<bool>(), any::<bool>());
    prop::collection::vec(turn, 1..5).prop_map(|turns| {
        let mut said = Vec::new();
        for (number, (replies, reused, words)) in turns.into_iter().enumerate() {
            said.push(user(&format!("prompt {number}")));
            for (reply, count) in replies.into_iter().enumerate() {
                let ids: Vec<String> = (0..count)
                    .map(|n| if reused { format!("call_{n}") } else { format!("{number}-{reply}-{n}") })
                    .collect();
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                let mut message = calls(&ids);
                if words {
                    message.blocks.insert(0, Block::Text { text: format!("step {reply}") });
                }
                said.push(message);
                said.push(results(&ids));
            }
            said.push(says(&format!("answer {number}")));
        }
        said
    })
}

#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Lose(prop::sample::Index),
    Double(prop::sample::Index),
    Swap(prop::sample::Index),
    Empty(prop::sample::Index),
    Halve(prop::sample::Index),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<prop::sample::Index>;
    let damage = prop_oneof![
        at().prop_map(Damage::Cut),
        at().prop_map(Damage::Lose),
        at().prop_map(Damage::Double),
        at().prop_map(Damage::Swap),
        at().prop_map(Damage::Empty),
        at().prop_map(Damage::Halve),
    ];
    prop::collection::vec(damage, 0..6)
}

fn damaged(mut said: Vec<Message>, damages: &[Damage]) -> Vec<Message> {
    for damage in damages {
        if said.is_empty() {
            break;
        }
        let len = said.len();
        match damage {
            Damage::Cut(at) => said.truncate(at.index(len)),
            Damage::Lose(at) => drop(said.remove(at.index(len))),
            Damage::Double(at) => said.insert(at.index(len), said[at.index(len)].clone()),
            Damage::Swap(at) => said.swap(at.index(len), (at.index(len) + 1) % len),
            Damage::Empty(at) => said[at.index(len)].blocks = vec![Block::Text { text: " \n".to_owned() }],
            Damage::Halve(at) => {
                let blocks = &mut said[at.index(len)].blocks;
                blocks.truncate(blocks.len() / 2);
            }
        }
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever became of a conversation, what is shown of it is valid, after every single message.
    #[test]
    fn any_damage_is_repaired(said in turns(), damages in damages()) {
        view(&damaged(said, &damages));
    }

    /// A conversation that is whole is shown whole.
    #[test]
    fn nothing_whole_is_repaired(said in turns()) {
        let shown = view(&said);
        prop_assert_eq!(shown.len(), said.len());
        for (shown, said) in shown.iter().zip(&said) {
            prop_assert_eq!(shown.text(), said.text());
            prop_assert_eq!(shown.blocks.len(), said.blocks.len());
            prop_assert!(interrupted(shown).is_empty());
        }
    }

    /// A summary can stand for any part of it.
    #[test]
    fn any_compaction_leaves_it_valid(said in turns(), damages in damages(), keep in 0_usize..12, again in 0_usize..4) {
        let mut session = Session::ephemeral(SessionKey::parse("view"));
        for message in damaged(said, &damages) {
            session.append(message).unwrap();
        }
        let (whole, before) = (session.history().unwrap(), session.messages().to_vec());
        for keep in [keep, again] {
            let shown = session.messages().len();
            session.compact("what was said".to_owned(), keep).unwrap();
            valid_for_wires(session.messages()).unwrap();
            prop_assert!(session.messages().len() <= shown + 1);
            if !before.is_empty() {
                prop_assert!(session.messages()[0].text().starts_with("what was said"));
            }
            session.append(user("and then?")).unwrap();
            valid_for_wires(session.messages()).unwrap();
        }
        prop_assert_eq!(session.history().unwrap().len(), whole.len() + 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is loaded is what was there, any number of times, with broken rows or without.
    #[test]
    fn a_load_shows_what_the_writer_saw(
        said in turns(),
        damages in damages(),
        broken in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        keep in prop::option::of(0_usize..8),
    ) {
        let kept = Kept::new();
        let said = damaged(said, &damages);
        let mut session = kept.session("a");
        for message in &said {
            session.append(message.clone()).unwrap();
        }
        if let Some(keep) = keep {
            session.compact("what was said".to_owned(), keep).unwrap();
        }
        let loaded = kept.session("a");
        prop_assert_eq!(loaded.messages(), session.messages());
        prop_assert_eq!(&session.history().unwrap(), &said);
        let mut rows = BTreeSet::new();
        for at in &broken {
            if !said.is_empty() {
                let seq = at.index(said.len()) as i64 + 1;
                rows.insert(seq);
                kept.raw().execute("UPDATE messages SET blocks = substr(blocks, 1, 1) WHERE seq = ?1", [seq]).unwrap();
            }
        }
        let first = kept.session("a");
        valid_for_wires(first.messages()).unwrap();
        prop_assert!(first.skipped() <= rows.len());
        let second = kept.session("a");
        prop_assert_eq!(second.messages(), first.messages());
        prop_assert_eq!(first.history().unwrap().len(), said.len() - rows.len());
    }
}

#[test]
fn a_compaction_keeps_results_with_their_calls_and_the_history_whole() {
    let kept = Kept::new();
    let said = [user("a"), calls(&["1"]), results(&["1"]), says("b"), user("c"), says("d")];
    let mut session = kept.session("a");
    for message in &said {
        session.append(message.clone()).unwrap();
    }
    // The fourth from the end are results: their calls come with them.
    session.compact("summary".to_owned(), 4).unwrap();
    let shown = [&[user("summary")], &said[1..]].concat();
    assert_eq!(session.messages(), shown);
    assert_eq!(kept.session("a").messages(), shown);
    assert_eq!(kept.session("a").history().unwrap(), said);

    session.compact("shorter".to_owned(), 1).unwrap();
    assert_eq!(session.messages(), [user("shorter"), says("d")]);
    session.compact("nothing left".to_owned(), 0).unwrap();
    session.append(user("e")).unwrap();
    assert_eq!(kept.session("a").messages()[0].text(), "nothing left\ne");
    assert_eq!(kept.session("a").history().unwrap().len(), 7);
}

#[test]
fn a_session_is_in_the_store_from_its_first_message_on_and_named_after_it() {
    let kept = Kept::new();
    let mut session = kept.session("a");
    assert!(ringfence::session::list(&kept.store, None).unwrap().is_empty());
    session.append(user("\n  Mend the fence  \nand paint it")).unwrap();
    session.append(says("Done.")).unwrap();
    session.append(user("Another")).unwrap();
    let all = ringfence::session::list(&kept.store, None).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].title.as_str(), all[0].messages), ("Mend the fence", 3));
    assert_eq!(all[0].key, SessionKey::new("cli", "a"));
}

#[test]
fn an_ephemeral_session_leaves_nothing() {
    let kept = Kept::new();
    let mut session = Session::ephemeral(SessionKey::parse("a"));
    session.append(user("a")).unwrap();
    assert!(ringfence::session::list(&kept.store, None).unwrap().is_empty());
}

#[test]
fn a_session_that_was_removed_meanwhile_begins_anew() {
    let kept = Kept::new();
    let mut session = kept.session("a");
    session.append(user("a")).unwrap();
    session.append(calls(&["1"])).unwrap();
    let entry = ringfence::session::list(&kept.store, None).unwrap().remove(0);
    assert!(ringfence::session::remove(&kept.store, &entry).unwrap());
    assert!(!ringfence::session::remove(&kept.store, &entry).unwrap());
    session.append(results(&["1"])).unwrap();
    session.append(says("b")).unwrap();
    assert_eq!(session.messages().len(), 4);
    valid_for_wires(kept.session("a").messages()).unwrap();
}

#[test]
fn a_new_name_is_cli_and_eight_characters_and_comes_once() {
    let names: BTreeSet<String> = (0..1_000).map(|_| SessionKey::fresh().to_string()).collect();
    assert_eq!(names.len(), 1_000);
    assert!(names.iter().all(|name| name.len() == 12 && name.starts_with("cli:")));
}

#[test]
fn a_removed_session_is_not_left_in_the_file() {
    let kept = Kept::new();
    let mut session = kept.session("a");
    session.append(user("the word is xyzzy-plugh")).unwrap();
    kept.session("b").append(user("other")).unwrap();
    let entry = ringfence::session::list(&kept.store, None).unwrap().pop().unwrap();
    ringfence::session::remove(&kept.store, &entry).unwrap();
    let dir = kept.path().parent().unwrap().to_owned();
    for file in std::fs::read_dir(dir).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("xyzzy-plugh"));
    }
}

/// The same conversation in the store and in memory.
fn both_keepings(kept: &Kept) -> [Session; 2] {
    [kept.session("a"), Session::ephemeral(SessionKey::parse("a"))]
}

#[test]
fn what_the_host_puts_in_names_its_source_and_comes_once() {
    let kept = Kept::new();
    for mut session in both_keepings(&kept) {
        assert!(session.append_from(user("[host] t1 is done"), "task:t1").unwrap());
        session.append(user("thanks")).unwrap();
        let before = (session.messages().to_vec(), session.history_rows().unwrap());
        assert!(!session.append_from(user("[host] t1 is done, again"), "task:t1").unwrap());
        assert_eq!((session.messages().to_vec(), session.history_rows().unwrap()), before);
        assert!(session.append_from(user("[host] t2 is done"), "task:t2").unwrap());
        let rows = session.history_rows().unwrap();
        let sources: Vec<_> = rows.iter().map(|row| row.source.as_deref()).collect();
        assert_eq!(sources, [Some("task:t1"), None, Some("task:t2")]);
        assert_eq!(rows[1].message, user("thanks"));
        assert_eq!(session.history().unwrap().len(), 3);
        valid_for_wires(session.messages()).unwrap();
    }
    // Another process sees it too, in this session and no other.
    assert!(!kept.session("a").append_from(user("x"), "task:t1").unwrap());
    assert!(kept.session("b").append_from(user("x"), "task:t1").unwrap());
    assert_eq!(kept.session("a").history().unwrap().len(), 3);
    // What people say names the session, not what the host puts in.
    let all = ringfence::session::list(&kept.store, None).unwrap();
    assert_eq!(all.iter().map(|entry| entry.title.as_str()).collect::<Vec<_>>(), ["", "thanks"]);
}

#[test]
fn of_two_processes_one_puts_a_message_in() {
    let kept = Kept::new();
    let put = crate::store_tasks::at_once(&kept, |_, _| {
        let store = Store::open(&kept.path()).unwrap();
        let mut session = Session::open(&store, SessionKey::parse("a")).unwrap();
        (0..20).filter(|n| session.append_from(user("x"), &format!("task:{n}")).unwrap()).count()
    });
    assert_eq!(put[0] + put[1], 20);
    assert_eq!(kept.session("a").history().unwrap().len(), 20);
}

#[test]
fn an_announcement_is_answered_by_words_of_the_model_after_it() {
    let kept = Kept::new();
    for mut session in both_keepings(&kept) {
        assert_eq!(session.answered("task:t1").unwrap(), None);
        session.append(user("a")).unwrap();
        session.append(says("before it")).unwrap();
        assert_eq!(session.answered("task:t1").unwrap(), None);
        session.append_from(user("[host] t1"), "task:t1").unwrap();
        assert_eq!(session.answered("task:t1").unwrap(), Some(false));
        let mut announced = calls(&["1"]);
        announced.blocks.insert(0, Block::Text { text: "Let me see.".to_owned() });
        // On the way, and cut off there: the model has not answered.
        for message in [announced, results(&["1"]), user("and?"), says(" \n")] {
            session.append(message).unwrap();
            assert_eq!(session.answered("task:t1").unwrap(), Some(false));
        }
        session.append(says("It is mended.")).unwrap();
        assert_eq!(session.answered("task:t1").unwrap(), Some(true));
        session.append_from(user("[host] t2"), "task:t2").unwrap();
        assert_eq!(session.answered("task:t2").unwrap(), Some(false));
        assert_eq!(session.answered("task:t1").unwrap(), Some(true));
        // A summary changes nothing of it.
        session.compact("what was said".to_owned(), 0).unwrap();
        assert_eq!(session.answered("task:t1").unwrap(), Some(true));
        assert_eq!(session.answered("task:t2").unwrap(), Some(false));
    }
}

#[test]
fn an_export_tells_what_the_host_put_in_from_what_was_said() {
    use ringfence::session::{Format, export, find, plain};
    let kept = Kept::new();
    let mut session = kept.session("a");
    session.append(user("mend it")).unwrap();
    session.append(says("It is begun.")).unwrap();
    session.append_from(user("The fence is mended.\nAll of it."), "task:1a2b3c4d").unwrap();
    session.append(user("and the gate?")).unwrap();
    let entry = find(&kept.store, None, &SessionKey::parse("a")).unwrap().unwrap();
    let lines = export(&kept.store, &entry, Format::JsonLines).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let sources: Vec<_> = lines.iter().map(|line| line.get("source").and_then(|s| s.as_str())).collect();
    assert_eq!(sources, [None, None, Some("task:1a2b3c4d"), None]);

    let text = export(&kept.store, &entry, Format::Markdown).unwrap();
    let (_, text) = text.split_once("\n## ").unwrap();
    let expected = "User\n\nmend it\n\n## Assistant\n\nIt is begun.\n\n## [task 1a2b3c4d]\n\nThe fence is mended.\n\
                    All of it.\n\n## User\n\nand the gate?\n";
    assert_eq!(text, expected);
    let text = plain(&kept.store, &entry).unwrap();
    assert!(
        text.contains("\n\n[task 1a2b3c4d] The fence is mended.\nAll of it.\n\nuser: and the gate?\n"),
        "{text}"
    );
    assert_eq!(text.matches("user:").count(), 2);
}

#[test]
fn the_course_of_a_run_is_read_by_its_name_and_not_listed() {
    use ringfence::session::{find, list, list_all, newest};
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    kept.session_in(temp.path(), "mine").append(user("a")).unwrap();
    let key = SessionKey::of_task("1a2b3c4d");
    assert_eq!((key.to_string().as_str(), key.is_task()), ("task:1a2b3c4d", true));
    assert!(!SessionKey::parse("mine").is_task());
    Session::open_in(&kept.store, temp.path(), key.clone()).unwrap().append(user("mend it")).unwrap();
    for place in [None, Some(temp.path())] {
        let keys = |entries: Vec<ringfence::session::Entry>| {
            entries.into_iter().map(|entry| entry.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(list(&kept.store, place).unwrap()), [SessionKey::parse("mine")]);
        assert_eq!(keys(list_all(&kept.store, place).unwrap()), [key.clone(), SessionKey::parse("mine")]);
        assert_eq!(find(&kept.store, place, &key).unwrap().unwrap().title, "mend it");
    }
    assert_eq!(newest(&kept.store, temp.path()).unwrap(), Some(SessionKey::parse("mine")));
}
