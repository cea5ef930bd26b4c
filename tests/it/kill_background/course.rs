//! The course of a process, watched until a point of it comes.

use crate::kill::Point;
use crate::support::{Program, Terminal, until};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for something that never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Parts that a course is divided into by points.
pub const PARTS: usize = 1_000;

/// How far a course has come, by what can be seen from outside.
#[derive(Debug, Clone, Copy, Default)]
pub struct Far {
    /// Lines that were printed.
    pub lines: u64,
    /// Bytes of the journal of the state database: every change of a row makes it longer.
    pub written: u64,
}

/// A course that nobody disturbs: from the first row of a task to the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whole {
    from: Option<Far>,
    to: Far,
}

impl Whole {
    /// Takes note of how far it has come.
    pub fn note(&mut self, program: &Program, far: Far) {
        // It goes on while it is looked at.
        let before = self.to;
        self.to = Far { lines: before.lines.max(far.lines), written: before.written.max(far.written) };
        if self.from.is_none() && has_tasks(program) {
            self.from = Some(before);
        }
    }

    /// Whether a point has come in a course like this.
    pub fn is_over(&self, point: Point, far: Far) -> bool {
        let from = self.from.unwrap_or_default();
        let part = |from: u64, to: u64| from + to.saturating_sub(from) * point.lines as u64 / PARTS as u64;
        if point.number.is_multiple_of(2) {
            far.lines >= part(from.lines, self.to.lines)
        } else {
            far.written >= part(from.written, self.to.written)
        }
    }
}

fn written(program: &Program) -> u64 {
    let journal = program.state().with_extension("db-wal");
    journal.metadata().map_or(0, |journal| journal.len())
}

/// What a process printed.
#[derive(Debug, Default)]
pub struct Printed {
    pub out: String,
    pub err: String,
}

/// A process that prints into files, so that nobody has to read while it goes on.
pub struct Going<'p> {
    program: &'p Program,
    child: Child,
    files: [PathBuf; 2],
}

impl<'p> Going<'p> {
    /// `name` is of this process alone.
    pub fn start(program: &'p Program, name: &str, arguments: &[&str]) -> Self {
        let files = ["out", "err"].map(|end| program.home().join(format!("{name}.{end}")));
        let [out, err] = files.each_ref().map(|path| File::create_new(path).unwrap());
        let child = program.command().args(arguments).stdout(out).stderr(err).spawn().unwrap();
        Self { program, child, files }
    }

    pub fn far(&self) -> Far {
        let lines = |path| std::fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count() as u64;
        Far { lines: self.files.iter().map(lines).sum(), written: written(self.program) }
    }

    pub fn goes_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Kills it, unless it has ended.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end. With what it ended; nothing, where a signal ended it.
    pub fn end(mut self) -> (Option<i32>, Printed) {
        let status = self.child.wait().unwrap();
        let [out, err] = self.files.each_ref().map(|path| std::fs::read_to_string(path).unwrap());
        (status.code(), Printed { out, err })
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same of a chat.
pub fn far(program: &Program, terminal: &mut Terminal) -> Far {
    Far { lines: terminal.look() as u64, written: written(program) }
}

/// Lets others go first once more; fails where that goes on for longer than anything takes.
pub fn wait(since: Instant) {
    assert!(since.elapsed() < PATIENCE, "it does not come to an end");
    thread::yield_now();
}

/// Lets others go first, as often as the point says.
pub fn steps(point: Point) {
    for _ in 0..point.steps {
        thread::yield_now();
    }
}

/// Asks the state database, while it is used.
pub fn holds(program: &Program, condition: &str, counts: &[i64]) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let Ok(raw) = Connection::open_with_flags(program.state(), flags) else { return false };
    let counts = rusqlite::params_from_iter(counts);
    // Before there are tables nothing is so.
    raw.query_row(&format!("SELECT {condition}"), counts, |row| row.get(0)).unwrap_or(false)
}

/// How everything stands, in words: the runs, and how much is in conversations, letters and rows of jobs.
pub fn state(program: &Program) -> Option<String> {
    let raw = Connection::open(program.state()).ok()?;
    let words = "SELECT coalesce((SELECT group_concat(execution || ' ' || delivery) FROM tasks), '') || ', '
         || (SELECT count(*) FROM messages) || ', ' || (SELECT count(*) FROM outbox) || ', '
         || (SELECT count(*) FROM outbox WHERE delivery = 'pending') || ', '
         || coalesce((SELECT group_concat(outcome) FROM job_runs), '')";
    raw.query_row(words, [], |row| row.get(0)).ok()
}

fn has_tasks(program: &Program) -> bool {
    holds(program, "EXISTS (SELECT 1 FROM tasks)", &[])
}

/// Whether nothing waits, runs, or is to be told, and every due time of so many jobs is dealt with.
pub fn is_quiet(program: &Program, tasks: i64, jobs: i64) -> bool {
    let condition = "(SELECT count(*) FROM tasks) >= ?1 AND (SELECT count(*) FROM job_runs) >= ?2
         AND NOT EXISTS (SELECT 1 FROM tasks WHERE ended IS NULL OR delivery = 'pending')
         AND NOT EXISTS (SELECT 1 FROM outbox WHERE delivery = 'pending')
         AND NOT EXISTS (SELECT 1 FROM job_runs WHERE outcome = 'running')";
    holds(program, condition, &[tasks, jobs])
}

/// Waits until no process of this home is left.
pub fn nobody_left(program: &Program) {
    let home = format!("RINGFENCE_HOME={}\0", program.home().display()).into_bytes();
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        let environment = std::fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
        environment.windows(home.len()).any(|part| part == home)
    };
    until("the end of all", || (!std::fs::read_dir("/proc").unwrap().any(is_ours)).then_some(()));
}
