//! A turn: what it works with, what it may take, and how it ends.

use super::course::Course;
use super::event::What;
use super::purse::Purse;
use crate::provider::{Provider, ProviderError, Usage};
use crate::session::Session;
use crate::toolbox::{Agent as Caller, Toolbox};
use std::future::Future;
use std::time::Duration;

/// What a turn may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Model calls.
    pub iterations: u32,
    /// Tokens of all model calls together.
    pub tokens: Option<u64>,
    /// Money of all model calls together, in millionths of a dollar.
    pub cost: Option<u64>,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Tokens of one reply.
    pub reply_tokens: u32,
}

/// Which budget ended a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Incomplete {
    /// Model calls.
    Iterations,
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Time.
    Time,
    /// Tokens of one reply, again and again.
    Length,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnOutcome {
    /// With a final answer.
    Completed,
    /// By a budget. Never success.
    Incomplete(Incomplete),
    /// On request. What was said until then is kept.
    Cancelled,
    /// The model gave no reply.
    Failed(ProviderError),
    /// The session could not be written; nothing further was done.
    Unrecorded(String),
}

impl TurnOutcome {
    /// Its stable name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Failed(_) | Self::Unrecorded(_) => "failed",
        }
    }
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// How.
    pub outcome: TurnOutcome,
    /// The final answer, or what there is of it.
    pub text: String,
    /// Model calls.
    pub iterations: u32,
    /// Tokens.
    pub usage: Usage,
    /// What was denied on the way, one line each.
    pub denied: Vec<String>,
}

/// Something that is said to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// What the host put in, by a name that a conversation takes once: the result of a task, the message of a job. `None`
    /// for a person's words.
    pub source: Option<String>,
}

impl Said {
    /// By a person.
    pub fn by_person(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// By the host, under a name that the conversation takes once.
    pub fn by_host(text: impl Into<String>, source: impl Into<String>) -> Self {
        Self { text: text.into(), source: Some(source.into()) }
    }
}

/// Everything that a turn works with.
pub struct Turn<'a> {
    /// The model.
    pub provider: &'a dyn Provider,
    /// The tools.
    pub toolbox: &'a Toolbox,
    /// As whom they are called.
    pub caller: &'a Caller,
    /// The conversation.
    pub session: &'a mut Session,
    /// The system prompt.
    pub system: &'a str,
    /// What it may take of model calls and time, and of one reply.
    pub budget: &'a Budget,
    /// What it may take of tokens and money, perhaps together with others.
    pub purse: &'a Purse,
    /// How freely the model chooses its words, from 0 to 2; as its service has it otherwise.
    pub temperature: Option<f64>,
    /// Messages that came in meanwhile; asked between model calls, and once more before the turn ends.
    pub follow_ups: &'a (dyn Fn() -> Vec<Said> + Send + Sync),
    /// Hears everything that happens.
    pub listen: &'a (dyn Fn(What) + Send + Sync),
}

impl Turn<'_> {
    /// Runs the turn to its end. It begins with what was said; what the conversation has already is not kept twice. Dropping it cancels it: what was said until then is in the session, and nothing is there by
    /// half.
    ///
    /// The caller tells of the end, since a turn that is dropped cannot.
    pub async fn run(mut self, prompt: Vec<Said>) -> TurnEnd {
        let (mut end, time) = (TurnEnd::new(), self.budget.time);
        let ended = within(time, Course::new(&mut self, &mut end).run(prompt)).await;
        end.outcome = ended.err().unwrap_or(TurnOutcome::Completed);
        end
    }

    /// Sums up the conversation now, whatever its size. The history is kept whole.
    pub async fn compact(mut self) -> TurnEnd {
        let (mut end, time) = (TurnEnd::new(), self.budget.time);
        let ended = within(time, Course::new(&mut self, &mut end).compact_now()).await;
        end.outcome = ended.err().unwrap_or(TurnOutcome::Completed);
        end
    }
}

impl TurnEnd {
    fn new() -> Self {
        Self {
            outcome: TurnOutcome::Completed,
            text: String::new(),
            iterations: 0,
            usage: Usage::default(),
            denied: Vec::new(),
        }
    }
}

/// What comes of it in that time.
async fn within(
    time: Option<Duration>,
    work: impl Future<Output = Result<(), TurnOutcome>>,
) -> Result<(), TurnOutcome> {
    match time {
        None => work.await,
        Some(time) => {
            tokio::time::timeout(time, work).await.unwrap_or(Err(TurnOutcome::Incomplete(Incomplete::Time)))
        }
    }
}
