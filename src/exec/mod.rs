//! Starting processes: the one room that does. So far there is one kind, this program itself.

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
