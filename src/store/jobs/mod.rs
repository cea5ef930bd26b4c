//! Jobs that come due, and what became of each due time. What a schedule means is its caller's business; here it is text.

mod due;
mod runs;
mod table;

pub use runs::{NewRun, RunOutcome, RunRow};
pub use table::{JobFilter, Timing};

#[cfg(test)]
pub(super) use {due::HOT as DUE, runs::HOT as RUNS};

use super::Workspace;
use std::path::PathBuf;

/// Whether a job comes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It does.
    Active,
    /// Not until a person resumes it.
    Paused,
    /// It has no due time any more.
    Done,
    /// It cannot be run as it is.
    Disabled,
}

impl JobState {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Active, Self::Paused, Self::Done, Self::Disabled];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Disabled => "disabled",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// A job to be added.
#[derive(Debug, Clone, Copy)]
pub struct NewJob<'a> {
    /// Its id: eight characters that no other has.
    pub id: &'a str,
    /// The workspace of the session that it belongs to.
    pub workspace: &'a Workspace,
    /// The first half of that session's key.
    pub channel: &'a str,
    /// The second half of that session's key.
    pub chat: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// What is to be done each time.
    pub message: &'a str,
    /// When, as JSON.
    pub schedule: &'a str,
    /// What becomes of due times that nobody was there for: `skip` or `once`.
    pub missed: &'a str,
    /// What it may do, as JSON.
    pub rights: &'a str,
    /// The profile that it runs as.
    pub profile: &'a str,
    /// The only tools that it is left, as JSON, where there are such.
    pub tools: Option<&'a str>,
    /// The provider that is asked.
    pub provider: &'a str,
    /// The model that is asked.
    pub model: &'a str,
    /// Milliseconds that one run may take.
    pub time_ms: u64,
    /// Tokens that one run may take.
    pub max_tokens: Option<u64>,
    /// What else a run may take at most, as JSON.
    pub most: &'a str,
    /// Whether its answers are kept without being shown.
    pub silent: bool,
    /// Who added it: `agent` or `user`.
    pub by: &'a str,
    /// From when its phase is counted, in milliseconds since the epoch.
    pub anchor: i64,
    /// Its first due time, in milliseconds since the epoch.
    pub next: Option<i64>,
}

/// A job as it is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: String,
    /// The path of its session's workspace, for people; empty without one.
    pub workspace: String,
    /// The path of its session's workspace; empty without one.
    pub workspace_path: PathBuf,
    /// The first half of its session's key.
    pub channel: String,
    /// The second half of its session's key.
    pub chat: String,
    /// What it is called.
    pub name: String,
    /// What is to be done each time.
    pub message: String,
    /// When, as JSON.
    pub schedule: String,
    /// What becomes of due times that nobody was there for: `skip` or `once`.
    pub missed: String,
    /// What it may do, as JSON.
    pub rights: String,
    /// The profile that it runs as.
    pub profile: String,
    /// The only tools that it is left, as JSON, where there are such.
    pub tools: Option<String>,
    /// The provider that is asked.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// Milliseconds that one run may take.
    pub time_ms: u64,
    /// Tokens that one run may take.
    pub max_tokens: Option<u64>,
    /// What else a run may take at most, as JSON.
    pub most: String,
    /// Whether its answers are kept without being shown.
    pub silent: bool,
    /// Who added it: `agent` or `user`.
    pub by: String,
    /// From when its phase is counted, in milliseconds since the epoch.
    pub anchor: i64,
    /// The due time that nobody has dealt with yet, in milliseconds since the epoch.
    pub next: Option<i64>,
    /// Whether it comes due.
    pub state: JobState,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// Runs that failed since one did not.
    pub failures: u32,
    /// When it was added, in milliseconds since the epoch.
    pub created: i64,
    /// When something of it was last changed, in milliseconds since the epoch.
    pub updated: i64,
}

/// What became of a job that was to be added.
#[expect(clippy::large_enum_variant, reason = "one is made at a time, and taken apart at once")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobAdded {
    /// It is on record.
    Added(JobRow),
    /// There are as many as may be.
    Full {
        /// How many there are.
        are: u64,
        /// How many there may be.
        most: u64,
        /// In its session, or else over all.
        of_session: bool,
    },
}

/// What to change of a job; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobChange<'a> {
    /// What it is called.
    pub name: Option<&'a str>,
    /// What is to be done each time.
    pub message: Option<&'a str>,
    /// When.
    pub timing: Option<Timing<'a>>,
    /// Whether it comes due, and why.
    pub state: Option<(JobState, Option<&'a str>)>,
    /// Runs that failed since one did not.
    pub failures: Option<u32>,
}
