//! What background runs, scheduled work and profiles may take, as the configuration says it; and what was meant by a key
//! that is not there.

use ringfence::authority::{Profile, Role};
use ringfence::config::{Config, CronConfig, ProfileLimits, TasksConfig};
use std::time::Duration;

fn parse(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(minutes * 60)
}

#[test]
fn background_work_has_limits_without_a_word_of_configuration() {
    for text in ["", "[tasks]\n[cron]\n"] {
        let config = parse(text);
        let tasks = TasksConfig {
            running: 4,
            running_per_session: 4,
            queued: 16,
            per_session: 64,
            timeout: minutes(15),
            max_tokens: 200_000,
        };
        let cron = CronConfig {
            jobs_per_session: 32,
            jobs: 256,
            grace: minutes(60),
            timeout: minutes(30),
            failures: 10,
        };
        assert_eq!((config.tasks, config.cron), (tasks, cron));
    }
}

#[test]
fn the_limits_of_background_work_are_read() {
    let config = parse(
        "[tasks]\nrunning = 1024\nrunning_per_session = 2\nqueued = 0\nper_session = 1\ntimeout = \"90s\"\n\
         max_tokens = 5\n[cron]\njobs_per_session = 0\njobs = 7\ngrace = 10\ntimeout = \"168h\"\nfailures = 1\n",
    );
    let tasks = TasksConfig {
        running: 1024,
        running_per_session: 2,
        queued: 0,
        per_session: 1,
        timeout: Duration::from_secs(90),
        max_tokens: 5,
    };
    let cron = CronConfig {
        jobs_per_session: 0,
        jobs: 7,
        grace: Duration::from_secs(10),
        timeout: minutes(7 * 24 * 60),
        failures: 1,
    };
    assert_eq!((config.tasks, config.cron), (tasks, cron));
}

/// Each bound from both sides: the last value that is taken, and the first that is refused, with what would do.
#[test]
fn a_limit_without_sense_is_refused_and_the_sensible_ones_are_named() {
    let number = |from: u64, to: u64| format!("expected a whole number from {from} to {to}");
    let time =
        |from: &str| format!("expected a time from {from} to 168h, such as \"90s\", \"10m\" or \"2h\"");
    for (table, key, least, most, says) in [
        ("tasks", "running", 1, 1024, number(1, 1024)),
        ("tasks", "running_per_session", 1, 1024, number(1, 1024)),
        ("tasks", "queued", 0, 100_000, number(0, 100_000)),
        ("tasks", "per_session", 1, 1_000_000, number(1, 1_000_000)),
        ("tasks", "timeout", 1, 604_800, time("1s")),
        ("tasks", "max_tokens", 1, 1_000_000_000, number(1, 1_000_000_000)),
        ("cron", "jobs_per_session", 0, 10_000, number(0, 10_000)),
        ("cron", "jobs", 0, 100_000, number(0, 100_000)),
        ("cron", "grace", 10, 604_800, time("10s")),
        ("cron", "timeout", 1, 604_800, time("1s")),
        ("cron", "failures", 1, 1_000, number(1, 1_000)),
        ("profiles.p", "max_iterations", 1, 10_000, number(1, 10_000)),
        ("profiles.p", "max_tokens", 1, 1_000_000_000, number(1, 1_000_000_000)),
        ("profiles.p", "timeout", 1, 604_800, time("1s")),
    ] {
        let role = if table == "profiles.p" { "role = \"main\"\n" } else { "" };
        let text = |value: &str| format!("[{table}]\n{role}{key} = {value}\n");
        for value in [least, most] {
            parse(&text(&value.to_string()));
        }
        let wrong = [&(least - 1).to_string(), &(most + 1).to_string(), "true", "\"many\"", "1.5", "[1]"];
        for value in wrong {
            let refusal = Config::parse(&text(value)).unwrap_err();
            assert_eq!(refusal, format!("{table}.{key}: {says}"), "for {value}");
        }
    }
    for table in ["tasks", "cron"] {
        assert_eq!(Config::parse(&format!("{table} = 3")).unwrap_err(), format!("{table}: expected a table"));
    }
    let empty = Config::parse("[profiles.p]\nrole = \"main\"\nmodel = \" \"\n").unwrap_err();
    assert!(empty.starts_with("profiles.p.model: "), "{empty}");
}

#[test]
fn a_profile_limits_what_a_turn_may_take_and_a_role_does_not() {
    let config = parse(
        "[profiles.quick]\nrole = \"subagent\"\nmodel = \"small\"\nmax_iterations = 5\nmax_tokens = 9000\n\
         timeout = \"2m\"\n[profiles.plain]\nrole = \"main\"\n",
    );
    let quick = ProfileLimits {
        model: Some("small".to_owned()),
        iterations: Some(5),
        tokens: Some(9000),
        time: Some(minutes(2)),
    };
    assert_eq!(config.profile_limits("quick"), quick);
    for name in ["main", "subagent", "cron", "plain", "absent"] {
        assert_eq!(config.profile_limits(name), ProfileLimits::default(), "{name}");
    }
    // They are no rights: what the profile leaves is what it left without them.
    let plain = Profile { name: "quick".to_owned(), ..Profile::plain(Role::Subagent) };
    assert_eq!(config.profile("quick"), Some(plain));
}

#[test]
fn of_two_limits_the_lesser_holds() {
    let none = ProfileLimits::default();
    let some = ProfileLimits { model: None, iterations: Some(5), tokens: Some(100), time: Some(minutes(2)) };
    for (without, with) in [(3, 3), (5, 5), (40, 5)] {
        assert_eq!((none.iterations(without), some.iterations(without)), (without, with));
    }
    for (without, with) in [(None, Some(100)), (Some(7), Some(7)), (Some(101), Some(100))] {
        assert_eq!((none.tokens(without), some.tokens(without)), (without, with));
    }
    let (one, three) = (Some(minutes(1)), Some(minutes(3)));
    for (without, with) in [(None, Some(minutes(2))), (one, one), (three, Some(minutes(2)))] {
        assert_eq!((none.time(without), some.time(without)), (without, with));
    }
}

#[test]
fn the_model_of_a_profile_is_asked_where_nothing_nearer_names_one() {
    let config = parse(
        "provider = \"work\"\nmodel = \"large\"\n[providers.work]\nwire = \"chat\"\nmodel = \"own\"\n\
         [providers.other]\nwire = \"chat\"\nmodel = \"theirs\"\n\
         [profiles.quick]\nrole = \"main\"\nmodel = \"small\"\n[profiles.plain]\nrole = \"main\"\n",
    );
    for (profile, provider, model, asked) in [
        ("main", None, None, "large"),
        ("plain", None, None, "large"),
        ("quick", None, None, "small"),
        ("quick", None, Some("typed"), "typed"),
        ("quick", Some("work"), None, "small"),
        // It is a model of the provider that the file names, and of no other.
        ("quick", Some("other"), None, "theirs"),
    ] {
        let chosen = config.choose_provider_as(profile, provider, model).unwrap();
        assert_eq!(chosen.model, asked, "{profile} {provider:?} {model:?}");
    }
    assert_eq!(config.choose_provider(None, None).unwrap().model, "large");
}

#[test]
fn a_key_that_other_programs_have_is_understood() {
    for (table, word, key) in [
        ("agent", "max_turns", "main_iterations"),
        ("agent", "max-turns", "main_iterations"),
        ("agent", "turns", "main_iterations"),
        ("agent", "iterations", "main_iterations"),
        ("agent", "Max_Iterations", "main_iterations"),
        ("agent", "budget", "max_cost"),
        ("agent", "max_output_tokens", "reply_tokens"),
        ("agent", "deadline", "timeout"),
        ("tasks", "concurrency", "running"),
        ("tasks", "max_concurrent", "running"),
        ("tasks", "queue_size", "queued"),
        ("tasks", "max_tasks", "per_session"),
        ("tasks", "tokens", "max_tokens"),
        ("cron", "max_jobs", "jobs"),
        ("cron", "misfire_grace_time", "grace"),
        ("cron", "max_failures", "failures"),
        ("profiles.p", "max_turns", "max_iterations"),
        ("profiles.p", "main_iterations", "max_iterations"),
        ("profiles.p", "permissions", "capabilities"),
        ("providers.p", "endpoint", "base_url"),
        ("providers.p", "api_key", "key"),
        // A slip of the finger is still one, and what means nothing is told as that.
        ("tasks", "runing", "running"),
        ("agent", "max_token", "max_tokens"),
        ("cron", "fortnight", ""),
        // What is another table's business is not taken for what only looks like it.
        ("tasks", "max_turns", ""),
    ] {
        let refusal = Config::parse(&format!("[{table}]\n\"{word}\" = 1\n")).unwrap_err();
        let hint = if key.is_empty() { String::new() } else { format!("; did you mean `{key}`?") };
        assert_eq!(refusal, format!("{table}: unknown key `{word}`{hint}"));
    }
    let refusal = Config::parse("[schedule]\n").unwrap_err();
    assert_eq!(refusal, "the file: unknown key `schedule`; did you mean `cron`?");
    let long = "x".repeat(100_000);
    assert_eq!(Config::parse(&format!("{long} = 1")).unwrap_err(), format!("the file: unknown key `{long}`"));
}
