//! `ringfence cron run`: one run of a job, here and now.

use super::cron::{failed, find};
use super::exit::Exit;
use super::house::{Town, at_work};
use super::open::{self, Stop};
use super::outcome;
use super::printer::Printer;
use super::signals::Signals;
use crate::schedule::{NotRun, Ran, Schedule, source};
use crate::store::{Delivery, JobRow, LetterFilter, RunOutcome, Store, Workspace};
use crate::tasks::Hands;
use std::sync::Arc;
use tokio::sync::watch;

/// Letters that are taken at once.
const MOST: u64 = 256;

pub(super) async fn run(printer: &Printer, id: &str) -> Result<Exit, Stop> {
    let mut signals = Signals::listen();
    let (store, job) = find(id)?;
    let (dirs, config) = open::configured()?;
    let house = Arc::new(Town::new(Arc::clone(&store)));
    let tasks = at_work(&store, Arc::clone(&house) as _, dirs, "run", (config.tasks, Hands::Own))?;
    let schedule = Schedule::open(
        tasks.clone(),
        house,
        Arc::clone(&store),
        config.cron,
        Some(job.workspace_path.clone()),
    );
    let (stop, stopped) = watch::channel(false);
    let mut told = None;
    let ran = {
        let mut running = std::pin::pin!(schedule.run_now(&job.id, stopped));
        tokio::select! {
            ran = &mut running => ran,
            exit = signals.next() => {
                told = Some(exit);
                stop.send_replace(true);
                running.await
            }
        }
    };
    tasks.close("the program ends").await;
    let done = ran.map_err(|problem| not_run(problem, &job));
    let exit = done.and_then(|ran| tell(printer, &store, tasks.process(), &ran));
    tasks.leave();
    exit.map(|exit| told.unwrap_or(exit))
}

fn not_run(problem: NotRun, job: &JobRow) -> Stop {
    let id = &job.id;
    match problem {
        NotRun::Disabled(_) => Stop(format!("{problem}; to remove it: ringfence cron rm {id}"), Exit::Failed),
        NotRun::Running => Stop(format!("{problem}; to see it: ringfence cron history {id}"), Exit::Failed),
        NotRun::Unknown => Stop(
            format!("{problem} `{id}` any more; to see which there are: ringfence cron list --all"),
            Exit::Usage,
        ),
        NotRun::Ending | NotRun::Store(_) => Stop(problem.to_string(), Exit::Failed),
    }
}

/// What it wrote to the person, or else its answer; and how it ended.
fn tell(printer: &Printer, store: &Store, process: &str, ran: &Ran) -> Result<Exit, Stop> {
    let job = &ran.job;
    let filter = LetterFilter {
        workspace: Some(Workspace::at(&job.workspace_path)),
        session: Some((job.channel.clone(), job.chat.clone())),
        unattended: true,
    };
    let answer = format!("answer:{}", source(&job.id, ran.due));
    let (mut written, mut shown) = (Exit::Done, false);
    for letter in store.take_letters(process, &filter, MOST).map_err(failed)? {
        if letter.kind == "notice" {
            printer.note(&letter.content);
        } else {
            written = printer.result(&letter.content);
            let of_this_run = letter.source.is_none() && letter.created >= ran.due;
            shown |= of_this_run || letter.source.as_ref() == Some(&answer);
        }
        if written == Exit::Done {
            store.letter_done(letter.id, process, Delivery::Delivered).map_err(failed)?;
        }
    }
    if let Some(end) = &ran.end {
        if !shown && !end.text.trim().is_empty() {
            written = printer.result(&end.text);
        }
        for denial in &end.denied {
            printer.hint(denial);
        }
    }
    if ran.outcome == RunOutcome::Ran {
        return Ok(written);
    }
    let exit = ran.end.as_ref().map_or(Exit::Failed, outcome::exit);
    let why = ran.reason.as_deref().unwrap_or("it failed");
    printer.error(&format!("job {} failed: {why}", job.id), exit);
    printer.hint(&format!("to see its runs: ringfence cron history {}", job.id));
    Ok(exit)
}
