//! `ringfence audit`: every tool call that was ever made.

use super::args_sessions::AuditArguments;
use super::exit::Exit;
use super::open::Stop;
use super::printer::Printer;
use super::sessions::{clock, existing_store, rfc3339};
use crate::session::SessionKey;
use crate::store::{AuditFilter, AuditRow};
use serde_json::{Value, json};

pub(super) fn run(printer: &Printer, typed: &AuditArguments) -> Exit {
    look(printer, typed).unwrap_or_else(|stop| stop.tell(printer))
}

fn look(printer: &Printer, typed: &AuditArguments) -> Result<Exit, Stop> {
    let limit = u64::from(typed.limit);
    let filter = AuditFilter {
        session: typed.session.as_deref().map(|name| SessionKey::parse(name).to_string()),
        tool: typed.tool.clone(),
        denied: typed.denied,
        // One more, to know whether there are more.
        limit: (limit > 0).then(|| limit + 1),
    };
    let mut rows = match existing_store()? {
        Some(store) => store.audit(&filter).map_err(|error| Stop(error.to_string(), Exit::Failed))?,
        None => Vec::new(),
    };
    let more = limit > 0 && rows.len() as u64 > limit;
    if more {
        rows.remove(0);
    }
    if typed.json {
        let rows: Vec<Value> = rows.iter().map(as_json).collect();
        return Ok(printer.json(&json!({ "calls": rows, "more": more })));
    }
    if rows.is_empty() {
        printer.note("there are no such calls");
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = rows.iter().map(line).collect();
    let written = printer.result(&lines.join("\n"));
    if more {
        printer.note(&format!("the newest {limit}; all: add --limit 0"));
    }
    Ok(written)
}

fn line(row: &AuditRow) -> String {
    let kind = row.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    let refused = if row.refusals > 0 { format!("  {} refused", row.refusals) } else { String::new() };
    let walls = row.walls.as_deref().map(|walls| format!("  sandbox {walls}")).unwrap_or_default();
    format!(
        "{}  {}  {} as {}  {}{kind}  {} ms  {} bytes{refused}{walls}",
        clock(row.at),
        row.session,
        row.tool,
        row.role,
        row.outcome,
        row.ms,
        row.bytes,
    )
}

fn as_json(row: &AuditRow) -> Value {
    json!({
        "at": rfc3339(row.at),
        "session": row.session,
        "who": row.who,
        "role": row.role,
        "tool": row.tool,
        "package": row.package,
        "grant": row.grant,
        "outcome": row.outcome,
        "kind": row.kind,
        "ms": row.ms,
        "bytes": row.bytes,
        "refusals": row.refusals,
        "sandbox": row.walls,
    })
}
