//! Conversations: what was said, kept before anything follows from it, and repaired when it is loaded.
//!
//! What is kept is never rewritten. The repair makes a view of it; see [`Session::messages`].

mod catalogue;
mod export;
mod key;
mod view;

pub use catalogue::{Entry, NotFound, find, list, newest, remove};
pub use export::{Format, export, plain};
pub use key::SessionKey;

use crate::provider::{Block, Message, Speaker};
use crate::store::{Compaction, MessageRow, NewMessage, SessionId, Store, StoreError, Workspace};
use std::path::Path;
use std::sync::Arc;
use view::View;

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
    Memory(Vec<Message>),
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
        let seq = match &mut self.keeping {
            Keeping::Memory(history) => {
                history.push(message.clone());
                self.last + 1
            }
            Keeping::Store(store, workspace) => {
                let blocks = serde_json::to_string(&message.blocks)?;
                let title = title(&message);
                let row =
                    NewMessage { speaker: speaker_name(message.speaker), blocks: &blocks, title: &title };
                store.append(workspace, (self.key.channel(), self.key.chat()), row)?
            }
        };
        self.last = seq;
        self.view.push(seq, &message);
        Ok(())
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
                for (seq, message) in (1..).zip(history).filter(|(seq, _)| *seq >= first) {
                    view.push(seq, message);
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
        match &self.keeping {
            Keeping::Memory(history) => Ok(history.clone()),
            Keeping::Store(store, workspace) => {
                match store.session(workspace, (self.key.channel(), self.key.chat()))? {
                    Some(id) => Ok(store.messages(id, 1)?.iter().filter_map(decoded).collect()),
                    None => Ok(Vec::new()),
                }
            }
        }
    }
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
