//! The commands of a process: run to their end, or kept as sessions that belong to one agent each.

use super::ExecError;
use super::drive::{self, Guarded, MOST_INPUT, Shared, Tell};
use super::guard::{Before, Findings, Pin};
use super::probe::{Feature, Machine};
use super::spec::{Caller, Job, Place, Settings};
use super::{Launcher, Running};
use crate::authority::{Access, Level};
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Sessions that run, of one owner and of all.
const SESSIONS: usize = 8;
const ALL_SESSIONS: usize = 32;

/// How long a session that has ended waits to be asked for once more.
const KEPT: Duration = Duration::from_secs(600);

/// The longest waits that can be asked for, and how long a text is waited for.
const LONGEST_YIELD: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(120);
const WAIT_FOR: Duration = Duration::from_secs(10);

/// Bytes of input at once.
const MOST_TEXT: usize = 64 << 10;

/// A command as an agent asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The command line, for the shell. It is never understood here.
    pub line: String,
    /// Where, relative to the workspace or absolute; the workspace where absent.
    pub directory: Option<String>,
    /// `bash`, `sh` or `zsh`.
    pub shell: Option<String>,
    /// At most 600 s.
    pub timeout: Option<Duration>,
    /// Answer after this time although it still runs, at most 30 s.
    pub yield_after: Option<Duration>,
    /// Characters of output to give back.
    pub most_output: Option<u32>,
    /// Whether it has a terminal.
    pub terminal: bool,
}

/// What an agent wants of a command that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The name that was given with its first answer.
    pub session: String,
    /// What to send.
    pub text: String,
    /// Whether to close its input after that.
    pub close: bool,
    /// Whether to end it.
    pub terminate: bool,
    /// Wait until the output holds this text.
    pub wait_for: Option<String>,
    /// How long to wait, at most 120 s.
    pub wait: Option<Duration>,
    /// Characters of output to give back.
    pub most_output: Option<u32>,
}

/// Where a command stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The name to ask again by, while it runs.
    pub session: Option<String>,
    /// Its exit code, once it has ended; 128 and the number of a signal that ended it.
    pub exit_code: Option<i32>,
    /// Output since the last answer: the beginning and the end of it, no control characters but tabs and line ends.
    pub stdout: String,
    /// The same of its errors.
    pub stderr: String,
    /// Characters of both that are left out.
    pub dropped: u64,
    /// Since it started.
    pub elapsed: Duration,
    /// Whether its time was over.
    pub timed_out: bool,
    /// Why it was ended from here, if it was: its time, its output, its memory, or that somebody asked for it.
    pub ended_because: Option<String>,
    /// Which walls stood around it.
    pub level: Level,
    /// What a person should look at, once it has ended.
    pub findings: Findings,
}

/// A command that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub id: String,
    /// Its command line.
    pub line: String,
    /// Since it started.
    pub elapsed: Duration,
    /// What it has left.
    pub remaining: Duration,
}

/// The commands of a process.
#[derive(Clone)]
pub struct Commands {
    inner: Arc<Inner>,
}

struct Inner {
    launcher: Launcher,
    settings: Settings,
    live: Mutex<BTreeMap<String, Live>>,
    closed: AtomicBool,
}

/// A command that runs, or has ended and was not asked for since.
struct Live {
    owner: String,
    line: String,
    /// Whether it can be asked for by name; otherwise somebody waits for it in a call.
    named: bool,
    shared: Arc<Shared>,
}

/// Ends a command whose caller went away.
struct Waiting<'a> {
    commands: &'a Commands,
    id: String,
    armed: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.commands.forget(&self.id);
        }
    }
}

impl std::fmt::Debug for Commands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commands").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Commands {
    /// With this program's own binary.
    pub fn new(program: PathBuf, settings: Settings) -> Self {
        Self::with(Launcher::new(program), settings)
    }

    fn with(launcher: Launcher, settings: Settings) -> Self {
        let (live, closed) = (Mutex::default(), AtomicBool::new(false));
        Self { inner: Arc::new(Inner { launcher, settings, live, closed }) }
    }

    /// Runs a command, to its end or until it is to be answered. When this is dropped before, the command is ended.
    ///
    /// # Errors
    ///
    /// When it was not run.
    pub async fn run(&self, caller: &Caller, request: Request) -> Result<Outcome, ExecError> {
        self.room(&caller.owner, request.yield_after.is_some())?;
        let settings = &self.inner.settings;
        let job = super::job::job(caller, &request, settings)?;
        let time = super::job::time(&request, settings);
        let (running, guarded) = self.start(&job, request.yield_after.is_some()).await?;
        let shared = drive::drive(running, time, guarded, settings.quarantine.clone())
            .map_err(|error| ExecError::Setup { step: "streams".to_owned(), problem: error.to_string() })?;
        let id = fresh();
        let live = Live {
            owner: caller.owner.clone(),
            line: request.line.clone(),
            named: false,
            shared: Arc::clone(&shared),
        };
        self.live().insert(id.clone(), live);
        let mut waiting = Waiting { commands: self, id: id.clone(), armed: true };
        let most = most(request.most_output);
        let until = match request.yield_after {
            Some(after) => Instant::now() + after.min(LONGEST_YIELD),
            // Its own end comes before.
            None => shared.deadline + Duration::from_secs(60),
        };
        await_news(&shared, until, |state| state.end.is_some()).await;
        let ended = shared.state().end.is_some();
        if ended {
            return Ok(answer(&shared, None, most));
        }
        if request.yield_after.is_none() {
            return Err(ExecError::Setup {
                step: "end".to_owned(),
                problem: "it cannot be ended".to_owned(),
            });
        }
        waiting.armed = false;
        if let Some(live) = self.live().get_mut(&id) {
            live.named = true;
        }
        Ok(answer(&shared, Some(id.clone()), most))
    }

    /// Looks at what is to be guarded, and starts. What changed meanwhile is looked at again.
    async fn start(&self, job: &Job, input: bool) -> Result<(Running, Vec<Guarded>), ExecError> {
        let settings = &self.inner.settings;
        let level = self.inner.launcher.level(settings).await?;
        let copies = level == Level::Landlock;
        for last in [false, false, true] {
            let places = job.places.clone();
            let looked = tokio::task::spawn_blocking(move || look(&places, copies)).await;
            let guarded = looked.map_err(|error| setup("guard", &error.to_string()))??;
            let pins: Vec<Pin> = guarded
                .iter()
                .flat_map(|(path, _, before)| {
                    before.pins.iter().map(move |pin| Pin { path: path.join(&pin.path), ..pin.clone() })
                })
                .collect();
            match self.inner.launcher.start(settings, job, &pins, input).await {
                Err(ExecError::Changed(_)) if !last => {}
                started => return Ok((started?, guarded)),
            }
        }
        Err(setup("guard", "the workspace changes all the time"))
    }

    /// Sends input to, asks after, or ends a command that still runs.
    ///
    /// # Errors
    ///
    /// When it is not one of this owner's.
    pub async fn interact(&self, owner: &str, input: Input) -> Result<Outcome, ExecError> {
        self.clean();
        let shared = {
            let live = self.live();
            let found = live.get(&input.session).filter(|live| live.named && live.owner == owner);
            match found {
                Some(live) => Arc::clone(&live.shared),
                None => {
                    let named: String = input.session.chars().take(64).collect();
                    return Err(ExecError::NoSession(named.escape_debug().to_string()));
                }
            }
        };
        if input.text.len() > MOST_TEXT {
            return Err(ExecError::Limit(format!("the input has more than {MOST_TEXT} bytes")));
        }
        if shared.state().waiting + input.text.len() > MOST_INPUT {
            return Err(ExecError::Limit(
                "the command does not read its input, and no more of it is kept".to_owned(),
            ));
        }
        if let Some(text) = &input.wait_for {
            shared.state().out.watch_for(Some(text.clone()));
            shared.state().err.watch_for(Some(text.clone()));
        }
        // One that has ended hears nothing of it.
        let tell = |what| drop(shared.tell.send(what));
        if !input.text.is_empty() {
            tell(Tell::Write(input.text.into_bytes()));
        }
        if input.close {
            tell(Tell::Close);
        }
        if input.terminate {
            tell(Tell::Terminate);
        }
        let wait = input.wait.unwrap_or(if input.wait_for.is_some() { WAIT_FOR } else { Duration::ZERO });
        // Ending takes the grace, and a look at what was left.
        let least = if input.terminate { Duration::from_secs(15) } else { Duration::ZERO };
        let until = Instant::now() + wait.min(LONGEST_WAIT).max(least);
        let wanted = input.wait_for.is_some() && !input.terminate;
        await_news(&shared, until, |state| {
            state.end.is_some() || (wanted && (state.out.seen() || state.err.seen()))
        })
        .await;
        let ended = shared.state().end.is_some();
        if ended {
            self.live().remove(&input.session);
        }
        let outcome = answer(&shared, (!ended).then(|| input.session.clone()), most(input.most_output));
        let mut state = shared.state();
        state.out.watch_for(None);
        state.err.watch_for(None);
        drop(state);
        Ok(outcome)
    }

    /// The commands of an owner that still run, oldest first.
    pub fn sessions(&self, owner: &str) -> Vec<Session> {
        self.clean();
        let live = self.live();
        let now = Instant::now();
        let mut sessions: Vec<Session> = live
            .iter()
            .filter(|(_, live)| live.named && live.owner == owner && live.shared.state().end.is_none())
            .map(|(id, live)| Session {
                id: id.clone(),
                line: live.line.clone(),
                elapsed: now - live.shared.started,
                remaining: live.shared.deadline.saturating_duration_since(now),
            })
            .collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.elapsed));
        sessions
    }

    /// Ends every command of an owner: how many.
    pub fn end_of(&self, owner: &str) -> usize {
        let mut ended = 0;
        self.live().retain(|_, live| {
            let theirs = live.owner == owner && live.named;
            if theirs {
                ended += usize::from(live.shared.state().end.is_none());
                // One that has ended hears nothing of it.
                let _ = live.shared.tell.send(Tell::Kill);
            }
            !theirs
        });
        ended
    }

    /// Ends every command, and takes no other from here on. It returns when they are gone, or cannot be ended.
    pub async fn shut_down(&self) {
        self.inner.closed.store(true, Ordering::SeqCst);
        let all: Vec<Arc<Shared>> = self.live().values().map(|live| Arc::clone(&live.shared)).collect();
        for shared in &all {
            let _ = shared.tell.send(Tell::Kill);
        }
        let until = Instant::now() + Duration::from_secs(5);
        for shared in &all {
            await_news(shared, until, |state| state.end.is_some()).await;
        }
        self.live().clear();
    }

    /// The same, on a machine without these features: for trying out the ladder of levels.
    #[must_use]
    pub fn masking(self, masked: &[Feature]) -> Self {
        Self::with(self.inner.launcher.anew(masked), self.inner.settings.clone())
    }

    /// What this machine can do. It is tried out once.
    ///
    /// # Errors
    ///
    /// When that cannot even be tried.
    pub async fn machine(&self) -> Result<Machine, ExecError> {
        self.inner.launcher.machine().await.cloned()
    }

    /// What the user configured.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<String, Live>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: &str) {
        if let Some(live) = self.live().remove(id) {
            // One that has ended hears nothing of it.
            let _ = live.shared.tell.send(Tell::Kill);
        }
    }

    /// Forgets what ended long ago and was not asked for.
    fn clean(&self) {
        self.live().retain(|_, live| {
            let state = live.shared.state();
            !live.named || state.end.as_ref().is_none_or(|end| end.at.elapsed() < KEPT)
        });
    }

    /// Whether another command may start.
    fn room(&self, owner: &str, named: bool) -> Result<(), ExecError> {
        if self.inner.closed.load(Ordering::SeqCst) {
            return Err(ExecError::Unavailable(
                "this program is about to end, and starts no more commands".to_owned(),
            ));
        }
        if !named {
            return Ok(());
        }
        self.clean();
        let live = self.live();
        let running = |live: &&Live| live.named && live.shared.state().end.is_none();
        let (all, own) = (
            live.values().filter(running).count(),
            live.values().filter(running).filter(|live| live.owner == owner).count(),
        );
        if own >= SESSIONS || all >= ALL_SESSIONS {
            return Err(ExecError::Limit(format!(
                "{own} command sessions of this agent run, of at most {SESSIONS}, and {all} in all, of at most \
                 {ALL_SESSIONS}; end one first"
            )));
        }
        Ok(())
    }
}

/// Each place that can be written to, opened and looked at.
fn look(places: &[Place], copies: bool) -> Result<Vec<Guarded>, ExecError> {
    let mut guarded = Vec::new();
    for place in places.iter().filter(|place| place.access == Access::ReadWrite) {
        let problem =
            |error: std::io::Error| ExecError::Place { path: place.path.clone(), problem: error.to_string() };
        let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory =
            rustix::fs::open(&place.path, how, Mode::empty()).map_err(|error| problem(error.into()))?;
        let mut before = Before::look(&directory).map_err(problem)?;
        if copies {
            before.keep_copies(&directory).map_err(problem)?;
        }
        guarded.push((place.path.clone(), directory, before));
    }
    Ok(guarded)
}

/// Waits until something holds of a command, or the time has come.
async fn await_news(shared: &Shared, until: Instant, holds: impl Fn(&drive::State) -> bool) {
    let mut news = shared.news.subscribe();
    loop {
        news.mark_unchanged();
        if holds(&shared.state()) {
            return;
        }
        match tokio::time::timeout_at(until, news.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

fn answer(shared: &Shared, session: Option<String>, most: usize) -> Outcome {
    let mut state = shared.state();
    let alone = state.out.total() == 0;
    let err = state.err.take(if alone { most } else { most / 2 });
    let kept = err.text.chars().count().min(most);
    let out = state.out.take((most - kept).max(most / 2));
    let end = state.end.clone().filter(|_| session.is_none());
    state.told |= end.is_some();
    let exit_code = end.as_ref().map(|end| end.code);
    let mut stderr = err.text;
    if exit_code.is_some_and(|code| code != 0) && (wants_network(&out.text) || wants_network(&stderr)) {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str("[ringfence] commands have no network: it is not granted\n");
    }
    Outcome {
        session,
        exit_code,
        stdout: out.text,
        stderr,
        dropped: out.dropped + err.dropped,
        elapsed: shared.started.elapsed(),
        timed_out: state.timed_out,
        ended_because: state.because.clone().filter(|_| exit_code.is_some()),
        level: shared.level,
        findings: end.map(|end| end.findings).unwrap_or_default(),
    }
}

/// Whether what was printed is what programs print that have no network. It decides over a hint and nothing else.
fn wants_network(text: &str) -> bool {
    const SAID: [&str; 9] = [
        "Could not resolve host",
        "Couldn't resolve host",
        "Temporary failure in name resolution",
        "Name or service not known",
        "failed to lookup address",
        "Network is unreachable",
        "EAI_AGAIN",
        "ENOTFOUND",
        "Address family not supported",
    ];
    SAID.iter().any(|said| text.contains(said))
}

fn most(asked: Option<u32>) -> usize {
    usize::try_from(asked.unwrap_or(10_000).clamp(1_000, 50_000)).unwrap_or(10_000)
}

/// A name that nobody guesses.
fn fresh() -> String {
    let mut bytes = [0_u8; 6];
    // It does not block, and fails only where the system has no random numbers at all.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) != Ok(bytes.len()) {
        return crate::config::fresh_id();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn setup(step: &str, problem: &str) -> ExecError {
    ExecError::Setup { step: step.to_owned(), problem: problem.to_owned() }
}
