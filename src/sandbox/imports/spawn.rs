//! `ringfence:host/spawn`: background agents, behind the spawner. Implemented for main's data alone.

use super::MainState;
use crate::sandbox::bindings::ringfence::host::spawn::{Accepted, Host, Request};
use crate::sandbox::ports::{Error, ErrorKind};

/// Bytes of a task's text, at most.
const MAX_TASK: usize = 32 << 10;

/// Characters of a label, at most.
const MAX_LABEL: usize = 64;

impl Host for MainState {
    async fn start(&mut self, request: Request) -> wasmtime::Result<Result<Accepted, Error>> {
        if request.task.trim().is_empty() {
            return Ok(Err(Error { kind: ErrorKind::Invalid, message: "the task is empty".to_owned() }));
        }
        if request.task.len() > MAX_TASK {
            let message = format!("the task has {} bytes; at most {MAX_TASK}", request.task.len());
            return Ok(Err(Error { kind: ErrorKind::Limit, message }));
        }
        if request.label.as_ref().is_some_and(|label| label.chars().count() > MAX_LABEL) {
            let message = format!("the label is longer than {MAX_LABEL} characters");
            return Ok(Err(Error { kind: ErrorKind::Invalid, message }));
        }
        Ok(self.spawner.start(request).await)
    }
}
