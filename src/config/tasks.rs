//! The table `[tasks]`: how many background runs there may be, and what one may take.

use super::read::{LONGEST, Reading, known_keys};
use std::time::Duration;
use toml::Value;

/// What background runs may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TasksConfig {
    /// Runs at once, over all processes of this user.
    pub running: u64,
    /// Runs at once that one session started.
    pub running_per_session: u64,
    /// Runs that wait for their turn; what comes beyond them is refused.
    pub queued: u64,
    /// Runs that one session can start in all.
    pub per_session: u64,
    /// Time of a run.
    pub timeout: Duration,
    /// Tokens of a run, all model calls together, where who started it has no limit of its own.
    pub max_tokens: u64,
}

impl Default for TasksConfig {
    fn default() -> Self {
        Self {
            running: 4,
            running_per_session: 4,
            queued: 16,
            per_session: 64,
            timeout: Duration::from_secs(15 * 60),
            max_tokens: 200_000,
        }
    }
}

pub(super) const KEYS: &[&str] =
    &["running", "running_per_session", "queued", "per_session", "timeout", "max_tokens"];

pub(super) fn tasks(value: &Value) -> Result<TasksConfig, String> {
    let table = value.as_table().ok_or("tasks: expected a table")?;
    known_keys(table, "tasks", KEYS)?;
    let read = Reading { table, at: "tasks" };
    let default = TasksConfig::default();
    let time = Duration::from_secs(1)..=LONGEST;
    Ok(TasksConfig {
        running: read.within("running", 1..=1024)?.unwrap_or(default.running),
        running_per_session: read
            .within("running_per_session", 1..=1024)?
            .unwrap_or(default.running_per_session),
        queued: read.within("queued", 0..=100_000)?.unwrap_or(default.queued),
        per_session: read.within("per_session", 1..=1_000_000)?.unwrap_or(default.per_session),
        timeout: read.time_within("timeout", time)?.unwrap_or(default.timeout),
        max_tokens: read.within("max_tokens", 1..=1_000_000_000)?.unwrap_or(default.max_tokens),
    })
}
