//! Wants an interface that the host knows, at a version that it does not.

use hostile::tool;
use ringfence_tool::Output;
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:host@0.2.0;
            interface message { send: func(content: string) -> string; }
            world imports { import message; }
        ",
        generate_all,
    });
}

use host::ringfence::host::message;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_newer_message", "Sends a message.", Payload, |payload| {
    Ok(Output::text(message::send(&payload.text)))
});

ringfence_tool::export_tool!(Grab);
