//! `ringfence:host/exec`: native commands, behind the executor.

use super::View;
use crate::sandbox::bindings::ringfence::host::exec::{Command, Host, Input, Outcome, Session};
use crate::sandbox::ports::Error;

impl Host for View<'_> {
    async fn run(&mut self, command: Command) -> wasmtime::Result<Result<Outcome, Error>> {
        Ok(self.0.executor.run(command).await)
    }

    async fn interact(&mut self, input: Input) -> wasmtime::Result<Result<Outcome, Error>> {
        Ok(self.0.executor.interact(input).await)
    }

    async fn sessions(&mut self) -> wasmtime::Result<Result<Vec<Session>, Error>> {
        Ok(self.0.executor.sessions().await)
    }
}
