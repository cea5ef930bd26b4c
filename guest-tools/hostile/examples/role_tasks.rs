//! Wants to look after background runs that may not be its own, and to end them.

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
    /// `status`, `result` or `wait`; it cancels where this is absent.
    action: Option<String>,
    /// What to wait for, and how long.
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    wait_ms: u32,
}

tool!(Grab, "grab_tasks", "Cancels a run.", Payload, |payload| {
    let id = payload.text;
    let done = match payload.action.as_deref() {
        Some("status") => tasks::status(&id).map(|summary| format!("status {}", summary.id)),
        Some("result") => tasks::get_result(&id),
        Some("wait") => {
            tasks::wait(&payload.ids, payload.wait_ms).map(|all| format!("{} waited for", all.len()))
        }
        _ => tasks::cancel(&id).map(|summary| format!("cancelled {}", summary.id)),
    };
    let done =
        done.map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(done))
});

ringfence_tool::export_tool!(Grab);
