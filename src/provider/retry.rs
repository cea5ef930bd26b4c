//! Whether, and when, an attempt is followed by another.

use super::ProviderErrorKind as Kind;
use super::clock::Clock;
use super::fault::{Fault, Phase};
use jiff::Timestamp;
use std::time::Duration;

/// Further attempts after those that got no reply to begin.
const BEGINNINGS: u32 = 4;

/// Further attempts after replies that broke.
const REPLIES: u32 = 2;

/// Further attempts after an empty reply.
const EMPTY: u32 = 1;

/// How often a request is written in another way.
const ADAPTED: u32 = 4;

/// The longest wait that a service may ask for.
const LONGEST: Duration = Duration::from_secs(60);

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    GiveUp,
    AtOnce,
    After(Duration),
}

/// The attempts of one request so far.
#[derive(Debug, Default)]
pub(super) struct Retries {
    beginnings: u32,
    replies: u32,
    empty: u32,
    adapted: u32,
}

impl Retries {
    /// What follows this fault. `adapted` says that the request will be written in another way.
    pub(super) fn next(&mut self, fault: &Fault, adapted: bool, clock: &dyn Clock) -> Next {
        if adapted && self.adapted < ADAPTED {
            self.adapted += 1;
            return Next::AtOnce;
        }
        if !fault.again {
            return Next::GiveUp;
        }
        let (used, most) = match fault.phase {
            Phase::Begin => (&mut self.beginnings, BEGINNINGS),
            Phase::Reply => (&mut self.replies, REPLIES),
            Phase::Empty => (&mut self.empty, EMPTY),
        };
        if *used >= most {
            return Next::GiveUp;
        }
        *used += 1;
        if fault.phase == Phase::Empty {
            return Next::AtOnce;
        }
        let asked = fault.retry_after.unwrap_or_default();
        Next::After(asked.max(backoff(fault.kind, *used, clock.chance())))
    }
}

/// Twice as long each time, give or take a quarter. A service that is busy gets twice the time of a broken connection.
fn backoff(kind: Kind, attempt: u32, chance: f64) -> Duration {
    let first = match kind {
        Kind::RateLimited | Kind::Overloaded => 1.0,
        _ => 0.5,
    };
    let doubled = first * f64::from(1u32 << attempt.saturating_sub(1).min(5));
    Duration::from_secs_f64(doubled * (0.75 + chance / 2.0))
}

/// Takes account of how long the service asks to wait. Longer than a minute is no burst: the caller is told when.
pub(super) fn heed(fault: Fault, wait: Option<Duration>, now: Timestamp) -> Fault {
    let Some(wait) =
        wait.filter(|_| matches!(fault.kind, Kind::RateLimited | Kind::Overloaded | Kind::Quota))
    else {
        return fault;
    };
    if wait <= LONGEST {
        return Fault { retry_after: Some(wait), ..fault };
    }
    let kind = if fault.kind == Kind::RateLimited { Kind::Quota } else { fault.kind };
    let minutes = wait.as_secs().div_ceil(60);
    let length = match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    };
    let at = jiff::SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok());
    let at = at.map(|at| format!(" (at {})", at.strftime("%Y-%m-%d %H:%M UTC"))).unwrap_or_default();
    let advice = format!("; it asks to wait {length}{at}");
    Fault { kind, advice, again: false, retry_after: Some(wait), ..fault }
}
