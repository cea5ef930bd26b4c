//! Time zones by name.

use crate::toolbox::{nearest, one_line};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{self, TimeZone};

/// Bytes of a zone's name, at most; the longest that there is has 32.
const MAX_NAME: usize = 64;

/// A time zone that has a name, so that it can be kept and means the same after a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// A zone that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// No zone has that name.
    #[error("`{name}` is no time zone{near}; write an IANA name such as Europe/Berlin, or UTC")]
    Unknown {
        /// What was written, as one line.
        name: String,
        /// A question, if a name is near.
        near: String,
    },
    /// The system's own zone has no name that could be kept.
    #[error(
        "this system's time zone has no IANA name; say which zone is meant, such as Europe/Berlin or UTC"
    )]
    Unnamed,
}

impl Zone {
    /// The zone with an IANA name, in any case.
    ///
    /// # Errors
    ///
    /// When there is none. The error names the nearest one.
    pub fn named(name: &str) -> Result<Self, ZoneError> {
        let name = name.trim();
        let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
        let plain = !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(letters);
        if plain && let Some(found) = TimeZone::get(name).ok().and_then(Self::of) {
            return Ok(found);
        }
        let near = near(name).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
        let shown: String = name.chars().take(MAX_NAME).collect();
        Err(ZoneError::Unknown { name: one_line(&shown), near })
    }

    /// The zone of the user, which is that of the system. UTC where the system has none.
    ///
    /// # Errors
    ///
    /// When it has no name.
    pub fn of_user() -> Result<Self, ZoneError> {
        let zone = TimeZone::system();
        if zone.is_unknown() { Ok(Self::utc()) } else { Self::of(zone).ok_or(ZoneError::Unnamed) }
    }

    /// The zone of this name, or the user's.
    pub(super) fn named_or_of_user(name: Option<&str>) -> Result<Self, ZoneError> {
        name.map_or_else(Self::of_user, Self::named)
    }

    /// UTC.
    pub fn utc() -> Self {
        Self { name: "UTC".to_owned(), zone: TimeZone::UTC }
    }

    /// A zone that has a name.
    pub(super) fn of(zone: TimeZone) -> Option<Self> {
        if zone.is_unknown() {
            return None;
        }
        zone.iana_name().map(str::to_owned).map(|name| Self { name, zone })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An instant on its clock, with the offset and its name: `2026-12-01T09:00:00+01:00 (Europe/Berlin)`.
    pub fn say(&self, at: i64) -> String {
        format!("{} ({})", self.rfc3339(at), self.name)
    }

    /// An instant on its clock, RFC 3339. The bare number where it is beyond any calendar.
    pub fn rfc3339(&self, at: i64) -> String {
        match Timestamp::from_millisecond(at) {
            Ok(at) => at.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string(),
            Err(_) => at.to_string(),
        }
    }

    /// The instant of a time on its clock. A time that the clock leaps over is as far behind the leap as it is behind its
    /// beginning; one that the clock shows twice is the first.
    pub(super) fn read(&self, civil: DateTime) -> Option<Timestamp> {
        self.zone.to_timestamp(civil).ok()
    }

    pub(super) fn zone(&self) -> &TimeZone {
        &self.zone
    }
}

/// A zone that may have been meant: one whose city was written, or whose name is nearly that.
fn near(name: &str) -> Option<String> {
    if name.len() > MAX_NAME {
        return None;
    }
    let wanted = name.replace(' ', "_");
    let names: Vec<String> = tz::db().available().map(|known| known.to_string()).collect();
    let city = |known: &&String| known.rsplit('/').next().is_some_and(|c| c.eq_ignore_ascii_case(&wanted));
    match names.iter().find(city) {
        Some(found) => Some(found.clone()),
        None => nearest(&wanted, names.iter().map(String::as_str)).map(str::to_owned),
    }
}
