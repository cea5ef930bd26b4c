//! The `cron` tool: schedules work through the host. It holds that interface and nothing else.

use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, Output, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:cron-tool;
            world imports { import ringfence:host/cron@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:cron-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{cron, types};

struct Cron;

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Add,
    List,
    Remove,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Missed {
    Skip,
    Once,
}

#[derive(serde::Deserialize)]
struct Arguments {
    action: Action,
    name: Option<String>,
    message: Option<String>,
    every_seconds: Option<u64>,
    cron_expr: Option<String>,
    at: Option<String>,
    tz: Option<String>,
    missed: Option<Missed>,
    job_id: Option<String>,
}

impl Tool for Cron {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let text = match arguments.action {
            Action::Add => added(&cron::add(&job(arguments)?).map_err(told)?),
            Action::List => listed(&cron::list_all().map_err(told)?),
            Action::Remove => {
                let missing = || Error::invalid("remove needs `job_id`; `list` shows the ids");
                let id = given(arguments.job_id).ok_or_else(missing)?;
                cron::remove(&id).map_err(told)?;
                format!("removed job {id}")
            }
        };
        Ok(Output::text(text))
    }
}

fn job(arguments: Arguments) -> Result<cron::Job, Error> {
    let Some(message) = given(arguments.message) else {
        return Err(Error::invalid("add needs `message`: what you are to be told when the job is due"));
    };
    let (fields, time, zone) = (given(arguments.cron_expr), given(arguments.at), given(arguments.tz));
    if zone.is_some() && fields.is_none() && time.is_none() {
        return Err(Error::invalid("`tz` goes with `cron_expr` or `at`; leave it out, or add one of them"));
    }
    let schedule = match (arguments.every_seconds, fields, time) {
        (Some(seconds), ..) => cron::Schedule::EverySeconds(seconds),
        (None, Some(fields), _) => cron::Schedule::Cron(cron::Expression { fields, zone }),
        (None, None, Some(time)) => cron::Schedule::At(cron::Moment { time, zone }),
        (None, None, None) => {
            return Err(Error::invalid("add needs a schedule: `every_seconds`, `cron_expr` or `at`"));
        }
    };
    let missed = arguments.missed.map(|missed| match missed {
        Missed::Skip => cron::Missed::Skip,
        Missed::Once => cron::Missed::Once,
    });
    Ok(cron::Job { name: given(arguments.name), message, schedule, missed })
}

/// What a model leaves blank is left out.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn added(entry: &cron::Entry) -> String {
    format!("added:\n{}", shown(entry))
}

/// The jobs that run. Those that were paused or are done are for people, in the history.
fn listed(all: &[cron::Entry]) -> String {
    let enabled: Vec<String> = all.iter().filter(|entry| entry.enabled).map(shown).collect();
    if enabled.is_empty() {
        return "no scheduled jobs".to_owned();
    }
    enabled.join("\n")
}

fn shown(entry: &cron::Entry) -> String {
    let mut text = format!("- {} (id: {}, {})", one_line(&entry.name), entry.id, one_line(&entry.schedule));
    for (what, when) in [("last", &entry.last), ("next", &entry.next)] {
        if let Some(when) = when {
            text.push_str(&format!("\n  {what} run: {}", one_line(when)));
        }
    }
    text
}

ringfence_tool::host_errors!(types);
ringfence_tool::export_tool!(Cron);
