//! Wants to end background runs.

use hostile::tool;
use ringfence_tool::{Error, ErrorKind, Output};
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/tasks@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::tasks;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_tasks", "Cancels a run.", Payload, |payload| {
    let summary = tasks::cancel(&payload.text)
        .map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("cancelled {}", summary.id)))
});

ringfence_tool::export_tool!(Grab);
