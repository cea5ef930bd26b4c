//! How a turn ended, for people, for programs, and as an exit code.

use super::exit::Exit;
use super::open::Stop;
use crate::agent::{Incomplete, TurnEnd, TurnOutcome};
use crate::provider::{ProviderError, ProviderErrorKind};
use serde::Serialize;
use serde_json::{Value, json};

/// What failed, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Failure {
    /// The kind's stable name.
    kind: String,
    /// What failed.
    message: String,
    /// The HTTP status, where there was one.
    status: Option<u16>,
    /// The exit code.
    pub(super) code: u8,
    /// The service's name for the request.
    request_id: Option<String>,
    /// Whether trying again may help.
    retryable: bool,
    /// How long the service asks to wait.
    retry_after_s: Option<u64>,
    /// What to type next.
    pub(super) hint: Option<String>,
}

impl Failure {
    fn of(kind: &str, message: String, exit: Exit) -> Self {
        Self {
            kind: kind.to_owned(),
            message,
            status: None,
            code: exit.code(),
            request_id: None,
            retryable: false,
            retry_after_s: None,
            hint: None,
        }
    }

    /// Of a command that ended before it began.
    pub(super) fn of_stop(stop: &Stop) -> Self {
        let kind = match stop.1 {
            Exit::Usage => "usage",
            Exit::Config => "configuration",
            Exit::Load => "sandbox",
            _ => "failed",
        };
        Self::of(kind, stop.0.clone(), stop.1)
    }

    /// Of a run that a signal ended, whatever its last turn came to.
    pub(super) fn of_signal(exit: Exit) -> Self {
        let hint = Some("ringfence run --continue \"go on\"".to_owned());
        Self { hint, ..Self::of("interrupted", "the run was interrupted".to_owned(), exit) }
    }

    /// Of a turn that did not end with an answer.
    pub(super) fn of_turn(end: &TurnEnd) -> Option<Self> {
        let exit = exit(end);
        let go_on = || Some("ringfence run --continue \"go on\"".to_owned());
        let failure = match &end.outcome {
            TurnOutcome::Completed => return None,
            TurnOutcome::Incomplete(budget) => {
                let (kind, message) = limit(*budget);
                Self { hint: go_on(), ..Self::of(kind, message.to_owned(), exit) }
            }
            TurnOutcome::Cancelled => {
                Self { hint: go_on(), ..Self::of("interrupted", "the turn was interrupted".to_owned(), exit) }
            }
            TurnOutcome::Failed(error) => Self {
                status: error.status,
                request_id: error.request_id.clone(),
                retryable: error.retryable,
                retry_after_s: error.retry_after.map(|wait| wait.as_secs()),
                ..Self::of(error.kind.name(), error.message.clone(), exit)
            },
            TurnOutcome::Unrecorded(problem) => Self::of("unrecorded", problem.clone(), exit),
        };
        Some(failure)
    }

    /// What to print for people: what failed, and what to type next.
    pub(super) fn lines(&self) -> (String, Option<String>) {
        let id = self.request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default();
        let hint = self.hint.as_ref().map(|hint| format!("to go on: {hint}"));
        (format!("{}{id}", self.message), hint)
    }

    /// The object for programs.
    pub(super) fn as_json(&self) -> Value {
        json!({ "ok": false, "error": self })
    }

    /// The event for programs that read the stream.
    pub(super) fn as_event(&self) -> crate::agent::What {
        crate::agent::What::Error {
            kind: self.kind.clone(),
            message: self.message.clone(),
            status: self.status,
            request_id: self.request_id.clone(),
            retryable: self.retryable,
        }
    }
}

fn limit(budget: Incomplete) -> (&'static str, &'static str) {
    match budget {
        Incomplete::Iterations => {
            ("turn-limit", "the limit on model calls was reached; the work is incomplete")
        }
        Incomplete::Tokens => ("token-limit", "the limit on tokens was reached; the work is incomplete"),
        Incomplete::Cost => ("cost-limit", "the limit on cost was reached; the work is incomplete"),
        Incomplete::Length => {
            ("length-limit", "the answer is longer than the model may write; it is incomplete")
        }
        Incomplete::Time => ("timeout", "time was over; the work is incomplete"),
    }
}

/// What the program ends with. A turn that used up its model calls after something was denied ended because of that; time,
/// tokens, money and the model service are reasons of their own.
pub(super) fn exit(end: &TurnEnd) -> Exit {
    match &end.outcome {
        TurnOutcome::Completed => Exit::Done,
        TurnOutcome::Incomplete(Incomplete::Time) => Exit::TimedOut,
        TurnOutcome::Incomplete(Incomplete::Iterations) if !end.denied.is_empty() => Exit::Denied,
        TurnOutcome::Incomplete(_) => Exit::Limit,
        TurnOutcome::Cancelled => Exit::Interrupted,
        TurnOutcome::Failed(error) => of_provider(error),
        TurnOutcome::Unrecorded(_) => Exit::Failed,
    }
}

fn of_provider(error: &ProviderError) -> Exit {
    match error.kind {
        ProviderErrorKind::Credentials => Exit::Config,
        _ => Exit::Provider,
    }
}
