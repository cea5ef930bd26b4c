//! `ringfence tasks show` and `ringfence tasks logs`: one task, all of it.

use super::args_tasks::OneTask;
use super::exit::Exit;
use super::open::Stop;
use super::printer::Printer;
use super::sessions::{clock, rfc3339};
use super::tasks::{as_json, failed, find, session, state, usage};
use crate::authority::{Ceiling, Effective, Flags, Grant, Rights, Role};
use crate::config;
use crate::session::{self, SessionError};
use crate::store::{AuditFilter, AuditRow, Store, TaskRow, UsageSum};
use crate::tasks::transcript;
use crate::toolbox::one_line;
use serde_json::{Value, json};
use std::path::Path;

fn unreadable(error: SessionError) -> Stop {
    Stop(error.to_string(), Exit::Failed)
}

pub(super) fn show(printer: &Printer, typed: &OneTask) -> Result<Exit, Stop> {
    let (store, row) = find(&typed.id)?;
    let used = usage(&store, &row)?;
    if !typed.json {
        return Ok(printer.result(&in_words(&store, &row, &used)?));
    }
    let mut object = as_json(&row, &used)?;
    let more = json!({
        "task": row.task,
        "result": row.result,
        "profile": row.profile,
        "provider": row.provider,
        "model": row.model,
        "rights": held(&row)?.ok().and_then(|held| serde_json::from_str::<Value>(&held.to_text()).ok()),
        "max_iterations": row.max_iterations,
        "max_tokens": row.max_tokens,
        "max_cost_usd": row.max_cost.map(|cost| cost as f64 / 1e6),
        "timeout_ms": row.time_ms,
        "temperature": row.temperature,
        "number": row.nth,
        "retry_of": row.retry_of,
        "cancel": row.cancel,
        "process": row.owner,
        "transcript": transcript(&row.id).to_string(),
    });
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    Ok(printer.json(&object))
}

fn in_words(store: &Store, row: &TaskRow, used: &UsageSum) -> Result<String, Stop> {
    let mut lines = Vec::new();
    let mut say = |what: &str, text: String| lines.push(format!("{what:12} {text}"));
    say("task", format!("{} ({})", row.id, one_line(&row.label)));
    say("state", state(row)?);
    if let Some(reason) = &row.reason {
        say("why", one_line(reason));
    }
    if let Some(cancel) = row.cancel.as_ref().filter(|_| !row.execution.ended()) {
        say("to end", one_line(cancel));
    }
    let when = row.delivered.map(|at| format!(" {}", clock(at))).unwrap_or_default();
    say("delivery", format!("{}{when}", row.delivery.name()));
    let workspace = one_line(&row.workspace);
    say("session", format!("{} of {workspace}, its task {}", session(row), row.nth));
    if let Some(other) = &row.retry_of {
        say("repeats", other.clone());
    }
    say("asked", clock(row.created));
    if let Some(at) = row.started {
        say("began", clock(at));
    }
    if let Some(at) = row.ended {
        let took = row.started.map(|began| u64::try_from(at.saturating_sub(began)).unwrap_or(0));
        let took = took.map(|ms| format!(", after {}", time(ms))).unwrap_or_default();
        say("ended", format!("{}{took}", clock(at)));
    }
    let temperature = row.temperature.map(|t| format!(", temperature {t}")).unwrap_or_default();
    let [profile, model, provider] = [&row.profile, &row.model, &row.provider].map(|name| one_line(name));
    say("as", format!("{profile}, model {model} of {provider}{temperature}"));
    say("rights", rights(row)?);
    say("may take", most(row));
    say("took", taken(used));
    say("transcript", transcript_of(store, row)?);
    lines.push(String::new());
    lines.push(set_back("its task:", &row.task));
    lines.push(match &row.result {
        Some(result) => set_back("its result:", result),
        None => "its result: there is none".to_owned(),
    });
    Ok(lines.join("\n"))
}

fn set_back(head: &str, text: &str) -> String {
    format!("{head}\n  {}", text.trim_end().replace('\n', "\n  "))
}

/// What a run holds at most: what its parent held, as a subagent, within its profile as it is configured now.
fn held(row: &TaskRow) -> Result<Result<Rights, String>, Stop> {
    let (_, config) = super::open::configured()?;
    let given = match Rights::from_text(&row.rights) {
        Ok(given) => given,
        Err(error) => return Ok(Err(format!("cannot be read: {error}"))),
    };
    let Some(profile) = config.profile(&row.profile) else {
        return Ok(Err(format!("none any more: there is no profile {}", one_line(&row.profile))));
    };
    let ceiling = Ceiling::of(Role::Subagent, &row.workspace_path);
    let held = Effective::of(&ceiling, &Grant(Rights::all()), None, &Flags(given)).within(&profile);
    Ok(Ok(held.rights().clone()))
}

/// The same in words.
fn rights(row: &TaskRow) -> Result<String, Stop> {
    let rights = match held(row)? {
        Ok(rights) => rights,
        Err(problem) => return Ok(problem),
    };
    let names: Vec<&str> = rights.capabilities.iter().map(|capability| capability.name()).collect();
    let mut words = vec![if names.is_empty() { "no capabilities".to_owned() } else { names.join(", ") }];
    for (path, access) in rights.directories.iter() {
        words.push(format!("{} {access}", one_line(&path.display().to_string())));
    }
    if rights.directories.is_empty() {
        words.push("no directories".to_owned());
    }
    let hosts: Vec<String> = rights.hosts.iter().map(ToString::to_string).collect();
    words.push(if hosts.is_empty() { "no hosts".to_owned() } else { format!("hosts {}", hosts.join(", ")) });
    Ok(words.join("; "))
}

fn most(row: &TaskRow) -> String {
    let mut words = vec![format!("{} model calls", row.max_iterations)];
    words.extend(row.max_tokens.map(|tokens| format!("{tokens} tokens")));
    words.extend(row.max_cost.map(money));
    words.push(time(row.time_ms));
    words.join(", ")
}

fn taken(used: &UsageSum) -> String {
    let cost = used.cost.map(|cost| format!(", {}", money(cost))).unwrap_or_default();
    format!(
        "{} model calls, {} tokens sent ({} of them from the cache), {} received{cost}",
        used.calls, used.input, used.cached, used.output
    )
}

fn money(millionths: u64) -> String {
    format!("${}", millionths as f64 / 1e6)
}

fn time(ms: u64) -> String {
    match ms {
        ms if ms >= 60_000 && ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        ms if ms >= 10_000 => format!("{} s", ms / 1_000),
        ms => format!("{ms} ms"),
    }
}

/// The command that shows what was said in it.
fn transcript_of(store: &Store, row: &TaskRow) -> Result<String, Stop> {
    let key = transcript(&row.id);
    if session::find(store, Some(&row.workspace_path), &key).map_err(unreadable)?.is_err() {
        let text = if row.execution.ended() { "there is none" } else { "nothing was said in it yet" };
        return Ok(text.to_owned());
    }
    let here = config::absolute(Path::new(".")).is_ok_and(|here| here == row.workspace_path);
    let elsewhere = if here { "" } else { " --all" };
    Ok(format!("ringfence sessions show{elsewhere} {key}"))
}

/// Something that happened in a run.
enum Entry {
    Call(Box<AuditRow>),
    Text(i64, String),
}

pub(super) fn logs(printer: &Printer, typed: &OneTask) -> Result<Exit, Stop> {
    let (store, row) = find(&typed.id)?;
    let entries = entries(&store, &row)?;
    if typed.json {
        let entries: Vec<Value> = entries.iter().map(entry_json).collect();
        return Ok(printer.json(&json!({ "id": row.id, "state": row.execution.name(), "log": entries })));
    }
    if entries.is_empty() {
        let yet = if row.execution.ended() { "" } else { " yet" };
        printer.note(&format!("nothing was called or said in task {}{yet}; it is {}", row.id, state(&row)?));
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = entries.iter().map(entry_line).collect();
    Ok(printer.result(&lines.join("\n")))
}

/// Calls and texts in the order in which they were kept. Of the same moment, what a reply called comes before the next reply.
fn entries(store: &Store, row: &TaskRow) -> Result<Vec<Entry>, Stop> {
    let key = transcript(&row.id);
    let replies = match session::find(store, Some(&row.workspace_path), &key).map_err(unreadable)? {
        Ok(entry) => session::replies(store, &entry).map_err(unreadable)?,
        Err(_) => Vec::new(),
    };
    let filter = AuditFilter { session: Some(key.to_string()), ..AuditFilter::default() };
    let mut calls = store.audit(&filter).map_err(failed)?.into_iter().peekable();
    let mut entries = Vec::new();
    // Calls that were asked for and have no row yet.
    let mut asked = 0_usize;
    for reply in replies {
        while let Some(call) = calls.next_if(|call| call.at < reply.at || (asked > 0 && call.at == reply.at))
        {
            asked = asked.saturating_sub(1);
            entries.push(Entry::Call(Box::new(call)));
        }
        asked += reply.calls;
        if !reply.text.trim().is_empty() {
            entries.push(Entry::Text(reply.at, reply.text));
        }
    }
    entries.extend(calls.map(|call| Entry::Call(Box::new(call))));
    Ok(entries)
}

fn entry_line(entry: &Entry) -> String {
    match entry {
        Entry::Call(call) => {
            let kind = call.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            format!("{}  {}  {}{kind}  {} ms", clock(call.at), call.tool, call.outcome, call.ms)
        }
        Entry::Text(at, text) => set_back(&format!("{}  said:", clock(*at)), text),
    }
}

fn entry_json(entry: &Entry) -> Value {
    match entry {
        Entry::Call(call) => json!({
            "type": "call", "at": rfc3339(call.at), "tool": call.tool, "outcome": call.outcome, "kind": call.kind,
            "ms": call.ms, "bytes": call.bytes, "refusals": call.refusals,
        }),
        Entry::Text(at, text) => json!({ "type": "text", "at": rfc3339(*at), "text": text }),
    }
}
