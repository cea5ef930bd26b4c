//! `ringfence tasks cancel` and `ringfence tasks retry`: what a person does to a task from outside.

use super::exit::Exit;
use super::house::{Town, at_work};
use super::open::{self, Stop};
use super::printer::Printer;
use super::signals::Signals;
use super::tasks::{failed, find};
use super::worker;
use crate::store::{CancelAsked, Execution, Recorded, Store, TaskRow};
use crate::tasks::{Announcement, Hands, Tasks, bury_if_gone, ended};
use crate::toolbox::one_line;
use futures_util::FutureExt as _;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for a process that was asked to end a task.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(50);

/// Why a task ends.
const REASON: &str = "a person ended it";

fn called(row: &TaskRow) -> String {
    format!("task {} ({})", row.id, one_line(&row.label))
}

pub(super) async fn cancel(printer: &Printer, id: &str, wait: bool) -> Result<Exit, Stop> {
    let (store, row) = find(id)?;
    let row = lost_if_left(&store, row)?;
    match store.cancel_task(&row.id, REASON).map_err(failed)? {
        CancelAsked::Ended(row) => {
            printer.note(&format!("{} is cancelled", called(&row)));
            Ok(Exit::Done)
        }
        CancelAsked::Over(row) => Ok(over(printer, &row)),
        CancelAsked::Unknown => Ok(over(printer, &row)),
        CancelAsked::Asked(row) => {
            printer.note(&format!("{} runs in another process, which is asked to end it", called(&row)));
            if wait { end_of(printer, &store, &row).await } else { Ok(Exit::Done) }
        }
    }
}

/// The task as it stands; one whose process is gone is lost, whatever it stood as.
fn lost_if_left(store: &Store, row: TaskRow) -> Result<TaskRow, Stop> {
    let Some(owner) = row.owner.as_ref().filter(|_| !row.execution.ended()) else { return Ok(row) };
    if !bury_if_gone(store, &open::dirs()?, owner).map_err(failed)? {
        return Ok(row);
    }
    Ok(store.task(&row.id).map_err(failed)?.unwrap_or(row))
}

/// There is nothing to cancel.
fn over(printer: &Printer, row: &TaskRow) -> Exit {
    let exit =
        printer.error(&format!("{} {}; there is nothing to cancel", called(row), ended(row)), Exit::Failed);
    printer.hint(&format!("what is known of it: ringfence tasks show {}", row.id));
    exit
}

/// Waits until a task has ended that was asked to.
async fn end_of(printer: &Printer, store: &Store, row: &TaskRow) -> Result<Exit, Stop> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let now = store.task(&row.id).map_err(failed)?.unwrap_or_else(|| row.clone());
        let now = lost_if_left(store, now)?;
        if now.execution == Execution::Cancelled {
            printer.note(&format!("{} is cancelled", called(&now)));
            return Ok(Exit::Done);
        }
        if now.execution.ended() {
            return Ok(over(printer, &now));
        }
        if tokio::time::Instant::now() >= deadline {
            let problem = format!("{} has not ended within {} seconds", called(&now), PATIENCE.as_secs());
            let exit = printer.error(&problem, Exit::TimedOut);
            printer.hint(&format!("to see how it stands: ringfence tasks show {}", row.id));
            return Ok(exit);
        }
        tokio::time::sleep(LOOK).await;
    }
}

pub(super) async fn retry(printer: &Printer, id: &str, wait: bool) -> Result<Exit, Stop> {
    let (store, row) = find(id)?;
    let row = lost_if_left(&store, row)?;
    if !row.execution.ended() {
        let problem = format!(
            "{} is {}; only what has ended can be run again; to end it: ringfence tasks cancel {}",
            called(&row),
            row.execution.name(),
            row.id
        );
        return Err(Stop(problem, Exit::Usage));
    }
    if wait { here(printer, &store, &row).await } else { elsewhere(printer, &store, &row) }
}

/// The task that was recorded.
fn recorded(recorded: Recorded, most: u64) -> Result<TaskRow, Stop> {
    match recorded {
        Recorded::New(row) | Recorded::Same(row) => Ok(row),
        Recorded::Full { are } => {
            let problem = format!(
                "its session has had {are} of {most} background tasks; raise [tasks] per_session in the configuration \
                 (where it is: ringfence config path)"
            );
            Err(Stop(problem, Exit::Limit))
        }
    }
}

/// Leaves it to a process of its own.
fn elsewhere(printer: &Printer, store: &Store, row: &TaskRow) -> Result<Exit, Stop> {
    let (_, config) = open::configured()?;
    let most = config.tasks.per_session;
    let new = recorded(Tasks::again(store, row, most).map_err(failed)?, most)?;
    let started = worker::start();
    let written = printer.result(&new.id);
    printer.note(&format!("{} does what {} was asked", called(&new), row.id));
    printer.hint(&format!("to follow it: ringfence tasks show {}", new.id));
    match started {
        Ok(()) => Ok(written),
        Err(error) => {
            let problem =
                format!("no process can be started for it ({error}); it waits for: ringfence serve");
            Ok(printer.error(&problem, Exit::Failed))
        }
    }
}

/// Runs it in this process, and prints what came of it.
async fn here(printer: &Printer, store: &Arc<Store>, row: &TaskRow) -> Result<Exit, Stop> {
    let mut signals = Signals::listen();
    let (dirs, config) = open::configured()?;
    let most = config.tasks.per_session;
    let house = Arc::new(Town::new(Arc::clone(store)));
    let tasks = at_work(store, house, dirs, "run", (config.tasks, Hands::Own))?;
    let again = Tasks::again_by(store, row, most, Some(tasks.process())).map_err(failed);
    let done = match again.and_then(|again| recorded(again, most)) {
        Ok(new) => {
            printer.note(&format!("{} does what {} was asked", called(&new), row.id));
            tasks.take_up(&new);
            Ok(result(printer, &tasks, &mut signals).await)
        }
        Err(stop) => Err(stop),
    };
    tasks.leave();
    done
}

async fn result(printer: &Printer, tasks: &Tasks, signals: &mut Signals) -> Exit {
    let mut told = None;
    let mut signalled = None;
    tokio::select! {
        biased;
        exit = signals.next() => {
            signalled = Some(exit);
            tasks.close(REASON).await;
        }
        () = idle(tasks) => {}
    }
    while let Some((_, arrived)) = tasks.arrival_anywhere().now_or_never() {
        for one in &arrived {
            told = Some(tell(printer, tasks, one));
        }
    }
    let unknown = || printer.error("how it ended cannot be written down", Exit::Failed);
    signalled.or(told).unwrap_or_else(unknown)
}

/// Ready when the task has ended, however it did.
async fn idle(tasks: &Tasks) {
    while tasks.running() + tasks.waiting() > 0 {
        tokio::time::sleep(LOOK).await;
    }
}

/// Prints what came of it. The conversation that it belongs to is told as well, without a turn: the person has it already.
fn tell(printer: &Printer, tasks: &Tasks, one: &Announcement) -> Exit {
    let exit = match one.execution {
        Execution::Succeeded => Exit::Done,
        Execution::Incomplete => Exit::Limit,
        Execution::TimedOut => Exit::TimedOut,
        _ => Exit::Failed,
    };
    let written = match &one.row.result {
        Some(result) => printer.put(result),
        None => Ok(()),
    };
    if let Err(error) = written {
        return printer.error(&format!("the result cannot be written: {error}"), Exit::Failed);
    }
    if exit != Exit::Done {
        printer.error(&format!("{} {}", called(&one.row), ended(&one.row)), exit);
    }
    if let Err(error) = tasks.tell_quietly(one) {
        tracing::warn!("task {} cannot be announced in its conversation: {error}", one.id);
    }
    if let Err(error) = tasks.delivered(&one.id) {
        tracing::warn!("that the result of task {} was delivered cannot be noted: {error}", one.id);
    }
    exit
}
