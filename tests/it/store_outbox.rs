//! Letters: kept until somebody has shown them, and shown by one process.

use crate::sessions::Kept;
use crate::store_tasks::at_once;
use ringfence::store::{Delivery, LetterFilter, LetterRow, NewLetter, NewProcess, Store, Workspace};
use std::collections::BTreeSet;
use std::path::Path;

fn letter<'a>(workspace: &'a Workspace, chat: &'a str, content: &'a str) -> NewLetter<'a> {
    NewLetter { workspace, channel: "cli", chat, source: None, kind: "message", content, attachments: &[] }
}

fn contents(letters: &[LetterRow]) -> Vec<&str> {
    letters.iter().map(|letter| letter.content.as_str()).collect()
}

fn of(chat: &str) -> LetterFilter {
    LetterFilter { session: Some(("cli".to_owned(), chat.to_owned())), ..LetterFilter::default() }
}

fn take(store: &Store, owner: &str, filter: &LetterFilter) -> Vec<LetterRow> {
    store.take_letters(owner, filter, 100).unwrap()
}

#[test]
fn a_letter_is_kept_whole_and_comes_once_for_each_source() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let here = Workspace::at(temp.path());
    let attachments = ["a b.txt".to_owned(), "c\"d.txt".to_owned()];
    let new = NewLetter {
        source: Some("task:t1"),
        kind: "answer",
        attachments: &attachments,
        ..letter(&here, "a", "It is mended.")
    };
    assert!(kept.store.put_letter(&new).unwrap());
    assert!(!kept.store.put_letter(&NewLetter { content: "Again.", ..new }).unwrap());
    // The same source in another session is another letter, and what has no source always is.
    assert!(kept.store.put_letter(&NewLetter { chat: "b", content: "There.", ..new }).unwrap());
    for _ in 0..2 {
        assert!(kept.store.put_letter(&letter(&here, "a", "Hello.")).unwrap());
    }
    let letters = kept.store.letters(Some(&here)).unwrap();
    assert_eq!(contents(&letters), ["It is mended.", "There.", "Hello.", "Hello."]);
    let first = &letters[0];
    assert_eq!(
        (first.workspace.as_path(), first.channel.as_str(), first.chat.as_str()),
        (temp.path(), "cli", "a")
    );
    assert_eq!((first.source.as_deref(), first.kind.as_str()), (Some("task:t1"), "answer"));
    assert_eq!((first.attachments.as_slice(), first.uncertain), (&attachments[..], false));
    assert!(kept.store.letters(Some(&Workspace::none())).unwrap().is_empty());
    assert!(kept.store.letters(Some(&Workspace::at(Path::new("/nowhere")))).unwrap().is_empty());
    assert_eq!(kept.store.letters(None).unwrap(), letters);

    // One that was delivered is delivered, and its source is still taken.
    let taken = take(&kept.store, "p", &of("b"));
    assert!(!kept.store.letter_done(taken[0].id, "q", Delivery::Delivered).unwrap());
    assert!(!kept.store.letter_done(taken[0].id, "p", Delivery::Pending).unwrap());
    assert_eq!(kept.store.letters(None).unwrap().len(), 4, "nothing happened");
    assert!(kept.store.letter_done(taken[0].id, "p", Delivery::Delivered).unwrap());
    assert!(!kept.store.letter_done(taken[0].id, "p", Delivery::Dropped).unwrap());
    assert!(!kept.store.put_letter(&NewLetter { chat: "b", ..new }).unwrap());
    assert_eq!(kept.store.letters(None).unwrap().len(), 3);
}

#[test]
fn letters_are_taken_oldest_first_by_session_and_workspace() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let (here, none) = (Workspace::at(temp.path()), Workspace::none());
    for (workspace, chat, content) in
        [(&here, "a", "1"), (&none, "a", "2"), (&here, "b", "3"), (&here, "a", "4"), (&here, "a", "5")]
    {
        kept.store.put_letter(&letter(workspace, chat, content)).unwrap();
    }
    let in_here = |filter| LetterFilter { workspace: Some(here.clone()), ..filter };
    assert_eq!(contents(&kept.store.take_letters("p", &in_here(of("a")), 2).unwrap()), ["1", "4"]);
    assert_eq!(contents(&take(&kept.store, "q", &of("a"))), ["2", "5"]);
    assert!(
        take(&kept.store, "q", &LetterFilter { workspace: Some(Workspace::at(Path::new("/x"))), ..of("b") })
            .is_empty()
    );
    assert_eq!(contents(&take(&kept.store, "q", &in_here(LetterFilter::default()))), ["3"]);
    assert!(take(&kept.store, "q", &LetterFilter::default()).is_empty());
    assert_eq!(kept.store.letters(None).unwrap().len(), 5, "they are taken, not delivered");
}

#[test]
fn what_a_dead_process_showed_is_uncertain_and_what_a_leaving_one_gives_back_is_not() {
    let kept = Kept::new();
    let none = Workspace::none();
    for (owner, content) in [("dead", "1"), ("gone", "2")] {
        kept.store.put_letter(&letter(&none, "a", content)).unwrap();
        assert_eq!(contents(&take(&kept.store, owner, &of("a"))), [content]);
    }
    kept.store.bury("dead", "killed").unwrap();
    kept.store.leave("gone").unwrap();
    let letters = take(&kept.store, "p", &of("a"));
    let known = |letter: &LetterRow| (letter.content.clone(), letter.uncertain);
    assert_eq!(
        letters.iter().map(known).collect::<Vec<_>>(),
        [("1".to_owned(), true), ("2".to_owned(), false)]
    );
    assert!(!kept.store.letter_done(letters[0].id, "dead", Delivery::Delivered).unwrap());
    // Once it is uncertain it stays so.
    kept.store.leave("p").unwrap();
    assert!(take(&kept.store, "q", &of("a"))[0].uncertain);
}

#[test]
fn a_session_that_another_process_attends_is_left_to_it() {
    let kept = Kept::new();
    let temp = tempfile::tempdir().unwrap();
    let (here, none) = (Workspace::at(temp.path()), Workspace::none());
    for id in ["chat", "serve"] {
        kept.store.register_process(&NewProcess { id, kind: id, pid: 1 }).unwrap();
    }
    kept.store.attend("chat", &here, Some(("cli", "a"))).unwrap();
    for (workspace, chat, content) in
        [(&here, "a", "attended"), (&here, "b", "other chat"), (&none, "a", "elsewhere")]
    {
        kept.store.put_letter(&letter(workspace, chat, content)).unwrap();
    }
    let unattended = LetterFilter { unattended: true, ..LetterFilter::default() };
    assert_eq!(contents(&take(&kept.store, "serve", &unattended)), ["other chat", "elsewhere"]);
    assert!(take(&kept.store, "serve", &unattended).is_empty());
    // Who attends it takes it, for it is no other.
    assert_eq!(contents(&take(&kept.store, "chat", &unattended)), ["attended"]);
    kept.store.leave("chat").unwrap();
    assert_eq!(contents(&take(&kept.store, "serve", &unattended)), ["attended"]);
}

#[test]
fn of_two_processes_one_takes_a_letter() {
    let kept = Kept::new();
    let none = Workspace::none();
    for n in 0..60 {
        kept.store.put_letter(&letter(&none, "a", &n.to_string())).unwrap();
    }
    let taken = at_once(&kept, |store, owner| {
        let mut all = BTreeSet::new();
        loop {
            let letters = store.take_letters(owner, &of("a"), 3).unwrap();
            if letters.is_empty() {
                return all;
            }
            for letter in letters {
                assert!(store.letter_done(letter.id, owner, Delivery::Delivered).unwrap());
                assert!(all.insert(letter.id));
            }
        }
    });
    assert!(taken[0].is_disjoint(&taken[1]));
    assert_eq!(taken[0].len() + taken[1].len(), 60);
    assert!(kept.store.letters(None).unwrap().is_empty());
    let put = at_once(&kept, |store, _| {
        store.put_letter(&NewLetter { source: Some("one"), ..letter(&none, "a", "x") }).unwrap()
    });
    assert_ne!(put[0], put[1]);
}
