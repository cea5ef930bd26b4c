//! `ringfence cron`: jobs that come due.

use super::args_cron::{AddArguments, CronCommand, EditArguments, Missed, When};
use super::args_sessions::Place;
use super::exit::Exit;
use super::open::{self, Setting, Stop};
use super::printer::Printer;
use super::sessions::{clock, existing_store, rfc3339, workspace};
use super::turn::session_named;
use crate::authority::{Ceiling, Effective, Grant, Profile, Rights, Role};
use crate::config;
use crate::sandbox::Limits;
use crate::schedule::{self, Draft, Edit, JobError, Owner, Plan, duration};
use crate::session::SessionKey;
use crate::store::{JobFilter, JobRow, JobState, RunRow, Store, StoreError, Workspace};
use crate::tasks::{Most, TurnOf};
use crate::toolbox::one_line;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) async fn run(printer: &Printer, command: &CronCommand) -> Exit {
    let done = match command {
        CronCommand::Add(typed) => add(printer, typed),
        CronCommand::List { place, done, json } => list(printer, place, *done, *json),
        CronCommand::Show { id, json } => show(printer, id, *json),
        CronCommand::Run { id } => super::cron_run::run(printer, id).await,
        CronCommand::Pause { id } => pause(printer, id),
        CronCommand::Resume { id } => resume(printer, id),
        CronCommand::Edit(typed) => edit(printer, typed),
        CronCommand::Rm { ids } => remove(printer, ids),
        CronCommand::History { id, json } => history(printer, id, *json),
    };
    done.unwrap_or_else(|stop| stop.tell(printer))
}

pub(super) fn failed(error: StoreError) -> Stop {
    Stop(error.to_string(), Exit::Failed)
}

fn refused(error: JobError, id: &str) -> Stop {
    match error {
        JobError::Store(error) => failed(error),
        JobError::FullSession { .. } | JobError::Full { .. } => {
            Stop(format!("{error}: ringfence cron list --all"), Exit::Limit)
        }
        JobError::Over(_) => Stop(format!("{error}: ringfence cron edit {id} --every 1d"), Exit::Usage),
        JobError::Unfit(_) => Stop(format!("{error}: ringfence cron rm {id}"), Exit::Failed),
        _ => Stop(error.to_string(), Exit::Usage),
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn plan(
    every: Option<u64>,
    at: Option<&str>,
    cron: Option<&str>,
    tz: Option<&str>,
) -> Result<Option<Plan>, Stop> {
    let plan = match (every, at, cron) {
        (Some(seconds), ..) => Plan::every(seconds),
        (None, Some(time), _) => Plan::at(time, tz, now()),
        (None, None, Some(expression)) => Plan::cron(expression, tz),
        (None, None, None) => return Ok(None),
    };
    plan.map(Some).map_err(|error| Stop(error.to_string(), Exit::Usage))
}

fn add(printer: &Printer, typed: &AddArguments) -> Result<Exit, Stop> {
    let When { every, at, cron } = &typed.when;
    let plan = plan(*every, at.as_deref(), cron.as_deref(), typed.tz.as_deref())?;
    let plan = plan.ok_or_else(|| Stop("say when: add --every, --at or --cron".to_owned(), Exit::Usage))?;
    let rights = &typed.rights;
    let setting = Setting::open(rights.workspace.as_deref(), &rights.directories, Limits::default())?;
    let profile = setting.profile(rights.role())?;
    if profile.role != Role::Main {
        let problem =
            format!("a job runs as main or a profile that narrows it, and `{}` does not", profile.name);
        return Err(Stop(problem, Exit::Usage));
    }
    let chosen = setting
        .config
        .choose_provider_as(&profile.name, typed.provider.as_deref(), typed.model.as_deref())
        .map_err(|error| Stop(error.to_string(), Exit::Config))?;
    let key = match &typed.session {
        Some(name) => session_named(name)?,
        // Jobs in one conversation wait for each other.
        None => SessionKey::new("cron", &config::fresh_id()),
    };
    let ceiling = Ceiling::of(Role::Main, &setting.workspace);
    let flags = setting.flags(rights.read_only, &rights.deny);
    let holds = Effective::of(&ceiling, &Grant(Rights::all()), None, &flags)
        .within(&profile)
        .within(&Profile::cron());
    let of = TurnOf {
        profile: Profile::cron().name,
        tools: profile.tools.clone(),
        provider: chosen.name.clone(),
        model: chosen.model.clone(),
        most: Most { iterations: setting.config.profile_limits(&profile.name).iterations, ..Most::default() },
    };
    // What the profile may take at most holds for the job, too.
    let most = setting.config.profile_limits(&profile.name);
    let owner = Owner {
        workspace: &setting.workspace,
        key: &key,
        of: &of,
        rights: holds.rights(),
        tokens: most.tokens(typed.max_tokens),
        time: most.time,
        silent: typed.silent,
        by: "user",
    };
    let missed = typed.missed.map(|missed| match missed {
        Missed::Skip => schedule::Missed::Skip,
        Missed::Once => schedule::Missed::Once,
    });
    let draft = Draft { name: typed.name.clone(), message: typed.message.join(" "), plan, missed };
    let store = open::store(&setting.dirs)?;
    let job = schedule::add(&store, &setting.config.cron, &owner, &draft, now());
    let job = job.map_err(|error| refused(error, "ID"))?;
    printer.note(&format!(
        "added \"{}\" to session {key}, {}; next run: {}",
        job.name,
        schedule::schedule_words(&job),
        next(&job)
    ));
    printer.hint("it fires while a chat of this workspace is open, and under: ringfence serve");
    Ok(printer.result(&job.id))
}

/// The job that is meant: of that id, or the only one whose id begins so.
pub(super) fn find(id: &str) -> Result<(Arc<Store>, JobRow), Stop> {
    let none = || {
        let id = id.escape_debug();
        Stop(
            format!("there is no job `{id}`; to see which there are: ringfence cron list --all --done"),
            Exit::Usage,
        )
    };
    let Some(store) = existing_store()? else { return Err(none()) };
    if let Some(job) = store.job(id).map_err(failed)? {
        return Ok((store, job));
    }
    let filter = JobFilter { all_states: true, ..JobFilter::default() };
    let mut jobs = store.jobs(&filter).map_err(failed)?;
    jobs.retain(|job| !id.is_empty() && job.id.starts_with(id));
    match jobs.len() {
        0 => Err(none()),
        1 => jobs.pop().map(|job| (store, job)).ok_or_else(none),
        _ => {
            let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
            let which = ids.join(", ");
            Err(Stop(
                format!("`{id}` begins several ids ({which}); write more of the one that is meant"),
                Exit::Usage,
            ))
        }
    }
}

fn next(job: &JobRow) -> String {
    match job.next.filter(|_| job.state == JobState::Active) {
        Some(next) => schedule::clock_words(job, next),
        None => "none".to_owned(),
    }
}

fn list(printer: &Printer, place: &Place, done: bool, json: bool) -> Result<Exit, Stop> {
    let workspace = workspace(place)?;
    let filter =
        JobFilter { workspace: workspace.as_deref().map(Workspace::at), session: None, all_states: done };
    let store = existing_store()?;
    let jobs = match &store {
        Some(store) => store.jobs(&filter).map_err(failed)?,
        None => Vec::new(),
    };
    if let (true, Some(store)) = (json, &store) {
        let all = jobs.iter().map(|job| as_json(store, job)).collect::<Result<Vec<_>, _>>()?;
        return Ok(printer.json(&json!({ "workspace": workspace, "jobs": all })));
    }
    if json {
        return Ok(printer.json(&json!({ "workspace": workspace, "jobs": [] })));
    }
    if jobs.is_empty() {
        printer.note(match workspace {
            Some(_) => "no scheduled jobs in this workspace; of every workspace: ringfence cron list --all",
            None => "no scheduled jobs",
        });
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = jobs.iter().map(|job| line(job, workspace.is_none())).collect();
    Ok(printer.result(&lines.join("\n")))
}

fn line(job: &JobRow, everywhere: bool) -> String {
    let next = match job.next.filter(|_| job.state == JobState::Active) {
        Some(next) => clock(next),
        None => "-".repeat(16),
    };
    let at = if everywhere { format!("  ({})", one_line(&job.workspace)) } else { String::new() };
    let words = schedule::schedule_words(job);
    format!("{}  {:8}  {next}  {words}  {}{at}", job.id, job.state.name(), one_line(&job.name))
}

fn as_json(store: &Store, job: &JobRow) -> Result<Value, Stop> {
    let last = store.job_runs(&job.id, 1).map_err(failed)?;
    Ok(json!({
        "id": job.id,
        "name": job.name,
        "message": job.message,
        "schedule": schedule::schedule_words(job),
        "state": job.state.name(),
        "reason": job.reason,
        "next": job.next.filter(|_| job.state == JobState::Active).map(rfc3339),
        "last": last.first().map(run_json),
        "failures": job.failures,
        "missed": job.missed,
        "workspace": job.workspace,
        "session": SessionKey::new(&job.channel, &job.chat).to_string(),
        "provider": job.provider,
        "model": job.model,
        "silent": job.silent,
        "by": job.by,
        "created": rfc3339(job.created),
    }))
}

fn show(printer: &Printer, id: &str, json: bool) -> Result<Exit, Stop> {
    let (store, job) = find(id)?;
    if json {
        return Ok(printer.json(&as_json(&store, &job)?));
    }
    let runs = store.job_runs(&job.id, 1).map_err(failed)?;
    let state = match &job.reason {
        Some(reason) => format!("{}: {reason}", job.state.name()),
        None => job.state.name().to_owned(),
    };
    let holds = match Rights::from_text(&job.rights) {
        Ok(rights) => {
            let directories: Vec<String> = rights
                .directories
                .iter()
                .map(|(path, access)| format!("{} ({access})", path.display()))
                .collect();
            format!("{}; {}", rights.capabilities, directories.join(", "))
        }
        Err(error) => error.to_string(),
    };
    let last = runs.first().map_or_else(|| "none".to_owned(), |run| schedule::run_words(&job, run));
    let answers = if job.silent { "kept, and not sent" } else { "sent" };
    let lines = [
        ("job", job.id.clone()),
        ("name", job.name.clone()),
        ("schedule", schedule::schedule_words(&job)),
        ("missed", job.missed.clone()),
        ("state", state),
        ("next run", next(&job)),
        ("last run", last),
        ("session", format!("{} in {}", SessionKey::new(&job.channel, &job.chat), job.workspace)),
        (
            "model",
            match job.model.as_str() {
                "" => format!("the one of {}", job.provider),
                model => format!("{model} of {}", job.provider),
            },
        ),
        ("holds", holds),
        ("answers", answers.to_owned()),
    ];
    let mut text: Vec<String> =
        lines.iter().map(|(what, value)| format!("{what:9} {}", one_line(value))).collect();
    // Its further lines are set back, so that none is taken for one of the above.
    text.push(format!("{:9} {}", "message", job.message.trim_end().replace('\n', "\n  ")));
    Ok(printer.result(&text.join("\n")))
}

fn pause(printer: &Printer, id: &str) -> Result<Exit, Stop> {
    let (store, job) = find(id)?;
    if job.state != JobState::Active {
        let problem = format!("job {} is {}; only an active one can be paused", job.id, job.state.name());
        return Err(Stop(problem, Exit::Usage));
    }
    schedule::pause(&store, &job.id, "paused by hand").map_err(failed)?;
    printer.note(&format!("paused {}; to go on: ringfence cron resume {}", job.id, job.id));
    Ok(Exit::Done)
}

fn resume(printer: &Printer, id: &str) -> Result<Exit, Stop> {
    let (store, job) = find(id)?;
    if job.state == JobState::Active {
        printer.note(&format!("job {} is active; next run: {}", job.id, next(&job)));
        return Ok(Exit::Done);
    }
    let resumed = schedule::resume(&store, &job, now()).map_err(|error| refused(error, &job.id))?;
    let next = resumed.as_ref().map(next).unwrap_or_default();
    printer.note(&format!("resumed {}; next run: {next}", job.id));
    Ok(Exit::Done)
}

fn edit(printer: &Printer, typed: &EditArguments) -> Result<Exit, Stop> {
    let (store, job) = find(&typed.id)?;
    // An expression keeps its zone, and a zone its expression, where only one of them is changed.
    let old = match Plan::from_text(&job.schedule) {
        Ok(Plan::Cron(old)) => Some((old.expression().to_owned(), old.zone().name().to_owned())),
        _ => None,
    };
    let only_zone = typed.tz.is_some() && typed.every.is_none() && typed.at.is_none();
    let expression =
        typed.cron.clone().or_else(|| old.as_ref().filter(|_| only_zone).map(|(old, _)| old.clone()));
    let zone =
        typed.tz.clone().or_else(|| typed.cron.as_ref().and(old.as_ref()).map(|(_, zone)| zone.clone()));
    let plan = plan(typed.every, typed.at.as_deref(), expression.as_deref(), zone.as_deref())?;
    let change = Edit { name: typed.name.clone(), message: typed.message.clone(), plan };
    if change == Edit::default() {
        let problem = "there is nothing to change; add --name, --message, --every, --at, --cron, or --tz to a cron expression";
        return Err(Stop(problem.to_owned(), Exit::Usage));
    }
    let changed = schedule::edit(&store, &job, &change, now()).map_err(|error| refused(error, &job.id))?;
    let next = changed.as_ref().map(next).unwrap_or_default();
    printer.note(&format!("changed {}; next run: {next}", job.id));
    Ok(Exit::Done)
}

fn remove(printer: &Printer, ids: &[String]) -> Result<Exit, Stop> {
    // All are found before one is removed, so that a wrong id removes nothing.
    let found = ids.iter().map(|id| find(id)).collect::<Result<Vec<_>, _>>()?;
    for (store, job) in found {
        if store.remove_job(&job.id).map_err(failed)? {
            printer.note(&format!("removed {} ({})", job.id, one_line(&job.name)));
        }
    }
    Ok(Exit::Done)
}

fn run_json(run: &RunRow) -> Value {
    json!({
        "due": rfc3339(run.due),
        "until": rfc3339(run.until),
        "times": run.count,
        "outcome": run.outcome.name(),
        "reason": run.reason,
        "began": rfc3339(run.began),
        "ms": run.ended.map(|ended| ended.saturating_sub(run.began)),
    })
}

fn history(printer: &Printer, id: &str, json: bool) -> Result<Exit, Stop> {
    // What became of a job stays when it is gone.
    let (store, id) = match (find(id), existing_store()?) {
        (Ok((store, job)), _) => (store, job.id),
        (Err(stop), Some(store)) => {
            if store.job_runs(id, 1).map_err(failed)?.is_empty() {
                return Err(stop);
            }
            (store, id.to_owned())
        }
        (Err(stop), None) => return Err(stop),
    };
    let runs = store.job_runs(&id, u64::MAX).map_err(failed)?;
    if json {
        let all: Vec<Value> = runs.iter().map(run_json).collect();
        return Ok(printer.json(&json!({ "job": id, "runs": all })));
    }
    if runs.is_empty() {
        printer.note(&format!("job {id} was not due yet; to run it now: ringfence cron run {id}"));
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = runs.iter().map(run_line).collect();
    Ok(printer.result(&lines.join("\n")))
}

fn run_line(run: &RunRow) -> String {
    let time = run.ended.map(|ended| u64::try_from(ended.saturating_sub(run.began)).unwrap_or(0));
    let times = if run.count > 1 {
        format!("  {} times, the last {}", run.count, clock(run.until))
    } else {
        String::new()
    };
    let took =
        time.filter(|_| run.owner.is_some()).map(|ms| format!("  {}", duration(ms))).unwrap_or_default();
    let reason = run.reason.as_deref().map(|reason| format!("  {}", one_line(reason))).unwrap_or_default();
    format!("{}  {:7}{times}{took}{reason}", clock(run.due), run.outcome.name())
}
