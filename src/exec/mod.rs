//! Starting processes: the one room that does. There are two kinds: this program itself, and native commands, each behind the
//! walls of an operating system's sandbox.

mod causes;
mod commands;
mod drive;
mod error;
mod groups;
mod guard;
mod inside;
mod job;
mod launch;
mod launcher;
mod mounts;
mod output;
mod places;
mod probe;
mod spec;
mod watch;
mod wire;

pub use crate::authority::Level;
pub use causes::Facts;
pub use commands::{Commands, Input, Outcome, Request, Session};
pub use error::ExecError;
pub use guard::{Before, Finding, Findings, Pin};
pub use launch::{Ended, Launcher, Running};
pub use launcher::{LAUNCHER, launcher};
pub use output::{Stream, Taken};
pub use places::{Identity, refuse_opened, refuse_secrets, refuse_state};
pub use probe::{Feature, Found, Machine, Missing};
pub use spec::{Caller, Job, Most, Place, Settings};

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directories of the system that every command sees, read-only, where they are there.
pub fn system() -> impl Iterator<Item = PathBuf> {
    inside::system::visible()
}

/// This program anew, for one of its own tasks: no environment, and pipes for what goes in and comes out.
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
pub fn own(program: &Path, task: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(task).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// This program anew, at work by itself: nothing of a terminal goes in or out. It has this process's environment, in which keys
/// may be, and its directory.
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
pub fn detached(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
