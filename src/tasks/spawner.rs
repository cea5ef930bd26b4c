//! The `spawn` and `tasks` interfaces of the sandbox: starting runs and looking after them, for one turn.

use super::inline::Inline;
use super::origin::{Origin, transcript};
use super::{Hands, Inner, Place, Tasks};
use crate::agent::Means;
use crate::authority::{Profile, Role};
use crate::config;
use crate::sandbox::ports::{
    Accepted, Answer, Delivery, Error, ErrorKind, Execution, Finished, Request, Spawner, Summary,
};
use crate::store::{self, NewTask, Recorded, TaskFilter, TaskRow, Workspace};
use crate::toolbox::view;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Characters of a task that become its label.
const LABEL: usize = 30;

/// Runs that are listed.
const LISTED: u64 = 64;

/// Characters of a result that one call hands over: more than a model sees, and less than a call may return. The whole is on
/// record.
const RESULT: usize = 100_000;

/// How often runs of other processes are looked at while somebody waits.
const LOOK: Duration = Duration::from_millis(500);

/// Bound to one turn.
struct Bound {
    inner: Arc<Inner>,
    origin: Origin,
}

impl Tasks {
    /// What stands behind `spawn` and `tasks` in a turn.
    pub fn spawner(&self, origin: Origin) -> Arc<dyn Spawner> {
        Arc::new(Bound { inner: Arc::clone(&self.0), origin })
    }

    /// Runs once more what a run was asked, with the rights that it had, for whichever process takes it. The new run.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn again(store: &store::Store, row: &TaskRow, most: u64) -> Result<Recorded, store::StoreError> {
        Self::again_by(store, row, most, None)
    }

    /// The same for a process that runs it itself.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn again_by(
        store: &store::Store,
        row: &TaskRow,
        most: u64,
        owner: Option<&str>,
    ) -> Result<Recorded, store::StoreError> {
        let (id, turn) = (config::fresh_id(), format!("retry:{}", config::fresh_id()));
        let workspace = Workspace::at(&row.workspace_path);
        let new = NewTask {
            id: &id,
            workspace: &workspace,
            channel: &row.channel,
            chat: &row.chat,
            turn: &turn,
            digest: &row.digest,
            label: &row.label,
            task: &row.task,
            profile: &row.profile,
            provider: &row.provider,
            model: &row.model,
            rights: &row.rights,
            max_iterations: row.max_iterations,
            max_tokens: row.max_tokens,
            max_cost: row.max_cost,
            temperature: row.temperature,
            time_ms: row.time_ms,
            retry_of: Some(&row.id),
            owner,
            kept: row.kept,
            origin: &row.origin,
        };
        store.record_task(&new, most)
    }
}

fn error(kind: ErrorKind, message: impl Into<String>) -> Error {
    Error { kind, message: message.into() }
}

impl Bound {
    fn place(&self) -> Place {
        (self.origin.ground.workspace.clone(), self.origin.key.clone())
    }

    /// Records a run and lets it begin. With `wait`, its result belongs to the caller.
    fn accept(&self, request: &Request, wait: bool) -> Result<(TaskRow, Option<Inline>), Error> {
        let (profile, limits) = self.profile(request.profile.as_deref())?;
        let origin = &self.origin;
        // A profile's model is a limit of it: no request takes another.
        let model = limits.model.as_deref().or(request.model.as_deref());
        let provider = origin
            .ground
            .provider(Some(&origin.of.provider), Some(model.unwrap_or(&origin.of.model)))
            .map_err(|problem| error(ErrorKind::Invalid, problem.to_string()))?;
        let (config, agent) = (&self.inner.config, &origin.ground.config.agent);
        self.room()?;
        let left = origin.purse.left();
        let usual = if left.tokens.is_none() { Some(config.max_tokens) } else { None };
        let wanted =
            Means { tokens: limits.tokens(request.max_tokens.or(usual)), cost: request.max_cost_micros };
        let priced = provider.cost(crate::provider::Usage { input: 1, cached: 0, output: 1 }).is_some();
        if (wanted.cost.is_some() || left.cost.is_some()) && !priced {
            let problem =
                format!("the cost cannot be limited: the prices of {} are not known", provider.model());
            return Err(error(ErrorKind::Invalid, problem));
        }
        let aside = origin.purse.set_aside(wanted).ok_or_else(|| {
            error(
                ErrorKind::Limit,
                "nothing is left of this turn's tokens or money to give to a background task",
            )
        })?;
        let time = Duration::from_millis(request.timeout_ms.unwrap_or(u64::MAX))
            .min(limits.time.unwrap_or(Duration::MAX))
            .min(config.timeout);
        let iterations = request
            .max_iterations
            .unwrap_or(u32::MAX)
            .min(limits.iterations.unwrap_or(u32::MAX))
            .min(agent.subagent_iterations);
        let (id, workspace) = (config::fresh_id(), Workspace::at(&origin.ground.workspace));
        let label = label(request);
        let of = serde_json::to_string(&origin.of).map_err(|problem| {
            error(ErrorKind::Failed, format!("the run cannot be written down: {problem}"))
        })?;
        let (rights, digest) = (origin.rights.to_text(), digest(request, &profile, provider.model()));
        let new = NewTask {
            id: &id,
            workspace: &workspace,
            channel: origin.key.channel(),
            chat: origin.key.chat(),
            turn: &origin.turn,
            digest: &digest,
            label: &label,
            task: request.task.trim(),
            profile: &profile.name,
            provider: provider.name(),
            model: provider.model(),
            rights: &rights,
            max_iterations: iterations,
            max_tokens: aside.tokens,
            max_cost: aside.cost,
            temperature: request.temperature,
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            retry_of: None,
            owner: (self.inner.hands == Hands::Own).then(|| self.inner.presence.id()),
            kept: origin.kept,
            origin: &of,
        };
        let recorded = self.inner.store.record_task(&new, config.per_session);
        match recorded {
            Ok(Recorded::New(row)) => {
                let claim = if wait { Inline::claim(&self.inner, &row.id, &origin.turn) } else { None };
                if self.inner.hands == Hands::Own {
                    let mut state = self.inner.state();
                    state.aside.insert(row.id.clone(), origin.purse.clone());
                    state.queue.push(self.place(), row.id.clone());
                    drop(state);
                    self.inner.kick.notify_one();
                }
                Ok((row, claim))
            }
            Ok(Recorded::Same(row)) => {
                origin.purse.put_back(aside);
                let claim = if wait && row.delivery == store::Delivery::Pending {
                    Inline::claim(&self.inner, &row.id, &origin.turn)
                } else {
                    None
                };
                Ok((row, claim))
            }
            Ok(Recorded::Full { are }) => {
                origin.purse.put_back(aside);
                let most = config.per_session;
                let problem = format!(
                    "this conversation has had {are} of {most} background tasks; do the work yourself, or the person \
                     begins another conversation or raises [tasks] per_session"
                );
                Err(error(ErrorKind::Limit, problem))
            }
            Err(problem) => {
                origin.purse.put_back(aside);
                Err(error(ErrorKind::Failed, format!("the run cannot be recorded: {problem}")))
            }
        }
    }

    /// Refuses what would wait too long.
    fn room(&self) -> Result<(), Error> {
        let (running, waiting) = match self.inner.hands {
            Hands::Own => {
                let state = self.inner.state();
                if state.closed {
                    return Err(error(ErrorKind::Unavailable, "the program is about to end"));
                }
                (state.running.len() as u64, state.queue.len() as u64)
            }
            Hands::Others => {
                let waiting =
                    self.inner.store.unowned_tasks(self.inner.config.queued + self.inner.config.running);
                (0, waiting.map(|rows| rows.len() as u64).unwrap_or(0))
            }
        };
        let config = &self.inner.config;
        if running + waiting < config.running.saturating_add(config.queued) {
            return Ok(());
        }
        let problem = format!(
            "{running} background tasks run ({} may) and {waiting} wait ({} may); wait for one, or cancel one",
            config.running, config.queued
        );
        Err(error(ErrorKind::Limit, problem))
    }

    /// The profile that a request names, which must be one of subagents.
    fn profile(&self, name: Option<&str>) -> Result<(Profile, config::ProfileLimits), Error> {
        let configured = &self.origin.ground.config;
        let name = name.unwrap_or(Role::Subagent.name());
        let known = || {
            let names = configured.profile_names().filter(|name| {
                configured.profile(name).is_some_and(|profile| profile.role == Role::Subagent)
            });
            names.collect::<Vec<_>>().join(", ")
        };
        match configured.profile(name) {
            Some(profile) if profile.role == Role::Subagent => Ok((profile, configured.profile_limits(name))),
            Some(_) => {
                let problem = format!("`{name}` is not a profile of subagents; there are {}", known());
                Err(error(ErrorKind::Denied, problem))
            }
            None => {
                let problem = format!("there is no profile `{}`; there are {}", name.escape_debug(), known());
                Err(error(ErrorKind::NotFound, problem))
            }
        }
    }

    /// A run of this session. What belongs to another session is not there.
    fn row(&self, id: &str) -> Result<TaskRow, Error> {
        let row =
            self.inner.store.task(id).map_err(|problem| error(ErrorKind::Failed, problem.to_string()))?;
        let mine = |row: &TaskRow| {
            let origin = &self.origin;
            row.workspace_path == origin.ground.workspace
                && row.channel == origin.key.channel()
                && row.chat == origin.key.chat()
        };
        row.filter(mine).ok_or_else(|| {
            error(
                ErrorKind::NotFound,
                format!("there is no background task {} of this conversation", id.escape_debug()),
            )
        })
    }

    fn summary(&self, row: &TaskRow) -> Summary {
        let now = jiff::Timestamp::now().as_millisecond();
        let (iterations, tokens) = if row.execution.ended() {
            (row.iterations, row.input.saturating_add(row.output))
        } else {
            let used = self.inner.store.usage(&transcript(&row.id).to_string()).unwrap_or_default();
            (u32::try_from(used.calls).unwrap_or(u32::MAX), used.input.saturating_add(used.output))
        };
        Summary {
            id: row.id.clone(),
            label: row.label.clone(),
            execution: execution(row.execution),
            delivery: delivery(row.delivery),
            age_ms: u64::try_from(now.saturating_sub(row.created)).unwrap_or(0),
            iterations,
            tokens,
            reason: row.reason.clone(),
        }
    }

    /// How long a call may wait. Where others run what is recorded here, they do when this turn is over.
    fn patience(&self, timeout_ms: u32) -> Duration {
        match self.inner.hands {
            Hands::Own => Duration::from_millis(timeout_ms.into()),
            Hands::Others => Duration::ZERO,
        }
    }

    /// Waits until all of them have ended, or time is over; how they stand then.
    async fn until_ended(&self, ids: &[String], timeout: Duration) -> Result<Vec<TaskRow>, Error> {
        let over = tokio::time::sleep(timeout);
        let mut over = std::pin::pin!(over);
        loop {
            let ended = self.inner.ended.notified();
            let mut ended = std::pin::pin!(ended);
            ended.as_mut().enable();
            let rows = ids.iter().map(|id| self.row(id)).collect::<Result<Vec<_>, _>>()?;
            if rows.iter().all(|row| row.execution.ended()) {
                return Ok(rows);
            }
            tokio::select! {
                () = &mut over => return Ok(rows),
                () = ended => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

impl Spawner for Bound {
    fn start(&self, request: Request) -> Answer<'_, Accepted> {
        Box::pin(async move {
            let (row, _) = self.accept(&request, false)?;
            Ok(Accepted { id: row.id, label: row.label })
        })
    }

    fn run(&self, request: Request, timeout_ms: u32) -> Answer<'_, Finished> {
        Box::pin(async move {
            let (row, claim) = self.accept(&request, true)?;
            let ids = [row.id.clone()];
            let mut rows = self.until_ended(&ids, self.patience(timeout_ms)).await?;
            let row = rows.pop().unwrap_or(row);
            let text = match row.execution.ended() {
                true => view(row.result.as_ref().or(row.reason.as_ref()).map_or("", String::as_str), RESULT),
                false => String::new(),
            };
            if row.execution.ended()
                && let Some(claim) = claim
            {
                claim.given();
            }
            Ok(Finished { id: row.id, label: row.label, execution: execution(row.execution), text })
        })
    }

    fn list(&self) -> Answer<'_, Vec<Summary>> {
        Box::pin(async move {
            let origin = &self.origin;
            let filter = TaskFilter {
                workspace: Some(Workspace::at(&origin.ground.workspace)),
                session: Some((origin.key.channel().to_owned(), origin.key.chat().to_owned())),
                unended: false,
                limit: Some(LISTED),
            };
            let rows = self
                .inner
                .store
                .tasks(&filter)
                .map_err(|problem| error(ErrorKind::Failed, problem.to_string()))?;
            Ok(rows.iter().map(|row| self.summary(row)).collect())
        })
    }

    fn status(&self, id: String) -> Answer<'_, Summary> {
        Box::pin(async move { Ok(self.summary(&self.row(&id)?)) })
    }

    fn result(&self, id: String) -> Answer<'_, String> {
        Box::pin(async move {
            let row = self.row(&id)?;
            if !row.execution.ended() {
                let problem = format!("task {} is {}; wait for it first", row.id, row.execution.name());
                return Err(error(ErrorKind::Invalid, problem));
            }
            let how = super::announce::ended(&row);
            Ok(match row.result.as_ref().map(|result| view(result, RESULT)) {
                Some(result) if row.execution == store::Execution::Succeeded => result,
                Some(result) => format!("It {how}. What it had until then:\n{result}"),
                None => format!("It {how}. There is no text of it."),
            })
        })
    }

    fn cancel(&self, id: String) -> Answer<'_, Summary> {
        Box::pin(async move {
            let row = self.row(&id)?;
            let reason = "the agent that started it ended it";
            let (waiting, running) = {
                let mut state = self.inner.state();
                let waiting = state.queue.remove(&self.place(), &row.id);
                let running = state.running.get(&row.id);
                // Said before anybody else can look: it may still be about to wait on.
                let running = running.map(|running| running.stop.send_replace(Some(reason.to_owned())));
                (waiting, running.is_some())
            };
            if waiting {
                self.inner.cancel_waiting(&row.id, &self.place(), reason);
            } else if running {
                self.until_ended(std::slice::from_ref(&row.id), Duration::MAX).await?;
            } else if let Err(problem) = self.inner.store.cancel_task(&row.id, reason) {
                return Err(error(ErrorKind::Failed, problem.to_string()));
            }
            Ok(self.summary(&self.row(&row.id)?))
        })
    }

    fn wait(&self, ids: Vec<String>, timeout_ms: u32) -> Answer<'_, Vec<Summary>> {
        Box::pin(async move {
            let rows = self.until_ended(&ids, self.patience(timeout_ms)).await?;
            Ok(rows.iter().map(|row| self.summary(row)).collect())
        })
    }
}

/// What a run is called: as asked, or by the beginning of its task.
fn label(request: &Request) -> String {
    if let Some(label) = request.label.as_deref().map(str::trim).filter(|label| !label.is_empty()) {
        return label.to_owned();
    }
    let task = request.task.split_whitespace().collect::<Vec<_>>().join(" ");
    match task.char_indices().nth(LABEL) {
        Some((at, _)) => format!("{}...", task.get(..at).unwrap_or_default()),
        None => task,
    }
}

/// What tells two requests of a turn apart. A label does not.
fn digest(request: &Request, profile: &Profile, model: &str) -> String {
    let mut hash = Sha256::new();
    for part in [request.task.trim(), &profile.name, model] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn execution(of: store::Execution) -> Execution {
    match of {
        store::Execution::Queued => Execution::Queued,
        store::Execution::Running => Execution::Running,
        store::Execution::WaitingApproval => Execution::WaitingApproval,
        store::Execution::Succeeded => Execution::Succeeded,
        store::Execution::Incomplete => Execution::Incomplete,
        store::Execution::Failed => Execution::Failed,
        store::Execution::TimedOut => Execution::TimedOut,
        store::Execution::Cancelled => Execution::Cancelled,
        store::Execution::Lost => Execution::Lost,
    }
}

fn delivery(of: store::Delivery) -> Delivery {
    match of {
        store::Delivery::Pending => Delivery::Pending,
        store::Delivery::Delivered => Delivery::Delivered,
        store::Delivery::Dropped => Delivery::Dropped,
    }
}
