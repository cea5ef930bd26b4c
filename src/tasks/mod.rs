//! Background runs: recorded, accepted, run, delivered.
//!
//! What is accepted is on record before anybody hears of it, and its result is on record before it is delivered. A process that
//! dies on the way is noticed by the next one: its runs are lost, and say so, and its results are delivered.

mod announce;
mod awaited;
mod claim;
mod house;
mod inline;
mod origin;
mod queue;
mod recovery;
mod run;
mod spawner;
mod unattended;
mod watch;

pub use announce::{Announcement, Standing, ended, source};
pub use claim::Claim;
pub use house::House;
pub use origin::{Most, Origin, TurnOf, transcript};
pub use recovery::bury_if_gone;
pub use unattended::Unattended;

use crate::agent::{Means, Purse};
use crate::authority::Rights;
use crate::config::{Dirs, Presence, TasksConfig};
use crate::session::SessionKey;
use crate::store::{Delivery, NewProcess, Store, StoreError, TaskRow, Workspace};
use queue::Queue;
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::{Notify, watch as signal};

/// Which session, in which workspace.
pub type Place = (PathBuf, SessionKey);

/// The background runs of a process.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

/// Who runs what is recorded here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hands {
    /// This process.
    Own,
    /// Whichever takes it: this one records, and ends before its runs do.
    Others,
}

struct Inner {
    presence: Presence,
    dirs: Dirs,
    store: Arc<Store>,
    house: Arc<dyn House>,
    config: TasksConfig,
    hands: Hands,
    state: Mutex<State>,
    /// Told when there may be something to begin.
    kick: Notify,
    /// Told when a run has ended.
    ended: Notify,
    /// Hears of every end.
    listener: OnceLock<Listener>,
}

/// Whoever hears of every end of a run, before anybody else does.
pub type Listener = Box<dyn Fn(&Announcement) + Send + Sync>;

#[derive(Default)]
struct State {
    queue: Queue,
    running: HashMap<String, Running>,
    /// How many of each session run.
    running_of: HashMap<Place, u64>,
    /// From whose purse something was set aside for a run.
    aside: HashMap<String, Purse>,
    /// What has ended and waits to be announced, by the session that it belongs to.
    arrived: HashMap<Place, VecDeque<Announcement>>,
    /// Sessions whose arrivals somebody sees to, and how many do.
    claimed: HashMap<Place, usize>,
    /// Turns of those who wait for what they started, and are told of it alone.
    awaited: HashSet<String>,
    /// Runs whose caller waits for them within its own call, and the turn of that call.
    inline: HashMap<String, String>,
    /// Results that such a caller was given; delivered when its conversation has them.
    given: HashMap<String, HashSet<String>>,
    closed: bool,
}

struct Running {
    place: Place,
    stop: signal::Sender<Option<String>>,
}

impl Tasks {
    /// The runs of this process, which makes itself known as `kind`. Looks after them from now on; must be called within a
    /// runtime.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn open(
        store: &Arc<Store>,
        house: Arc<dyn House>,
        (dirs, presence, kind): (Dirs, Presence, &str),
        (config, hands): (TasksConfig, Hands),
    ) -> Result<Self, StoreError> {
        store.register_process(&NewProcess { id: presence.id(), kind, pid: std::process::id() })?;
        let inner = Arc::new(Inner {
            presence,
            dirs,
            store: Arc::clone(store),
            house,
            config,
            hands,
            state: Mutex::default(),
            kick: Notify::new(),
            ended: Notify::new(),
            listener: OnceLock::new(),
        });
        watch::start(&inner);
        Ok(Self(inner))
    }

    /// This process's name among others.
    pub fn process(&self) -> &str {
        self.0.presence.id()
    }

    /// Lets somebody hear of every end, in their own words. The first who asks does.
    pub fn listen(&self, listener: Listener) {
        let _ = self.0.listener.set(listener);
    }

    /// Tells others which session somebody looks at here.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    pub fn attend(&self, workspace: &Path, key: Option<&SessionKey>) -> Result<(), StoreError> {
        let session = key.map(|key| (key.channel(), key.chat()));
        self.0.store.attend(self.process(), &Workspace::at(workspace), session)
    }

    /// What has ended of a session's runs and is not announced yet, oldest first. Each is handed out once.
    pub fn arrived(&self, place: &Place) -> Vec<Announcement> {
        self.0.state().take_arrived(place, |awaited, one| !awaited.contains(&one.row.turn))
    }

    /// The same of those whose starter held at least these rights: a turn that holds them is told of no others.
    pub fn arrived_for(&self, place: &Place, held: &Rights) -> Vec<Announcement> {
        let fits = |row: &TaskRow| Rights::from_text(&row.rights).is_ok_and(|its| held.is_within(&its));
        let is_so = |awaited: &HashSet<String>, one: &Announcement| {
            !awaited.contains(&one.row.turn) && fits(&one.row)
        };
        self.0.state().take_arrived(place, is_so)
    }

    /// Waits until something has ended of the runs of any session that nobody has claimed; all that has of that session.
    pub async fn arrival_anywhere(&self) -> (Place, Vec<Announcement>) {
        loop {
            let ended = self.0.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            let first = {
                let mut state = self.0.state();
                state.arrived.retain(|_, waiting| !waiting.is_empty());
                let free = |place: &&Place| !state.claimed.contains_key(*place);
                let place = state.arrived.keys().find(free).cloned();
                place.and_then(|place| Some((place.clone(), Vec::from(state.arrived.remove(&place)?))))
            };
            match first {
                Some(first) => return first,
                None => ended.await,
            }
        }
    }

    /// Waits until something of a session's runs has ended. `None` when nothing of them waits or runs any more.
    pub async fn arrival_or_none(&self, place: &Place) -> Option<Announcement> {
        loop {
            let ended = self.0.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            {
                // Looked at together: a run that ends in between would be in neither.
                let mut state = self.0.state();
                if let Some(first) = state.first_arrived(place) {
                    return Some(first);
                }
                if state.unended(place) == 0 {
                    return None;
                }
            }
            ended.await;
        }
    }

    /// Waits until something of a session's runs has ended.
    pub async fn arrival(&self, place: &Place) -> Announcement {
        loop {
            let ended = self.0.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            if let Some(first) = self.0.state().first_arrived(place) {
                return first;
            }
            ended.await;
        }
    }

    /// Runs of a session that wait or run in this process.
    pub fn unended(&self, place: &Place) -> usize {
        self.0.state().unended(place)
    }

    /// Runs of this process that run.
    pub fn running(&self) -> usize {
        self.0.state().running.len()
    }

    /// Runs of this process that wait.
    pub fn waiting(&self) -> usize {
        self.0.state().queue.len()
    }

    /// Whether nothing waits, runs, is to be announced, or is being announced.
    pub fn is_idle(&self) -> bool {
        let state = self.0.state();
        state.queue.len() == 0
            && state.running.is_empty()
            && state.claimed.is_empty()
            && state.arrived.values().all(VecDeque::is_empty)
    }

    /// Notes that a result has reached whom it was for. `false` when that was noted before.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn delivered(&self, id: &str) -> Result<bool, StoreError> {
        self.0.store.deliver_task(id, self.process(), Delivery::Delivered)
    }

    /// What a turn was given within its own calls is delivered: it stands in the conversation, as their results. Were that
    /// noted later, a process that dies in the meantime would leave it to be told a second time, after its answer.
    pub fn given_is_kept(&self, turn: &str) {
        let given = self.0.state().given.remove(turn).unwrap_or_default();
        for id in given {
            if let Err(error) = self.delivered(&id) {
                tracing::warn!("that the result of task {id} was delivered cannot be noted: {error}");
            }
        }
    }

    /// Ends all runs of a session; how many.
    pub fn cancel_by_session(&self, place: &Place, reason: &str) -> usize {
        self.cancel_where(|of| of == place, reason)
    }

    fn cancel_where(&self, which: impl Fn(&Place) -> bool, reason: &str) -> usize {
        let (waiting, running) = {
            let mut state = self.0.state();
            let waiting = state.queue.drain(&which);
            let mut running = 0;
            // Said before anybody else can look: one of them may still be about to wait on.
            for one in state.running.values().filter(|running| which(&running.place)) {
                one.stop.send_replace(Some(reason.to_owned()));
                running += 1;
            }
            (waiting, running)
        };
        for (id, place) in &waiting {
            self.0.cancel_waiting(id, place, reason);
        }
        waiting.len() + running
    }

    /// Ends everything, for good, and waits until it has ended. What was taken up and has not begun is left to others. What is
    /// announced after this is for the caller, through [`Tasks::arrived`].
    pub async fn close(&self, reason: &str) {
        self.0.state().closed = true;
        self.put_down();
        self.cancel_where(|_| true, reason);
        loop {
            let ended = self.0.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            if self.0.state().running.is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Leaves what was not delivered to others, and makes this process unknown. To be called last.
    pub fn leave(&self) {
        self.0.state().closed = true;
        self.0.kick.notify_one();
        if let Err(error) = self.0.store.leave(self.process()) {
            tracing::warn!("this process cannot be taken off the list: {error}");
        }
    }
}

impl State {
    fn unended(&self, place: &Place) -> usize {
        self.queue.of(place) + self.running_of.get(place).map_or(0, |running| *running as usize)
    }

    fn started(&mut self, id: String, running: Running) {
        *self.running_of.entry(running.place.clone()).or_default() += 1;
        self.running.insert(id, running);
    }

    fn stopped(&mut self, id: &str) {
        let Some(running) = self.running.remove(id) else { return };
        if let Some(of) = self.running_of.get_mut(&running.place) {
            *of = of.saturating_sub(1);
            if *of == 0 {
                self.running_of.remove(&running.place);
            }
        }
    }
}

impl Inner {
    /// Every map is whole after every statement on it, so a panic elsewhere does not spoil them.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run of this process's has ended, and its row says so. `left` of what was set aside for it goes back.
    fn over(&self, row: &TaskRow, left: Means) {
        let announcement = Announcement::of(row, Standing::New);
        if let Some(listener) = self.listener.get() {
            listener(&announcement);
        }
        let mut state = self.state();
        state.stopped(&row.id);
        if let Some(purse) = state.aside.remove(&row.id) {
            purse.put_back(left);
        }
        // Whoever waits for it within its own call looks by itself, and may have seen it already.
        let given = state.given.values().any(|ids| ids.contains(&row.id));
        if !given && !state.inline.contains_key(&row.id) {
            state.arrived.entry(origin::place_of(row)).or_default().push_back(announcement);
        }
        drop(state);
        self.ended.notify_waiters();
        self.kick.notify_one();
    }

    /// A run is not this process's any more, and nobody here hears of its end.
    fn forget(&self, id: &str) {
        self.state().stopped(id);
        self.ended.notify_waiters();
    }

    /// Ends a run that has not begun.
    fn cancel_waiting(&self, id: &str, place: &Place, reason: &str) {
        match self.store.cancel_task(id, reason) {
            Ok(crate::store::CancelAsked::Ended(row)) => self.over(&row, run::set_aside(&row)),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!("task {id} of {} cannot be cancelled: {error}", place.1);
            }
        }
    }
}
