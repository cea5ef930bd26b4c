//! The table `[cron]`: how many jobs there may be, and what a run of one may take.

use super::read::{LONGEST, Reading, known_keys};
use std::time::Duration;
use toml::Value;

/// What scheduled work may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronConfig {
    /// Jobs of one session.
    pub jobs_per_session: u64,
    /// Jobs of all sessions together.
    pub jobs: u64,
    /// How late a run may begin. What is later than that was missed.
    pub grace: Duration,
    /// Time of a run.
    pub timeout: Duration,
    /// Runs of a job that fail one after the other before it is paused.
    pub failures: u32,
}

impl Default for CronConfig {
    fn default() -> Self {
        Self {
            jobs_per_session: 32,
            jobs: 256,
            grace: Duration::from_secs(3_600),
            timeout: Duration::from_secs(30 * 60),
            failures: 10,
        }
    }
}

pub(super) const KEYS: &[&str] = &["jobs_per_session", "jobs", "grace", "timeout", "failures"];

/// A shorter grace would call runs missed that are a busy machine's moment late.
const SHORTEST_GRACE: Duration = Duration::from_secs(10);

pub(super) fn cron(value: &Value) -> Result<CronConfig, String> {
    let table = value.as_table().ok_or("cron: expected a table")?;
    known_keys(table, "cron", KEYS)?;
    let read = Reading { table, at: "cron" };
    let default = CronConfig::default();
    let time = Duration::from_secs(1)..=LONGEST;
    Ok(CronConfig {
        jobs_per_session: read.within("jobs_per_session", 0..=10_000)?.unwrap_or(default.jobs_per_session),
        jobs: read.within("jobs", 0..=100_000)?.unwrap_or(default.jobs),
        grace: read.time_within("grace", SHORTEST_GRACE..=LONGEST)?.unwrap_or(default.grace),
        timeout: read.time_within("timeout", time)?.unwrap_or(default.timeout),
        failures: read.within("failures", 1..=1_000)?.unwrap_or(default.failures),
    })
}
