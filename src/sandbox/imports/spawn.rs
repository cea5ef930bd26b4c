//! `ringfence:host/spawn`: background agents, behind the spawner. Implemented for main's data alone.

use super::MainState;
use super::bounds::{self, MAX_WAIT};
use crate::sandbox::bindings::ringfence::host::spawn::{Accepted, Finished, Host, Request};
use crate::sandbox::ports::{Error, ErrorKind};

/// Characters of the name of a profile or a model, at most.
const MAX_NAME: usize = 128;

/// The highest temperature that a model service takes.
const MAX_TEMPERATURE: f64 = 2.0;

impl Host for MainState {
    async fn start(&mut self, request: Request) -> wasmtime::Result<Result<Accepted, Error>> {
        if let Err(error) = check(&request) {
            return Ok(Err(error));
        }
        Ok(self.spawner.start(request).await)
    }

    async fn run(&mut self, request: Request, timeout_ms: u32) -> wasmtime::Result<Result<Finished, Error>> {
        if let Err(error) = check(&request) {
            return Ok(Err(error));
        }
        Ok(self.spawner.run(request, timeout_ms.min(MAX_WAIT)).await)
    }
}

fn check(request: &Request) -> Result<(), Error> {
    bounds::text("the task", &request.task)?;
    bounds::label("the label", request.label.as_deref())?;
    bounds::name("the name of the profile", request.profile.as_deref(), MAX_NAME)?;
    bounds::name("the name of the model", request.model.as_deref(), MAX_NAME)?;
    if request.temperature.is_some_and(|degrees| !(0.0..=MAX_TEMPERATURE).contains(&degrees)) {
        let message = format!("the temperature is not between 0 and {MAX_TEMPERATURE}");
        return bounds::error(ErrorKind::Invalid, message);
    }
    let budgets = [
        ("iterations", request.max_iterations.map(u64::from)),
        ("tokens", request.max_tokens),
        ("money", request.max_cost_micros),
        ("time", request.timeout_ms),
    ];
    match budgets.into_iter().find(|(_, budget)| *budget == Some(0)) {
        Some((of, _)) => {
            let message = format!("a budget of no {of}; leave it out to take the usual one");
            bounds::error(ErrorKind::Invalid, message)
        }
        None => Ok(()),
    }
}
