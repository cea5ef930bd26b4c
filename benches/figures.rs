//! The figures of docs/performance.md, all taken in one run and printed as its table. Not a test: nothing fails here.

#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails is over")]
#![allow(
    clippy::disallowed_methods,
    reason = "a benchmark starts the program and reads the machine's counters"
)]

mod support;

use ringfence::sandbox::{CallError, LimitKind, Limits, TICK};
use ringfence::toolbox::Outcome;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Floor, Whole, call, workspace};

const CALLS: usize = 4_000;
const AT_ONCE: usize = 1_000;
const STARTS: usize = 40;

fn main() {
    let workspace = workspace();
    println!("| what | p50 | p95 | p99 |");
    println!("|--|--|--|--|");
    let floor = Floor::new(workspace.path());
    let whole = Whole::new(workspace.path(), Limits::default());
    let floor = Arc::new(floor);
    let elsewhere = || {
        let floor = Arc::clone(&floor);
        whole.runtime.block_on(async { tokio::task::spawn_blocking(move || floor.call()).await.unwrap() })
    };
    let (mut bare, mut away, mut through) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        floor.call();
        whole.call();
    }
    // In turn, so that whatever else the machine does falls on both.
    for _ in 0..CALLS {
        bare.push(timed(|| floor.call()));
        away.push(timed(elsewhere));
        through.push(timed(|| whole.call()));
    }
    let ratio = row("(a) bare wasmtime, 4 KiB read_file", &mut bare);
    let away = row("(a') the same on a thread that may block", &mut away);
    let through_p50 = row("(b) the same through the toolbox", &mut through);
    let (ratio, ratio_away) = (through_p50 / ratio, through_p50 / away);
    starts(workspace.path());
    let one_by_one = through.len() as f64 / through.iter().sum::<Duration>().as_secs_f64();
    let together = at_once(&whole);
    late(workspace.path());
    println!();
    println!("(b) / (a) at p50: {ratio:.2}; (b) / (a'): {ratio_away:.2}");
    println!(
        "(d) {AT_ONCE} calls at once: {together:.0} calls a second, {:.0} % of one after the other ({one_by_one:.0})",
        100.0 * together / one_by_one
    );
    resident(workspace.path());
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed()
}

/// Prints a row; its median in microseconds.
fn row(what: &str, times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let text = |time: Duration| match time.as_secs_f64() {
        s if s >= 0.001 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    };
    println!("| {what} | {} | {} | {} |", text(at(0.5)), text(at(0.95)), text(at(0.99)));
    at(0.5).as_secs_f64() * 1e6
}

/// (c) The first call of a process, native code in the cache: the whole process, from start to exit.
fn starts(workspace: &Path) {
    let home = tempfile::tempdir().unwrap();
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        command.args(["tools", "run", "read_file", "path=4k.txt", "-C"]).arg(workspace);
        command.env("RINGFENCE_HOME", home.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    run();
    let mut times: Vec<Duration> = (0..STARTS).map(|_| timed(run)).collect();
    row("(c) first call of a process, cache warm, whole process", &mut times);
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| timed(|| Command::new(env!("CARGO_BIN_EXE_ringfence")).arg("--version").output().unwrap()))
        .collect();
    row("`ringfence --version`, whole process", &mut times);
}

/// (d) Calls a second when all are asked for at once.
fn at_once(whole: &Whole) -> f64 {
    let time = timed(|| {
        whole.runtime.block_on(async {
            let calls: Vec<_> = (0..AT_ONCE)
                .map(|_| {
                    let (toolbox, agent) = (Arc::clone(&whole.toolbox), Arc::clone(&whole.agent));
                    tokio::spawn(async move { call(&toolbox, &agent).await })
                })
                .collect();
            for call in calls {
                call.await.unwrap();
            }
        });
    });
    AT_ONCE as f64 / time.as_secs_f64()
}

/// How late a call without end is ended.
fn late(workspace: &Path) {
    let wasm = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("guest-tools/target/wasm32-wasip2/release/examples/limits_time.wasm");
    let Ok(bytes) = std::fs::read(wasm) else {
        println!("| a timeout's delay (needs the hostile components: run the tests first) | - | - | - |");
        return;
    };
    let time = Duration::from_millis(100);
    let mut whole = Whole::new(workspace, Limits { time, ..Limits::default() });
    let toolbox = Arc::get_mut(&mut whole.toolbox).unwrap();
    let grant = ringfence::authority::Grant(ringfence::authority::Rights::none());
    whole.runtime.block_on(toolbox.add("limits_time.wasm".into(), bytes, grant)).unwrap();
    let mut times: Vec<Duration> = (0..50)
        .map(|_| {
            let reply = whole.runtime.block_on(whole.toolbox.call(&whole.agent, "spin", "{}"));
            assert!(matches!(reply.outcome, Outcome::Ended(CallError::Limit(LimitKind::Time))));
            reply.time.saturating_sub(time)
        })
        .collect();
    row(&format!("a timeout's delay (tick {} ms)", TICK.as_millis()), &mut times);
}

/// (e) Resident memory of a live instance: many that wait at once, against none.
fn resident(workspace: &Path) {
    let wasm = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("guest-tools/target/wasm32-wasip2/release/examples/limits_time.wasm");
    let Ok(bytes) = std::fs::read(wasm) else { return };
    let mut whole = Whole::new(workspace, Limits::default());
    let toolbox = Arc::get_mut(&mut whole.toolbox).unwrap();
    let grant = ringfence::authority::Grant(ringfence::authority::Rights::none());
    whole.runtime.block_on(toolbox.add("limits_time.wasm".into(), bytes, grant)).unwrap();
    let waiting = |count: usize| {
        whole.runtime.block_on(async {
            let calls: Vec<_> = (0..count)
                .map(|_| {
                    let (toolbox, agent) = (Arc::clone(&whole.toolbox), Arc::clone(&whole.agent));
                    tokio::spawn(async move {
                        toolbox.call(&agent, "sleep_blocked", r#"{"milliseconds":800}"#).await.outcome.name()
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(400)).await;
            let bytes = resident_bytes();
            for call in calls {
                assert_eq!(call.await.unwrap(), "done");
            }
            bytes
        })
    };
    // Once in full first, so that threads and what the allocator keeps are there in both measurements.
    waiting(60);
    let (few, many) = (waiting(4), waiting(60));
    println!("(e) resident memory of a live instance: {} KiB", many.saturating_sub(few) / 56 / 1024);
    println!("    resident memory of the process with 4 instances: {:.1} MiB", few as f64 / (1 << 20) as f64);
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
