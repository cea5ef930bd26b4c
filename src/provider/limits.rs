//! When a service may be asked again, as its headers say.

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use std::time::Duration;

/// How long the service asks to wait; `None` where it does not say.
pub(super) fn wait_asked(headers: &[(&str, &str)], now: Timestamp) -> Option<Duration> {
    let find = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.trim());
    if let Some(ms) = find("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    if let Some(wait) = find("retry-after").and_then(|value| retry_after(value, now)) {
        return Some(wait);
    }
    // No such header: the bucket that is empty says when it is filled again; of several, the last.
    headers
        .iter()
        .filter(|(name, _)| name.starts_with("x-ratelimit-") || name.starts_with("anthropic-ratelimit-"))
        .filter(|(name, value)| {
            name.contains("remaining") && value.trim().parse::<f64>().is_ok_and(|left| left < 1.0)
        })
        .filter_map(|(name, _)| reset(find(&name.replace("remaining", "reset"))?, now))
        .max()
}

fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    match value.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => {
            let at = rfc2822::DateTimeParser::new().parse_zoned(value).ok()?.timestamp();
            Some(until(at, now))
        }
    }
}

/// A moment or a length of time, in the spellings that services use.
fn reset(value: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(number) = value.parse::<f64>() {
        // Small numbers are seconds from now; larger ones a moment in seconds or milliseconds since 1970.
        let moment = if number > 1e11 { number / 1000.0 } else { number };
        return if moment > 1e9 {
            seconds(moment - now.as_duration().as_secs_f64())
        } else {
            seconds(number)
        };
    }
    if let Ok(at) = value.parse::<Timestamp>() {
        return Some(until(at, now));
    }
    let length: SignedDuration = value.parse().ok()?;
    Some(length.try_into().unwrap_or_default())
}

fn until(at: Timestamp, now: Timestamp) -> Duration {
    at.duration_since(now).try_into().unwrap_or_default()
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number.max(0.0)).ok()
}
