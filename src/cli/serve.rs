//! `ringfence serve`: a process without a person. It runs what waits, makes the turn about each result in the session that the
//! result belongs to, and prints what is to reach a person who is nowhere else.

use super::args::Voice;
use super::args_tasks::ServeArguments;
use super::exit::Exit;
use super::house::{Town, at_work};
use super::open::{self, Stop};
use super::outbox::{self, Abandoned};
use super::printer::Printer;
use super::signals::Signals;
use super::worker;
use crate::agent::Purse;
use crate::authority::Rights;
use crate::bus::TURNS;
use crate::config::Config;
use crate::schedule::Schedule;
use crate::session::SessionKey;
use crate::store::{Execution, JobFilter, JobState, Store};
use crate::tasks::{Announcement, Claim, Hands, House, Place, Tasks, TurnOf, Unattended};
use crate::toolbox::one_line;
use futures_util::FutureExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;

/// How often it is looked what others have left.
const PULSE: Duration = Duration::from_millis(500);

/// How long the end may take.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// Runs that are counted for the line at the beginning.
const COUNTED: u64 = 1_000;

/// What all that is served has in common.
struct Serving {
    tasks: Tasks,
    house: Arc<dyn House>,
    store: Arc<Store>,
    config: Arc<Config>,
    printer: Printer,
    /// Turns about results, of different sessions.
    turns: Arc<Semaphore>,
    /// Says when everything is to end.
    stop: watch::Receiver<bool>,
    /// Told when there may be something to print.
    told: Notify,
}

pub(super) async fn run(printer: &Printer, voice: Voice, typed: ServeArguments) -> Exit {
    if typed.detach {
        return match worker::step() {
            Ok(()) => Exit::Done,
            Err(error) => printer.error(&format!("no process can be started: {error}"), Exit::Failed),
        };
    }
    let mut signals = Signals::listen();
    let (stopping, stop) = watch::channel(false);
    let serving = match open(printer, typed, stop) {
        Ok(serving) => Arc::new(serving),
        Err(stop) => return stop.tell(printer),
    };
    if !voice.quiet {
        printer.note(&serving.greeting());
        let printer = *printer;
        serving.tasks.listen(Box::new(move |ended| printer.note(&ended.line)));
    }
    let mut beside = background(&serving, typed, voice.quiet);
    let mut abandoned = Abandoned::default();
    let exit = attend(&serving, &mut signals, typed, &mut abandoned).await;
    stopping.send_replace(true);
    let ending = async {
        serving.tasks.close("the process that ran it was told to end").await;
        while beside.join_next().await.is_some() {}
    };
    if tokio::time::timeout(PATIENCE, ending).await.is_err() {
        printer.note("not everything has ended in time; what has not is lost");
    }
    serving.leave(&abandoned);
    exit
}

fn open(printer: &Printer, typed: ServeArguments, stop: watch::Receiver<bool>) -> Result<Serving, Stop> {
    let (dirs, config) = open::configured()?;
    let store = open::store(&dirs)?;
    let house: Arc<dyn House> = Arc::new(Town::new(Arc::clone(&store)));
    let kind = if typed.worker { "work" } else { "serve" };
    let tasks = at_work(&store, Arc::clone(&house), dirs, kind, (config.tasks.clone(), Hands::Own))?;
    Ok(Serving {
        tasks,
        house,
        store,
        config: Arc::new(config),
        printer: *printer,
        turns: Arc::new(Semaphore::new(TURNS)),
        stop,
        told: Notify::new(),
    })
}

/// Starts what is served beside the outbox, each until `serving.stop` says that it is to end. What else there is to serve is
/// started here.
fn background(serving: &Arc<Serving>, typed: ServeArguments, quiet: bool) -> JoinSet<()> {
    let mut beside = JoinSet::new();
    beside.spawn(results(Arc::clone(serving)));
    // Whoever ends when nothing is left would never see a job's next time.
    if !typed.once {
        let schedule = Schedule::open(
            serving.tasks.clone(),
            Arc::clone(&serving.house),
            Arc::clone(&serving.store),
            serving.config.cron.clone(),
            None,
        );
        if !quiet {
            let printer = serving.printer;
            schedule.listen(Box::new(move |ended| printer.note(ended)));
        }
        let stop = serving.stop.clone();
        beside.spawn(async move { schedule.run(stop).await });
    }
    beside
}

/// Looks after everything until there is nothing more to do, or somebody wants it to end; what to end with.
async fn attend(
    serving: &Serving,
    signals: &mut Signals,
    typed: ServeArguments,
    abandoned: &mut Abandoned,
) -> Exit {
    loop {
        // Before what is printed: whatever is done by now has left its letters.
        let done = serving.look() == 0 && serving.tasks.is_idle();
        if !typed.worker {
            let printing = outbox::print(
                &serving.store,
                serving.tasks.process(),
                serving.printer,
                typed.json,
                abandoned,
            );
            let printed = tokio::select! {
                biased;
                exit = signals.next() => return exit,
                printed = printing => printed,
            };
            if let Err(problem) = printed {
                return serving.printer.error(&problem, Exit::Failed);
            }
        }
        if typed.once && done {
            return Exit::Done;
        }
        tokio::select! {
            biased;
            exit = signals.next() => return exit,
            () = serving.told.notified() => {}
            () = tokio::time::sleep(PULSE) => {}
        }
    }
}

/// Makes the turns about results. Sessions do not wait for each other.
async fn results(serving: Arc<Serving>) {
    let mut lines = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = serving.stopped() => break,
            (place, arrived) = serving.tasks.arrival_anywhere() => {
                let claim = serving.tasks.claim(&place);
                lines.spawn(hear_all(Arc::clone(&serving), claim, place, arrived));
            }
            Some(_) = lines.join_next() => {}
        }
    }
    while lines.join_next().await.is_some() {}
}

/// Everything that has ended of a session's runs.
async fn hear_all(serving: Arc<Serving>, claim: Claim, place: Place, mut arrived: Vec<Announcement>) {
    let permit = tokio::select! {
        biased;
        () = serving.stopped() => None,
        permit = serving.turns.acquire() => permit.ok(),
    };
    // What is not begun is left to the next process, as it is.
    if permit.is_some() {
        arrived.extend(serving.tasks.arrived(&place));
        for alike in by_starter(arrived) {
            if *serving.stop.borrow() {
                break;
            }
            hear(&serving, &place, alike).await;
        }
    }
    drop(claim);
    serving.told.notify_one();
}

/// A turn about results whose runs were started with the same rights.
async fn hear(serving: &Serving, place: &Place, arrived: Vec<Announcement>) {
    let tell = |arrived: &[Announcement]| arrived.iter().for_each(|one| serving.tasks.tell_by_letter(one));
    let Some(first) = arrived.first() else { return };
    // A session that was not kept is gone with its process.
    if !first.kept || arrived.iter().all(Announcement::quiet) {
        return tell(&arrived);
    }
    let problem = match serving.unattended(place, first) {
        Ok(session) => {
            let purse = Purse::of(&session.budget());
            session.hear(arrived, &purse, &serving.stop).await.err()
        }
        Err(problem) => {
            tell(&arrived);
            Some(problem)
        }
    };
    if let Some(problem) = problem {
        serving.printer.note(&format!("no turn in session {}: {}", place.1, one_line(&problem)));
    }
}

/// Results in groups: a turn tells of those alone whose runs were started as what it runs as itself.
fn by_starter(arrived: Vec<Announcement>) -> Vec<Vec<Announcement>> {
    let mut groups: Vec<Vec<Announcement>> = Vec::new();
    for one in arrived {
        let of = |one: &Announcement| (one.row.origin.clone(), one.row.rights.clone(), one.kept, one.quiet());
        let alike = groups.iter_mut().find(|group| group.first().is_some_and(|first| of(first) == of(&one)));
        match alike {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

impl Serving {
    /// Ready when everything is to end.
    async fn stopped(&self) {
        let mut stop = self.stop.clone();
        if stop.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn greeting(&self) -> String {
        let jobs = self.store.jobs(&JobFilter::default()).unwrap_or_default();
        let jobs = jobs.iter().filter(|job| job.state == JobState::Active).count();
        let tasks = self.store.unowned_tasks(COUNTED).unwrap_or_default().len();
        let many = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        format!(
            "serving {} and {} of every workspace; at most {} tasks at once",
            many(jobs, "job"),
            many(tasks, "waiting task"),
            self.config.tasks.running
        )
    }

    /// Takes up what is nobody's; how much that was.
    fn look(&self) -> usize {
        let waiting = self.tasks.take_unowned();
        let left = self.tasks.recover(None, None).map(|left| {
            let count = left.len();
            self.tasks.take_in(left);
            count
        });
        [waiting, left]
            .into_iter()
            .map(|taken| {
                taken.unwrap_or_else(|error| {
                    tracing::warn!("what waits cannot be taken up: {error}");
                    0
                })
            })
            .sum()
    }

    /// The session that a result belongs to, as it was when the run was started.
    fn unattended(&self, place: &Place, about: &Announcement) -> Result<Unattended, String> {
        let of: TurnOf = serde_json::from_str(&about.row.origin)
            .map_err(|error| format!("as what it ran cannot be read: {error}"))?;
        let rights = Rights::from_text(&about.row.rights).map_err(|error| error.to_string())?;
        Ok(Unattended {
            tasks: self.tasks.clone(),
            ground: self.house.ground(&place.0, &rights.directories)?,
            key: SessionKey::new(place.1.channel(), place.1.chat()),
            of,
            rights,
            time: None,
            tokens: None,
            silent: false,
        })
    }

    /// Says in their conversations which runs ended with this process, and leaves everything else to others, as it is.
    fn leave(&self, abandoned: &Abandoned) {
        while let Some((_, arrived)) = self.tasks.arrival_anywhere().now_or_never() {
            for one in arrived.iter().filter(|one| one.execution == Execution::Cancelled) {
                if let Err(error) = self.tasks.tell_quietly(one) {
                    tracing::warn!("task {} cannot be announced in its conversation: {error}", one.id);
                }
            }
        }
        abandoned.settle(&self.store, self.tasks.process());
        self.tasks.leave();
    }
}
