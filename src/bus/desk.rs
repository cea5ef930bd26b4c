//! Admission: a session has one turn at a time, and what is said to it meanwhile waits at the desk. Different sessions
//! have their turns side by side, up to a number.

use super::Inbound;
use crate::session::SessionKey;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// Messages that may wait for one session.
pub const QUEUE: usize = 20;

/// Turns at once, of different sessions.
pub const TURNS: usize = 3;

/// Messages that a running turn is handed at once.
pub const FOLLOW_UPS: usize = 3;

/// Where turns begin.
#[derive(Debug, Clone)]
pub struct Desk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sessions: Mutex<HashMap<SessionKey, Entry>>,
    turns: Semaphore,
}

#[derive(Debug)]
struct Entry {
    waiting: VecDeque<Inbound>,
    stop: watch::Sender<bool>,
    /// Whether somebody sits. Of a session that nobody sees to, an entry is kept only while messages wait.
    busy: bool,
}

/// What became of a message.
#[derive(Debug)]
pub enum Admission {
    /// The session was idle: this is its turn now, and the message with which it begins.
    Begin(Sitting, Inbound),
    /// The session is busy; so many messages wait for it now. The running turn is handed them, or the next one begins
    /// with them.
    Queued(usize),
}

/// A message that is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{waiting} messages wait for this session already, the most there may be; wait, or stop the turn")]
pub struct Refused {
    /// How many wait.
    pub waiting: usize,
}

/// What stopping did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// Whether a turn was running; it is told to end.
    pub running: bool,
    /// What waited, and does not wait any more.
    pub drained: Vec<Inbound>,
}

impl Default for Desk {
    fn default() -> Self {
        Self::new(TURNS)
    }
}

impl Desk {
    /// A desk for so many turns at once.
    pub fn new(turns: usize) -> Self {
        Self(Arc::new(Inner { sessions: Mutex::new(HashMap::new()), turns: Semaphore::new(turns.max(1)) }))
    }

    /// Takes a message to its session.
    ///
    /// # Errors
    ///
    /// When too many wait already. Nothing was taken.
    pub fn admit(&self, message: Inbound) -> Result<Admission, Refused> {
        let key = message.session();
        let mut sessions = self.0.sessions();
        let entry = sessions.entry(key.clone()).or_insert_with(Entry::idle);
        let waiting = entry.waiting.len();
        if waiting >= QUEUE {
            return Err(Refused { waiting });
        }
        entry.waiting.push_back(message);
        if entry.busy {
            return Ok(Admission::Queued(waiting + 1));
        }
        match entry.begin() {
            Some((stopped, first)) => {
                Ok(Admission::Begin(Sitting { desk: Arc::clone(&self.0), key, stopped, seated: true }, first))
            }
            None => Ok(Admission::Queued(waiting + 1)),
        }
    }

    /// Tells the running turn of a session to end, and takes away what waits for it.
    pub fn stop(&self, key: &SessionKey) -> Stopped {
        let mut sessions = self.0.sessions();
        let Some(entry) = sessions.get_mut(key) else {
            return Stopped { running: false, drained: Vec::new() };
        };
        entry.stop.send_replace(true);
        Stopped { running: entry.busy, drained: entry.waiting.drain(..).collect() }
    }

    /// Messages that wait for a session.
    pub fn waiting(&self, key: &SessionKey) -> usize {
        self.0.sessions().get(key).map_or(0, |entry| entry.waiting.len())
    }

    /// Sessions that are busy.
    pub fn busy(&self) -> usize {
        self.0.sessions().values().filter(|entry| entry.busy).count()
    }
}

impl Entry {
    fn idle() -> Self {
        Self { waiting: VecDeque::new(), stop: watch::channel(false).0, busy: false }
    }

    /// Makes it busy with the message that waits longest.
    fn begin(&mut self) -> Option<(watch::Receiver<bool>, Inbound)> {
        let message = self.waiting.pop_front()?;
        let (stop, stopped) = watch::channel(false);
        self.stop = stop;
        self.busy = true;
        Some((stopped, message))
    }
}

impl Inner {
    /// A map of queues is whole after every statement on it, so a panic elsewhere does not spoil it.
    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionKey, Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's place at the desk. While it is held, no other turn of the session begins; dropping it
/// frees the session, and what waits begins its next turn.
#[derive(Debug)]
pub struct Sitting {
    desk: Arc<Inner>,
    key: SessionKey,
    stopped: watch::Receiver<bool>,
    /// Until the session is idle again.
    seated: bool,
}

impl Sitting {
    /// Whose it is.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Waits until fewer turns than the desk allows are running. The turn runs while the permit is held.
    ///
    /// The desk never closes its semaphore, so there is always a permit to come.
    pub async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.desk.turns.acquire().await.ok()
    }

    /// What was said meanwhile, oldest first, at most [`FOLLOW_UPS`] at once.
    pub fn follow_ups(&self) -> Vec<Inbound> {
        let mut sessions = self.desk.sessions();
        let Some(entry) = sessions.get_mut(&self.key) else { return Vec::new() };
        let most = entry.waiting.len().min(FOLLOW_UPS);
        entry.waiting.drain(..most).collect()
    }

    /// Waits until somebody stops the turn.
    pub async fn stopped(&self) {
        let mut stopped = self.stopped.clone();
        if stopped.wait_for(|stop| *stop).await.is_err() {
            // The desk holds the other end as long as this sitting stands.
            std::future::pending::<()>().await;
        }
    }

    /// After a turn: the message with which the next turn begins, or `None` and the session is idle. Nothing that comes in
    /// between is lost.
    pub fn next(mut self) -> Option<(Self, Inbound)> {
        let begun = {
            let mut sessions = self.desk.sessions();
            let begun = sessions.get_mut(&self.key).and_then(Entry::begin);
            if begun.is_none() {
                sessions.remove(&self.key);
            }
            begun
        };
        match begun {
            Some((stopped, message)) => {
                self.stopped = stopped;
                Some((self, message))
            }
            None => {
                self.seated = false;
                None
            }
        }
    }
}

impl Drop for Sitting {
    fn drop(&mut self) {
        if !self.seated {
            return;
        }
        let mut sessions = self.desk.sessions();
        let Some(entry) = sessions.get_mut(&self.key) else { return };
        if entry.waiting.is_empty() {
            sessions.remove(&self.key);
        } else {
            entry.busy = false;
        }
    }
}
