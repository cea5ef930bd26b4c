//! What the sandbox needs from the rooms above it, as small traits. Whoever makes a port binds who is calling (channel,
//! chat, session) into it, so that no component can name another origin.

use super::bindings::ringfence::host as wit;
use crate::authority::Rights;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

pub use wit::cron::{Entry as JobEntry, Expression, Job, Missed, Moment, Schedule};
pub use wit::exec::{Command, Input, Outcome, Session};
pub use wit::message::{Outgoing, Receipt};
pub use wit::spawn::{Accepted, Finished, Request};
pub use wit::tasks::Summary;
pub use wit::types::{Delivery, Error, ErrorKind, Execution};

/// What a port answers. It is dropped, wherever it stands, when the call's time is over.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Hands messages to people.
pub trait Courier: Send + Sync {
    /// Hands over one message.
    fn send(&self, message: Outgoing) -> Answer<'_, Receipt>;
}

/// Starts background agents and looks after them.
pub trait Spawner: Send + Sync {
    /// Records one run and answers at once.
    fn start(&self, request: Request) -> Answer<'_, Accepted>;
    /// Records one run and waits for it, at most `timeout_ms` milliseconds.
    fn run(&self, request: Request, timeout_ms: u32) -> Answer<'_, Finished>;
    /// The caller's runs, newest first.
    fn list(&self) -> Answer<'_, Vec<Summary>>;
    /// One run.
    fn status(&self, id: String) -> Answer<'_, Summary>;
    /// The text that a run ended with.
    fn result(&self, id: String) -> Answer<'_, String>;
    /// Ends a run.
    fn cancel(&self, id: String) -> Answer<'_, Summary>;
    /// Waits for runs, at most `timeout_ms` milliseconds.
    fn wait(&self, ids: Vec<String>, timeout_ms: u32) -> Answer<'_, Vec<Summary>>;
}

/// Keeps jobs for later.
pub trait Scheduler: Send + Sync {
    /// Adds a job.
    fn add(&self, job: Job) -> Answer<'_, JobEntry>;
    /// The caller's jobs.
    fn list(&self) -> Answer<'_, Vec<JobEntry>>;
    /// Removes a job.
    fn remove(&self, id: String) -> Answer<'_, ()>;
}

/// Who makes a call, and what it holds itself, whatever the tool that it calls was granted. The host says it; no component can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer {
    /// The agent's id.
    pub agent: String,
    /// Its rights.
    pub rights: Rights,
}

impl Bearer {
    /// Nobody, with nothing.
    pub fn nobody() -> Self {
        Self { agent: String::new(), rights: Rights::none() }
    }
}

/// Where a command stands, and what the person should hear of it.
#[derive(Debug, Clone)]
pub struct Stand {
    /// For the component.
    pub outcome: Outcome,
    /// For the person: a line each.
    pub notes: Vec<String>,
}

impl From<Outcome> for Stand {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, notes: Vec::new() }
    }
}

/// Runs native commands in the operating system's sandbox.
pub trait Executor: Send + Sync {
    /// Runs one command.
    fn run<'a>(&'a self, by: &'a Bearer, command: Command) -> Answer<'a, Stand>;
    /// Sends input to, asks after, or ends a command that still runs.
    fn interact<'a>(&'a self, by: &'a Bearer, input: Input) -> Answer<'a, Stand>;
    /// The caller's commands that still run.
    fn sessions<'a>(&'a self, by: &'a Bearer) -> Answer<'a, Vec<Session>>;
}

/// What every role may be given a port for.
#[derive(Clone)]
pub struct SharedPorts {
    /// Native commands.
    pub executor: Arc<dyn Executor>,
}

/// What only the main role is given ports for.
#[derive(Clone)]
pub struct MainPorts {
    /// What every role has.
    pub shared: SharedPorts,
    /// Messages.
    pub courier: Arc<dyn Courier>,
    /// Background agents.
    pub spawner: Arc<dyn Spawner>,
    /// Jobs.
    pub scheduler: Arc<dyn Scheduler>,
}

/// A port with nothing behind it: every request is answered with `unavailable`.
#[derive(Debug, Clone, Copy)]
pub struct Unavailable;

impl Unavailable {
    /// Ports of the main role with nothing behind them.
    pub fn main() -> MainPorts {
        MainPorts {
            shared: Self::shared(),
            courier: Arc::new(Self),
            spawner: Arc::new(Self),
            scheduler: Arc::new(Self),
        }
    }

    /// Ports of every role with nothing behind them.
    pub fn shared() -> SharedPorts {
        SharedPorts { executor: Arc::new(Self) }
    }

    fn answer<T>(what: &str) -> Answer<'_, T> {
        let message = format!("nothing in this process serves {what}");
        Box::pin(async move { Err(Error { kind: ErrorKind::Unavailable, message }) })
    }
}

impl Courier for Unavailable {
    fn send(&self, _: Outgoing) -> Answer<'_, Receipt> {
        Self::answer("messages")
    }
}

impl Spawner for Unavailable {
    fn start(&self, _: Request) -> Answer<'_, Accepted> {
        Self::answer("background agents")
    }
    fn run(&self, _: Request, _: u32) -> Answer<'_, Finished> {
        Self::answer("background agents")
    }
    fn list(&self) -> Answer<'_, Vec<Summary>> {
        Self::answer("background agents")
    }
    fn status(&self, _: String) -> Answer<'_, Summary> {
        Self::answer("background agents")
    }
    fn result(&self, _: String) -> Answer<'_, String> {
        Self::answer("background agents")
    }
    fn cancel(&self, _: String) -> Answer<'_, Summary> {
        Self::answer("background agents")
    }
    fn wait(&self, _: Vec<String>, _: u32) -> Answer<'_, Vec<Summary>> {
        Self::answer("background agents")
    }
}

impl Scheduler for Unavailable {
    fn add(&self, _: Job) -> Answer<'_, JobEntry> {
        Self::answer("schedules")
    }
    fn list(&self) -> Answer<'_, Vec<JobEntry>> {
        Self::answer("schedules")
    }
    fn remove(&self, _: String) -> Answer<'_, ()> {
        Self::answer("schedules")
    }
}

impl Executor for Unavailable {
    fn run<'a>(&'a self, _: &'a Bearer, _: Command) -> Answer<'a, Stand> {
        Self::answer("native commands")
    }
    fn interact<'a>(&'a self, _: &'a Bearer, _: Input) -> Answer<'a, Stand> {
        Self::answer("native commands")
    }
    fn sessions<'a>(&'a self, _: &'a Bearer) -> Answer<'a, Vec<Session>> {
        Self::answer("native commands")
    }
}
