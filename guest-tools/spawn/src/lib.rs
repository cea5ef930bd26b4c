//! The `spawn` tool: starts a background agent through the host. It holds that interface and nothing else.

use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, ErrorKind, Output, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:spawn-tool;
            world imports { import ringfence:host/spawn@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:spawn-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{spawn, types};

/// Milliseconds that a call waits for a result: what the host allows.
const WAIT: u32 = 300_000;

struct Spawn;

#[derive(serde::Deserialize)]
struct Arguments {
    task: String,
    label: Option<String>,
    profile: Option<String>,
    model: Option<String>,
    temperature: Option<f64>,
    max_iterations: Option<u32>,
    max_tokens: Option<u64>,
    max_cost: Option<f64>,
    timeout: Option<u64>,
    #[serde(default)]
    wait: bool,
}

impl Tool for Spawn {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let wait = arguments.wait;
        let request = request(arguments)?;
        if wait {
            return outcome(spawn::run(&request, WAIT).map_err(told)?);
        }
        let accepted = spawn::start(&request).map_err(told)?;
        let run = named(&accepted.label, &accepted.id);
        Ok(Output::text(format!("started {run}; its result comes to this conversation when it ends")))
    }
}

fn request(arguments: Arguments) -> Result<spawn::Request, Error> {
    Ok(spawn::Request {
        task: arguments.task,
        label: given(arguments.label),
        profile: given(arguments.profile),
        model: given(arguments.model),
        temperature: arguments.temperature,
        max_iterations: arguments.max_iterations,
        max_tokens: arguments.max_tokens,
        max_cost_micros: arguments.max_cost.map(micros).transpose()?,
        timeout_ms: arguments.timeout.map(|seconds| seconds.saturating_mul(1000)),
    })
}

/// What a model leaves blank is left out.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// Dollars as millionths of one. Less than one of them is no budget that anything could be done with.
fn micros(dollars: f64) -> Result<u64, Error> {
    let micros = (dollars * 1e6).round();
    if !(1.0..=u64::MAX as f64).contains(&micros) {
        return Err(Error::invalid("max_cost is in dollars, from 0.000001 upward"));
    }
    Ok(micros as u64)
}

/// What a wait gave. Only a run that succeeded is a result; one that still runs is none yet, and no error either.
fn outcome(finished: spawn::Finished) -> ringfence_tool::Result {
    let run = named(&finished.label, &finished.id);
    match finished.execution {
        types::Execution::Succeeded => Ok(Output::text(finished.text)),
        execution if !ended(execution) => Ok(Output::text(format!(
            "{run} is still {}; its result comes to this conversation when it ends",
            state(execution)
        ))),
        execution => {
            let message = format!("{run} ended as {}: {}", state(execution), finished.text);
            Err(Error::new(ErrorKind::Failed, message))
        }
    }
}

fn named(label: &str, id: &str) -> String {
    format!("{} (id {id})", one_line(label))
}

ringfence_tool::host_errors!(types);
ringfence_tool::run_states!(types);
ringfence_tool::export_tool!(Spawn);
