//! The figures of background work in docs/performance.md: subagents a second through a model that answers at once, how long one
//! takes from `spawn` to delivery, and what one costs in memory while it waits and while it runs. All in one run.

#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails is over")]
#![allow(clippy::disallowed_methods, reason = "a benchmark lays out its own home and workspace")]

use ringfence::agent::{Ground, Means, Purse};
use ringfence::authority::{Access, Capability, CapabilitySet, Directories, Hosts, Rights};
use ringfence::config::{Config, Dirs, Presence, TasksConfig};
use ringfence::egress;
use ringfence::exec::{Commands, Settings};
use ringfence::sandbox::ports::{Request, Spawner};
use ringfence::sandbox::{Limits, Opened};
use ringfence::session::SessionKey;
use ringfence::store::Store;
use ringfence::tasks::{Hands, House, Origin, Place, Tasks, TurnOf};
use ringfence::toolbox::Toolbox;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SCRIPT: &str = r#"
[[reply]]
user = "hang"
text = "never"
delay_ms = 3600000
repeat = true
[[reply]]
text = "Done."
usage = { input = 100, output = 10 }
repeat = true
"#;

/// How many run at once where nothing else is said.
const AT_ONCE: u64 = 4;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // Before anything else has made room that could be used again.
        let queued = memory(10_000, 1).await;
        let running = memory(1_000, 1_000).await;
        println!("Resident for each that waits: {queued:.2} KiB; for each that runs: {running:.1} KiB");
        println!();
        println!("| runs | all at once: runs a second | one after another, {AT_ONCE} at a time: p50 | p99 |");
        println!("|--|--|--|--|");
        for runs in [100, 1_000, 10_000] {
            let (flood, _) = throughput(runs, runs).await;
            let (_, mut took) = throughput(runs, AT_ONCE as usize).await;
            took.sort_unstable();
            let at = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1e3;
            println!(
                "| {runs} | {:.0} ({:.2} s) | {:.2} ms | {:.2} ms |",
                runs as f64 / flood.as_secs_f64(),
                flood.as_secs_f64(),
                at(50),
                at(99)
            );
        }
    });
}

/// A home, a workspace and the runs of a process.
struct Stage {
    _home: tempfile::TempDir,
    _workspace: tempfile::TempDir,
    tasks: Tasks,
    spawner: Arc<dyn Spawner>,
    place: Place,
}

struct Home(Ground);

impl House for Home {
    fn ground(&self, _: &Path, _: &Directories) -> Result<Ground, String> {
        Ok(self.0.clone())
    }
}

fn stage(running: u64) -> Stage {
    let (home, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let script = home.path().join("script.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    let text = format!("provider = \"bench\"\n[providers.bench]\nwire = \"scripted\"\nscript = {script:?}\n");
    let config = Config::parse(&text).unwrap();
    let root = home.path();
    let dirs = Dirs { config: root.join("config"), data: root.join("data"), cache: root.join("cache") };
    let store = Store::open(&dirs.data.join("state.db")).unwrap();
    let path = std::fs::canonicalize(workspace.path()).unwrap();
    let opened = Opened::open(&path, &[], &[]).unwrap();
    let toolbox = Toolbox::new(opened, None, Limits::default()).unwrap();
    let quarantine = dirs.data.join("quarantine");
    let commands = Commands::new(env!("CARGO_BIN_EXE_ringfence").into(), Settings::of(quarantine));
    let ground = Ground::new(
        (Arc::new(toolbox), Arc::new(config)),
        (dirs.clone(), path.clone()),
        (Arc::clone(&store), commands),
        egress::Client::new(),
    );
    let limits = TasksConfig {
        running,
        running_per_session: running,
        queued: 100_000,
        per_session: 1_000_000,
        ..TasksConfig::default()
    };
    let presence = Presence::announce(&dirs).unwrap();
    let house = Arc::new(Home(ground.clone()));
    let tasks = Tasks::open(&store, house, (dirs, presence, "bench"), (limits, Hands::Own)).unwrap();
    let key = SessionKey::new("cli", "bench");
    let rights = Rights {
        capabilities: CapabilitySet::of(&[Capability::Files, Capability::Spawn]),
        directories: Directories::of([(path.clone(), Access::ReadWrite)]),
        hosts: Hosts::none(),
    };
    let origin = Origin {
        ground,
        key: key.clone(),
        turn: "bench".to_owned(),
        rights,
        purse: Purse::new(Means::default()),
        of: TurnOf {
            profile: "main".to_owned(),
            tools: None,
            provider: "bench".to_owned(),
            model: "scripted".to_owned(),
            most: Default::default(),
        },
        kept: false,
    };
    let spawner = tasks.spawner(origin);
    Stage { _home: home, _workspace: workspace, tasks, spawner, place: (path, key) }
}

fn request(task: String) -> Request {
    Request {
        task,
        label: None,
        profile: None,
        model: None,
        temperature: None,
        max_iterations: None,
        max_tokens: None,
        max_cost_micros: None,
        timeout_ms: None,
    }
}

/// So many runs, with at most so many on their way; how long all took, and each from the call of `spawn` to its delivery.
async fn throughput(runs: usize, on_their_way: usize) -> (Duration, Vec<Duration>) {
    let stage = stage(AT_ONCE);
    let started = Instant::now();
    let mut since = HashMap::new();
    let (mut begun, mut took) = (0, Vec::with_capacity(runs));
    while took.len() < runs {
        while begun < runs && begun - took.len() < on_their_way {
            let now = Instant::now();
            let accepted = stage.spawner.start(request(format!("task number {begun}"))).await.unwrap();
            since.insert(accepted.id, now);
            begun += 1;
        }
        let ended = stage.tasks.arrival(&stage.place).await;
        assert!(stage.tasks.delivered(&ended.id).unwrap(), "{ended:?}");
        took.push(since[&ended.id].elapsed());
    }
    let all = started.elapsed();
    stage.tasks.close("the benchmark is over").await;
    stage.tasks.leave();
    (all, took)
}

/// KiB resident for each of so many runs of which so many run and none ends.
async fn memory(runs: usize, running: u64) -> f64 {
    let stage = stage(running);
    // What the first one brings with it is not counted.
    stage.spawner.start(request("hang first".to_owned())).await.unwrap();
    while stage.tasks.running() == 0 {
        tokio::task::yield_now().await;
    }
    let before = resident();
    for number in 1..=runs {
        stage.spawner.start(request(format!("hang {number}"))).await.unwrap();
    }
    while (stage.tasks.running() as u64) < running.min(runs as u64) {
        tokio::task::yield_now().await;
    }
    let after = resident();
    stage.tasks.close("the benchmark is over").await;
    stage.tasks.leave();
    (after as f64 - before as f64) / runs as f64
}

/// KiB of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
