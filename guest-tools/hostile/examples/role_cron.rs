//! Wants to schedule work for later, by whatever schedule it is told, and to remove jobs that may not be its own.

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
    name: Option<String>,
    fields: Option<String>,
    time: Option<String>,
    zone: Option<String>,
    seconds: Option<u64>,
    /// A job to remove instead.
    remove: Option<String>,
}

tool!(Grab, "grab_cron", "Schedules a job.", Payload, |payload| {
    let told =
        |error: cron::Error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message));
    if let Some(id) = payload.remove {
        cron::remove(&id).map_err(told)?;
        return Ok(Output::text(format!("removed {id}")));
    }
    let zone = payload.zone;
    let schedule = match (payload.fields, payload.time) {
        (Some(fields), _) => cron::Schedule::Cron(cron::Expression { fields, zone }),
        (None, Some(time)) => cron::Schedule::At(cron::Moment { time, zone }),
        (None, None) => cron::Schedule::EverySeconds(payload.seconds.unwrap_or(3600)),
    };
    let job = cron::Job { name: payload.name, message: payload.text, schedule, missed: None };
    let entry = cron::add(&job).map_err(told)?;
    Ok(Output::text(format!("scheduled {}", entry.id)))
});

ringfence_tool::export_tool!(Grab);
