//! Starting processes: the one room that does. There are two kinds: this program itself, and native commands, each behind the
//! walls of an operating system's sandbox.

mod causes;
mod commands;
mod drive;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod groups;
mod guard;
#[cfg(target_os = "linux")]
mod inside;
mod job;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod launcher;
mod mounts;
mod output;
mod places;
mod probe;
mod spec;
mod watch;
#[cfg(target_os = "linux")]
mod wire;

pub use crate::authority::Level;
pub use causes::Facts;
pub use commands::{Commands, Input, Outcome, Request, Session};
pub use drive::end_all;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{LAUNCHER, Launcher, Running, launcher, system};
pub use error::ExecError;
pub use guard::{Before, Finding, Findings, Pin};
#[cfg(target_os = "linux")]
pub use inside::system;
#[cfg(target_os = "linux")]
pub use launch::{Launcher, Running};
#[cfg(target_os = "linux")]
pub use launcher::{LAUNCHER, launcher};
pub use output::{Stream, Taken};
pub use places::{Identity, refuse_opened, refuse_secrets, refuse_state};
pub use probe::{Feature, Found, Machine, Missing};
pub use spec::{Caller, Ended, Job, Most, Place, Settings};

use std::path::Path;
use std::process::{Command, Stdio};

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
