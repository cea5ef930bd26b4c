//! The commands of a process: run to their end, or kept as sessions that belong to one agent each.

use super::ExecError;
use super::guard::Findings;
use super::launch::Launcher;
use super::probe::{Feature, Machine};
use super::spec::{Caller, Settings};
use crate::authority::Level;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
#[derive(Debug, Clone)]
pub struct Commands {
    launcher: Arc<Launcher>,
    settings: Arc<Settings>,
}

impl Commands {
    /// With this program's own binary.
    pub fn new(program: PathBuf, settings: Settings) -> Self {
        Self { launcher: Arc::new(Launcher::new(program)), settings: Arc::new(settings) }
    }

    /// Runs a command, to its end or until it is to be answered. When this is dropped before, the command is ended.
    ///
    /// # Errors
    ///
    /// When it was not run.
    pub async fn run(&self, _caller: &Caller, _request: Request) -> Result<Outcome, ExecError> {
        let _ = (&self.launcher, &self.settings);
        Err(ExecError::Unavailable("not yet".to_owned()))
    }

    /// Sends input to, asks after, or ends a command that still runs.
    ///
    /// # Errors
    ///
    /// When it is not one of this owner's.
    pub async fn interact(&self, owner: &str, input: Input) -> Result<Outcome, ExecError> {
        Err(ExecError::NoSession(format!("{owner} {}", input.session)))
    }

    /// The commands of an owner that still run, oldest first.
    pub fn sessions(&self, _owner: &str) -> Vec<Session> {
        Vec::new()
    }

    /// Ends every command of an owner: how many.
    pub fn end_of(&self, _owner: &str) -> usize {
        0
    }

    /// Ends every command, and takes no other from here on. It returns when they are gone.
    pub async fn shut_down(&self) {}

    /// The same, on a machine without these features: for trying out the ladder of levels.
    #[must_use]
    pub fn masking(self, _masked: &[Feature]) -> Self {
        self
    }

    /// What this machine can do. It is tried out once.
    ///
    /// # Errors
    ///
    /// When that cannot even be tried.
    pub async fn machine(&self) -> Result<Machine, ExecError> {
        self.launcher.machine().await.cloned()
    }

    /// What the user configured.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
