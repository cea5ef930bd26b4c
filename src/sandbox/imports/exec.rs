//! `ringfence:host/exec`: native commands, behind the executor. Whose they are the host says.

use super::View;
use crate::sandbox::bindings::ringfence::host::exec::{Command, Host, Input, Outcome, Session};
use crate::sandbox::ports::{Error, ErrorKind, Stand};
use std::sync::Arc;

/// Bytes of a command line, at most: what a system takes as one argument.
const MAX_LINE: usize = 128 << 10;

/// Bytes of input at once, of a text that is waited for, and of a name.
const MAX_INPUT: usize = 64 << 10;
const MAX_WAIT_FOR: usize = 4 << 10;
const MAX_NAME: usize = 4 << 10;

fn limit(what: &str, has: usize, most: usize) -> Result<(), Error> {
    if has <= most {
        return Ok(());
    }
    let message = format!("{what} has {has} bytes; at most {most}");
    Err(Error { kind: ErrorKind::Limit, message })
}

impl View<'_> {
    /// What a component hears of it; the person hears the rest.
    fn told(&mut self, stand: Result<Stand, Error>) -> Result<Outcome, Error> {
        let Stand { outcome, notes } = stand?;
        notes.into_iter().for_each(|note| self.0.notes.of_host(note));
        self.0.walls = Some(outcome.sandbox_level.clone());
        Ok(outcome)
    }
}

impl Host for View<'_> {
    async fn run(&mut self, command: Command) -> wasmtime::Result<Result<Outcome, Error>> {
        if let Err(error) = limit("the command", command.line.len(), MAX_LINE) {
            return Ok(Err(error));
        }
        let (executor, by) = (Arc::clone(&self.0.executor), Arc::clone(&self.0.bearer));
        let stand = executor.run(&by, command).await;
        Ok(self.told(stand))
    }

    async fn interact(&mut self, input: Input) -> wasmtime::Result<Result<Outcome, Error>> {
        let within = limit("the input", input.text.len(), MAX_INPUT)
            .and_then(|()| limit("the session's name", input.session.len(), MAX_NAME))
            .and_then(|()| {
                let text = input.wait_for.as_deref().unwrap_or_default();
                limit("the text that is waited for", text.len(), MAX_WAIT_FOR)
            });
        if let Err(error) = within {
            return Ok(Err(error));
        }
        let (executor, by) = (Arc::clone(&self.0.executor), Arc::clone(&self.0.bearer));
        let stand = executor.interact(&by, input).await;
        Ok(self.told(stand))
    }

    async fn sessions(&mut self) -> wasmtime::Result<Result<Vec<Session>, Error>> {
        let (executor, by) = (Arc::clone(&self.0.executor), Arc::clone(&self.0.bearer));
        Ok(executor.sessions(&by).await)
    }
}
