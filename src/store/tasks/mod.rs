//! Background runs. How far a run is and whether its result reached anybody are two things, each with its own column.
//!
//! Every change is made on the condition that nobody else made it before, in one transaction: of several processes that
//! want the same row, one gets it.

mod course;
mod looking;
mod results;

pub use looking::TaskFilter;

#[cfg(test)]
pub(super) use {course::HOT as COURSE, looking::HOT as LOOKING, results::HOT as RESULTS};

use super::Workspace;
use std::path::PathBuf;

/// How far a background run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Accepted, not yet started.
    Queued,
    /// At work.
    Running,
    /// Stands still until a person decides.
    WaitingApproval,
    /// Ended with an answer.
    Succeeded,
    /// Ended by its iterations or its tokens, without a final answer.
    Incomplete,
    /// Ended with an error.
    Failed,
    /// Ended by its clock.
    TimedOut,
    /// Ended because somebody wanted it to.
    Cancelled,
    /// Its process ended before it did.
    Lost,
}

impl Execution {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Running,
        Self::WaitingApproval,
        Self::Succeeded,
        Self::Incomplete,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Lost,
    ];

    /// Its name, as tools know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::WaitingApproval => "waiting-approval",
            Self::Succeeded => "succeeded",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it is over, for good.
    pub fn ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::WaitingApproval)
    }
}

/// Whether a result reached anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Not yet handed over.
    Pending,
    /// Handed over.
    Delivered,
    /// Given up.
    Dropped,
}

impl Delivery {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Dropped];

    /// Its name, as tools know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Dropped => "dropped",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A background run to be recorded.
#[derive(Debug, Clone, Copy)]
pub struct NewTask<'a> {
    /// Its name: eight characters that no other has.
    pub id: &'a str,
    /// The workspace of the session that it belongs to.
    pub workspace: &'a Workspace,
    /// The first half of that session's key.
    pub channel: &'a str,
    /// The second half of that session's key.
    pub chat: &'a str,
    /// The turn in which it was asked for.
    pub turn: &'a str,
    /// What was asked for, as a digest: the same twice in one turn is one run.
    pub digest: &'a str,
    /// What it is called.
    pub label: &'a str,
    /// What is to be done.
    pub task: &'a str,
    /// The profile that it runs as.
    pub profile: &'a str,
    /// The provider that is asked.
    pub provider: &'a str,
    /// The model that is asked.
    pub model: &'a str,
    /// What it may do, as JSON.
    pub rights: &'a str,
    /// Model calls, at most.
    pub max_iterations: u32,
    /// Tokens, at most.
    pub max_tokens: Option<u64>,
    /// Millionths of a dollar, at most.
    pub max_cost: Option<u64>,
    /// The model's temperature.
    pub temperature: Option<f64>,
    /// Milliseconds, at most.
    pub time_ms: u64,
    /// The run that it repeats.
    pub retry_of: Option<&'a str>,
    /// The process that runs it; `None` leaves it to whichever process takes it first.
    pub owner: Option<&'a str>,
    /// Whether its session is kept in the store.
    pub kept: bool,
    /// As what and with which model its session's turns run, as JSON.
    pub origin: &'a str,
}

/// A background run as it is on record.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// Its name.
    pub id: String,
    /// The path of its session's workspace, for people; empty without one.
    pub workspace: String,
    /// The path of its session's workspace; empty without one.
    pub workspace_path: PathBuf,
    /// The first half of its session's key.
    pub channel: String,
    /// The second half of its session's key.
    pub chat: String,
    /// Its number in its session, from 1 up.
    pub nth: u64,
    /// The turn in which it was asked for.
    pub turn: String,
    /// The digest of what was asked for.
    pub digest: String,
    /// What it is called.
    pub label: String,
    /// What is to be done.
    pub task: String,
    /// The profile that it runs as.
    pub profile: String,
    /// The provider that is asked.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// What it may do, as JSON.
    pub rights: String,
    /// Model calls, at most.
    pub max_iterations: u32,
    /// Tokens, at most.
    pub max_tokens: Option<u64>,
    /// Millionths of a dollar, at most.
    pub max_cost: Option<u64>,
    /// The model's temperature.
    pub temperature: Option<f64>,
    /// Milliseconds, at most.
    pub time_ms: u64,
    /// The run that it repeats.
    pub retry_of: Option<String>,
    /// The process that runs or delivers it.
    pub owner: Option<String>,
    /// Whether its session is kept in the store.
    pub kept: bool,
    /// Why somebody wants it to end, while it runs.
    pub cancel: Option<String>,
    /// How far it is.
    pub execution: Execution,
    /// Whether its result reached anybody.
    pub delivery: Delivery,
    /// Why it ended as it did.
    pub reason: Option<String>,
    /// When it was recorded, in milliseconds since the epoch.
    pub created: i64,
    /// When it began to run.
    pub started: Option<i64>,
    /// When it ended.
    pub ended: Option<i64>,
    /// When it was delivered or given up.
    pub delivered: Option<i64>,
    /// What came of it.
    pub result: Option<String>,
    /// Model calls.
    pub iterations: u32,
    /// Tokens sent.
    pub input: u64,
    /// Of these, taken from the provider's cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// Millionths of a dollar, where the price is known.
    pub cost: Option<u64>,
    /// As what and with which model its session's turns run, as JSON.
    pub origin: String,
}

/// What became of a run that was to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// It is on record.
    New(TaskRow),
    /// The same was asked for in this turn before; this is that run.
    Same(TaskRow),
    /// Its session has had as many as it may.
    Full {
        /// How many it has had.
        are: u64,
    },
}

/// What became of a run that was to begin.
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and taken apart at once")]
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// It runs, and belongs to who asked.
    Yes(TaskRow),
    /// As many run as may, over all processes.
    Busy,
    /// It waits no longer, or is another process's.
    Gone,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub struct TaskEnd<'a> {
    /// One of those that are over.
    pub execution: Execution,
    /// Why.
    pub reason: Option<&'a str>,
    /// What came of it.
    pub result: Option<&'a str>,
    /// Model calls.
    pub iterations: u32,
    /// Tokens sent.
    pub input: u64,
    /// Of these, taken from the provider's cache.
    pub cached: u64,
    /// Tokens received.
    pub output: u64,
    /// Millionths of a dollar, where the price is known.
    pub cost: Option<u64>,
}

/// What became of a run that somebody wants cancelled.
#[derive(Debug, Clone, PartialEq)]
pub enum CancelAsked {
    /// It had not begun, or was nobody's: it is cancelled.
    Ended(TaskRow),
    /// It runs: its process is to end it.
    Asked(TaskRow),
    /// It was over before.
    Over(TaskRow),
    /// There is none of that name.
    Unknown,
}
