//! Due times: which there are, and what becomes of those that have come.

use super::cron::Cron;
use super::plan::{Every, OutOfRange, Plan, instant};
use std::time::Duration;

/// Milliseconds that a due time may lie behind and still count as being on time.
pub const ON_TIME: i64 = 60_000;

/// Due times of a cron expression that are counted one by one. Of more it is only said that they are at least so many.
pub const COUNTED: u64 = 2_000;

/// What becomes of a due time at which nobody was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// It is over.
    Skip,
    /// The newest is made up for, unless too much time has passed.
    Once,
}

impl Missed {
    /// Its name in the store and in tools.
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Once => "once",
        }
    }

    /// Of its name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Skip, Self::Once].into_iter().find(|missed| missed.name() == name)
    }
}

/// A job's due times, from the one that is not settled yet.
#[derive(Debug, Clone, Copy)]
pub struct Due<'p> {
    /// When it is due.
    pub plan: &'p Plan,
    /// Where an even distance is counted from; [`Plan::At`] and [`Plan::Cron`] have no use for it.
    pub anchor: i64,
    /// The due time that comes next, or has come: the oldest that is not settled.
    pub next: i64,
    /// What becomes of those that were missed.
    pub missed: Missed,
    /// How far behind the newest may lie to be made up for.
    pub grace: Duration,
}

/// What becomes of due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is run now.
    Run,
    /// They have passed.
    Missed,
}

/// One due time, or several in a row with one fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The first.
    pub due: i64,
    /// The last.
    pub until: i64,
    /// How many.
    pub count: u64,
    /// Whether there are more than `count`: somebody was away for so long that they were not all counted.
    pub more: bool,
    /// What becomes of them.
    pub fate: Fate,
}

/// How the due times stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    /// What has come, oldest first: one row at most of what was missed, and one at most of what is run. Each due time that
    /// has come stands in one of them.
    pub rows: Vec<Row>,
    /// What comes next, later than everything in `rows`. `None`: nothing ever.
    pub next: Option<i64>,
}

impl Plan {
    /// The first due time later than `after`; `None` when there is none. The due times of [`Plan::Every`] are whole distances
    /// from `anchor`, whoever asks and whenever.
    ///
    /// # Errors
    ///
    /// When `after` is beyond any calendar.
    pub fn next_after(&self, anchor: i64, after: i64) -> Result<Option<i64>, OutOfRange> {
        let from = instant(after)?;
        Ok(match self {
            Self::At(at) => Some(at.at()).filter(|at| *at > after),
            Self::Every(every) => {
                instant(anchor)?;
                every.due(anchor, every.passed(anchor, after).saturating_add(1))
            }
            Self::Cron(cron) => cron.after(from).map(|at| at.as_millisecond()),
        })
    }

    /// The due times later than `after` and not later than `until`, in order, but no more than `most` of them.
    ///
    /// # Errors
    ///
    /// When an instant is beyond any calendar.
    pub fn between(&self, anchor: i64, after: i64, until: i64, most: usize) -> Result<Vec<i64>, OutOfRange> {
        instant(until)?;
        let mut found = Vec::new();
        let mut last = after;
        while found.len() < most {
            match self.next_after(anchor, last)? {
                Some(due) if due <= until => {
                    found.push(due);
                    last = due;
                }
                _ => break,
            }
        }
        Ok(found)
    }
}

impl Every {
    /// Due times up to an instant.
    fn passed(self, anchor: i64, until: i64) -> i64 {
        until.saturating_sub(anchor).div_euclid(self.milliseconds()).max(0)
    }

    /// The due time of this number, if a calendar has it.
    fn due(self, anchor: i64, number: i64) -> Option<i64> {
        let due = number.checked_mul(self.milliseconds())?.checked_add(anchor)?;
        instant(due).ok().map(|_| due)
    }
}

impl Cron {
    /// The newest due time that is not later than `until`, given one that is not. Halving finds it in some forty steps,
    /// however many there are between them.
    fn newest(&self, known: i64, until: i64) -> i64 {
        let (mut low, mut high) = (known, until.max(known));
        // The newest is the first instant after which nothing is due any more.
        while low < high {
            let middle = low + (high - low) / 2;
            match self.later(middle).filter(|due| *due <= until) {
                Some(due) => low = due,
                None => high = middle,
            }
        }
        low
    }

    /// How many are due later than `after` and not later than `until`, and whether there are more than that.
    fn count(&self, after: i64, until: i64) -> (u64, bool) {
        let mut last = after;
        for counted in 0..COUNTED {
            match self.later(last).filter(|due| *due <= until) {
                Some(due) => last = due,
                None => return (counted, false),
            }
        }
        (COUNTED, last < until)
    }

    fn later(&self, after: i64) -> Option<i64> {
        self.after(instant(after).ok()?).map(|at| at.as_millisecond())
    }
}

impl Due<'_> {
    /// What becomes of all due times up to `now`. Of several only the newest can be run; it is run when it is on time, or when
    /// it is to be made up for and lies within the grace. All others are missed. A due time that was settled once does not
    /// come back, whatever the clock does.
    ///
    /// # Errors
    ///
    /// When an instant is beyond any calendar. Nothing is settled then.
    pub fn settle(&self, now: i64) -> Result<Settling, OutOfRange> {
        for at in [now, self.anchor, self.next] {
            instant(at)?;
        }
        if now < self.next {
            return Ok(Settling { rows: Vec::new(), next: Some(self.next) });
        }
        let newest = self.newest(now);
        let grace = match self.missed {
            Missed::Skip => ON_TIME,
            Missed::Once => i64::try_from(self.grace.as_millis()).unwrap_or(i64::MAX).max(ON_TIME),
        };
        let runs = now.saturating_sub(newest) <= grace;
        let mut rows = Vec::new();
        if !runs {
            rows.push(self.passed(newest));
        } else if newest > self.next {
            rows.push(self.passed(self.newest(newest - 1)));
        }
        if runs {
            rows.push(Row { due: newest, until: newest, count: 1, more: false, fate: Fate::Run });
        }
        Ok(Settling { rows, next: self.plan.next_after(self.anchor, newest)? })
    }

    /// The newest due time up to an instant, which is not before `next`.
    fn newest(&self, until: i64) -> i64 {
        match self.plan {
            Plan::At(_) => self.next,
            Plan::Every(every) => every
                .due(self.anchor, every.passed(self.anchor, until))
                .map_or(self.next, |due| due.max(self.next)),
            Plan::Cron(cron) => cron.newest(self.next, until),
        }
    }

    /// Everything from `next` until then, as missed.
    fn passed(&self, until: i64) -> Row {
        let (later, more) = match self.plan {
            Plan::At(_) => (0, false),
            Plan::Every(every) => {
                let later = every.passed(self.anchor, until) - every.passed(self.anchor, self.next);
                (later.unsigned_abs(), false)
            }
            Plan::Cron(cron) => cron.count(self.next, until),
        };
        Row { due: self.next, until, count: later.saturating_add(1), more, fate: Fate::Missed }
    }
}
