//! Conversations: what was said, kept before anything follows from it, and repaired when it is loaded.
//!
//! What is kept is never rewritten. The repair makes a view of it; see [`Session::messages`].

mod catalogue;
mod export;
mod key;
mod view;

pub use catalogue::{Entry, NotFound, find, list, list_all, newest, remove};
pub use export::{Format, Reply, export, plain, replies};
pub use key::SessionKey;

use crate::provider::{Block, Message, Speaker};
use crate::store::{Appended, Compaction, MessageRow, NewMessage, SessionId, Store, StoreError, Workspace};
use std::path::Path;
use std::sync::Arc;
use view::View;

/// A message as it was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// What was said.
    pub message: Message,
    /// Where it comes from, if the host put it in; `None` is what people and models say.
    pub source: Option<String>,
}

/// A conversation that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A message has no JSON.
    #[error("the message cannot be written down: {0}")]
    Message(#[from] serde_json::Error),
}

/// One conversation.
#[derive(Debug)]
pub struct Session {
    key: SessionKey,
    keeping: Keeping,
    view: View,
    /// The number of the first message that the view shows as it was said.
    first: i64,
    /// The number of the last message.
    last: i64,
    skipped: usize,
}

#[derive(Debug)]
enum Keeping {
    /// Here, until the end of the process.
    Memory(Vec<Kept>),
    Store(Arc<Store>, Workspace),
}

impl Session {
    /// A conversation that is not kept.
    pub fn ephemeral(key: SessionKey) -> Self {
        Self::empty(key, Keeping::Memory(Vec::new()))
    }

    /// The conversation of that key that belongs to no workspace, or a new one. It is in the store from its first message
    /// on.
    ///
    /// # Errors
    ///
    /// When the store cannot be read. Messages that cannot be read are left out and counted.
    pub fn open(store: &Arc<Store>, key: SessionKey) -> Result<Self, SessionError> {
        Self::open_as(store, Workspace::none(), key)
    }

    /// The conversation of that key in a workspace, or a new one. The same key in another workspace is another
    /// conversation. Links in the workspace's path are resolved by the caller.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn open_in(store: &Arc<Store>, workspace: &Path, key: SessionKey) -> Result<Self, SessionError> {
        Self::open_as(store, Workspace::at(workspace), key)
    }

    fn open_as(store: &Arc<Store>, workspace: Workspace, key: SessionKey) -> Result<Self, SessionError> {
        let found = store.session(&workspace, (key.channel(), key.chat()))?;
        let mut session = Self::empty(key, Keeping::Store(Arc::clone(store), workspace));
        if let Some(id) = found {
            session.load(store, id)?;
        }
        Ok(session)
    }

    fn empty(key: SessionKey, keeping: Keeping) -> Self {
        Self { key, keeping, view: View::default(), first: 1, last: 0, skipped: 0 }
    }

    fn load(&mut self, store: &Store, id: SessionId) -> Result<(), SessionError> {
        let compaction = store.compaction(id)?;
        (self.view, self.first) = match &compaction {
            Some(compaction) => (View::after(&compaction.summary), compaction.first),
            None => (View::default(), 1),
        };
        self.skipped = 0;
        for row in store.messages(id, self.first)? {
            match decoded(&row) {
                Some(message) => self.view.push(row.seq, &message),
                None => self.skipped += 1,
            }
            self.last = self.last.max(row.seq);
        }
        Ok(())
    }

    /// Which.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// What a model is sent, oldest first, valid on every wire at any time: the user speaks first, speakers alternate, and
    /// the message after calls begins with their results, those that never came being given as interrupted. After a
    /// compaction the summary stands in place of what it sums up.
    pub fn messages(&self) -> &[Message] {
        self.view.messages()
    }

    /// How many messages could not be read.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Adds a message. When this returns, a crash of this process does not lose it.
    ///
    /// # Errors
    ///
    /// When it cannot be kept; it is then not a part of the conversation.
    pub fn append(&mut self, message: Message) -> Result<(), SessionError> {
        self.add(message, None).map(drop)
    }

    /// Adds a message that the host puts in, once for each source. `false`: one of that source was there, whoever put it in,
    /// and nothing was added. It gives the conversation no title.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn append_from(&mut self, message: Message, source: &str) -> Result<bool, SessionError> {
        self.add(message, Some(source))
    }

    fn add(&mut self, message: Message, source: Option<&str>) -> Result<bool, SessionError> {
        let added = match &mut self.keeping {
            Keeping::Memory(history) => {
                if source.is_some() && history.iter().any(|kept| kept.source.as_deref() == source) {
                    return Ok(false);
                }
                history.push(Kept { message: message.clone(), source: source.map(str::to_owned) });
                Appended { seq: self.last + 1, new: true }
            }
            Keeping::Store(store, workspace) => {
                let blocks = serde_json::to_string(&message.blocks)?;
                let title = if source.is_some() { String::new() } else { title(&message) };
                let speaker = speaker_name(message.speaker);
                let row = NewMessage { speaker, blocks: &blocks, title: &title, source };
                store.append(workspace, (self.key.channel(), self.key.chat()), row)?
            }
        };
        if added.new {
            self.last = added.seq;
            self.view.push(added.seq, &message);
        }
        Ok(added.new)
    }

    /// Whether the model has answered the message of that source: words without calls stand after it. `None`: there is no
    /// message of that source.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn answered(&self, source: &str) -> Result<Option<bool>, SessionError> {
        match &self.keeping {
            Keeping::Memory(history) => {
                let at = history.iter().position(|kept| kept.source.as_deref() == Some(source));
                let after = at.map(|at| history.iter().skip(at + 1));
                Ok(after.map(|mut after| after.any(|kept| is_answer(&kept.message))))
            }
            Keeping::Store(store, workspace) => {
                let Some(id) = store.session(workspace, (self.key.channel(), self.key.chat()))? else {
                    return Ok(None);
                };
                let Some(seq) = store.sourced(id, source)? else { return Ok(None) };
                let after = store.messages(id, seq + 1)?;
                Ok(Some(after.iter().filter_map(decoded).any(|message| is_answer(&message))))
            }
        }
    }

    /// Lets a summary stand for everything before the last `keep_last` messages, an earlier summary included. Results are
    /// kept with their calls, so that one message more may be kept. The history stays whole.
    ///
    /// # Errors
    ///
    /// When that cannot be kept; the conversation is then as it was.
    pub fn compact(&mut self, summary: String, keep_last: usize) -> Result<(), SessionError> {
        if self.view.messages().is_empty() {
            return Ok(());
        }
        let first = self.view.tail(keep_last).unwrap_or(self.last + 1).max(self.first);
        match &self.keeping {
            Keeping::Memory(history) => {
                let mut view = View::after(&summary);
                for (seq, kept) in (1..).zip(history).filter(|(seq, _)| *seq >= first) {
                    view.push(seq, &kept.message);
                }
                (self.view, self.first) = (view, first);
            }
            Keeping::Store(store, workspace) => {
                let store = Arc::clone(store);
                if let Some(id) = store.session(workspace, (self.key.channel(), self.key.chat()))? {
                    store.compact(id, &Compaction { first, summary })?;
                    self.load(&store, id)?;
                }
            }
        }
        Ok(())
    }

    /// Everything that was ever said, as it was said. Messages that cannot be read are left out.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn history(&self) -> Result<Vec<Message>, SessionError> {
        Ok(self.history_rows()?.into_iter().map(|kept| kept.message).collect())
    }

    /// The same with where each comes from, which tells what the host put in from what was said.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn history_rows(&self) -> Result<Vec<Kept>, SessionError> {
        match &self.keeping {
            Keeping::Memory(history) => Ok(history.clone()),
            Keeping::Store(store, workspace) => {
                let Some(id) = store.session(workspace, (self.key.channel(), self.key.chat()))? else {
                    return Ok(Vec::new());
                };
                let kept = |row: MessageRow| Some(Kept { message: decoded(&row)?, source: row.source });
                Ok(store.messages(id, 1)?.into_iter().filter_map(kept).collect())
            }
        }
    }
}

/// Words of the model after which nothing is to be done.
fn is_answer(message: &Message) -> bool {
    message.speaker == Speaker::Assistant
        && message.calls().next().is_none()
        && !message.text().trim().is_empty()
}

/// The message of a row, if it can be read.
fn decoded(row: &MessageRow) -> Option<Message> {
    let speaker = match row.speaker.as_str() {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return None,
    };
    let blocks: Vec<Block> = serde_json::from_str(row.blocks.as_deref()?).ok()?;
    Some(Message { speaker, blocks })
}

fn speaker_name(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    }
}

/// What a session is called whose first prompt this is: its first line, bounded.
fn title(message: &Message) -> String {
    if message.speaker != Speaker::User {
        return String::new();
    }
    let text = message.text();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= 80 {
        return line.to_owned();
    }
    let head: String = line.chars().take(79).collect();
    format!("{}…", head.trim_end())
}
