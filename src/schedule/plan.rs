//! When a job is due, as a value: read from what somebody wrote, kept as text, and told to people.

use super::cron::Cron;
use super::zone::{Zone, ZoneError};
use crate::toolbox::one_line;
use jiff::Timestamp;
use jiff::Zoned;
use jiff::fmt::temporal::{Pieces, TimeZoneAnnotationKind};
use serde::{Deserialize, Serialize};

/// Seconds between two due times, at least.
pub const SHORTEST: u64 = 60;

/// Seconds between two due times of [`Plan::Every`], at most: 365 days.
pub const YEAR: u64 = 365 * 24 * 60 * 60;

/// Bytes of a time, at most.
const MAX_TIME: usize = 128;

/// When a job is due. What cannot be due cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Once.
    At(At),
    /// Again and again, evenly.
    Every(Every),
    /// By a cron expression.
    Cron(Box<Cron>),
}

/// One instant, and the zone in which it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    at: i64,
    zone: Zone,
}

impl At {
    /// The instant.
    pub fn at(&self) -> i64 {
        self.at
    }

    /// Whose clock it is told on.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }
}

/// A distance between due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    seconds: u32,
}

impl Every {
    /// The distance in seconds, between [`SHORTEST`] and [`YEAR`].
    pub fn seconds(self) -> u32 {
        self.seconds
    }

    pub(super) fn milliseconds(self) -> i64 {
        i64::from(self.seconds) * 1000
    }
}

/// A plan that is not taken, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Not a time.
    #[error(
        "`{text}` is no time ({why}); write a date and a time of day such as 2026-12-01T09:00, which is read in the \
         job's time zone, or with an offset: 2026-12-01T09:00:00+01:00"
    )]
    NotTime {
        /// What was written, as one line.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A time that has passed.
    #[error("{at} is not ahead: it is {now} now; write a later time")]
    Passed {
        /// The time that was meant.
        at: String,
        /// The present, on the same clock.
        now: String,
    },
    /// Too short or too long a distance.
    #[error("a job cannot be due every {0} seconds: {SHORTEST} are the least, and {YEAR}, a year, the most")]
    Interval(u64),
    /// Not a cron expression.
    #[error(
        "`{text}` is no cron expression ({why}); write five fields (minute hour day month weekday) such as \
         `0 9 * * MON-FRI`, or six with the second first"
    )]
    NotCron {
        /// What was written, as one line.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// Due twice within a minute.
    #[error(
        "`{0}` is due more often than once in {SHORTEST} seconds; with six fields the first is the second: write 0 there"
    )]
    TooOften(String),
    /// Due on days that do not exist.
    #[error("`{0}` is never due: no calendar has such a day")]
    Never(String),
    /// Not a zone.
    #[error(transparent)]
    Zone(#[from] ZoneError),
    /// The text that was kept cannot be read.
    #[error("the schedule that was kept cannot be read ({0}); remove the job, and add it anew")]
    Kept(String),
    /// Beyond any calendar.
    #[error(transparent)]
    Range(#[from] OutOfRange),
}

/// An instant that no calendar has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} milliseconds since the epoch is beyond the years -9999 to 9999; see whether the clock of this system is right"
)]
pub struct OutOfRange(pub i64);

/// An instant of the calendar.
pub(super) fn instant(at: i64) -> Result<Timestamp, OutOfRange> {
    Timestamp::from_millisecond(at).map_err(|_| OutOfRange(at))
}

/// A plan as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Kept {
    At { at: i64, zone: String },
    Every { seconds: u64 },
    Cron { expression: String, zone: String },
}

impl Plan {
    /// Once, at a time that lies ahead of `now`. `text` is a date and a time of day: with an offset (RFC 3339), with a zone
    /// behind it (RFC 9557), or with neither; then it is read in `zone`, or else in the zone of the user. A time that the
    /// clock leaps over counts from before the leap, and one that it shows twice is the first; [`Plan::words`] says which
    /// instant it became.
    ///
    /// # Errors
    ///
    /// When it is no time, not ahead, or the zone is not known.
    pub fn at(text: &str, zone: Option<&str>, now: i64) -> Result<Self, PlanError> {
        instant(now)?;
        let (at, zone) = read(text, zone)?;
        let at = at.as_millisecond();
        instant(at)?;
        if at <= now {
            return Err(PlanError::Passed { at: zone.say(at), now: zone.say(now) });
        }
        Ok(Self::At(At { at, zone }))
    }

    /// Again and again, this many seconds apart.
    ///
    /// # Errors
    ///
    /// When it is less than [`SHORTEST`] or more than [`YEAR`].
    pub fn every(seconds: u64) -> Result<Self, PlanError> {
        match u32::try_from(seconds) {
            Ok(short) if (SHORTEST..=YEAR).contains(&seconds) => Ok(Self::Every(Every { seconds: short })),
            _ => Err(PlanError::Interval(seconds)),
        }
    }

    /// By a cron expression of five or six fields, or one of the words `@yearly`, `@annually`, `@monthly`, `@weekly`,
    /// `@daily`, `@hourly`, on the clock of `zone`, or else that of the user.
    ///
    /// # Errors
    ///
    /// When it is none, is due more often than once a minute or never, or the zone is not known.
    pub fn cron(expression: &str, zone: Option<&str>) -> Result<Self, PlanError> {
        Cron::parse(expression, Zone::named_or_of_user(zone)?).map(|cron| Self::Cron(Box::new(cron)))
    }

    /// The text that is kept: one line of JSON.
    pub fn to_text(&self) -> String {
        let kept = match self {
            Self::At(at) => Kept::At { at: at.at, zone: at.zone.name().to_owned() },
            Self::Every(every) => Kept::Every { seconds: every.seconds.into() },
            Self::Cron(cron) => {
                Kept::Cron { expression: cron.expression().to_owned(), zone: cron.zone().name().to_owned() }
            }
        };
        // Strings and numbers: there is nothing in it that JSON could not say.
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// Reads what [`Plan::to_text`] wrote. A time that has passed since is no error.
    ///
    /// # Errors
    ///
    /// When it is anything else, or a zone is not known any more.
    pub fn from_text(text: &str) -> Result<Self, PlanError> {
        match serde_json::from_str(text).map_err(|error| PlanError::Kept(one_line(&error.to_string())))? {
            Kept::At { at, zone } => {
                instant(at)?;
                Ok(Self::At(At { at, zone: Zone::named(&zone)? }))
            }
            Kept::Every { seconds } => Self::every(seconds),
            Kept::Cron { expression, zone } => Self::cron(&expression, Some(&zone)),
        }
    }

    /// For people: `every 2h`, `cron: 0 9 * * * (Europe/Berlin)`, `at 2026-12-01T09:00:00+01:00 (Europe/Berlin)`.
    pub fn words(&self) -> String {
        match self {
            Self::At(at) => format!("at {}", at.zone.say(at.at)),
            Self::Every(every) => format!("every {}", duration(u64::from(every.seconds) * 1000)),
            Self::Cron(cron) => format!("cron: {} ({})", cron.expression(), cron.zone().name()),
        }
    }

    /// Its zone, where it has one.
    pub fn zone(&self) -> Option<&Zone> {
        match self {
            Self::At(at) => Some(&at.zone),
            Self::Every(_) => None,
            Self::Cron(cron) => Some(cron.zone()),
        }
    }
}

/// Milliseconds in the largest unit that leaves no rest, up to hours: `2h`, `30m`, `90s`, `200ms`.
pub fn duration(milliseconds: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1000, "s")];
    // 90 s are 90 s, and not a minute and a half: nothing is rounded.
    match units.iter().find(|(unit, _)| milliseconds >= *unit && milliseconds.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", milliseconds / unit),
        None => format!("{milliseconds}ms"),
    }
}

/// The instant that a text means, and the zone in which it is told.
fn read(text: &str, zone: Option<&str>) -> Result<(Timestamp, Zone), PlanError> {
    let text = text.trim();
    let start = text.get(..text.floor_char_boundary(MAX_TIME)).unwrap_or_default();
    let not = |why: &str| PlanError::NotTime { text: one_line(start), why: one_line(why) };
    if text.is_empty() {
        return Err(not("it is empty"));
    }
    if text.len() > MAX_TIME {
        return Err(not("it is too long"));
    }
    let named = zone.map(Zone::named).transpose()?;
    // An instant that says its own offset needs no zone but to be told in.
    let telling = |named: Option<Zone>| named.or_else(|| Zone::of_user().ok()).unwrap_or_else(Zone::utc);
    let pieces = Pieces::parse(text).map_err(|error| not(&error.to_string()))?;
    let Some(time) = pieces.time() else { return Err(not("it has no time of day")) };
    if let Some(annotation) = pieces.time_zone_annotation() {
        if let TimeZoneAnnotationKind::Named(name) = annotation.kind() {
            Zone::named(name.as_str())?;
        }
        let zoned: Zoned = text.parse().map_err(|error: jiff::Error| not(&error.to_string()))?;
        let own = Zone::of(zoned.time_zone().clone());
        return Ok((zoned.timestamp(), own.unwrap_or_else(|| telling(named))));
    }
    if pieces.offset().is_some() {
        let at = text.parse().map_err(|error: jiff::Error| not(&error.to_string()))?;
        return Ok((at, telling(named)));
    }
    let zone = named.map_or_else(Zone::of_user, Ok)?;
    let at = zone.read(pieces.date().to_datetime(time)).ok_or_else(|| not("no calendar goes so far"))?;
    Ok((at, zone))
}
