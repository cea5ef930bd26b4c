//! Work for later. A [`Plan`] says when a job is due, and [`Due`] says what becomes of due times that have come. Both are
//! arithmetic: they are told what time it is, and touch no file, no clock and no other process. [`Schedule`] is at work with
//! them: it looks at the clock, and runs what is due.
//!
//! Instants are milliseconds since the epoch, as in the store.

mod cron;
mod due;
mod jobs;
mod notice;
mod plan;
mod run;
mod scheduler;
mod service;
mod settle;
mod zone;

pub use cron::{Cron, MAX_EXPRESSION};
pub use due::{COUNTED, Due, Fate, Missed, ON_TIME, Row, Settling};
pub use jobs::{
    Draft, Edit, JobError, Owner, add, clock_words, edit, pause, resume, run_words, schedule_words,
};
pub use plan::{At, Every, OutOfRange, Plan, PlanError, SHORTEST, YEAR, duration};
pub use run::{NotRun, Ran, source};
pub use scheduler::scheduler;
pub use service::{Listener, Now, Schedule};
pub use zone::{Zone, ZoneError};
