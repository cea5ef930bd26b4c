//! The figures of the agent in docs/performance.md: start-up, a turn of ten tool calls against a server that answers at
//! once, an idle chat. Whole processes, all in one run.

#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails is over")]
#![allow(clippy::disallowed_methods, reason = "a benchmark starts the program and a server for it")]

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 25;
const CALLS: usize = 10;

/// What one process took.
struct Took {
    wall: Duration,
    cpu: Duration,
    peak_kib: i64,
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let workspace = tempfile::tempdir().unwrap();
    for n in 0..CALLS {
        std::fs::write(workspace.path().join(format!("{n}.txt")), "one line of text\n".repeat(64)).unwrap();
    }
    let port = serve();
    let config = home.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(
        config.join("config.toml"),
        format!(
            "provider = \"bench\"\n[providers.bench]\nwire = \"chat\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n"
        ),
    )
    .unwrap();
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        command.args(arguments).current_dir(workspace.path()).env_clear();
        command.env("RINGFENCE_HOME", home.path()).stdin(Stdio::null());
        command
    };
    // The first run compiles the tool that is called.
    took(command(&["run", "read them all"]));
    println!("| what | wall p50 | CPU p50 | peak memory |");
    println!("|--|--|--|--|");
    row("`ringfence --version`", || command(&["--version"]));
    row("`run` without any provider (exit 3)", || {
        let mut command = command(&["run", "hello"]);
        command.env("RINGFENCE_HOME", home.path().join("empty"));
        command
    });
    row("`run`, one answer without tools", || command(&["run", "just answer"]));
    row("`run`, ten model calls with one `read_file` each, and the answer", || {
        command(&["run", "read them all"])
    });
    println!();
    println!("Idle chat, resident: {:.1} MiB", idle(command(&[])) as f64 / 1024.0);
}

fn row(what: &str, command: impl Fn() -> Command) {
    let mut all: Vec<Took> = (0..ROUNDS).map(|_| took(command())).collect();
    let peak = all.iter().map(|t| t.peak_kib).max().unwrap();
    all.sort_by_key(|t| t.wall);
    let wall = all[ROUNDS / 2].wall;
    all.sort_by_key(|t| t.cpu);
    let cpu = all[ROUNDS / 2].cpu;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("| {what} | {:.1} ms | {:.1} ms | {:.1} MiB |", ms(wall), ms(cpu), peak as f64 / 1024.0);
}

/// Runs a process to its end.
#[expect(clippy::zombie_processes, reason = "it is waited for by the call that also tells what it took")]
fn took(mut command: Command) -> Took {
    let started = Instant::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both places are valid, and zeroes are a `rusage`.
    let usage = unsafe {
        assert_eq!(libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()), pid);
        usage.assume_init()
    };
    let time = |t: libc::timeval| {
        Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
    };
    Took {
        wall: started.elapsed(),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_kib: usage.ru_maxrss,
    }
}

/// Resident KiB of a chat that waits at its prompt.
fn idle(mut command: Command) -> u64 {
    let (mut master, mut slave) = (0, 0);
    // SAFETY: both places are valid for a descriptor, and null asks for defaults; the descriptors are nobody else's.
    let (mut master, slave) = unsafe {
        let null = std::ptr::null_mut();
        assert_eq!(libc::openpty(&raw mut master, &raw mut slave, null, null.cast(), null.cast()), 0);
        (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    };
    let end = || Stdio::from(slave.try_clone().unwrap());
    command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().unwrap();
    let mut answering = master.try_clone().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(read) = master.read(&mut bytes) {
            // The line editor asks where the cursor is.
            if bytes.get(..read).is_some_and(|b| b.windows(4).any(|w| w == b"\x1b[6n")) {
                answering.write_all(b"\x1b[1;1R").unwrap();
            }
        }
    });
    std::thread::sleep(Duration::from_secs(2));
    let status =
        std::fs::read_to_string(Path::new("/proc").join(child.id().to_string()).join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let resident = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    resident
}

/// A model service that answers at once: it reads one file after the other, or just answers.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            std::thread::spawn(move || talk(stream));
        }
    });
    port
}

fn talk(stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8_lossy(&body);
        let done = body.matches(r#""role":"tool""#).count();
        let delta = if body.contains("just answer") || done >= CALLS {
            r#"{"content":"Done."},"finish_reason":"stop""#.to_owned()
        } else {
            format!(
                r#"{{"tool_calls":[{{"index":0,"id":"c{done}","type":"function","function":{{"name":"read_file","arguments":"{{\"path\":\"{done}.txt\"}}"}}}}]}},"finish_reason":"tool_calls""#
            )
        };
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\ndata: [DONE]\n\n");
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            event.len()
        );
        stream.write_all(format!("{head}{event}").as_bytes()).unwrap();
    }
}
