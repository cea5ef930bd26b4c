//! Starting processes: the one room that does. So far there is one kind, this program itself with a task to itself.

use std::path::Path;
use std::process::{Command, Stdio};

/// This program anew, for one of its own tasks: no environment, and pipes for what goes in and comes out.
#[expect(clippy::disallowed_methods, reason = "this room starts processes")]
pub fn own(program: &Path, task: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(task).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}
