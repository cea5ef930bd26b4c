//! The schedule at work: looks at the clock, settles what is due, and starts runs.
//!
//! Nothing is remembered between two looks but what runs. Each look asks the store what is due by the clock as it stands
//! now, so that other processes may add and pause jobs, and the clock may leap.

use super::run::{self, Ended};
use super::settle;
use crate::config::CronConfig;
use crate::store::{Store, StoreError, Workspace};
use crate::tasks::{House, Origin, Tasks};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The longest time between two looks.
const PULSE: Duration = Duration::from_secs(5);

/// The shortest, so that a due time which cannot be settled does not keep the processor busy.
const BREATH: Duration = Duration::from_millis(200);

/// What time it is, in milliseconds since the epoch.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The jobs of a workspace, or of all, and what runs of them in this process.
#[derive(Clone)]
pub struct Schedule(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) tasks: Tasks,
    pub(super) house: Arc<dyn House>,
    pub(super) store: Arc<Store>,
    pub(super) config: CronConfig,
    workspace: Option<PathBuf>,
    pub(super) now: Now,
    /// Told when a job was added here.
    kick: Notify,
    /// How many run.
    running: watch::Sender<usize>,
    /// How runs ended that could not be written down yet.
    unsaved: Mutex<Vec<Ended>>,
    /// Hears of every run that is over.
    pub(super) listener: OnceLock<Listener>,
}

/// Hears of runs that are over: one line each, for people.
pub type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// The clock of this system.
pub(super) fn clock() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

impl Schedule {
    /// The jobs of a workspace, or of all. Nothing comes due before [`Schedule::run`].
    pub fn open(
        tasks: Tasks,
        house: Arc<dyn House>,
        store: Arc<Store>,
        config: CronConfig,
        workspace: Option<PathBuf>,
    ) -> Self {
        Self::with_clock((tasks, house), store, config, workspace, Arc::new(clock))
    }

    /// The same under another clock.
    pub fn with_clock(
        (tasks, house): (Tasks, Arc<dyn House>),
        store: Arc<Store>,
        config: CronConfig,
        workspace: Option<PathBuf>,
        now: Now,
    ) -> Self {
        let (kick, running) = (Notify::new(), watch::Sender::new(0));
        let (unsaved, listener) = (Mutex::default(), OnceLock::new());
        Self(Arc::new(Inner {
            tasks,
            house,
            store,
            config,
            workspace,
            now,
            kick,
            running,
            unsaved,
            listener,
        }))
    }

    /// Tells `listener` of every run that is over here. The first one counts.
    pub fn listen(&self, listener: Listener) {
        // Who listens already goes on.
        let _ = self.0.listener.set(listener);
    }

    /// Starts what comes due until `stop` says so; then what runs is told to end, and this returns when it has.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut heard = true;
        while !*stop.borrow() {
            let next = self.tick(&stop);
            let wait = next.map_or(PULSE, |next| {
                let wait = next.saturating_sub((self.0.now)());
                Duration::from_millis(u64::try_from(wait).unwrap_or(0)).clamp(BREATH, PULSE)
            });
            tokio::select! {
                // Without an error, as long as there is somebody who can say so.
                told = stop.changed(), if heard => heard = told.is_ok(),
                () = self.0.kick.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        self.idle().await;
    }

    /// One look: settles what is due by now, and starts what is to run; `stop` ends that. When the next job is due; `None`
    /// when that is not known. Must be called within a runtime.
    pub fn tick(&self, stop: &watch::Receiver<bool>) -> Option<i64> {
        self.look(stop).unwrap_or_else(|error| {
            tracing::warn!("which scheduled jobs are due cannot be found out: {error}");
            None
        })
    }

    fn look(&self, stop: &watch::Receiver<bool>) -> Result<Option<i64>, StoreError> {
        let inner = &self.0;
        // While what has happened cannot be written down, nothing more is to happen.
        if !inner.save() {
            return Ok(None);
        }
        let now = (inner.now)();
        let workspace = inner.workspace.as_deref().map(Workspace::at);
        for job in inner.store.due_jobs(now, workspace.as_ref())? {
            if *stop.borrow() {
                return Ok(None);
            }
            let id = job.id.clone();
            if let Err(error) = settle::settle(inner, job, now, stop) {
                tracing::warn!("that job {id} is due cannot be dealt with: {error}");
            }
        }
        inner.store.next_due(workspace.as_ref())
    }

    /// How many jobs run in this process.
    pub fn running(&self) -> usize {
        *self.0.running.borrow()
    }

    /// Waits until none does.
    pub async fn idle(&self) {
        let mut running = self.0.running.subscribe();
        // The sender is there as long as this is.
        let _ = running.wait_for(|running| *running == 0).await;
        self.0.save();
    }

    /// What stands behind `cron` in a turn.
    pub fn scheduler(&self, origin: Origin) -> Arc<dyn crate::sandbox::ports::Scheduler> {
        super::scheduler::bound(self.0.store.clone(), self.0.config.clone(), origin, Some(self.clone()))
    }

    /// Looks again at once: a job was added.
    pub(super) fn wake(&self) {
        self.0.kick.notify_one();
    }
}

impl Inner {
    /// Counts a run as long as the value stands.
    pub(super) fn count(self: &Arc<Self>) -> Counted {
        self.running.send_modify(|running| *running += 1);
        Counted(Arc::clone(self))
    }

    /// Writes down how a run ended, now or as soon as it can be.
    pub(super) fn ended(&self, ended: Ended) {
        if !run::write(self, &ended) {
            self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        }
    }

    /// Writes down what could not be before. Whether nothing is left.
    fn save(&self) -> bool {
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        unsaved.retain(|ended| !run::write(self, ended));
        unsaved.is_empty()
    }
}

/// A run that is counted.
pub(super) struct Counted(Arc<Inner>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}
