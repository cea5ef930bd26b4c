//! One turn in a session, with everything around it: the lock that keeps other processes out meanwhile, the conversation, the
//! prompt, a row for each model call, and what is kept of a turn that is stopped.

use super::briefing::Briefing;
use super::event::What;
use super::ground::{Ground, GroundError};
use super::purse::Purse;
use super::record::Ledger;
use super::turn::{Budget, Incomplete, Said, Turn, TurnEnd, TurnOutcome};
use crate::config::Lock;
use crate::provider::{Message, Provider, Usage};
use crate::session::{Session, SessionKey};
use crate::toolbox::Agent as Caller;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What a turn in a session is made with.
pub struct Round<'a> {
    /// What all turns in the workspace share.
    pub ground: &'a Ground,
    /// The model.
    pub provider: &'a dyn Provider,
    /// As whom tools are called.
    pub caller: &'a Caller,
    /// Which session.
    pub key: &'a SessionKey,
    /// The session itself, where it is not kept.
    pub memory: Option<&'a mut Session>,
    /// What the turn may take.
    pub budget: &'a Budget,
    /// What it may take of tokens and money, perhaps together with others.
    pub purse: &'a Purse,
    /// How freely the model chooses its words.
    pub temperature: Option<f64>,
    /// Whether another process, or another turn of this one, may have a turn of this session.
    pub shared: bool,
}

/// What is to be done.
#[derive(Debug)]
pub enum Work {
    /// A turn that begins with this.
    Say(Vec<Said>),
    /// Older messages are summed up.
    Compact,
}

/// What a turn is told and tells while it runs.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Hears everything that happens.
    pub listen: &'a (dyn Fn(What) + Send + Sync),
    /// Messages that came in meanwhile.
    pub follow_ups: &'a (dyn Fn() -> Vec<Said> + Send + Sync),
    /// Hears what is odd about the prompt; one line each.
    pub notice: &'a (dyn Fn(String) + Send + Sync),
}

impl Round<'_> {
    /// Does it, to its end or until `stop` is ready. Whatever ends it, what was said until then is in the session.
    ///
    /// # Errors
    ///
    /// When it cannot begin, or what was said cannot be kept.
    pub async fn go(
        mut self,
        work: Work,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, GroundError> {
        let mut stop = std::pin::pin!(stop);
        let lock = tokio::select! {
            biased;
            () = &mut stop => Err(TurnOutcome::Cancelled),
            lock = self.lock(hooks) => match lock {
                Some(lock) => Ok(lock?),
                None => Err(TurnOutcome::Incomplete(Incomplete::Time)),
            },
        };
        let _lock = match lock {
            Ok(lock) => lock,
            Err(outcome) => {
                let end = TurnEnd { outcome, ..cancelled(Progress::default()) };
                (hooks.listen)(finished(&end));
                return Ok(end);
            }
        };
        let mut opened = match self.memory {
            Some(_) => None,
            None => {
                let (store, workspace) = (&self.ground.store, &self.ground.workspace);
                Some(Session::open_in(store, workspace, self.key.clone())?)
            }
        };
        let memory = self.memory.take();
        let Some(session) = memory.or(opened.as_mut()) else {
            return Err(GroundError::Provider("there is no session".to_owned()));
        };
        let briefing = Briefing::read(self.ground, self.caller)?;
        for text in &briefing.notices {
            (hooks.notice)(text.clone());
        }
        let progress = Mutex::new(Progress::default());
        let ledger = Ledger { store: &self.ground.store, session: self.key, provider: self.provider };
        let listen = |what: What| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).hear(&what);
            if let What::Usage { usage } = &what {
                ledger.row(*usage);
            }
            (hooks.listen)(what);
        };
        let turn = Turn {
            provider: self.provider,
            toolbox: &self.ground.toolbox,
            caller: self.caller,
            session: &mut *session,
            system: &briefing.text,
            budget: self.budget,
            purse: self.purse,
            temperature: self.temperature,
            follow_ups: hooks.follow_ups,
            listen: &listen,
        };
        let said = matches!(work, Work::Say(_));
        let running = async {
            match work {
                Work::Say(said) => {
                    turn.run(said.into_iter().map(|said| briefing.with_skills(said)).collect()).await
                }
                Work::Compact => turn.compact().await,
            }
        };
        let ended = tokio::select! {
            biased;
            () = &mut stop => None,
            end = running => Some(end),
        };
        let progress = std::mem::take(&mut *progress.lock().unwrap_or_else(PoisonError::into_inner));
        let (open, failed) = (progress.open.clone(), progress.error);
        let end = ended.unwrap_or_else(|| cancelled(progress));
        if !said {
            return Ok(end);
        }
        // A reply that was cut off is nowhere yet but on the screen.
        let cut = matches!(end.outcome, TurnOutcome::Cancelled | TurnOutcome::Incomplete(Incomplete::Time));
        if cut && !open.trim().is_empty() {
            session.append(Message::assistant(format!("{open}\n[interrupted]")))?;
        }
        if let Some(error) = error_event(&end.outcome)
            && !failed
        {
            (hooks.listen)(error);
        }
        (hooks.listen)(finished(&end));
        Ok(end)
    }

    /// Waits until no other process has a turn of this session. `None` when time is over.
    async fn lock(&self, hooks: Hooks<'_>) -> Option<Result<Option<Lock>, GroundError>> {
        if !self.shared {
            return Some(Ok(None));
        }
        let busy = || {
            let text = "another process has a turn of this session; waiting for its end".to_owned();
            (hooks.listen)(What::Notice { text });
        };
        let name = format!("{}\0{}", self.ground.workspace.display(), self.key);
        let lock = Lock::take(&self.ground.dirs, &name, busy);
        let time = self.budget.time.unwrap_or(Duration::MAX);
        let lock = tokio::time::timeout(time, lock).await.ok()?;
        Some(lock.map(Some).map_err(GroundError::Lock))
    }
}

/// How far a turn has come, for the case that it is stopped.
#[derive(Debug, Default)]
struct Progress {
    /// The text of the reply that is coming in.
    open: String,
    text: String,
    iterations: u32,
    usage: Usage,
    denied: Vec<String>,
    /// Whether the stream has been told of the error.
    error: bool,
}

impl Progress {
    fn hear(&mut self, what: &What) {
        match what {
            What::TextDelta { text } => {
                self.open.push_str(text);
                self.text.push_str(text);
            }
            What::TextRestart {} => {
                self.text.truncate(self.text.len().saturating_sub(self.open.len()));
                self.open.clear();
            }
            What::ToolStarted { .. } => {
                self.open.clear();
                self.text.clear();
            }
            What::ToolFinished { outcome, summary, .. } if outcome == "denied" => {
                self.denied.push(summary.clone());
            }
            What::Usage { usage } => {
                self.iterations += 1;
                self.usage += *usage;
                self.open.clear();
            }
            What::Error { .. } => self.error = true,
            _ => {}
        }
    }
}

fn cancelled(progress: Progress) -> TurnEnd {
    TurnEnd {
        outcome: TurnOutcome::Cancelled,
        text: progress.text,
        iterations: progress.iterations,
        usage: progress.usage,
        denied: progress.denied,
    }
}

fn finished(end: &TurnEnd) -> What {
    What::TurnFinished {
        outcome: end.outcome.name().to_owned(),
        text: end.text.clone(),
        iterations: end.iterations,
        usage: end.usage,
        denied: end.denied.clone(),
    }
}

/// What a stream is told of a turn that could not go on.
fn error_event(outcome: &TurnOutcome) -> Option<What> {
    match outcome {
        TurnOutcome::Failed(error) => Some(What::Error {
            kind: error.kind.name().to_owned(),
            message: error.message.clone(),
            status: error.status,
            request_id: error.request_id.clone(),
            retryable: error.retryable,
        }),
        TurnOutcome::Unrecorded(problem) => Some(What::Error {
            kind: "unrecorded".to_owned(),
            message: problem.clone(),
            status: None,
            request_id: None,
            retryable: false,
        }),
        _ => None,
    }
}
