//! What must be so after the last process, whatever was killed.

use super::course::Printed;
use super::{ANSWER, CAME, WAITED};
use crate::sessions::valid_for_wires;
use crate::support::Program;
use ringfence::provider::{Message, Speaker};
use ringfence::session::{Kept, Session, SessionKey};
use ringfence::store::{Delivery, Execution, Store, TaskFilter, TaskRow};
use ringfence::tasks::{ended, source};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why a run is lost.
const GONE: &str = "the process that ran it ended before it did";

/// What is on record in the end.
pub struct Record {
    pub store: Arc<Store>,
    pub rows: Vec<TaskRow>,
    pub history: Vec<Kept>,
    pub raw: rusqlite::Connection,
}

impl Record {
    /// Looks at everything that does not depend on what was printed where.
    pub fn examine(program: &Program) -> Self {
        let store = Store::open(&program.state()).unwrap();
        let raw = rusqlite::Connection::open(program.state()).unwrap();
        let check = |pragma: &str| raw.query_row(pragma, [], |row| row.get::<_, String>(0));
        assert_eq!(check("PRAGMA integrity_check").unwrap(), "ok");
        assert_eq!(check("PRAGMA foreign_key_check"), Err(rusqlite::Error::QueryReturnedNoRows));
        // Nothing unfinished is anybody's, and nobody is there.
        assert_eq!(store.owners().unwrap(), Vec::<String>::new());
        let alive: Vec<_> = std::fs::read_dir(program.home().join("data/alive")).unwrap().collect();
        assert!(alive.is_empty(), "{alive:?}");
        let session = Session::open_in(&store, &program.workspace(), SessionKey::parse("s")).unwrap();
        assert_eq!(session.skipped(), 0);
        valid_for_wires(session.messages()).unwrap();
        let history = session.history_rows().unwrap();
        let mut rows = store.tasks(&TaskFilter::default()).unwrap();
        rows.reverse();
        let record = Self { store, rows, history, raw };
        record.rows.iter().for_each(|row| record.outcome(row));
        record
    }

    /// A run has ended as it can, and its conversation was told so, once.
    fn outcome(&self, row: &TaskRow) {
        let (result, reason) = (row.result.as_deref(), row.reason.as_deref());
        match (row.label.as_str(), row.execution) {
            (_, Execution::Lost) => assert_eq!((result, reason), (None, Some(GONE))),
            ("fail at once", Execution::Failed) => {
                assert_eq!((result, reason), (None, Some("no such thing")))
            }
            (label, Execution::Succeeded) => {
                let came = CAME.iter().find(|(of, _)| *of == label).unwrap_or_else(|| panic!("{row:?}"));
                assert_eq!((result, reason), (Some(came.1), None));
            }
            _ => panic!("{row:?}"),
        }
        assert_eq!(row.delivery, Delivery::Delivered, "{row:?}");
        assert!(row.ended.is_some() && row.delivered.is_some());
        let told: Vec<&Message> = self.told(&source(&row.id)).collect();
        if row.label == WAITED && told.is_empty() {
            // It was the result of the call that waited for it.
            let results: Vec<&str> = self.results().collect();
            assert!(results.iter().any(|text| *text == result.unwrap_or_default()), "{row:?}: {results:?}");
            return;
        }
        let [told] = told.as_slice() else { panic!("{} messages about {row:?}", told.len()) };
        let text = told.text();
        assert!(text.contains(&row.id) && text.contains(&ended(row)), "{text}");
        assert!(text.contains(result.unwrap_or("There is no text of it.")), "{text}");
    }

    /// Messages of that source.
    pub fn told(&self, source: &str) -> impl Iterator<Item = &Message> {
        let of = move |kept: &&Kept| kept.source.as_deref() == Some(source);
        let told: Vec<&Message> = self.history.iter().filter(of).map(|kept| &kept.message).collect();
        told.into_iter()
    }

    fn results(&self) -> impl Iterator<Item = &str> {
        self.history.iter().flat_map(|kept| kept.message.results()).map(|result| result.text.as_str())
    }

    /// Answers of the model about background tasks.
    pub fn answers(&self) -> usize {
        let answers = self.history.iter().filter(|kept| {
            kept.message.speaker == Speaker::Assistant && kept.message.text().contains(ANSWER)
        });
        answers.count()
    }

    /// Every run that anybody was told of is on record.
    pub fn named(&self, printed: &[Printed]) {
        let rows: BTreeSet<&str> = self.rows.iter().map(|row| row.id.as_str()).collect();
        let all = printed.iter().flat_map(|printed| [printed.out.as_str(), printed.err.as_str()]);
        for text in self.results().chain(all) {
            for (at, found) in text.match_indices("(id ") {
                let id = text.get(at + found.len()..).and_then(|rest| rest.get(..8));
                // What was printed may end in the middle.
                let Some(id) = id else { continue };
                assert!(rows.contains(id), "{id} was accepted, and is not on record");
            }
        }
    }

    /// The person read one line about each run, in no process twice, and nothing of it in a process that came after everything
    /// was told.
    pub fn lines(&self, printed: &[Printed]) {
        let (last, others) = printed.split_last().unwrap();
        for row in &self.rows {
            let line = format!("task {} (", row.id);
            let counts: Vec<usize> = others.iter().map(|one| one.err.matches(&line).count()).collect();
            assert!(counts.iter().all(|count| *count <= 1), "{row:?}: {counts:?}");
            assert!(
                !last.err.contains(&row.id) && !last.out.contains(&row.id),
                "{row:?} comes again: {last:?}"
            );
            let in_call = row.label == WAITED && self.told(&source(&row.id)).next().is_none();
            let told = counts.iter().sum::<usize>() > 0;
            assert!(told || in_call, "{row:?} is silent");
        }
    }
}

/// Letters.
impl Record {
    /// Their numbers.
    pub fn letters(&self) -> Vec<i64> {
        let mut query = self.raw.prepare("SELECT id FROM outbox ORDER BY id").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    fn count(&self, condition: &str, source: &str) -> usize {
        let query = format!("SELECT count(*) FROM outbox WHERE {condition} AND (?1 = '' OR source = ?1)");
        let count: i64 = self.raw.query_row(&query, [source], |row| row.get(0)).unwrap();
        usize::try_from(count).unwrap()
    }

    pub fn pending_letters(&self) -> usize {
        self.count("delivery = 'pending'", "")
    }

    /// How many there are of a source.
    pub fn letters_of(&self, source: &str) -> usize {
        self.count("1", source)
    }

    /// Runs that an answer is about, for each answer.
    fn groups(&self) -> Vec<Vec<String>> {
        let (mut groups, mut open) = (Vec::new(), Vec::new());
        for kept in &self.history {
            match &kept.source {
                Some(source) => open.push(source.clone()),
                None if kept.message.speaker == Speaker::Assistant
                    && kept.message.text().contains(ANSWER) =>
                {
                    groups.push(std::mem::take(&mut open));
                }
                None => {}
            }
        }
        groups
    }

    /// Each answer that was given about tasks is in one letter, which may hold several of one turn; or a letter says where it
    /// is, where the process died before it wrote that.
    pub fn letters_fit_answers(&self) {
        let groups = self.groups();
        let letters = |kind: &str| -> usize {
            let like = format!("kind = '{kind}' AND source LIKE 'answer:task:%'");
            let query = format!("SELECT content FROM outbox WHERE {like}");
            let mut query = self.raw.prepare(&query).unwrap();
            let contents = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
            contents
                .map(|content| if kind == "answer" { content.unwrap().matches(ANSWER).count() } else { 1 })
                .sum()
        };
        let (answers, pointers) = (letters("answer"), letters("notice"));
        assert!(answers <= groups.len(), "{answers} in letters, of {groups:?}");
        assert!(answers + pointers >= groups.len(), "{answers} and {pointers} in letters, of {groups:?}");
    }

    /// Whether a letter tells of a run: one of its own, or one with the answer about it.
    pub fn has_letter(&self, id: &str) -> bool {
        let about = source(id);
        let own = [format!("answer:{about}"), format!("notice:{about}")];
        own.iter().any(|own| self.letters_of(own) > 0) || self.groups().concat().contains(&about)
    }
}
