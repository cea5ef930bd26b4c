//! Systems whose walls are not known here: no command is started on them, and whoever asks is told why.

use super::ExecError;
use super::guard::Pin;
use super::probe::{Feature, Found, Machine, Missing};
use super::spec::{Ended, Job, Settings};
use crate::authority::Level;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The hidden argument that makes a launcher of this program where there is one.
pub const LAUNCHER: &str = "exec-launcher";

/// There is none here.
pub fn launcher() -> u8 {
    70
}

/// Directories of the system that a command sees: none.
pub fn system() -> Vec<PathBuf> {
    Vec::new()
}

/// A command that runs: there is none.
#[derive(Debug)]
pub struct Running {
    /// Which walls stand around it.
    pub level: Level,
    /// Where its output comes.
    pub stdout: Option<OwnedFd>,
    /// Where its errors come.
    pub stderr: Option<OwnedFd>,
    /// Where input goes.
    pub stdin: Option<OwnedFd>,
}

impl Running {
    /// Waits for its end.
    pub async fn wait(&mut self) -> Ended {
        Ended::Killed
    }

    /// Asks it to end.
    pub fn ask_to_end(&self) {}

    /// Ends it.
    pub fn kill(&self) {}
}

/// Starts nothing.
#[derive(Debug)]
pub struct Launcher {
    machine: Machine,
}

impl Launcher {
    /// With this program's own binary, which is not needed.
    pub fn new(_: PathBuf) -> Self {
        let missing = Missing {
            errno: 0,
            step: "system".to_owned(),
            cause: format!("{} is no system whose walls are known here", std::env::consts::OS),
            fix: "run it on Linux, or in a Linux machine on this one".to_owned(),
        };
        let features = Feature::ALL.map(|feature| Found { feature, state: Err(missing.clone()) }).to_vec();
        Self { machine: Machine { kernel: std::env::consts::OS.to_owned(), features } }
    }

    /// Another one.
    pub(super) fn anew(&self, _: &[Feature]) -> Self {
        Self { machine: self.machine.clone() }
    }

    /// What this machine can do: nothing of it.
    ///
    /// # Errors
    ///
    /// None.
    pub async fn machine(&self) -> Result<&Machine, ExecError> {
        Ok(&self.machine)
    }

    /// Which walls would stand around a command.
    ///
    /// # Errors
    ///
    /// Always: none would.
    pub async fn level(&self, _: &Settings) -> Result<Level, ExecError> {
        let reason =
            self.machine.first_missing().map(|(_, missing)| missing.cause.clone()).unwrap_or_default();
        Err(ExecError::Walls { reason })
    }

    /// Starts nothing.
    ///
    /// # Errors
    ///
    /// Always.
    pub async fn start(
        &self,
        settings: &Settings,
        _: &Job,
        _: &[Pin],
        _: bool,
    ) -> Result<Running, ExecError> {
        self.level(settings).await.map(|level| Running { level, stdout: None, stderr: None, stdin: None })
    }
}
