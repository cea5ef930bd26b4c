//! `ringfence:host/cron`: work for later, behind the scheduler. Implemented for main's data alone.

use super::MainState;
use crate::sandbox::bindings::ringfence::host::cron::{Entry, Host, Job};
use crate::sandbox::ports::{Error, ErrorKind};

/// Bytes of a job's message, at most.
const MAX_MESSAGE: usize = 32 << 10;

impl Host for MainState {
    async fn add(&mut self, job: Job) -> wasmtime::Result<Result<Entry, Error>> {
        if job.message.trim().is_empty() {
            return Ok(Err(Error {
                kind: ErrorKind::Invalid,
                message: "the job's message is empty".to_owned(),
            }));
        }
        if job.message.len() > MAX_MESSAGE {
            let message = format!("the job's message has {} bytes; at most {MAX_MESSAGE}", job.message.len());
            return Ok(Err(Error { kind: ErrorKind::Limit, message }));
        }
        Ok(self.scheduler.add(job).await)
    }

    async fn list_all(&mut self) -> wasmtime::Result<Result<Vec<Entry>, Error>> {
        Ok(self.scheduler.list().await)
    }

    async fn remove(&mut self, id: String) -> wasmtime::Result<Result<(), Error>> {
        Ok(self.scheduler.remove(id).await)
    }
}
