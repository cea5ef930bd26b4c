//! Never comes back: in the guest, in cheap host calls, and asleep in one host call.

use hostile::{Nothing, answer, tool};
use ringfence_tool::Output;
use serde::Deserialize;
use std::hint::black_box;
use wasip2::{clocks::monotonic_clock, io::poll};

#[derive(Deserialize)]
struct Nap {
    milliseconds: u64,
}

tool!(Spin, "spin", "Runs without end.", Nothing, |_| {
    let mut turns = 0_u64;
    // The condition is opaque, so that the loop is neither removed nor known to be endless.
    while black_box(true) {
        turns = turns.wrapping_add(1);
    }
    answer(&turns)
});

tool!(SpinInHostCalls, "spin_in_host_calls", "Asks the host for the time without end.", Nothing, |_| {
    let mut last = 0;
    while black_box(true) {
        last = monotonic_clock::now();
    }
    answer(&last)
});

tool!(SleepBlocked, "sleep_blocked", "Sleeps in one host call.", Nap, |nap| {
    monotonic_clock::subscribe_duration(nap.milliseconds.saturating_mul(1_000_000)).block();
    Ok(Output::text("slept"))
});

tool!(SleepPolling, "sleep_polling", "Sleeps in a poll of two clocks.", Nap, |nap| {
    let nanoseconds = nap.milliseconds.saturating_mul(1_000_000);
    let first = monotonic_clock::subscribe_duration(nanoseconds);
    let second = monotonic_clock::subscribe_instant(monotonic_clock::now().saturating_add(nanoseconds));
    poll::poll(&[&first, &second]);
    Ok(Output::text("slept"))
});

ringfence_tool::export_tool!(Spin, SpinInHostCalls, SleepBlocked, SleepPolling);
