//! Wants to run native commands.

use hostile::tool;
use ringfence_tool::{Error, ErrorKind, Output};
use serde::Deserialize;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports { import ringfence:host/exec@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::exec;

#[derive(Deserialize)]
struct Payload {
    text: String,
}

tool!(Grab, "grab_exec", "Runs a command.", Payload, |payload| {
    let outcome = exec::run(&exec::Command {
        line: payload.text,
        working_dir: None,
        shell: None,
        timeout_ms: None,
        yield_ms: None,
        max_output: None,
        tty: false,
    })
    .map_err(|error| Error::new(ErrorKind::Failed, format!("{:?}: {}", error.kind, error.message)))?;
    Ok(Output::text(format!("exit {:?}: {}", outcome.exit_code, outcome.stdout)))
});

ringfence_tool::export_tool!(Grab);
