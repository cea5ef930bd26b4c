//! Cron expressions: what is taken, and when one is due on the clock of its zone.
//!
//! Which times of a calendar an expression names is asked of the library, on a clock without zone. What daylight saving
//! does to them is decided here. An expression that names hours means times of day: each is due once, even if the clock
//! leaps over it or shows it twice. One that takes every hour means a distance: it goes on evenly through both.

use super::plan::PlanError;
use super::zone::Zone;
use crate::toolbox::one_line;
use croner::parser::{CronParser, Year};
use jiff::civil::{DateTime, date};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{SignedDuration, Timestamp};

/// Bytes of an expression, at most: enough to list every minute, hour, day and month.
pub const MAX_EXPRESSION: usize = 512;

/// The words that stand for a whole expression.
const NICKNAMES: [&str; 6] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@hourly"];

/// Distances between due times that are looked at, beside what follows from the fields.
const LOOKED_AT: usize = 32;

/// A cron expression with its zone. It is due at some time, and never twice within a minute.
#[derive(Debug, Clone)]
pub struct Cron {
    text: String,
    zone: Zone,
    fields: croner::Cron,
    /// Whether every hour is named.
    even: bool,
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.zone == other.zone
    }
}

impl Eq for Cron {}

impl Cron {
    pub(super) fn parse(text: &str, zone: Zone) -> Result<Self, PlanError> {
        let fields = fields(text)?;
        let shown = || one_line(text.trim());
        let not = |why: &str| PlanError::NotCron { text: shown(), why: why.to_owned() };
        let cron = CronParser::builder()
            .year(Year::Optional)
            .build()
            .parse(&fields.join(" "))
            .map_err(|error| not(one_line(&error.to_string()).trim_end_matches('.')))?;
        let named = &cron.pattern;
        // Without a value in one of them, a search would go through every hour there is.
        if [&named.seconds, &named.minutes, &named.hours, &named.months].iter().any(|f| f.values().is_empty())
        {
            return Err(not("a field names no value"));
        }
        // With one second of the minute, due times lie whole minutes apart; with two, they never do.
        if named.seconds.values().len() > 1 {
            return Err(PlanError::TooOften(shown()));
        }
        let even = named.hours.values().len() == 24;
        let cron = Self { text: fields.join(" "), zone, fields: cron, even };
        // Weekdays and dates come round every 400 years, so that it does not matter from where one looks.
        let mut last = date(2000, 1, 1).at(0, 0, 0, 0);
        let mut inclusive = true;
        for _ in 0..=LOOKED_AT {
            let Some(next) = cron.next_civil(last, inclusive) else { break };
            if !inclusive && next.duration_since(last) < SignedDuration::from_mins(1) {
                return Err(PlanError::TooOften(shown()));
            }
            (last, inclusive) = (next, false);
        }
        if inclusive { Err(PlanError::Never(shown())) } else { Ok(cron) }
    }

    /// The expression, with single spaces.
    pub fn expression(&self) -> &str {
        &self.text
    }

    /// Whose clock it is read on.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The first due time later than this.
    pub(super) fn after(&self, after: Timestamp) -> Option<Timestamp> {
        if self.even {
            let after = after.to_zoned(self.zone.zone().clone());
            return self.fields.find_next_occurrence(&after, false).ok().map(|next| next.timestamp());
        }
        let zone = self.zone.zone();
        let mut best = self.carried(after);
        let mut from = zone.to_datetime(after);
        let mut inclusive = false;
        // Each round goes on in the calendar, and none goes further than what the clock repeats or leaps over, a day at most.
        loop {
            let Some(civil) = self.next_civil(from, inclusive) else { return best };
            let there = zone.to_ambiguous_timestamp(civil);
            let leapt = matches!(there.offset(), AmbiguousOffset::Gap { .. });
            let Ok(at) = there.compatible() else { return best };
            if at > after {
                best = Some(best.map_or(at, |best| best.min(at)));
                if !leapt {
                    return best;
                }
            }
            // A time that is leapt over may be carried past one that lies behind the leap.
            (from, inclusive) = match self.leap(at).filter(|_| leapt) {
                Some(leap) => (zone.to_datetime(leap.at), true),
                None => (civil, false),
            };
        }
    }

    /// The first due time later than `after` among those that the clock has just leapt over.
    fn carried(&self, after: Timestamp) -> Option<Timestamp> {
        let leap = self.leap(after)?;
        let end = self.zone.zone().to_datetime(leap.at);
        // What its clock would show without the leap.
        let unmoved = leap.before.to_datetime(after);
        let civil = if unmoved < end { self.next_civil(unmoved, false)? } else { return None };
        if civil < end { leap.before.to_timestamp(civil).ok() } else { None }
    }

    /// The last leap forward at or before an instant, if nothing but a leap forward came last.
    fn leap(&self, at: Timestamp) -> Option<Leap> {
        let zone = self.zone.zone();
        let second = SignedDuration::from_secs(1);
        let later = at.checked_add(second).ok()?;
        // A transition may change no more than a zone's abbreviation; there are never many of them in a row.
        zone.preceding(later)
            .take(8)
            .map(|transition| transition.timestamp())
            .find_map(|at| {
                let before = zone.to_offset(at.checked_sub(second).ok()?);
                let after = zone.to_offset(at);
                (before != after).then_some((at, before, after))
            })
            .and_then(|(at, before, after)| (after > before).then_some(Leap { at, before }))
    }

    fn next_civil(&self, from: DateTime, inclusive: bool) -> Option<DateTime> {
        self.fields.find_next_occurrence(&from, inclusive).ok()
    }
}

/// A clock that leaps forward.
struct Leap {
    at: Timestamp,
    /// The offset until then.
    before: Offset,
}

/// The fields of an expression, as far as their number and letters go.
fn fields(text: &str) -> Result<Vec<&str>, PlanError> {
    let not = |why: String| PlanError::NotCron {
        text: one_line(text.get(..text.floor_char_boundary(64)).unwrap_or_default().trim()),
        why,
    };
    if text.len() > MAX_EXPRESSION {
        return Err(not(format!("it has {} bytes, and {MAX_EXPRESSION} are the most", text.len())));
    }
    // The library makes capitals of everything, and some letters of other scripts become letters of ours by that.
    if let Some(odd) = text.chars().find(|c| !c.is_ascii_graphic() && !matches!(c, ' ' | '\t')) {
        return Err(not(format!("`{}` has no meaning in it", one_line(&odd.to_string()))));
    }
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    match fields.as_slice() {
        [] => return Err(not("it is empty".to_owned())),
        [word] if NICKNAMES.iter().any(|known| known.eq_ignore_ascii_case(word)) => {}
        [word] if word.starts_with('@') => {
            return Err(not(format!("of words there are {}", NICKNAMES.join(", "))));
        }
        fields if !matches!(fields.len(), 5 | 6) => {
            let are =
                if fields.len() == 1 { "1 field".to_owned() } else { format!("{} fields", fields.len()) };
            return Err(not(format!("it has {are}")));
        }
        _ => {}
    }
    match fields.iter().find(|field| field.split(',').any(str::is_empty)) {
        Some(field) => Err(not(format!("`{field}` has an empty place in its list"))),
        None => Ok(fields),
    }
}
