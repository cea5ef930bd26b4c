//! `ringfence sessions`: what was said before.

use super::args_sessions::{ExportFormat, OneSession, Place, SessionsCommand};
use super::exit::Exit;
use super::open::Stop;
use super::printer::Printer;
use crate::agent::{RESULTS, results_of};
use crate::config::{self, Dirs};
use crate::session::{self, Entry, Format, NotFound, SessionError, SessionKey};
use crate::store::{Store, TaskFilter, Workspace};
use crate::toolbox::Spill;
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn run(printer: &Printer, command: &SessionsCommand) -> Exit {
    let done = match command {
        SessionsCommand::List { place, json } => list(printer, place, *json),
        SessionsCommand::Show(one) => write(printer, one, session::plain),
        SessionsCommand::Export { one, format: ExportFormat::Md } => {
            write(printer, one, |store, entry| session::export(store, entry, Format::Markdown))
        }
        SessionsCommand::Export { one, format: ExportFormat::Jsonl } => {
            write(printer, one, |store, entry| session::export(store, entry, Format::JsonLines))
        }
        SessionsCommand::Rm { names, place, yes } => remove(printer, names, place, *yes),
    };
    done.unwrap_or_else(|stop| stop.tell(printer))
}

/// The store, if anything was ever kept: looking makes none.
pub(super) fn existing_store() -> Result<Option<Arc<Store>>, Stop> {
    let Some(dirs) = Dirs::of_user() else {
        let problem = "there is no home directory; set RINGFENCE_HOME to a directory of yours";
        return Err(Stop(problem.to_owned(), Exit::Config));
    };
    Store::open_existing(&dirs.data.join(crate::store::FILE))
        .map_err(|error| Stop(error.to_string(), Exit::Config))
}

/// The workspace that is meant; `None` for every one. It need not be there any more.
pub(super) fn workspace(place: &Place) -> Result<Option<PathBuf>, Stop> {
    if place.all {
        return Ok(None);
    }
    let named = place.workspace.as_deref().unwrap_or(Path::new("."));
    config::absolute(named)
        .map(Some)
        .map_err(|error| Stop(format!("{}: {error}", named.display()), Exit::Config))
}

fn failed(error: SessionError) -> Stop {
    Stop(error.to_string(), Exit::Failed)
}

fn list(printer: &Printer, place: &Place, json: bool) -> Result<Exit, Stop> {
    let workspace = workspace(place)?;
    let entries = match existing_store()? {
        Some(store) => session::list(&store, workspace.as_deref()).map_err(failed)?,
        None => Vec::new(),
    };
    if json {
        let all: Vec<Value> = entries.iter().map(as_json).collect();
        return Ok(printer.json(&json!({ "workspace": workspace, "sessions": all })));
    }
    match &workspace {
        Some(dir) => {
            let which = if entries.is_empty() { "there are no sessions" } else { "the sessions" };
            printer.note(&format!(
                "{which} of {}; of every workspace: ringfence sessions list --all",
                dir.display()
            ));
        }
        None if entries.is_empty() => printer.note("there are no sessions"),
        None => printer.note("the sessions of every workspace"),
    }
    if entries.is_empty() {
        return Ok(Exit::Done);
    }
    Ok(printer.result(&lines(&entries, workspace.is_none()).join("\n")))
}

fn lines(entries: &[Entry], everywhere: bool) -> Vec<String> {
    let width = entries.iter().map(|entry| entry.key.to_string().chars().count()).max().unwrap_or_default();
    let line = |entry: &Entry| {
        let key = entry.key.to_string();
        let at = if everywhere { format!("  ({})", entry.workspace) } else { String::new() };
        format!("{key:width$}  {}  {:>4}  {}{at}", clock(entry.updated), entry.messages, entry.title)
    };
    entries.iter().map(line).collect()
}

fn as_json(entry: &Entry) -> Value {
    json!({
        "session": entry.key.to_string(),
        "workspace": entry.workspace,
        "title": entry.title,
        "created": rfc3339(entry.created),
        "updated": rfc3339(entry.updated),
        "messages": entry.messages,
    })
}

fn write(
    printer: &Printer,
    one: &OneSession,
    text: impl FnOnce(&Store, &Entry) -> Result<String, SessionError>,
) -> Result<Exit, Stop> {
    let (store, entry) = find(&one.name, &one.place)?;
    Ok(printer.result(&text(&store, &entry).map_err(failed)?))
}

fn find(name: &str, place: &Place) -> Result<(Arc<Store>, Entry), Stop> {
    let key = SessionKey::parse(name);
    let workspace = workspace(place)?;
    let Some(store) = existing_store()? else {
        return Err(not_found(&NotFound { key, workspaces: Vec::new() }, place));
    };
    let found = session::find(&store, workspace.as_deref(), &key).map_err(failed)?;
    found.map(|entry| (store, entry)).map_err(|missing| not_found(&missing, place))
}

fn not_found(missing: &NotFound, place: &Place) -> Stop {
    let NotFound { key, workspaces } = missing;
    let text = match workspaces.as_slice() {
        [] => format!("there is no session `{key}`; to see which there are: ringfence sessions list --all"),
        several if place.all => {
            format!("`{key}` is a session of several workspaces ({}); choose with -C DIR", several.join(", "))
        }
        elsewhere => format!(
            "there is no session `{key}` in this workspace, but in {}; add -C DIR or --all",
            elsewhere.join(", ")
        ),
    };
    Stop(text, Exit::Usage)
}

fn remove(printer: &Printer, names: &[String], place: &Place, yes: bool) -> Result<Exit, Stop> {
    // All are found before one is removed, so that a wrong name removes nothing.
    let found = names.iter().map(|name| find(name, place)).collect::<Result<Vec<_>, _>>()?;
    for (store, entry) in found {
        if !yes && !confirmed(printer, &entry) {
            printer.note(&format!("{} is kept", entry.key));
            continue;
        }
        let workspace = std::path::Path::new(&entry.workspace);
        let runs = store.tasks(&TaskFilter {
            workspace: Some(Workspace::at(workspace)),
            session: Some((entry.key.channel().to_owned(), entry.key.chat().to_owned())),
            ..TaskFilter::default()
        });
        let runs = runs.map_err(|error| Stop(error.to_string(), Exit::Failed))?;
        if session::remove(&store, &entry).map_err(failed)? {
            let results = store.path().with_file_name(RESULTS);
            let ended =
                runs.iter().filter(|run| run.execution.ended()).map(|run| SessionKey::of_task(&run.id));
            for key in ended.chain([entry.key.clone()]) {
                Spill::forget(&results, &results_of(workspace, &key))
                    .map_err(|error| Stop(format!("{}: {error}", results.display()), Exit::Failed))?;
            }
            printer.note(&format!("removed {}", entry.key));
        }
    }
    Ok(Exit::Done)
}

fn confirmed(printer: &Printer, entry: &Entry) -> bool {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return true;
    }
    printer.note(&format!("remove {} with {} messages ({})? [y/N]", entry.key, entry.messages, entry.title));
    let mut answer = String::new();
    stdin.read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// A time of the store where the person is.
pub(super) fn clock(at: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(at).unwrap_or_default();
    time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A time of the store for programs.
pub(super) fn rfc3339(at: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(at).unwrap_or_default())
}
