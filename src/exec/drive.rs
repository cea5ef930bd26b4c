//! One command from its start to what it left: its output is taken in, its time is kept, and it is ended where it must be.

use super::guard::Before;
use super::guard::Findings;
use super::output::Stream;
use super::spec::Ended;
use super::{Running, watch};
use crate::authority::Level;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch as signal};
use tokio::time::Instant;

/// Bytes of output of both streams together, at most; a command that prints more is ended.
pub(super) const MOST_OUTPUT: u64 = 64 << 20;

/// What a command has between being asked to end and being ended.
const GRACE: Duration = Duration::from_secs(2);

/// How long the end of the program waits for its commands.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the output of a command that has ended is waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// Input that waits to be read by a command, in bytes.
pub(super) const MOST_INPUT: usize = 1 << 20;

/// What is known of a command's way so far.
#[derive(Default)]
pub(super) struct State {
    pub(super) out: Stream,
    pub(super) err: Stream,
    pub(super) end: Option<End>,
    /// Why it was ended from here.
    pub(super) because: Option<String>,
    pub(super) timed_out: bool,
    /// Whether somebody was told of its end.
    pub(super) told: bool,
    /// Input that waits.
    pub(super) waiting: usize,
}

impl State {
    /// Bytes of both streams.
    fn printed(&self) -> u64 {
        self.out.total() + self.err.total()
    }
}

/// How it ended.
#[derive(Clone)]
pub(super) struct End {
    pub(super) code: i32,
    pub(super) findings: Findings,
    pub(super) at: Instant,
}

/// What a command is told from here.
pub(super) enum Tell {
    Write(Vec<u8>),
    Close,
    Terminate,
    Kill,
}

/// What the driver and everybody who asks share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Counts what happens, so that it can be waited for.
    pub(super) news: signal::Sender<u64>,
    pub(super) tell: mpsc::UnboundedSender<Tell>,
    pub(super) level: Level,
    pub(super) started: Instant,
    pub(super) deadline: Instant,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn news(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// A place that is looked at before and after: its directory, opened, and what it was like.
pub(super) type Guarded = (PathBuf, OwnedFd, Before);

/// Every command of this process that runs, or has left something that nobody was told of.
static ALL: Mutex<Vec<Arc<Shared>>> = Mutex::new(Vec::new());

/// Ends every command of this process, whoever began it, waits until what each left was looked at, and says what of that nobody
/// was told: for the end of the program.
pub async fn end_all() -> Vec<String> {
    let all = std::mem::take(&mut *ALL.lock().unwrap_or_else(PoisonError::into_inner));
    for shared in &all {
        // One that has ended hears nothing of it.
        let _ = shared.tell.send(Tell::Kill);
    }
    let until = Instant::now() + PATIENCE;
    let mut lines = Vec::new();
    for shared in all {
        let mut news = shared.news.subscribe();
        let ended = news.wait_for(|_| shared.state().end.is_some());
        let _ = tokio::time::timeout_at(until, ended).await;
        let mut state = shared.state();
        if !std::mem::replace(&mut state.told, true) {
            lines.extend(state.end.iter().flat_map(|end| end.findings.lines()));
        }
    }
    lines
}

/// Starts taking care of a command.
pub(super) fn drive(
    running: Running,
    time: Duration,
    guarded: Vec<Guarded>,
    quarantine: PathBuf,
) -> std::io::Result<Arc<Shared>> {
    let (tell, told) = mpsc::unbounded_channel();
    let started = Instant::now();
    let shared = Arc::new(Shared {
        state: Mutex::default(),
        news: signal::Sender::new(0),
        tell,
        level: running.level,
        started,
        deadline: started + time,
    });
    let driver = Driver::new(running, Arc::clone(&shared), time, told)?;
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|shared| {
        let state = shared.state();
        state.end.as_ref().is_none_or(|end| !state.told && end.findings != Findings::default())
    });
    all.push(Arc::clone(&shared));
    drop(all);
    tokio::spawn(driver.go(guarded, quarantine));
    Ok(shared)
}

struct Driver {
    running: Running,
    shared: Arc<Shared>,
    told: mpsc::UnboundedReceiver<Tell>,
    out: Option<AsyncFd<OwnedFd>>,
    err: Option<AsyncFd<OwnedFd>>,
    input: Option<AsyncFd<OwnedFd>>,
    pending: VecDeque<u8>,
    close: bool,
    /// When something is to be done, and whether that is to ask or to end.
    next: Instant,
    asked: bool,
    deaf: bool,
    time: Duration,
}

impl Driver {
    fn new(
        mut running: Running,
        shared: Arc<Shared>,
        time: Duration,
        told: mpsc::UnboundedReceiver<Tell>,
    ) -> std::io::Result<Self> {
        let input = match (running.stdin.take(), &running.stdout) {
            (Some(input), _) => Some(input),
            // A terminal takes input where its output comes from.
            (None, Some(master)) if running.stderr.is_none() => {
                Some(rustix::io::fcntl_dupfd_cloexec(master, 3)?)
            }
            _ => None,
        };
        let out = running.stdout.take().map(watch::readable).transpose()?;
        let err = running.stderr.take().map(watch::readable).transpose()?;
        let input = input.map(watch::writable).transpose()?;
        let next = shared.deadline;
        let (pending, close, asked, deaf) = (VecDeque::new(), false, false, false);
        Ok(Self { running, shared, told, out, err, input, pending, close, next, asked, deaf, time })
    }

    async fn go(mut self, guarded: Vec<Guarded>, quarantine: PathBuf) {
        let ended = loop {
            let writes = !self.pending.is_empty();
            tokio::select! {
                biased;
                ended = self.running.wait() => break ended,
                told = self.told.recv(), if !self.deaf => match told {
                    Some(told) => self.hear(told),
                    // Nobody can ask for it any more.
                    None => self.end("nobody waits for it any more"),
                },
                () = tokio::time::sleep_until(self.next) => self.late(),
                // Both are read by turns, so that neither starves the other.
                more = read(self.out.as_ref()), if self.out.is_some() => self.read(more, true),
                more = read(self.err.as_ref()), if self.err.is_some() => self.read(more, false),
                written = write(self.input.as_ref(), &self.pending), if writes && self.input.is_some() => self.wrote(written),
            }
        };
        self.drain().await;
        let code = match ended {
            Ended::Exited(code) => code,
            Ended::Signalled(signal) => 128 + signal,
            Ended::Killed => 137,
            Ended::OutOfMemory => {
                self.because("its processes took more memory than they may");
                137
            }
        };
        // What it left is looked at on a thread that may wait for the disk.
        let looked = tokio::task::spawn_blocking(move || {
            let mut all = Findings::default();
            for (index, (path, directory, before)) in guarded.into_iter().enumerate() {
                let base = (index > 0).then_some(path.as_path());
                add(&mut all, before.after(&directory, &quarantine), base);
            }
            all
        });
        let findings = looked.await.unwrap_or_else(|_| Findings { partial: true, ..Findings::default() });
        let mut state = self.shared.state();
        state.out.finish();
        state.err.finish();
        state.end = Some(End { code, findings, at: Instant::now() });
        drop(state);
        self.shared.news();
    }

    fn hear(&mut self, told: Tell) {
        match told {
            Tell::Write(bytes) => {
                self.pending.extend(bytes);
                if self.input.is_none() {
                    self.pending.clear();
                }
            }
            Tell::Close => {
                self.close = true;
                self.flush();
            }
            Tell::Terminate => self.ask("it was asked to end"),
            Tell::Kill => self.end("it was ended"),
        }
        self.shared.state().waiting = self.pending.len();
    }

    /// Closes the input once everything is written.
    fn flush(&mut self) {
        if self.close && self.pending.is_empty() {
            if self.terminal() {
                // The end of a line of its own is the end of input on a terminal.
                if let Some(input) = &self.input {
                    let _ = rustix::io::write(input.get_ref(), &[4]);
                }
            } else {
                self.input = None;
            }
            self.close = false;
        }
    }

    fn terminal(&self) -> bool {
        self.input.as_ref().is_some_and(|input| rustix::termios::isatty(input.get_ref()))
    }

    fn wrote(&mut self, written: std::io::Result<usize>) {
        match written {
            Ok(count) => {
                self.pending.drain(..count.min(self.pending.len()));
            }
            // It reads no more.
            Err(_) => {
                self.pending.clear();
                self.input = None;
            }
        }
        self.shared.state().waiting = self.pending.len();
        self.flush();
    }

    fn read(&mut self, more: std::io::Result<Vec<u8>>, out: bool) {
        let bytes = more.unwrap_or_default();
        if bytes.is_empty() {
            *(if out { &mut self.out } else { &mut self.err }) = None;
            return;
        }
        let mut state = self.shared.state();
        let stream = if out { &mut state.out } else { &mut state.err };
        stream.push(&bytes);
        let much = state.printed() > MOST_OUTPUT;
        drop(state);
        self.shared.news();
        if much {
            self.end(&format!("it printed more than {} MiB", MOST_OUTPUT >> 20));
        }
    }

    fn because(&self, why: &str) {
        self.shared.state().because.get_or_insert_with(|| why.to_owned());
    }

    /// Its time is over, or its grace.
    fn late(&mut self) {
        if self.asked {
            self.running.kill();
            self.next = Instant::now() + GRACE;
        } else {
            self.shared.state().timed_out = true;
            self.ask(&format!("its time of {} seconds was over", self.time.as_secs()));
        }
    }

    fn ask(&mut self, why: &str) {
        self.because(why);
        if !self.asked {
            self.running.ask_to_end();
            self.asked = true;
            self.next = Instant::now() + GRACE;
        }
    }

    fn end(&mut self, why: &str) {
        self.because(why);
        self.running.kill();
        self.asked = true;
        self.next = Instant::now() + GRACE;
        // Nothing that could be said changes it.
        self.deaf = true;
    }

    /// What is still on its way when the command has ended. Who holds a pipe beyond that holds up nobody.
    async fn drain(&mut self) {
        let over = Instant::now() + DRAIN;
        while self.out.is_some() || self.err.is_some() {
            tokio::select! {
                more = read(self.out.as_ref()), if self.out.is_some() => self.read(more, true),
                more = read(self.err.as_ref()), if self.err.is_some() => self.read(more, false),
                () = tokio::time::sleep_until(over) => return,
            }
            if self.shared.state().printed() > MOST_OUTPUT {
                return;
            }
        }
    }
}

/// Puts what was found in one place to what was found in the others.
fn add(all: &mut Findings, more: Findings, base: Option<&Path>) {
    all.partial |= more.partial;
    all.more += more.more;
    all.files.extend(more.files.into_iter().map(|mut finding| {
        if let Some(base) = base {
            finding.path = base.join(&finding.path);
        }
        finding
    }));
}

/// The next bytes; none at the end.
async fn read(from: Option<&AsyncFd<OwnedFd>>) -> std::io::Result<Vec<u8>> {
    let Some(from) = from else { return Ok(Vec::new()) };
    loop {
        let mut ready = from.readable().await?;
        let read = ready.try_io(|fd| {
            let mut bytes = vec![0; 64 << 10];
            let read = rustix::io::read(fd.get_ref(), &mut bytes)?;
            bytes.truncate(read);
            Ok(bytes)
        });
        if let Ok(read) = read {
            return read;
        }
    }
}

async fn write(to: Option<&AsyncFd<OwnedFd>>, bytes: &VecDeque<u8>) -> std::io::Result<usize> {
    let Some(to) = to else { return Ok(0) };
    loop {
        let mut ready = to.writable().await?;
        if let Ok(written) = ready.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes.as_slices().0)?)) {
            return written;
        }
    }
}
