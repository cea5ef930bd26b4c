//! What a command costs: bare, in the sandbox, and in bubblewrap where that is installed. Each is taken by turns in one run, so
//! that whatever else the machine does is in all of them.
//!
//! `cargo bench --bench exec`; `BWRAP=/path/to/bwrap` names a bubblewrap that is not on the path.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark starts processes by itself, prints, and fails by panicking"
)]

use ringfence::authority::Access;
use ringfence::exec::{Caller, Commands, Place, Request, Settings};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 300;

fn request(line: &str) -> Request {
    Request {
        line: line.to_owned(),
        directory: None,
        shell: Some("sh".to_owned()),
        timeout: None,
        yield_after: None,
        most_output: None,
        terminal: false,
    }
}

/// A shell that does nothing, as it is.
fn bare(workspace: &Path) -> Duration {
    let started = Instant::now();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "true"]).current_dir(workspace).stdin(Stdio::null());
    let ended = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(ended.status.success());
    started.elapsed()
}

/// The same in bubblewrap, with the same namespaces and a view of the same kind.
fn bubblewrap(program: &Path, workspace: &Path) -> Duration {
    let started = Instant::now();
    let place = workspace.to_str().unwrap();
    let mut command = Command::new(program);
    command.args(["--unshare-all", "--uid", "1000", "--gid", "1000", "--die-with-parent", "--new-session"]);
    command.args([
        "--ro-bind",
        "/usr",
        "/usr",
        "--symlink",
        "usr/bin",
        "/bin",
        "--symlink",
        "usr/lib",
        "/lib",
    ]);
    command.args(["--symlink", "usr/lib64", "/lib64", "--symlink", "usr/sbin", "/sbin"]);
    command.args([
        "--ro-bind",
        "/etc/alternatives",
        "/etc/alternatives",
        "--ro-bind",
        "/etc/ssl/certs",
        "/etc/ssl/certs",
    ]);
    command.args(["--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev"]);
    command.args([
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/var/tmp",
        "--tmpfs",
        "/home/agent",
        "--bind",
        place,
        place,
    ]);
    command.args(["--chdir", place, "/bin/sh", "-c", "true"]).stdin(Stdio::null());
    let ended = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    started.elapsed()
}

fn told(name: &str, mut times: Vec<Duration>, bare: Duration) -> Duration {
    times.sort();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    let over = at(50).as_secs_f64() - bare.as_secs_f64();
    println!(
        "{name:12} p50 {:6.2} ms   p99 {:6.2} ms   over bare {:5.2} ms",
        at(50).as_secs_f64() * 1e3,
        at(99).as_secs_f64() * 1e3,
        over.max(0.0) * 1e3
    );
    at(50)
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let workspace = std::fs::canonicalize(home.path()).unwrap().join("ws");
    std::fs::create_dir(&workspace).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = Settings::of(home.path().join("quarantine"));
    let commands = Commands::new(env!("CARGO_BIN_EXE_ringfence").into(), settings);
    let place = Place { path: workspace.clone(), access: Access::ReadWrite };
    let caller = Caller { owner: "bench".to_owned(), places: vec![place] };
    let found = std::env::var_os("BWRAP").map(PathBuf::from).or_else(|| {
        let usual = PathBuf::from("/usr/bin/bwrap");
        usual.exists().then_some(usual)
    });
    let one = |line: &str| {
        let started = Instant::now();
        let outcome = runtime.block_on(commands.run(&caller, request(line))).unwrap();
        assert_eq!(outcome.exit_code, Some(0));
        (started.elapsed(), outcome.level)
    };
    let (first, level) = one("true");
    println!("level {level}; the first command of a process takes {:.2} ms", first.as_secs_f64() * 1e3);
    let (mut bares, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bares.push(bare(&workspace));
        ours.push(one("true").0);
        if let Some(program) = &found {
            theirs.push(bubblewrap(program, &workspace));
        }
    }
    let plain = told("bare", bares, Duration::MAX);
    let sandboxed = told("exec", ours, plain);
    if !theirs.is_empty() {
        let wrapped = told("bubblewrap", theirs, plain);
        println!("exec / bubblewrap {:.2}", sandboxed.as_secs_f64() / wrapped.as_secs_f64());
    }
    let started = Instant::now();
    runtime.block_on(async {
        let all = (0..200).map(|_| commands.run(&caller, request("true")));
        for outcome in futures_util::future::join_all(all).await {
            assert_eq!(outcome.unwrap().exit_code, Some(0));
        }
    });
    println!("200 at once  {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
}
