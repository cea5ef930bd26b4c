//! Wants to start background agents, with whatever it is told to ask for.

use hostile::tool;
use ringfence_tool::{Error, ErrorKind, Output};
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/spawn@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::spawn;

#[derive(Deserialize)]
struct Payload {
    text: String,
    label: Option<String>,
    profile: Option<String>,
    model: Option<String>,
    /// As text, since JSON has no way to write the values that are no numbers.
    temperature: Option<String>,
    max_iterations: Option<u32>,
    max_tokens: Option<u64>,
    max_cost_micros: Option<u64>,
    timeout_ms: Option<u64>,
    /// How long to wait for it; not at all where absent.
    wait_ms: Option<u32>,
}

tool!(Grab, "grab_spawn", "Starts an agent.", Payload, |payload| {
    let request = spawn::Request {
        task: payload.text,
        label: payload.label,
        profile: payload.profile,
        model: payload.model,
        temperature: payload.temperature.and_then(|text| text.parse().ok()),
        max_iterations: payload.max_iterations,
        max_tokens: payload.max_tokens,
        max_cost_micros: payload.max_cost_micros,
        timeout_ms: payload.timeout_ms,
    };
    let id = match payload.wait_ms {
        Some(most) => spawn::run(&request, most).map(|finished| finished.id),
        None => spawn::start(&request).map(|accepted| accepted.id),
    };
    let id =
        id.map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("started {id}")))
});

ringfence_tool::export_tool!(Grab);
