//! `ringfence:host/cron`: work for later, behind the scheduler. Implemented for main's data alone.

use super::MainState;
use super::bounds;
use crate::sandbox::bindings::ringfence::host::cron::{Entry, Host, Job, Schedule};
use crate::sandbox::ports::{Error, ErrorKind};

/// Characters of a cron expression, at most.
const MAX_EXPRESSION: usize = 256;

/// Characters of a time or of the name of a zone, at most.
const MAX_TIME: usize = 64;

/// Seconds between two runs of a job, at least.
const MIN_SECONDS: u64 = 60;

impl Host for MainState {
    async fn add(&mut self, job: Job) -> wasmtime::Result<Result<Entry, Error>> {
        if let Err(error) = check(&job) {
            return Ok(Err(error));
        }
        Ok(self.scheduler.add(job).await)
    }

    async fn list_all(&mut self) -> wasmtime::Result<Result<Vec<Entry>, Error>> {
        Ok(self.scheduler.list().await)
    }

    async fn remove(&mut self, id: String) -> wasmtime::Result<Result<(), Error>> {
        if let Err(error) = bounds::id("scheduled job", &id) {
            return Ok(Err(error));
        }
        Ok(self.scheduler.remove(id).await)
    }
}

fn check(job: &Job) -> Result<(), Error> {
    bounds::text("the job's message", &job.message)?;
    bounds::label("the job's name", job.name.as_deref())?;
    let zone = match &job.schedule {
        Schedule::At(moment) => {
            bounds::short("the time", Some(&moment.time), MAX_TIME)?;
            &moment.zone
        }
        Schedule::Cron(expression) => {
            bounds::short("the cron expression", Some(&expression.fields), MAX_EXPRESSION)?;
            &expression.zone
        }
        Schedule::EverySeconds(seconds) if *seconds < MIN_SECONDS => {
            let message = format!("a job runs at most every {MIN_SECONDS} seconds, not every {seconds}");
            return bounds::error(ErrorKind::Invalid, message);
        }
        Schedule::EverySeconds(_) => return Ok(()),
    };
    bounds::short("the time zone", zone.as_deref(), MAX_TIME)
}
