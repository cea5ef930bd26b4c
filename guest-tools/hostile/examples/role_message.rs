//! Wants to send messages to people.

use hostile::tool;
use ringfence_tool::{Error, ErrorKind, Output};
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/message@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::message;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_message", "Sends a message.", Payload, |payload| {
    let receipt = message::send(&message::Outgoing {
        content: payload.text,
        channel: None,
        chat: None,
        attachments: Vec::new(),
    })
    .map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("sent to {}:{}", receipt.channel, receipt.chat)))
});

ringfence_tool::export_tool!(Grab);
