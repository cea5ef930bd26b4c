//! One run: a subagent's turn in a session of its own.

use super::Inner;
use super::origin::transcript;
use crate::agent::{
    Budget, Calling, Hooks, Incomplete, Means, Purse, Round, Said, TurnEnd, TurnOutcome, What, Work,
};
use crate::authority::{Directories, Flags, Rights, Role};
use crate::store::{Execution, TaskEnd, TaskRow};
use crate::toolbox::Ports;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch as signal;

/// What a run came to.
struct Ended {
    execution: Execution,
    reason: Option<String>,
    end: Option<TurnEnd>,
    cost: Option<u64>,
    /// What it left of what was set aside for it, by its own count, which also knows what a service did not say.
    left: Means,
}

/// What was set aside for a run when it was recorded.
pub(super) fn set_aside(row: &TaskRow) -> Means {
    Means { tokens: row.max_tokens, cost: row.max_cost }
}

/// Begins a run whose row says that it runs, and which counts as running.
pub(super) fn begin(inner: &Arc<Inner>, row: TaskRow, stopped: signal::Receiver<Option<String>>) {
    let inner = Arc::clone(inner);
    tokio::spawn(async move {
        let id = row.id.clone();
        // A task of its own, so that a panic in it ends it alone.
        let work = tokio::spawn(work(Arc::clone(&inner), row, stopped));
        let ended = work.await.unwrap_or_else(|error| Ended {
            execution: Execution::Failed,
            reason: Some(format!("the program failed: {error}")),
            end: None,
            cost: None,
            // What it took is not known; nothing is given out twice.
            left: Means::default(),
        });
        settle(&inner, &id, &ended);
    });
}

/// Writes down how a run ended; only then anybody hears of it.
fn settle(inner: &Inner, id: &str, ended: &Ended) {
    let usage = ended.end.as_ref().map(|end| end.usage).unwrap_or_default();
    let noted = inner.store.end_task(
        id,
        inner.presence.id(),
        &TaskEnd {
            execution: ended.execution,
            reason: ended.reason.as_deref(),
            result: ended.end.as_ref().map(|end| end.text.as_str()).filter(|text| !text.is_empty()),
            iterations: ended.end.as_ref().map_or(0, |end| end.iterations),
            input: usage.input,
            cached: usage.cached,
            output: usage.output,
            cost: ended.cost,
        },
    );
    if let Err(error) = noted {
        tracing::error!("how task {id} ended cannot be written down: {error}");
    }
    match inner.store.task(id) {
        Ok(Some(row)) if row.execution.ended() => inner.over(&row, ended.left),
        // It stands as running until another process finds this one gone, and is lost then.
        _ => inner.forget(id),
    }
}

async fn work(inner: Arc<Inner>, row: TaskRow, mut stopped: signal::Receiver<Option<String>>) -> Ended {
    let whole = set_aside(&row);
    let failed = |reason: String| Ended {
        execution: Execution::Failed,
        reason: Some(reason),
        end: None,
        cost: None,
        left: whole,
    };
    let ground = match inner.house.ground(&row.workspace_path, &Directories::none()) {
        Ok(ground) => ground,
        Err(problem) => return failed(problem),
    };
    // The profile as it is configured now: one that was narrowed meanwhile counts.
    let Some(profile) = ground.config.profile(&row.profile).filter(|profile| profile.role == Role::Subagent)
    else {
        return failed(format!("there is no profile `{}` of a subagent any more", row.profile));
    };
    let rights = match Rights::from_text(&row.rights) {
        Ok(rights) => rights,
        Err(error) => return failed(format!("its rights cannot be read: {error}")),
    };
    let provider = match ground.provider(Some(&row.provider), Some(&row.model)) {
        Ok(provider) => provider,
        Err(error) => return failed(error.to_string()),
    };
    let key = transcript(&row.id);
    let calling = Calling {
        profile,
        flags: Flags(rights),
        ports: Ports::Subagent(Arc::new(ground.shared())),
        key: &key,
        kept: true,
    };
    let caller = match ground.caller(calling) {
        Ok(caller) => caller,
        Err(error) => return failed(error.to_string()),
    };
    let budget = Budget {
        iterations: row.max_iterations,
        tokens: row.max_tokens,
        cost: row.max_cost,
        time: Some(Duration::from_millis(row.time_ms)),
        reply_tokens: ground.config.agent.reply_tokens,
    };
    let purse = Purse::of(&budget);
    let round = Round {
        ground: &ground,
        provider: provider.as_ref(),
        caller: &caller,
        key: &key,
        memory: None,
        budget: &budget,
        purse: &purse,
        temperature: row.temperature,
        // Nobody else knows the session.
        shared: false,
    };
    let hooks = Hooks { listen: &|_: What| {}, follow_ups: &Vec::new, notice: &|_| {} };
    let mut why = stopped.clone();
    let stop = async move {
        if stopped.wait_for(Option::is_some).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let end = round.go(Work::Say(vec![Said::by_person(row.task.clone())]), hooks, stop).await;
    // Whatever it left running has nobody any more.
    ground.commands.end_of(&caller.id);
    let end = match end {
        Ok(end) => end,
        Err(error) => return failed(error.to_string()),
    };
    let (execution, reason) = match &end.outcome {
        TurnOutcome::Completed if end.text.trim().is_empty() => {
            (Execution::Succeeded, Some("it ended without a final text".to_owned()))
        }
        TurnOutcome::Completed => (Execution::Succeeded, None),
        TurnOutcome::Incomplete(budget) => incomplete(*budget, &row),
        TurnOutcome::Cancelled => (Execution::Cancelled, why.borrow_and_update().clone()),
        TurnOutcome::Failed(error) => (Execution::Failed, Some(error.to_string())),
        TurnOutcome::Unrecorded(problem) => (Execution::Failed, Some(problem.clone())),
    };
    let cost = provider.cost(end.usage);
    Ended { execution, reason, end: Some(end), cost, left: purse.left() }
}

fn incomplete(budget: Incomplete, row: &TaskRow) -> (Execution, Option<String>) {
    let reason = match budget {
        Incomplete::Time => {
            let reason = format!("its {} were over", words(row.time_ms));
            return (Execution::TimedOut, Some(reason));
        }
        Incomplete::Iterations => format!("it used up its {} model calls", row.max_iterations),
        Incomplete::Tokens => format!("it used up its {} tokens", row.max_tokens.unwrap_or(0)),
        Incomplete::Cost => "it used up its money".to_owned(),
        Incomplete::Length => "its answer is longer than the model may write".to_owned(),
    };
    (Execution::Incomplete, Some(reason))
}

fn words(milliseconds: u64) -> String {
    match milliseconds {
        ms if ms >= 60_000 && ms.is_multiple_of(60_000) => format!("{} minutes", ms / 60_000),
        ms if ms >= 1_000 => format!("{} seconds", ms / 1_000),
        ms => format!("{ms} milliseconds"),
    }
}
