//! Wants to schedule work for later.

use hostile::tool;
use ringfence_tool::{Error, ErrorKind, Output};
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/cron@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::cron;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_cron", "Schedules a job.", Payload, |payload| {
    let entry = cron::add(&cron::Job {
        name: None,
        message: payload.text,
        schedule: cron::Schedule::EverySeconds(3600),
    })
    .map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("scheduled {}", entry.id)))
});

ringfence_tool::export_tool!(Grab);
