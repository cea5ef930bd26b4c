//! Writes notes for the operator, which every role may do.

use hostile::tool;
use ringfence_tool::Output;
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/log@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::log;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_log", "Writes a note.", Payload, |payload| {
    log::write(log::Level::Warn, &payload.text);
    Ok(Output::text("noted"))
});

ringfence_tool::export_tool!(Grab);
