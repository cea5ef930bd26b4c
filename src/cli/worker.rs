//! Starting a process that works off what waits, and goes on when this one and its terminal are gone.
//!
//! It takes two steps. The first process begins a session of its own, in which there is no terminal: neither Ctrl-C nor the
//! end of the terminal reaches it. It starts the second one, which can never have a terminal, since it leads no session, and
//! ends at once; so the second one is the system's child, and no dead process is left behind in whichever process asked for it.
//! All of that is without `unsafe` code: what would have to happen between fork and exec happens after exec.

use crate::{config, exec};
use std::io;

/// Starts the process. It takes up what waits and ends when there is nothing more.
///
/// # Errors
///
/// When it cannot be started. What waits, waits on.
pub(super) fn start() -> io::Result<()> {
    let status = exec::detached(&program()?, &["serve", "--detach"]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended at once ({status})"))) }
}

/// The first step, in the process that [`start`] has started.
///
/// # Errors
///
/// When there is no second one.
pub(super) fn step() -> io::Result<()> {
    // Who leads a session already, as where a person typed this, has no terminal to leave to its child either.
    let _ = rustix::process::setsid();
    exec::detached(&program()?, &["serve", "--once", "--worker"]).spawn().map(drop)
}

fn program() -> io::Result<std::path::PathBuf> {
    config::own_program().ok_or_else(|| io::Error::other("this program does not know its own file"))
}
