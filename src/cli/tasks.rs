//! `ringfence tasks`: background tasks, looked at and looked after.

use super::args_tasks::{TasksCommand, TasksList};
use super::exit::Exit;
use super::open::{self, Stop};
use super::printer::Printer;
use super::sessions::{existing_store, workspace};
use super::{tasks_act, tasks_show};
use crate::config::Presence;
use crate::session::SessionKey;
use crate::store::{Store, StoreError, TaskFilter, TaskRow, UsageSum, Workspace};
use crate::tasks::transcript;
use crate::toolbox::{nearest, one_line};
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of an id that are enough where they are its beginning alone.
const BEGINNING: usize = 4;

/// Ids among which one is looked for that is like what was typed.
const NEAR: u64 = 1_000;

/// Characters of a label in its line.
const LABEL: usize = 60;

pub(super) async fn run(printer: &Printer, command: &TasksCommand) -> Exit {
    let done = match command {
        TasksCommand::List(typed) => list(printer, typed),
        TasksCommand::Show(one) => tasks_show::show(printer, one),
        TasksCommand::Logs(one) => tasks_show::logs(printer, one),
        TasksCommand::Cancel { id, no_wait } => tasks_act::cancel(printer, id, !no_wait).await,
        TasksCommand::Retry { id, wait } => tasks_act::retry(printer, id, *wait).await,
    };
    done.unwrap_or_else(|stop| stop.tell(printer))
}

pub(super) fn failed(error: StoreError) -> Stop {
    Stop(error.to_string(), Exit::Failed)
}

/// The task that is meant: by its id, or the beginning of it where no other begins so.
pub(super) fn find(typed: &str) -> Result<(Arc<Store>, TaskRow), Stop> {
    let id = typed.strip_prefix("task:").unwrap_or(typed);
    let unknown = |hint: String| {
        let shown = one_line(id);
        Stop(
            format!("there is no task `{shown}`; {hint}to see which there are: ringfence tasks list --all"),
            Exit::Usage,
        )
    };
    let Some(store) = existing_store()? else { return Err(unknown(String::new())) };
    if let Some(row) = store.task(id).map_err(failed)? {
        return Ok((store, row));
    }
    let beginning =
        if id.chars().count() >= BEGINNING { store.task_ids(id, 4).map_err(failed)? } else { Vec::new() };
    match beginning.as_slice() {
        [] => {
            let known = store.task_ids("", NEAR).map_err(failed)?;
            let near = nearest(id, known.iter().map(String::as_str));
            Err(unknown(near.map(|near| format!("did you mean {near}? ")).unwrap_or_default()))
        }
        [one] => {
            let row = store.task(one).map_err(failed)?.ok_or_else(|| unknown(String::new()))?;
            Ok((store, row))
        }
        several => {
            let several = several.join(", ");
            Err(Stop(format!("`{}` is the beginning of several tasks: {several}", one_line(id)), Exit::Usage))
        }
    }
}

/// Whether it stands as if it were on its way, and its process is gone.
pub(super) fn is_left(row: &TaskRow) -> Result<bool, Stop> {
    let Some(owner) = row.owner.as_ref().filter(|_| !row.execution.ended()) else { return Ok(false) };
    Ok(Presence::is_gone(&open::dirs()?, owner))
}

/// How far it is, in words.
pub(super) fn state(row: &TaskRow) -> Result<String, Stop> {
    let name = row.execution.name();
    Ok(if is_left(row)? { format!("{name} (process gone)") } else { name.to_owned() })
}

/// What a task has taken so far. Of one that is over its row says it, also where the service said nothing.
pub(super) fn usage(store: &Store, row: &TaskRow) -> Result<UsageSum, Stop> {
    if row.execution.ended() {
        let calls = u64::from(row.iterations);
        let TaskRow { input, cached, output, cost, .. } = *row;
        return Ok(UsageSum { calls, input, cached, output, cost });
    }
    store.usage(&transcript(&row.id).to_string()).map_err(failed)
}

/// The key of the session that a task belongs to.
pub(super) fn session(row: &TaskRow) -> String {
    SessionKey::new(&row.channel, &row.chat).to_string()
}

fn list(printer: &Printer, typed: &TasksList) -> Result<Exit, Stop> {
    let workspace = workspace(&typed.place)?;
    let limit = u64::from(typed.limit);
    let filter = TaskFilter {
        workspace: workspace.as_deref().map(Workspace::at),
        session: typed.session.as_deref().map(|name| {
            let key = SessionKey::parse(name);
            (key.channel().to_owned(), key.chat().to_owned())
        }),
        unended: typed.unended,
        // One more, to know whether there are more.
        limit: (limit > 0).then(|| limit + 1),
    };
    let store = existing_store()?;
    let mut rows = match &store {
        Some(store) => store.tasks(&filter).map_err(failed)?,
        None => Vec::new(),
    };
    let more = limit > 0 && rows.len() as u64 > limit;
    if more {
        rows.pop();
    }
    let mut lines = Vec::new();
    let mut objects = Vec::new();
    for row in &rows {
        let Some(store) = &store else { break };
        let used = usage(store, row)?;
        if typed.json {
            objects.push(as_json(row, &used)?);
        } else {
            lines.push(line(row, &used, workspace.is_none())?);
        }
    }
    if typed.json {
        return Ok(printer.json(&json!({ "workspace": workspace, "tasks": objects, "more": more })));
    }
    if lines.is_empty() {
        printer.note(&match &workspace {
            Some(dir) => format!(
                "no background tasks of that kind in {}; of every workspace: ringfence tasks list --all",
                dir.display()
            ),
            None => "no background tasks of that kind".to_owned(),
        });
        return Ok(Exit::Done);
    }
    let written = printer.result(&lines.join("\n"));
    if more {
        printer.note(&format!("the newest {limit}; all: add --limit 0"));
    }
    Ok(written)
}

fn line(row: &TaskRow, used: &UsageSum, everywhere: bool) -> Result<String, Stop> {
    let now = jiff::Timestamp::now().as_millisecond();
    let label = one_line(&row.label);
    let label = label.char_indices().nth(LABEL).and_then(|(at, _)| label.get(..at)).unwrap_or(&label);
    let at = if everywhere { format!("  ({})", one_line(&row.workspace)) } else { String::new() };
    Ok(format!(
        "{}  {:11}  {:9}  {:>4}  {:>2} calls  {:>7} tokens  {}  {label}{at}",
        row.id,
        state(row)?,
        row.delivery.name(),
        age(now.saturating_sub(row.created)),
        used.calls,
        used.input.saturating_add(used.output),
        session(row),
    ))
}

/// A span of milliseconds, roughly.
fn age(ms: i64) -> String {
    match ms.max(0) / 1_000 {
        s if s < 60 => format!("{s}s"),
        s if s < 3_600 => format!("{}m", s / 60),
        s if s < 172_800 => format!("{}h", s / 3_600),
        s => format!("{}d", s / 86_400),
    }
}

/// What `list` and `show` say of a task to programs.
pub(super) fn as_json(row: &TaskRow, used: &UsageSum) -> Result<Value, Stop> {
    Ok(json!({
        "id": row.id,
        "label": row.label,
        "state": row.execution.name(),
        "process_gone": is_left(row)?,
        "delivery": row.delivery.name(),
        "reason": row.reason,
        "session": session(row),
        "workspace": row.workspace,
        "created": super::sessions::rfc3339(row.created),
        "started": row.started.map(super::sessions::rfc3339),
        "ended": row.ended.map(super::sessions::rfc3339),
        "delivered": row.delivered.map(super::sessions::rfc3339),
        "calls": used.calls,
        "usage": { "input": used.input, "cached": used.cached, "output": used.output },
        "cost_usd": used.cost.map(|cost| cost as f64 / 1e6),
    }))
}
