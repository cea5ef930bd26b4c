//! What a chat and a run have to do with background work: what was left from before, what has ended, what is still on its way.

use super::exit::Exit;
use super::open::Stop;
use super::turn::Talk;
use super::worker;
use crate::agent::What;
use crate::store::{
    Delivery, LetterFilter, LetterRow, ProcessRow, Store, StoreError, TaskFilter, TaskRow, Workspace,
};
use crate::tasks::{Announcement, Place, Standing};
use crate::toolbox::{escape_controls, one_line};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Letters that are shown at once.
const LETTERS: u64 = 64;

/// Runs that are looked through for those that wait in a workspace.
const UNBEGUN: u64 = 1_000;

/// Whoever shows lines to the person.
pub(super) type Tell<'a> = &'a (dyn Fn(&str) + Send + Sync);

fn failed(error: &StoreError) -> Stop {
    Stop(error.to_string(), Exit::Failed)
}

/// Says who is here, and what was left from before: results of other sessions, and letters to this one. What belongs to
/// this session's own runs arrives as if it had ended now.
pub(super) fn greet(talk: &Talk, tell: Tell<'_>) -> Result<(), Stop> {
    attend(talk)?;
    let place = talk.place();
    let elsewhere = talk.tasks.recover(Some(&place.0), Some(&place)).map_err(|error| failed(&error))?;
    for announcement in elsewhere {
        tell(&format!(
            "{} (session {}:{})",
            line(&announcement),
            announcement.row.channel,
            announcement.row.chat
        ));
        if let Err(error) = talk.tasks.tell_quietly(&announcement) {
            tracing::warn!("task {} cannot be announced in its conversation: {error}", announcement.id);
        }
        talk.tasks.delivered(&announcement.id).map_err(|error| failed(&error))?;
    }
    unbegun(talk, tell).map_err(|error| failed(&error))?;
    letters(talk, tell)
}

/// Has somebody begin with what waits in this workspace and is nobody's: who left it there may have ended before it started a
/// process for it.
fn unbegun(talk: &Talk, tell: Tell<'_>) -> Result<(), StoreError> {
    let store = &talk.ground.store;
    let waiting = store.unowned_tasks(UNBEGUN)?;
    let waiting = waiting.iter().filter(|row| row.workspace_path == talk.ground.workspace).count();
    let works = |process: &ProcessRow| process.kind == "serve" || process.kind == "work";
    if waiting == 0 || store.processes()?.iter().any(works) {
        return Ok(());
    }
    let are = if waiting == 1 {
        "1 background task waits".to_owned()
    } else {
        format!("{waiting} background tasks wait")
    };
    match worker::start() {
        Ok(()) => tell(&format!("{are}; a process is started for what waits")),
        Err(error) => tell(&format!(
            "{are}, and no process can be started for what waits ({error}); type: ringfence serve --once"
        )),
    }
    Ok(())
}

/// Tells other processes which session is looked at here.
pub(super) fn attend(talk: &Talk) -> Result<(), Stop> {
    let key = talk.is_kept().then_some(&talk.key);
    talk.tasks.attend(&talk.ground.workspace, key).map_err(|error| failed(&error))
}

/// What a person is told of a run that has ended.
pub(super) fn line(announcement: &Announcement) -> String {
    match announcement.standing {
        Standing::Answered => format!("{}; it was answered before", announcement.line),
        Standing::New | Standing::Told => announcement.line.clone(),
    }
}

/// Shows the letters of this session that nobody has shown.
pub(super) fn letters(talk: &Talk, tell: Tell<'_>) -> Result<(), Stop> {
    for letter in waiting_letters(talk, false).map_err(|error| failed(&error))? {
        tell(&letter_text(&letter, talk));
        let (store, process) = (&talk.ground.store, talk.tasks.process());
        store.letter_done(letter.id, process, Delivery::Delivered).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Takes the letters of this session that nobody has shown; with `all`, those of every session of the workspace that nobody
/// else looks at.
pub(super) fn waiting_letters(talk: &Talk, all: bool) -> Result<Vec<LetterRow>, StoreError> {
    if !talk.is_kept() {
        return Ok(Vec::new());
    }
    let own = (talk.key.channel().to_owned(), talk.key.chat().to_owned());
    let filter = LetterFilter {
        workspace: Some(Workspace::at(&talk.ground.workspace)),
        session: (!all).then_some(own),
        unattended: all,
    };
    talk.ground.store.take_letters(talk.tasks.process(), &filter, LETTERS)
}

/// A letter as a person reads it. One that may have been seen is named, and not shown twice.
pub(super) fn letter_text(letter: &LetterRow, talk: &Talk) -> String {
    let session = format!("{}:{}", letter.channel, letter.chat);
    let from = if session == talk.key.to_string() { String::new() } else { format!(" (session {session})") };
    if letter.uncertain {
        return format!(
            "{}{from}: it may have been shown before; ringfence sessions show {session}",
            letter.kind
        );
    }
    let text = escape_controls(&letter.content).trim_end().replace('\n', "\n  ");
    match letter.attachments.as_slice() {
        [] => format!("{}{from}: {text}", letter.kind),
        files => format!("{}{from}: {text}\n  attached: {}", letter.kind, escape_controls(&files.join(", "))),
    }
}

/// The event of a run that has ended, for programs.
pub(super) fn event(announcement: &Announcement) -> What {
    What::TaskUpdated {
        id: announcement.id.clone(),
        label: announcement.label.clone(),
        state: announcement.execution.name().to_owned(),
        text: announcement.line.clone(),
    }
}

/// What a person is told while runs are waited for.
pub(super) fn waiting(count: usize) -> String {
    let tasks = if count == 1 { "1 background task".to_owned() } else { format!("{count} background tasks") };
    format!("waiting for {tasks}; Ctrl-C ends them")
}

/// Waits until that time; for ever, where there is none.
pub(super) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Tells the person and, without asking it, the agent.
pub(super) fn told(talk: &mut Talk, all: &[Announcement], arrived: &(dyn Fn(&Announcement) + Send + Sync)) {
    for announcement in all {
        arrived(announcement);
        talk.tell(announcement);
    }
}

/// Ends what still runs here, tells what became of it, and leaves.
pub(super) async fn close(talk: &mut Talk, arrived: &(dyn Fn(&Announcement) + Send + Sync), reason: &str) {
    talk.tasks.close(reason).await;
    talk.close_commands().await;
    let left = talk.tasks.arrived(&talk.place());
    told(talk, &left, arrived);
    talk.tasks.leave();
}

/// The runs of this session that were recorded since a time, oldest first.
pub(super) fn since(talk: &Talk, start: i64) -> Vec<TaskRow> {
    let filter = TaskFilter {
        workspace: Some(Workspace::at(&talk.ground.workspace)),
        session: Some((talk.key.channel().to_owned(), talk.key.chat().to_owned())),
        unended: false,
        limit: Some(LETTERS),
    };
    let rows = talk.ground.store.tasks(&filter).unwrap_or_default();
    rows.into_iter().rev().filter(|row| row.created >= start).collect()
}

/// A run for programs.
pub(super) fn as_json(row: &TaskRow) -> Value {
    json!({
        "id": row.id,
        "label": row.label,
        "state": row.execution.name(),
        "delivery": row.delivery.name(),
        "reason": row.reason,
        "result": row.result,
        "iterations": row.iterations,
        "tokens": row.input.saturating_add(row.output),
        "cost_usd": row.cost.map(|cost| cost as f64 / 1e6),
    })
}

/// The runs of a session, one line each, for people.
pub(super) fn list(store: &Store, (workspace, key): &Place) -> String {
    let filter = TaskFilter {
        workspace: Some(Workspace::at(workspace)),
        session: Some((key.channel().to_owned(), key.chat().to_owned())),
        unended: false,
        limit: Some(LETTERS),
    };
    let rows = match store.tasks(&filter) {
        Ok(rows) => rows,
        Err(error) => return error.to_string(),
    };
    if rows.is_empty() {
        return "no background tasks in this session".to_owned();
    }
    let line = |row: &TaskRow| {
        let tokens = row.input.saturating_add(row.output);
        format!("{}  {:12}{}  ({tokens} tokens)", row.id, row.execution.name(), one_line(&row.label))
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.push("more of one: ringfence tasks show ID".to_owned());
    lines.join("\n")
}
