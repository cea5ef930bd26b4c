//! Why a command did not run.

use crate::authority::Level;
use std::path::PathBuf;

/// A command that was not run, or a session that is not there. No part of the command has run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// This machine cannot give the walls that are wanted.
    #[error(
        "the sandbox cannot be set up here: {reason}; type `ringfence doctor sandbox` to see what is missing"
    )]
    Walls {
        /// What is missing, with its cause.
        reason: String,
    },
    /// The walls that it can give are lower than the user's configuration allows.
    #[error(
        "this machine gives the sandbox level {level} only, and the least that is allowed is {least}: {reason}; \
         type `ringfence doctor sandbox` to see what is missing"
    )]
    TooLow {
        /// What there is.
        level: Level,
        /// What is asked for.
        least: Level,
        /// What is missing, with its cause.
        reason: String,
    },
    /// A step of setting up failed.
    #[error("the sandbox was not set up ({step}): {problem}")]
    Setup {
        /// Which, a stable code.
        step: String,
        /// Why.
        problem: String,
    },
    /// The workspace changed while the sandbox was set up; another try may do.
    #[error("the workspace changed while the sandbox was set up: {0}")]
    Changed(String),
    /// A place that no command is given.
    #[error("{path}: {problem}", path = path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// Something about the request is not taken.
    #[error("{0}")]
    Invalid(String),
    /// There is no such session of this agent's.
    #[error("there is no command session {0} of this agent's")]
    NoSession(String),
    /// There is no room for another.
    #[error("{0}")]
    Limit(String),
    /// This program is about to end, or does not start commands here.
    #[error("{0}")]
    Unavailable(String),
}
