//! Wants to start background agents.

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
}

tool!(Grab, "grab_spawn", "Starts an agent.", Payload, |payload| {
    let accepted = spawn::start(&spawn::Request {
        task: payload.text,
        label: None,
        profile: None,
        model: None,
        max_iterations: None,
        max_tokens: None,
        timeout_ms: None,
    })
    .map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("started {}", accepted.id)))
});

ringfence_tool::export_tool!(Grab);
