//! Wants an interface that nobody has heard of.

use hostile::tool;
use ringfence_tool::Output;
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package evil:thing@1.0.0;
            interface door { open: func(what: string) -> string; }
            world imports { import door; }
        ",
        generate_all,
    });
}

use host::evil::thing::door;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_door", "Opens a door.", Payload, |payload| { Ok(Output::text(door::open(&payload.text))) });

ringfence_tool::export_tool!(Grab);
