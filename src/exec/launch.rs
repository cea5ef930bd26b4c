//! From a job to a process behind walls: the one constructor that every native command goes through.

use super::spec::{Job, Settings};
use super::{ExecError, guard::Pin};
use crate::authority::Level;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// How a command's first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// With everything around it: it was ended from here.
    Killed,
    /// Because its processes took more memory than they may.
    OutOfMemory,
}

/// A command that runs. When it is dropped, all its processes are ended.
#[derive(Debug)]
pub struct Running {
    /// Which walls stand around it.
    pub level: Level,
    /// Where its output comes: non-blocking. With a terminal, everything comes here.
    pub stdout: Option<OwnedFd>,
    /// Where its errors come.
    pub stderr: Option<OwnedFd>,
    /// Where input goes.
    pub stdin: Option<OwnedFd>,
}

impl Running {
    /// Waits for the end of its first process; what it started is ended with it.
    pub async fn wait(&mut self) -> Ended {
        Ended::Killed
    }

    /// Asks it to end (SIGTERM to everything that it started).
    pub fn ask_to_end(&self) {}

    /// Ends it and everything that it started, at once.
    pub fn kill(&self) {}
}

/// Starts processes behind walls.
#[derive(Debug)]
pub struct Launcher {
    _program: PathBuf,
}

impl Launcher {
    /// With this program's own binary.
    pub fn new(program: PathBuf) -> Self {
        Self { _program: program }
    }

    /// Starts a job. `input` says whether somebody will write to it.
    ///
    /// # Errors
    ///
    /// When the walls cannot be set up; nothing of the job has run then.
    pub async fn start(
        &self,
        _settings: &Settings,
        _job: &Job,
        _pins: &[Pin],
        _input: bool,
    ) -> Result<Running, ExecError> {
        Err(ExecError::Unavailable("not yet".to_owned()))
    }
}
