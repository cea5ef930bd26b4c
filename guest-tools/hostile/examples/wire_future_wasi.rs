//! Wants files by a version of WASI that the host does not serve.

use hostile::tool;
use ringfence_tool::Output;
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package wasi:filesystem@0.3.0;
            interface preopens { get-directories: func() -> list<string>; }
            world imports { import preopens; }
        ",
        generate_all,
    });
}

use host::wasi::filesystem::preopens;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_future_files", "Lists what is handed over.", Payload, |payload| {
    Ok(Output::text(format!("{} {}", payload.text, preopens::get_directories().join(" "))))
});

ringfence_tool::export_tool!(Grab);
