//! `ringfence:host/tasks`: looking after background agents, behind the spawner. Implemented for main's data alone.

use super::MainState;
use super::bounds::{self, MAX_WAIT};
use crate::sandbox::bindings::ringfence::host::tasks::{Host, Summary};
use crate::sandbox::ports::{Error, ErrorKind};

/// Runs that one call waits for, at most: as many as a session can have.
const MAX_IDS: usize = 64;

impl Host for MainState {
    async fn list_all(&mut self) -> wasmtime::Result<Result<Vec<Summary>, Error>> {
        Ok(self.spawner.list().await)
    }

    async fn status(&mut self, id: String) -> wasmtime::Result<Result<Summary, Error>> {
        Ok(match check(&id) {
            Ok(()) => self.spawner.status(id).await,
            Err(error) => Err(error),
        })
    }

    async fn get_result(&mut self, id: String) -> wasmtime::Result<Result<String, Error>> {
        Ok(match check(&id) {
            Ok(()) => self.spawner.result(id).await,
            Err(error) => Err(error),
        })
    }

    async fn cancel(&mut self, id: String) -> wasmtime::Result<Result<Summary, Error>> {
        Ok(match check(&id) {
            Ok(()) => self.spawner.cancel(id).await,
            Err(error) => Err(error),
        })
    }

    async fn wait(
        &mut self,
        ids: Vec<String>,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Vec<Summary>, Error>> {
        Ok(match check_all(&ids) {
            Ok(()) => self.spawner.wait(ids, timeout_ms.min(MAX_WAIT)).await,
            Err(error) => Err(error),
        })
    }
}

fn check(id: &str) -> Result<(), Error> {
    bounds::id("background task", id)
}

fn check_all(ids: &[String]) -> Result<(), Error> {
    if ids.is_empty() {
        return bounds::error(ErrorKind::Invalid, "there is no task to wait for".to_owned());
    }
    if ids.len() > MAX_IDS {
        let message = format!("{} tasks to wait for; at most {MAX_IDS}", ids.len());
        return bounds::error(ErrorKind::Limit, message);
    }
    ids.iter().try_for_each(|id| check(id))
}
