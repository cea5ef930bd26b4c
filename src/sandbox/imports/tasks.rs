//! `ringfence:host/tasks`: looking after background agents, behind the spawner. Implemented for main's data alone.

use super::MainState;
use crate::sandbox::bindings::ringfence::host::tasks::{Host, Summary};
use crate::sandbox::ports::Error;

/// Milliseconds that one wait may take.
const MAX_WAIT: u32 = 300_000;

impl Host for MainState {
    async fn list_all(&mut self) -> wasmtime::Result<Result<Vec<Summary>, Error>> {
        Ok(self.spawner.list().await)
    }

    async fn status(&mut self, id: String) -> wasmtime::Result<Result<Summary, Error>> {
        Ok(self.spawner.status(id).await)
    }

    async fn get_result(&mut self, id: String) -> wasmtime::Result<Result<String, Error>> {
        Ok(self.spawner.result(id).await)
    }

    async fn cancel(&mut self, id: String) -> wasmtime::Result<Result<Summary, Error>> {
        Ok(self.spawner.cancel(id).await)
    }

    async fn wait(
        &mut self,
        ids: Vec<String>,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Vec<Summary>, Error>> {
        Ok(self.spawner.wait(ids, timeout_ms.min(MAX_WAIT)).await)
    }
}
