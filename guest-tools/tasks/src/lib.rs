//! The `tasks` tool: looks after background agents through the host. It holds that interface and nothing else.

use ringfence_tool::sheet::{count, one_line};
use ringfence_tool::{Error, Output, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:tasks-tool;
            world imports { import ringfence:host/tasks@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:tasks-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{tasks, types};

/// Seconds that a wait takes where none are said.
const WAIT: u32 = 60;

struct Tasks;

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Status,
    Result,
    Cancel,
    Wait,
}

#[derive(serde::Deserialize)]
struct Arguments {
    action: Action,
    id: Option<String>,
    #[serde(default)]
    ids: Vec<String>,
    timeout: Option<u32>,
}

impl Tool for Tasks {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let text = match arguments.action {
            Action::List => listed(&tasks::list_all().map_err(told)?),
            Action::Status => line(&tasks::status(&one(arguments, "status")?).map_err(told)?),
            Action::Result => tasks::get_result(&one(arguments, "result")?).map_err(told)?,
            Action::Cancel => line(&tasks::cancel(&one(arguments, "cancel")?).map_err(told)?),
            Action::Wait => return wait(arguments),
        };
        Ok(Output::text(text))
    }
}

/// The one task that an action is about. A single one among `ids` is that too.
fn one(arguments: Arguments, action: &str) -> Result<String, Error> {
    match (given(arguments.id), <[String; 1]>::try_from(arguments.ids)) {
        (Some(id), _) | (None, Ok([id])) => Ok(id),
        (None, Err(_)) => Err(Error::invalid(format!("{action} needs `id`, one task; `list` shows the ids"))),
    }
}

fn wait(arguments: Arguments) -> ringfence_tool::Result {
    let mut ids = arguments.ids;
    ids.extend(given(arguments.id).filter(|id| !ids.contains(id)));
    if ids.is_empty() {
        return Err(Error::invalid("wait needs `ids`, the tasks to wait for; `list` shows them"));
    }
    let seconds = arguments.timeout.unwrap_or(WAIT);
    let all = tasks::wait(&ids, seconds.saturating_mul(1000)).map_err(told)?;
    let left = all.iter().filter(|summary| !ended(summary.execution)).count();
    let text = Output::text(listed(&all));
    Ok(match left {
        0 => text,
        left => {
            let still = count(left, "task has", "tasks have");
            text.and(format!("({still} not ended after {seconds} s; results come to this conversation)"))
        }
    })
}

fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn listed(all: &[tasks::Summary]) -> String {
    if all.is_empty() {
        return "no background tasks".to_owned();
    }
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(summary: &tasks::Summary) -> String {
    let reason = match &summary.reason {
        Some(reason) => format!("; {}", one_line(reason)),
        None => String::new(),
    };
    format!(
        "- {} (id: {}): {}, result {}, {} old, {}, {}{reason}",
        one_line(&summary.label),
        summary.id,
        state(summary.execution),
        delivery(summary.delivery),
        age(summary.age_ms),
        count(summary.iterations as usize, "iteration", "iterations"),
        match summary.tokens {
            1 => "1 token".to_owned(),
            tokens => format!("{tokens} tokens"),
        },
    )
}

fn delivery(delivery: types::Delivery) -> &'static str {
    match delivery {
        types::Delivery::Pending => "pending",
        types::Delivery::Delivered => "delivered",
        types::Delivery::Dropped => "dropped",
    }
}

/// In the largest unit that it has one of.
fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

ringfence_tool::host_errors!(types);
ringfence_tool::run_states!(types);
ringfence_tool::export_tool!(Tasks);
