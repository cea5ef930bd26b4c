//! Reading tables: each value of the type that it should have, or a line that says what is wrong.

use super::words::{Meaning, meant};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;
use toml::{Table, Value};

/// The longest that anything in the background may take: a week.
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A table and where it stands in the file.
#[derive(Clone, Copy)]
pub(super) struct Reading<'t> {
    pub(super) table: &'t Table,
    pub(super) at: &'t str,
}

impl<'t> Reading<'t> {
    pub(super) fn text(self, key: &str) -> Result<Option<&'t str>, String> {
        self.get(key, "a string", Value::as_str)
    }

    pub(super) fn flag(self, key: &str) -> Result<Option<bool>, String> {
        self.get(key, "true or false", Value::as_bool)
    }

    /// A whole number, at least `least`.
    pub(super) fn whole(self, key: &str, least: u64) -> Result<Option<u64>, String> {
        let number =
            |value: &Value| value.as_integer().and_then(|n| u64::try_from(n).ok()).filter(|n| *n >= least);
        self.get(key, &format!("a whole number, at least {least}"), number)
    }

    /// The same, for what need not count far.
    pub(super) fn small(self, key: &str, least: u64) -> Result<Option<u32>, String> {
        let number = self.whole(key, least)?;
        number
            .map(|n| u32::try_from(n).map_err(|_| format!("{}.{key}: {n} is too large", self.at)))
            .transpose()
    }

    /// A whole number within bounds, which an error names.
    pub(super) fn within<N>(self, key: &str, bounds: RangeInclusive<N>) -> Result<Option<N>, String>
    where
        N: TryFrom<i64> + PartialOrd + Display,
    {
        let number = |value: &Value| value.as_integer().and_then(|n| N::try_from(n).ok());
        let what = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        self.get(key, &what, |value| number(value).filter(|n| bounds.contains(n)))
    }

    /// A number that is not negative.
    pub(super) fn number(self, key: &str) -> Result<Option<f64>, String> {
        let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
        self.get(key, "a number, at least 0", |value| number(value).filter(|n| n.is_finite() && *n >= 0.0))
    }

    /// A length of time: seconds as a number, or such as "90s", "10m", "2h".
    pub(super) fn time(self, key: &str) -> Result<Option<Duration>, String> {
        self.get(key, "a length of time such as \"90s\", \"10m\" or \"2h\"", length)
    }

    /// The same within bounds, which an error names.
    pub(super) fn time_within(
        self,
        key: &str,
        bounds: RangeInclusive<Duration>,
    ) -> Result<Option<Duration>, String> {
        let [least, most] = [bounds.start(), bounds.end()].map(|bound| in_words(*bound));
        let what = format!("a time from {least} to {most}, such as \"90s\", \"10m\" or \"2h\"");
        self.get(key, &what, |value| length(value).filter(|time| bounds.contains(time)))
    }

    /// Bytes as a whole number, or such as "2 GiB", within bounds, which an error names.
    pub(super) fn bytes_within(self, key: &str, bounds: RangeInclusive<u64>) -> Result<Option<u64>, String> {
        let [least, most] = [bounds.start(), bounds.end()].map(|bound| in_units(*bound));
        let what = format!("bytes from {least} to {most}, such as 1048576, \"512 MiB\" or \"2 GiB\"");
        self.get(key, &what, |value| bytes(value).filter(|bytes| bounds.contains(bytes)))
    }

    fn get<T>(
        self,
        key: &str,
        what: &str,
        read: impl Fn(&'t Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.table.get(key) {
            None => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| format!("{}.{key}: expected {what}", self.at)),
        }
    }
}

fn length(value: &Value) -> Option<Duration> {
    match value {
        Value::Integer(seconds) => u64::try_from(*seconds).ok().map(Duration::from_secs),
        Value::String(text) => time(text),
        _ => None,
    }
}

/// The units that bytes are written in, the largest first.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

fn bytes(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Integer(bytes) => return u64::try_from(*bytes).ok(),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..)?;
    let (_, shift) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    digits.trim_end().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes as they can be written.
pub fn in_units(bytes: u64) -> String {
    let fits = UNITS.iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    match fits {
        Some((unit, shift)) if *shift > 0 => format!("{} {unit}", bytes >> shift),
        _ => bytes.to_string(),
    }
}

/// A time as it can be written.
fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 0 && seconds.is_multiple_of(3_600) => format!("{}h", seconds / 3_600),
        seconds => format!("{seconds}s"),
    }
}

fn time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

pub(super) fn entries<'t>(table: &'t Table, key: &str) -> Result<Vec<(&'t String, &'t Value)>, String> {
    match table.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Table(inner)) => Ok(inner.iter().collect()),
        Some(_) => Err(format!("{key}: expected a table")),
    }
}

pub(super) fn strings(table: &Table, at: &str, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("{at}.{key}: expected a list of strings");
    match table.get(key) {
        None => Ok(None),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}

pub(super) fn known_keys(table: &Table, at: &str, known: &[&str]) -> Result<(), String> {
    let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let hint = match meant(key, known) {
        Meaning::Key(other) => format!("; did you mean `{other}`?"),
        Meaning::Elsewhere => String::new(),
        Meaning::Unknown => nearest(key, known.iter().copied()),
    };
    Err(format!("{at}: unknown key `{key}`{hint}"))
}

/// `; did you mean …?`, when a known name is near.
pub(super) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let best = known.into_iter().map(|k| (strsim::damerau_levenshtein(k, name), k)).min();
    match best {
        Some((distance, near)) if distance <= 1 + name.len() / 3 => format!("; did you mean `{near}`?"),
        _ => String::new(),
    }
}
