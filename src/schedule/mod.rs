//! Work for later. A [`Plan`] says when a job is due, and [`Due`] says what becomes of due times that have come. Both are
//! arithmetic: they are told what time it is, and touch no file, no clock and no other process.
//!
//! Instants are milliseconds since the epoch, as in the store.

mod cron;
mod due;
mod plan;
mod zone;

pub use cron::{Cron, MAX_EXPRESSION};
pub use due::{COUNTED, Due, Fate, Missed, ON_TIME, Row, Settling};
pub use plan::{At, Every, OutOfRange, Plan, PlanError, SHORTEST, YEAR, duration};
pub use zone::{Zone, ZoneError};
