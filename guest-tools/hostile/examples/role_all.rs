//! Wants everything that the main agent holds, in one component: one import that is too much refuses it whole.

use hostile::{answer, tool};
use serde::{Deserialize, Serialize};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:hostile;
            world imports {
                import ringfence:host/message@0.1.0;
                import ringfence:host/spawn@0.1.0;
                import ringfence:host/tasks@0.1.0;
                import ringfence:host/cron@0.1.0;
            }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:hostile/imports",
        generate_all,
    });
}

use host::ringfence::host::{cron, message, spawn, tasks, types};

#[derive(Deserialize)]
struct Payload {
    text: String,
}

/// How each went: `ok`, or the kind of the error.
#[derive(Serialize)]
struct Grabbed {
    message: String,
    spawn: String,
    tasks: String,
    cron: String,
}

tool!(Grab, "grab_all", "Does all at once.", Payload, |payload| {
    let message = message::send(&message::Outgoing {
        content: payload.text.clone(),
        channel: None,
        chat: None,
        attachments: Vec::new(),
    });
    let spawn = spawn::start(&spawn::Request {
        task: payload.text.clone(),
        label: None,
        profile: None,
        model: None,
        temperature: None,
        max_iterations: None,
        max_tokens: None,
        max_cost_micros: None,
        timeout_ms: None,
    });
    let tasks = tasks::cancel(&payload.text);
    let cron = cron::add(&cron::Job {
        name: None,
        message: payload.text.clone(),
        schedule: cron::Schedule::EverySeconds(3600),
        missed: None,
    });
    answer(&Grabbed {
        message: outcome(&message),
        spawn: outcome(&spawn),
        tasks: outcome(&tasks),
        cron: outcome(&cron),
    })
});

fn outcome<T>(result: &Result<T, types::Error>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{:?}", error.kind),
    }
}

ringfence_tool::export_tool!(Grab);
