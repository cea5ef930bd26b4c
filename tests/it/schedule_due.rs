//! Schedules: what is taken for one, when they are due, and what becomes of due times that have come.

use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use ringfence::schedule::{COUNTED, Due, Fate, Missed, Plan, PlanError, Row, YEAR, Zone, duration};
use std::collections::BTreeSet;
use std::time::Duration;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap_or_else(|error| panic!("{text}: {error}")).as_millisecond()
}

fn iso(at: i64) -> String {
    Timestamp::from_millisecond(at).unwrap().to_string()
}

fn now() -> i64 {
    ms("2026-06-01T12:00:00Z")
}

fn cron(expression: &str, zone: &str) -> Plan {
    Plan::cron(expression, Some(zone)).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

fn at(text: &str, zone: Option<&str>) -> i64 {
    match Plan::at(text, zone, now()) {
        Ok(Plan::At(at)) => at.at(),
        other => panic!("{text}: {other:?}"),
    }
}

/// The due times in a stretch, its beginning left out.
fn dues(plan: &Plan, after: &str, until: &str) -> Vec<String> {
    plan.between(0, ms(after), ms(until), 10_000).unwrap().into_iter().map(iso).collect()
}

fn refused(expression: &str) -> String {
    Plan::cron(expression, Some("UTC")).map_or_else(|e| e.to_string(), |plan| panic!("taken: {plan:?}"))
}

#[test]
fn a_time_is_read_with_an_offset_with_a_zone_and_with_neither() {
    let nine = ms("2026-12-01T08:00:00Z");
    for text in [
        "2026-12-01T09:00:00+01:00",
        "2026-12-01T08:00:00Z",
        "2026-12-01T08:00Z",
        "2026-12-01T09:00[Europe/Berlin]",
        "2026-12-01T09:00:00+01:00[Europe/Berlin]",
        "  2026-12-01t09:00:00+01:00 ",
    ] {
        assert_eq!(at(text, None), nine, "{text}");
        // An instant that says where it is is not moved by a zone that is named beside it.
        assert_eq!(at(text, Some("America/New_York")), nine, "{text}");
    }
    for text in ["2026-12-01T09:00", "2026-12-01 09:00", "2026-12-01 09:00:00", "2026-12-01T09:00:00.000"] {
        assert_eq!(at(text, Some("Europe/Berlin")), nine, "{text}");
        assert_eq!(at(text, Some("europe/berlin")), nine, "{text}");
        assert_eq!(at(text, Some("Asia/Tokyo")), nine - 8 * HOUR, "{text}");
    }
    // The user's zone, where none is named.
    let user = Zone::of_user().unwrap();
    assert_eq!(at("2026-12-01 09:00", None), at("2026-12-01 09:00", Some(user.name())));
}

#[test]
fn a_time_in_a_leap_or_a_repetition_is_taken_and_said_back() {
    let words = |text: &str| Plan::at(text, Some("Europe/Berlin"), now()).unwrap().words();
    // 2027-03-28: 02:00 becomes 03:00. 2026-10-25: 03:00 becomes 02:00.
    assert_eq!(words("2027-03-28T02:30"), "at 2027-03-28T03:30:00+02:00 (Europe/Berlin)");
    assert_eq!(words("2026-10-25T02:30"), "at 2026-10-25T02:30:00+02:00 (Europe/Berlin)");
    assert_eq!(words("2026-10-25T02:30:00+01:00"), "at 2026-10-25T02:30:00+01:00 (Europe/Berlin)");
}

#[test]
fn a_time_that_is_not_ahead_is_refused_with_the_present_in_its_zone() {
    for text in ["2026-06-01T14:00", "2026-06-01T13:59:59", "1999-01-01 00:00", "2026-06-01T12:00:00Z"] {
        let error = Plan::at(text, Some("Europe/Berlin"), now()).unwrap_err();
        assert!(matches!(error, PlanError::Passed { .. }), "{text}: {error:?}");
        assert!(
            error.to_string().contains("it is 2026-06-01T14:00:00+02:00 (Europe/Berlin) now"),
            "{text}: {error}"
        );
    }
    // One second later it is ahead.
    assert_eq!(at("2026-06-01T14:00:01", Some("Europe/Berlin")), now() + 1000);
}

#[test]
fn what_is_no_time_is_refused_with_an_example() {
    for text in [
        "",
        "  ",
        "null",
        "tomorrow",
        "2026-12-01",
        "09:00",
        "2026-13-01T09:00",
        "2026-02-30T09:00",
        "2026-12-01T25:00",
        "2026-12-01T09:00 Berlin",
        "2026-12-01T09:00+01:00[Asia/Tokyo]",
        "+999999-01-01T00:00:00Z",
        "99999999999999",
        "2026-12-01T09:00\u{202e}",
        &"2026-12-01T09:00".repeat(1000),
    ] {
        let error = Plan::at(text, Some("UTC"), now()).unwrap_err();
        assert!(matches!(error, PlanError::NotTime { .. }), "{text:?}: {error:?}");
        let shown = error.to_string();
        assert!(shown.contains("2026-12-01T09:00:00+01:00") && shown.len() < 600, "{text:?}: {shown}");
        assert!(!shown.contains('\u{202e}'), "{shown:?}");
    }
}

#[test]
fn an_unknown_zone_is_refused_with_the_nearest_one() {
    let error = |zone: &str| Plan::cron("0 9 * * *", Some(zone)).unwrap_err().to_string();
    assert!(error("Europe/Berln").contains("did you mean Europe/Berlin?"), "{}", error("Europe/Berln"));
    assert!(error("berlin").contains("did you mean Europe/Berlin?"), "{}", error("berlin"));
    assert!(error("New York").contains("did you mean America/New_York?"), "{}", error("New York"));
    let long = "x".repeat(100_000);
    for zone in
        ["", " ", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Etc/Unknown", "a\u{1b}[2J", &long]
    {
        let error = error(zone);
        assert!(error.contains("is no time zone") && error.contains("IANA"), "{zone:?}: {error}");
        assert!(!error.contains('\u{1b}') && error.len() < 300, "{zone:?}: {error}");
        assert!(
            matches!(Plan::at("2026-12-01T09:00", Some(zone), now()), Err(PlanError::Zone(_))),
            "{zone:?}"
        );
    }
    let annotated = Plan::at("2026-12-01T09:00[Europe/Berln]", None, now()).unwrap_err();
    assert!(annotated.to_string().contains("did you mean Europe/Berlin?"), "{annotated}");
}

#[test]
fn a_distance_is_a_minute_at_least_and_a_year_at_most() {
    for seconds in [0, 1, 59, YEAR + 1, u64::from(u32::MAX) + 61, u64::MAX] {
        assert_eq!(Plan::every(seconds), Err(PlanError::Interval(seconds)));
    }
    for seconds in [60, 61, 7200, YEAR] {
        assert!(
            matches!(Plan::every(seconds), Ok(Plan::Every(every)) if u64::from(every.seconds()) == seconds)
        );
    }
}

#[test]
fn durations_and_plans_in_words() {
    for (milliseconds, words) in [
        (7_200_000, "2h"),
        (1_800_000, "30m"),
        (90_000, "90s"),
        (30_000, "30s"),
        (200, "200ms"),
        (86_400_000, "24h"),
        (5_400_000, "90m"),
        (1_500, "1500ms"),
        (0, "0ms"),
    ] {
        assert_eq!(duration(milliseconds), words);
    }
    assert_eq!(Plan::every(7200).unwrap().words(), "every 2h");
    assert_eq!(Plan::every(90).unwrap().words(), "every 90s");
    assert_eq!(
        cron("  0  9\t* * MON-FRI ", "europe/berlin").words(),
        "cron: 0 9 * * MON-FRI (Europe/Berlin)"
    );
    assert_eq!(
        Plan::at("2026-12-01T09:00:00+01:00", Some("UTC"), now()).unwrap().words(),
        "at 2026-12-01T08:00:00+00:00 (UTC)"
    );
}

#[test]
fn a_plan_is_kept_as_text_and_read_again_even_when_its_time_has_passed() {
    for plan in [
        Plan::at("2026-06-01T12:00:01Z", Some("Asia/Tokyo"), now()).unwrap(),
        Plan::every(3600).unwrap(),
        cron("@daily", "Europe/Berlin"),
        cron("30 0 9 ? * MON#1", "Pacific/Apia"),
    ] {
        let text = plan.to_text();
        assert!(!text.contains('\n'));
        assert_eq!(Plan::from_text(&text).unwrap(), plan, "{text}");
    }
    for text in [
        "",
        "null",
        "{}",
        r#"{"kind":"every"}"#,
        r#"{"kind":"every","seconds":-60}"#,
        r#"{"kind":"every","seconds":60,"more":1}"#,
        r#"{"kind":"at","at":1e300,"zone":"UTC"}"#,
        r#"{"kind":"cron","expression":null,"zone":"UTC"}"#,
        r#"{"kind":"never"}"#,
    ] {
        assert!(
            matches!(Plan::from_text(text), Err(PlanError::Kept(_))),
            "{text}: {:?}",
            Plan::from_text(text)
        );
    }
    // What could not have been made cannot be read either.
    assert_eq!(Plan::from_text(r#"{"kind":"every","seconds":5}"#), Err(PlanError::Interval(5)));
    let never = Plan::from_text(r#"{"kind":"cron","expression":"0 0 30 2 *","zone":"UTC"}"#);
    assert!(matches!(never, Err(PlanError::Never(_))), "{never:?}");
    let far = Plan::from_text(&format!(r#"{{"kind":"at","at":{},"zone":"UTC"}}"#, i64::MAX));
    assert!(matches!(far, Err(PlanError::Range(_))), "{far:?}");
}

#[test]
fn cron_expressions_of_five_and_six_fields_and_their_words() {
    let first = |expression: &str| {
        dues(&cron(expression, "UTC"), "2026-06-01T12:00:00Z", "2029-01-01T00:00:00Z")[0].clone()
    };
    for (expression, due) in [
        ("* * * * *", "2026-06-01T12:01:00Z"),
        ("0 * * * * *", "2026-06-01T12:01:00Z"),
        ("30 0 9 * * *", "2026-06-02T09:00:30Z"),
        ("*/15 9-17 * * mon-fri", "2026-06-01T12:15:00Z"),
        ("0 9 * * 7", "2026-06-07T09:00:00Z"),
        ("0 9 1,15 * *", "2026-06-15T09:00:00Z"),
        ("0 9 L FEB *", "2027-02-28T09:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("0 9 ? * MON#1", "2026-07-06T09:00:00Z"),
        ("@hourly", "2026-06-01T13:00:00Z"),
        ("@Daily", "2026-06-02T00:00:00Z"),
        ("@weekly", "2026-06-07T00:00:00Z"),
        ("@monthly", "2026-07-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
    ] {
        assert_eq!(first(expression), due, "{expression}");
    }
}

#[test]
fn what_is_no_cron_expression_is_refused_with_an_example() {
    let long = "1,".repeat(100_000);
    let list = format!("{} * * * *", vec!["0"; 5000].join(","));
    for expression in [
        "",
        "   ",
        "null",
        "None",
        "@reboot",
        "@daily 5",
        "* * * *",
        "* * * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "a b c d e",
        "*/0 * * * *",
        "5-1 * * * *",
        "1,,2 * * * *",
        ", * * * *",
        "* , * * *",
        "0 0 * * ,",
        "1- * * * *",
        "/5 * * * *",
        "0 0 32W * *",
        "0 0 * * MON#9",
        "99999999999999999999 * * * *",
        "*/65535999 * * * *",
        "0 9 * * ſUN",
        "０ 9 * * *",
        "0 9 * * *\n0 10 * * *\u{0}",
        "\u{1b}[2J",
        "0 0 L L L",
        "L * * * *",
        &long,
        &list,
    ] {
        let error = refused(expression);
        assert!(
            error.contains("is no cron expression") && error.contains("`0 9 * * MON-FRI`"),
            "{expression:?}: {error}"
        );
        assert!(error.len() < 600 && !error.chars().any(char::is_control), "{expression:?}: {error}");
    }
}

#[test]
fn more_often_than_once_a_minute_is_refused_and_so_is_never() {
    for expression in
        ["* * * * * *", "*/30 * * * * *", "0,30 0 0 1 1 *", "0-59/59 0 0 29 2 *", "0,59 * * * * *"]
    {
        assert!(
            refused(expression).contains("more often than once in 60 seconds"),
            "{}",
            refused(expression)
        );
    }
    // With one second it is taken, wherever in the minute that is.
    cron("59 * * * * *", "UTC");
    cron("*/60 * * * *", "UTC");
    for expression in [
        "0 0 30 2 *",
        "0 0 31 2 *",
        "* * 31 4,6,9,11 *",
        "0 0 30,31 feb *",
        "0 0 8-31 * +MON#1",
        "0 0 31W 2 *",
    ] {
        assert!(refused(expression).contains("never due"), "{expression}: {}", refused(expression));
    }
    // Rare is not never.
    let rare = dues(&cron("0 0 29 2 +MON", "UTC"), "2026-01-01T00:00:00Z", "2100-01-01T00:00:00Z");
    assert_eq!(rare, ["2044-02-29T00:00:00Z", "2072-02-29T00:00:00Z"]);
}

#[test]
fn huge_and_odd_expressions_are_answered() {
    let all = |from: u32, to: u32| (from..=to).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let everything = format!("{} {} {} {} {}", all(0, 59), all(0, 23), all(1, 31), all(1, 12), all(0, 7));
    assert_eq!(dues(&cron(&everything, "UTC"), "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z").len(), 1440);
    for expression in [
        "0-59/1 0-23/1 1-31/1 1-12/1 0-7/1",
        "0 0 1W,15W,LW * *",
        "0 0 L * 5L",
        "0,0,0,0 0 1,1,1 * *",
        "*/59 */23 */31 */12 */7",
        "59 23 31 12 +7",
        "0 0 29 2 +SUN#5",
    ] {
        let plan = cron(expression, "America/New_York");
        assert!(plan.next_after(0, now()).unwrap().is_some(), "{expression}");
    }
}

#[test]
fn named_hours_are_each_due_once_through_daylight_saving() {
    // 2026-03-29 02:00 becomes 03:00 in Berlin, at 01:00Z.
    let leap = |e: &str| dues(&cron(e, "Europe/Berlin"), "2026-03-28T23:00:00Z", "2026-03-29T03:00:00Z");
    assert_eq!(leap("30 2 * * *"), ["2026-03-29T01:30:00Z"]);
    assert_eq!(leap("0 2 * * *"), ["2026-03-29T01:00:00Z"]);
    assert_eq!(leap("0 2,14 * * *"), ["2026-03-29T01:00:00Z"]);
    // 02:00, 02:20, 02:40 as far behind the leap as they would have been behind its beginning.
    assert_eq!(
        leap("*/20 2 * * *"),
        ["2026-03-29T01:00:00Z", "2026-03-29T01:20:00Z", "2026-03-29T01:40:00Z"]
    );
    // Two times of the clock that fall upon one instant are one.
    assert_eq!(
        leap("*/30 1-3 * * *"),
        ["2026-03-29T00:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]
    );
    // 2026-10-25 03:00 becomes 02:00 in Berlin, at 01:00Z.
    let twice = |e: &str| dues(&cron(e, "Europe/Berlin"), "2026-10-24T22:00:00Z", "2026-10-25T04:00:00Z");
    assert_eq!(twice("30 2 * * *"), ["2026-10-25T00:30:00Z"]);
    assert_eq!(twice("0 2,14 * * *"), ["2026-10-25T00:00:00Z"]);
    assert_eq!(
        twice("30 1-3 * * *"),
        ["2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"]
    );
    // Samoa had no 30 December 2011.
    assert_eq!(
        dues(&cron("0 9 * * *", "Pacific/Apia"), "2011-12-28T12:00:00Z", "2012-01-01T12:00:00Z"),
        ["2011-12-28T19:00:00Z", "2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T19:00:00Z"]
    );
}

#[test]
fn every_hour_goes_on_evenly_through_daylight_saving() {
    for (zone, from) in [
        ("Europe/Berlin", "2026-03-28T12:00:00Z"),
        ("Europe/Berlin", "2026-10-24T12:00:00Z"),
        ("America/Sao_Paulo", "2018-02-17T12:00:00Z"),
        ("Australia/Lord_Howe", "2026-04-04T00:00:00Z"),
        ("Pacific/Apia", "2011-12-29T12:00:00Z"),
    ] {
        let plan = cron("*/30 * * * *", zone);
        let found = plan.between(0, ms(from), ms(from) + 2 * DAY, 1000).unwrap();
        assert_eq!(found.len(), 96, "{zone}");
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] == 30 * MINUTE), "{zone}");
    }
}

#[test]
fn an_even_distance_keeps_its_phase() {
    let plan = Plan::every(86_400).unwrap();
    let anchor = ms("2026-06-01T12:00:00Z");
    // Asked at hour 23, the wait is one hour, and not a day anew.
    assert_eq!(plan.next_after(anchor, anchor + 23 * HOUR).unwrap(), Some(anchor + DAY));
    assert_eq!(plan.next_after(anchor, anchor + DAY).unwrap(), Some(anchor + 2 * DAY));
    // A clock that was set back behind the anchor asks for the same ones.
    assert_eq!(plan.next_after(anchor, anchor - 400 * DAY).unwrap(), Some(anchor + DAY));
    assert_eq!(plan.next_after(anchor, anchor).unwrap(), Some(anchor + DAY));
}

fn due<'p>(plan: &'p Plan, anchor: i64, next: i64, missed: Missed) -> Due<'p> {
    Due { plan, anchor, next, missed, grace: Duration::from_secs(3600) }
}

fn row(due: i64, until: i64, count: u64, fate: Fate) -> Row {
    Row { due, until, count, more: false, fate }
}

#[test]
fn a_due_time_is_run_when_on_time_and_otherwise_as_the_job_says() {
    let plan = Plan::every(600).unwrap();
    let (anchor, first) = (now(), now() + 10 * MINUTE);
    let settle = |missed, now| due(&plan, anchor, first, missed).settle(now).unwrap();
    for missed in [Missed::Skip, Missed::Once] {
        // Not yet.
        let early = settle(missed, first - 1);
        assert!(early.rows.is_empty() && early.next == Some(first), "{early:?}");
        for late in [0, 1, MINUTE] {
            let on_time = settle(missed, first + late);
            assert_eq!(on_time.rows, [row(first, first, 1, Fate::Run)]);
            assert_eq!(on_time.next, Some(first + 10 * MINUTE));
        }
        // After a day the newest is on time; the others are not.
        let later = first + DAY;
        let long = settle(missed, later + 5);
        let others = row(first, later - 10 * MINUTE, 144, Fate::Missed);
        assert_eq!(long.rows, [others, row(later, later, 1, Fate::Run)]);
        assert_eq!(long.next, Some(later + 10 * MINUTE));
    }
    // Just too late to be on time: over, or made up for.
    let late = first + MINUTE + 1;
    assert_eq!(settle(Missed::Skip, late).rows, [row(first, first, 1, Fate::Missed)]);
    assert_eq!(settle(Missed::Once, late).rows, [row(first, first, 1, Fate::Run)]);
    assert_eq!(
        settle(Missed::Once, late + 10 * MINUTE).rows,
        [row(first, first, 1, Fate::Missed), row(first + 10 * MINUTE, first + 10 * MINUTE, 1, Fate::Run)]
    );
    // Beyond the grace nothing is made up for.
    let daily = Plan::every(86_400).unwrap();
    let daily = due(&daily, anchor, anchor + DAY, Missed::Once);
    assert_eq!(daily.settle(anchor + DAY + HOUR).unwrap().rows[0].fate, Fate::Run);
    let beyond = daily.settle(anchor + DAY + HOUR + 1).unwrap();
    assert_eq!(beyond.rows, [row(anchor + DAY, anchor + DAY, 1, Fate::Missed)]);
    assert_eq!(beyond.next, Some(anchor + 2 * DAY));
}

#[test]
fn one_time_is_run_or_missed_and_then_over() {
    let plan = Plan::at("2026-06-01T13:00:00Z", Some("UTC"), now()).unwrap();
    let one = now() + HOUR;
    let settle = |missed, now| due(&plan, 0, one, missed).settle(now).unwrap();
    assert_eq!(settle(Missed::Skip, one - 1).next, Some(one));
    for (missed, late, fate) in [
        (Missed::Skip, MINUTE, Fate::Run),
        (Missed::Skip, MINUTE + 1, Fate::Missed),
        (Missed::Once, HOUR, Fate::Run),
        (Missed::Once, HOUR + 1, Fate::Missed),
        (Missed::Once, 4000 * DAY, Fate::Missed),
    ] {
        let settled = settle(missed, one + late);
        assert_eq!((settled.rows, settled.next), (vec![row(one, one, 1, fate)], None), "{missed:?} {late}");
    }
}

#[test]
fn ten_years_of_minutes_are_settled_without_counting_them_out() {
    let (from, until) = (ms("2016-06-01T12:00:00Z"), ms("2026-06-01T12:00:30Z"));
    let plan = Plan::every(60).unwrap();
    let settled = due(&plan, from, from + MINUTE, Missed::Once).settle(until).unwrap();
    let minutes = u64::try_from((until - from) / MINUTE).unwrap();
    let newest = ms("2026-06-01T12:00:00Z");
    assert_eq!(
        settled.rows,
        [row(from + MINUTE, newest - MINUTE, minutes - 1, Fate::Missed), row(newest, newest, 1, Fate::Run)]
    );
    assert_eq!(settled.next, Some(newest + MINUTE));
    for (expression, zone) in [("* * * * *", "Europe/Berlin"), ("* 0-22 * * *", "Europe/Berlin")] {
        let plan = cron(expression, zone);
        let settled = due(&plan, 0, from + MINUTE, Missed::Once).settle(until).unwrap();
        let missed = Row { more: true, ..row(from + MINUTE, newest - MINUTE, COUNTED + 1, Fate::Missed) };
        assert_eq!(settled.rows, [missed, row(newest, newest, 1, Fate::Run)], "{expression}");
        assert_eq!(settled.next, Some(newest + MINUTE), "{expression}");
    }
}

#[test]
fn a_clock_that_is_set_back_fires_nothing_again() {
    for plan in
        [Plan::every(600).unwrap(), cron("*/10 * * * *", "UTC"), cron("*/10 0-22 * * *", "Asia/Tokyo")]
    {
        let first = now() + 10 * MINUTE;
        let settled = due(&plan, now(), first, Missed::Once).settle(first + 1).unwrap();
        let next = settled.next.unwrap();
        assert_eq!(next, first + 10 * MINUTE);
        for back in [1, HOUR, 400 * DAY] {
            let again = due(&plan, now(), next, Missed::Once).settle(first + 1 - back).unwrap();
            assert!(again.rows.is_empty() && again.next == Some(next), "{plan:?} {back}: {again:?}");
        }
    }
}

#[test]
fn instants_beyond_the_calendar_are_errors() {
    let last = Timestamp::MAX.as_second() * 1000;
    let at = Plan::at("2026-06-01T13:00:00Z", Some("UTC"), now()).unwrap();
    for plan in [Plan::every(60).unwrap(), cron("* * * * *", "UTC"), cron("0 9 * * *", "Europe/Berlin"), at] {
        for beyond in [i64::MIN, i64::MAX, last + 1000] {
            assert!(plan.next_after(0, beyond).is_err(), "{plan:?}");
            assert!(due(&plan, 0, now(), Missed::Once).settle(beyond).is_err(), "{plan:?}");
            assert!(due(&plan, beyond, now(), Missed::Once).settle(now()).is_err(), "{plan:?}");
            assert!(due(&plan, 0, beyond, Missed::Once).settle(now()).is_err(), "{plan:?}");
        }
        // At the very end there is no next one, and no panic.
        assert_eq!(plan.next_after(0, last).unwrap(), None, "{plan:?}");
        let settled = due(&plan, 0, last, Missed::Skip).settle(last).unwrap();
        assert_eq!(settled.next, None, "{plan:?}");
        plan.next_after(0, Timestamp::MIN.as_millisecond()).unwrap();
    }
    assert!(matches!(Plan::at("2026-12-01T09:00Z", None, i64::MAX), Err(PlanError::Range(_))));
    for text in ["9999-12-30T22:00:00.5Z", "9999-12-31T23:59:59"] {
        let error = Plan::at(text, Some("UTC"), now()).unwrap_err();
        assert!(matches!(error, PlanError::Range(_) | PlanError::NotTime { .. }), "{text}: {error:?}");
    }
}

/// Zones with whole, half and whole-day leaps, leaps at midnight, both hemispheres, and none at all.
const ZONES: [&str; 9] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Havana",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kolkata",
    "Africa/Casablanca",
];

/// Expressions with one field of each kind, most of them usual and some of them rare.
fn expression() -> impl Strategy<Value = String> {
    let minute = prop_oneof![
        Just("*".to_owned()),
        Just("*/7".to_owned()),
        Just("0,30,31".to_owned()),
        (0..60u32).prop_map(|m| m.to_string())
    ];
    let hour = prop_oneof![
        Just("*".to_owned()),
        Just("*/2".to_owned()),
        Just("0-22".to_owned()),
        Just("1-3".to_owned()),
        Just("0,23".to_owned()),
        (0..24u32).prop_map(|h| h.to_string())
    ];
    let day = prop_oneof![5 => Just("* * *"), 1 => Just("* * SUN"), 1 => Just("L * *"), 1 => Just("1,15 * +MON-FRI")];
    (minute, hour, day).prop_map(|(minute, hour, day)| format!("{minute} {hour} {day}"))
}

/// Around where clocks were changed, in the years that the zones above have most of it.
fn around_a_change() -> impl Strategy<Value = (&'static str, i64)> {
    (prop::sample::select(ZONES.to_vec()), 2008..2030i16, 0..6usize, -3 * HOUR..3 * HOUR).prop_map(
        |(name, year, which, off)| {
            let zone = TimeZone::get(name).unwrap();
            let from = date(year, 1, 1).at(0, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp();
            let changed = zone.following(from).nth(which).map_or(from, |change| change.timestamp());
            (name, changed.as_millisecond() + off)
        },
    )
}

/// The due times by trying every minute: of the calendar where hours are named, of real time where all are.
fn by_trying(expression: &str, zone: &str, after: i64, until: i64) -> Vec<i64> {
    let fields: croner::Cron = expression.parse().unwrap();
    let zone = TimeZone::get(zone).unwrap();
    let stamp = |at: i64| Timestamp::from_millisecond(at).unwrap();
    let found: BTreeSet<i64> = if fields.pattern.hours.values().len() == 24 {
        (after.div_euclid(MINUTE)..=until.div_euclid(MINUTE))
            .map(|minute| minute * MINUTE)
            .filter(|at| fields.is_time_matching(&zone.to_datetime(stamp(*at))).unwrap())
            .collect()
    } else {
        let from = zone.to_datetime(stamp(after - 2 * DAY));
        let from: DateTime = from.with().second(0).subsec_nanosecond(0).build().unwrap();
        let minutes = (until - after + 4 * DAY) / MINUTE;
        (0..minutes)
            .map(|minute| from.checked_add(SignedDuration::from_mins(minute)).unwrap())
            .filter(|civil| fields.is_time_matching(civil).unwrap())
            .map(|civil| zone.to_timestamp(civil).unwrap().as_millisecond())
            .collect()
    };
    found.into_iter().filter(|at| *at > after && *at <= until).collect()
}

/// One of each kind of plan, with its anchor and an instant from which to look.
fn planned() -> impl Strategy<Value = (Plan, i64, i64)> {
    let every = (60..200_000u64, 0..400 * DAY).prop_map(|(seconds, from)| {
        let anchor = now() + from;
        (Plan::every(seconds).unwrap(), anchor, anchor)
    });
    let cron = (expression(), around_a_change()).prop_map(|(e, (zone, from))| (cron(&e, zone), 0, from));
    let once = (1..40 * DAY).prop_map(|ahead| {
        let at = Timestamp::from_millisecond(now() + ahead).unwrap().to_string();
        (Plan::at(&at, Some("UTC"), now()).unwrap(), 0, now())
    });
    prop_oneof![2 => every, 4 => cron, 1 => once]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn cron_is_due_when_trying_every_minute_says_so((zone, from) in around_a_change(), e in expression()) {
        let found = cron(&e, zone).between(0, from, from + 2 * DAY, 10_000).unwrap();
        prop_assert_eq!(found, by_trying(&e, zone, from, from + 2 * DAY), "{} {} {}", e, zone, iso(from));
    }

    /// Whenever the program was there: each due time is in one row, in order, and none comes again.
    #[test]
    fn every_due_time_is_settled_once(
        (plan, anchor, from) in planned(),
        steps in prop::collection::vec((prop_oneof![0..MINUTE, 0..HOUR, 0..3 * DAY], 0..HOUR), 1..12),
        once in any::<bool>(),
        grace in 0..100_000u64,
    ) {
        let missed = if once { Missed::Once } else { Missed::Skip };
        let mut next = plan.next_after(anchor, from).unwrap();
        let first = next;
        let (mut clock, mut latest) = (from, from);
        let mut rows: Vec<Row> = Vec::new();
        for (ahead, back) in steps {
            // The clock goes ahead, and is now and then set back.
            clock += ahead - if back % 4 == 0 { back } else { 0 };
            latest = latest.max(clock);
            let Some(unsettled) = next else { break };
            let due = Due { plan: &plan, anchor, next: unsettled, missed, grace: Duration::from_secs(grace) };
            // The same instant always says the same, as another process would.
            let settled = due.settle(clock).unwrap();
            prop_assert_eq!(&settled, &due.settle(clock).unwrap());
            prop_assert!(settled.rows.len() <= 2);
            prop_assert_eq!(settled.rows.is_empty(), clock < unsettled);
            for row in &settled.rows {
                prop_assert!(row.until <= clock);
                if row.fate == Fate::Run {
                    let grace = if once { i64::try_from(grace * 1000).unwrap().max(MINUTE) } else { MINUTE };
                    prop_assert!(row.count == 1 && clock - row.due <= grace);
                }
            }
            if let (Some(last), Some(next)) = (settled.rows.last(), settled.next) {
                prop_assert!(next > last.until && next > clock);
            }
            rows.extend(settled.rows);
            next = settled.next;
        }
        let all: Vec<i64> = match first {
            Some(first) => plan.between(anchor, first - 1, latest, 100_000).unwrap(),
            None => Vec::new(),
        };
        let mut left = all.as_slice();
        for row in &rows {
            let count = usize::try_from(row.count).unwrap();
            if row.more {
                // So many and more: as many as lie up to its end.
                let real = left.iter().take_while(|due| **due <= row.until).count();
                prop_assert!(real > count, "{real} {row:?}");
                left = &left[real..];
            } else {
                prop_assert!(count <= left.len(), "{row:?} of {}", left.len());
                prop_assert_eq!((row.due, row.until), (left[0], left[count - 1]));
                left = &left[count..];
            }
        }
        prop_assert_eq!(left.first().copied(), next.filter(|next| *next <= latest));
    }

    /// No due time lies between one and the next, wherever one asks from, and even distances stay in phase.
    #[test]
    fn the_next_due_time_is_the_same_from_wherever_one_asks((plan, anchor, from) in planned(), part in 0.0..1.0f64) {
        if let Some(next) = plan.next_after(anchor, from).unwrap() {
            prop_assert!(next > from);
            let between = from + ((next - from) as f64 * part) as i64;
            if between < next {
                prop_assert_eq!(plan.next_after(anchor, between).unwrap(), Some(next));
            }
            if let Plan::Every(every) = &plan {
                prop_assert_eq!((next - anchor) % (i64::from(every.seconds()) * 1000), 0);
            }
            prop_assert!(plan.next_after(anchor, next).unwrap().is_none_or(|second| second - next >= MINUTE));
        }
    }

    #[test]
    fn no_text_makes_reading_a_plan_panic(text in any::<String>(), zone in any::<Option<String>>()) {
        let _ = Plan::cron(&text, zone.as_deref());
        let _ = Plan::at(&text, zone.as_deref(), now());
        let _ = Plan::from_text(&text);
    }

    /// Of what nearly is an expression, whatever is taken is due at some time, and comes back from its text.
    #[test]
    fn whatever_is_taken_is_due(text in "([0-9*/,LW#?+A-Z-]{1,6}|[*]|[0-9]{1,2}|[*]/[0-9]{1,3}|[0-9]{1,2}-[0-9]{1,2})( ([*]|[0-9]{1,2}|[0-9]{1,2}[LW#][0-9]?|[*]/[0-9]{1,5}|[+]?[0-9],[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2}(/[0-9])?)){4,5}") {
        if let Ok(plan) = Plan::cron(&text, Some("America/New_York")) {
            prop_assert!(plan.next_after(0, now()).unwrap().is_some(), "{}", text);
            prop_assert_eq!(Plan::from_text(&plan.to_text()).unwrap(), plan);
        }
    }

    #[test]
    fn whatever_nearly_is_a_time_is_taken_or_refused(text in "[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9](:[0-6][0-9]){0,2}([.][0-9]{0,9})?(Z|[+-][0-2][0-9]:[0-5][0-9])?([\\[][A-Za-z/]{0,8}[\\]])?") {
        if let Ok(plan) = Plan::at(&text, Some("Europe/Berlin"), now()) {
            let next = plan.next_after(0, now()).unwrap();
            prop_assert!(next.is_some_and(|at| at > now()), "{}", text);
            prop_assert_eq!(Plan::from_text(&plan.to_text()).unwrap(), plan);
        }
    }
}
