//! `ringfence:host/exec`: native commands, behind the executor.

use super::View;
use crate::sandbox::bindings::ringfence::host::exec::{Command, Host, Input, Outcome, Session};
use crate::sandbox::ports::{Error, ErrorKind};

/// Bytes of a command line, at most: what a system takes as one argument.
const MAX_LINE: usize = 128 << 10;

impl Host for View<'_> {
    async fn run(&mut self, command: Command) -> wasmtime::Result<Result<Outcome, Error>> {
        if command.line.len() > MAX_LINE {
            let message = format!("the command has {} bytes; at most {MAX_LINE}", command.line.len());
            return Ok(Err(Error { kind: ErrorKind::Limit, message }));
        }
        Ok(self.0.executor.run(command).await)
    }

    async fn interact(&mut self, input: Input) -> wasmtime::Result<Result<Outcome, Error>> {
        Ok(self.0.executor.interact(input).await)
    }

    async fn sessions(&mut self) -> wasmtime::Result<Result<Vec<Session>, Error>> {
        Ok(self.0.executor.sessions().await)
    }
}
