//! The wasm host: engine, cache, verdicts on components, linkers side by side, and one call at a time in a fresh store.
//!
//! It knows roles only as types and rights only as values; who asks, and why, is nothing to it.

mod answer;
mod bindings;
mod cache;
mod call;
mod compiler;
mod digest;
mod engine;
mod error;
mod fence;
mod imports;
mod limits;
mod linkers;
mod loaded;
mod native;
pub mod ports;
mod state;
mod survey;
mod verdict;
mod wasi;

pub use answer::{Content, ErrorKind, Output, RawDefinition, ToolError};
pub use compiler::{CompileBounds, TASK as COMPILE_TASK, compile_task};
pub use digest::Digest;
pub use engine::TICK;
pub use error::{CallError, LoadError, SetupError};
pub use fence::{Opened, OwnReadOnly, Preopens, Refusal, Refusals, TEMPORARY};
pub use limits::{LimitKind, Limits};
pub use linkers::{link_cron, link_message, link_spawn, link_tasks};
pub use native::Native;
pub use state::{MainState, Note, RoleState, SubagentState};
pub use survey::{Extern, MAX_COMPONENT, Survey, TOOL_INTERFACE};
pub use verdict::{Asker, ImportClass, PROVIDED, objections, requests};

use crate::authority::CapabilitySet;
use call::{Answer, Finished, Job, Question};
use engine::Ticker;
use loaded::{Components, Linked};
use ports::Bearer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use wasmtime::Engine;

/// A component's bytes and what they say of themselves.
#[derive(Debug, Clone)]
pub struct Component {
    /// What it says of itself.
    pub survey: Survey,
    bytes: Arc<[u8]>,
}

impl Component {
    /// Reads a component. Nothing is compiled and nothing is run.
    ///
    /// # Errors
    ///
    /// When it is too large, not a component, or not a tool.
    pub fn read(bytes: impl Into<Arc<[u8]>>) -> Result<Self, LoadError> {
        let bytes = bytes.into();
        Ok(Self { survey: Survey::of(&bytes)?, bytes })
    }
}

/// One call to make.
#[derive(Debug)]
pub struct Call<'a, S: RoleState> {
    /// The component.
    pub component: &'a Component,
    /// What it is linked with; what it does not ask for is left out.
    pub capabilities: CapabilitySet,
    /// The directories that it is handed, the workspace first.
    pub preopens: Arc<Preopens>,
    /// What stands behind its interfaces.
    pub ports: Arc<S::Ports>,
    /// Who makes it.
    pub bearer: Arc<Bearer>,
    /// Its limits.
    pub limits: &'a Limits,
    /// The tool.
    pub tool: &'a str,
    /// The text of a JSON object.
    pub arguments: String,
}

/// How a call ended, and what was seen of it.
#[derive(Debug)]
pub struct Called {
    /// The answer, if there was one.
    pub answer: Result<Result<Output, ToolError>, CallError>,
    /// What the fence refused on the way.
    pub refusals: Refusals,
    /// Lines for the operator.
    pub notes: Vec<Note>,
    /// Lines that were too many.
    pub notes_dropped: u64,
    /// Which walls stood around native commands, where there were any.
    pub walls: Option<String>,
    /// From the start of the call, without the wait for a turn.
    pub time: Duration,
}

/// The wasm host of a process.
pub struct Sandbox {
    engine: Engine,
    ticker: Ticker,
    turns: Arc<Semaphore>,
    components: Components,
    main: Linked<MainState>,
    subagent: Linked<SubagentState>,
}

/// A role whose linked components the sandbox keeps.
trait Seat: RoleState {
    fn linked(sandbox: &Sandbox) -> &Linked<Self>;
}

impl Seat for MainState {
    fn linked(sandbox: &Sandbox) -> &Linked<Self> {
        &sandbox.main
    }
}

impl Seat for SubagentState {
    fn linked(sandbox: &Sandbox) -> &Linked<Self> {
        &sandbox.subagent
    }
}

impl Sandbox {
    /// Starts the engine. Native code is kept in `cache`, if given and usable.
    ///
    /// # Errors
    ///
    /// When the engine or its clock does not start.
    pub fn start(cache: Option<&Path>, largest_memory: usize) -> Result<Self, SetupError> {
        let engine = engine::build(largest_memory).map_err(SetupError::Engine)?;
        let ticker = Ticker::start(&engine).map_err(SetupError::Clock)?;
        let components = Components::new(&engine, cache::CodeCache::open(cache, &engine));
        Ok(Self {
            engine,
            ticker,
            turns: Arc::new(Semaphore::new(engine::CALLS as usize)),
            components,
            main: Linked::new(),
            subagent: Linked::new(),
        })
    }

    /// Has components compiled by `program`, this program's own binary, in a process of its own: only there can a
    /// compilation be ended that takes too long or too much.
    pub fn compile_with(&mut self, program: PathBuf, bounds: CompileBounds) {
        self.components.compiler = compiler::Compiler { program: Some(program), bounds };
    }

    /// Compiles a component, or takes it from the cache, so that its first call need not.
    ///
    /// # Errors
    ///
    /// When it does not compile, or not in time.
    pub async fn compile(&self, component: &Component) -> Result<(), LoadError> {
        self.components.get(component.survey.digest, &component.bytes).await.map(|_| ())
    }

    /// Makes one call as main. Nothing of it is left afterwards but what it answers here.
    pub async fn call_main(&self, call: Call<'_, MainState>) -> Called {
        self.call(call).await
    }

    /// Makes one call as a subagent. Nothing of it is left afterwards but what it answers here.
    pub async fn call_subagent(&self, call: Call<'_, SubagentState>) -> Called {
        self.call(call).await
    }

    async fn call<S: Seat>(&self, call: Call<'_, S>) -> Called {
        let started = Instant::now();
        let question = Question::Call { tool: call.tool.to_owned(), arguments: call.arguments };
        let asked = self.ask::<S>(
            call.component,
            call.capabilities,
            call.preopens,
            (call.ports, call.bearer),
            call.limits,
            question,
        );
        let (finished, time) =
            asked.await.unwrap_or_else(|error| (Finished::failed(error), started.elapsed()));
        let answer = match finished.answer {
            Ok(Answer::Called(answer)) => Ok(answer),
            Ok(Answer::Definitions(_)) => Err(CallError::Host("it answered another question".to_owned())),
            Err(error) => Err(error),
        };
        Called {
            answer,
            refusals: finished.refusals,
            notes: finished.notes,
            notes_dropped: finished.notes_dropped,
            walls: finished.walls,
            time,
        }
    }

    /// Asks a component for its definitions. Everything that it imports is linked, and nothing stands behind any of it:
    /// no directory, and ports that serve nothing.
    ///
    /// # Errors
    ///
    /// When it does not load, or does not answer within tight limits.
    pub async fn definitions(&self, component: &Component) -> Result<Vec<RawDefinition>, CallError> {
        let ports = Arc::new(ports::Unavailable::main());
        let (capabilities, limits) = (requests(&component.survey), Limits::probe());
        let asked = self.ask::<MainState>(
            component,
            capabilities,
            Arc::default(),
            (ports, Arc::new(Bearer::nobody())),
            &limits,
            Question::Definitions,
        );
        match asked.await?.0.answer? {
            Answer::Definitions(definitions) => Ok(definitions),
            Answer::Called(_) => Err(CallError::Host("it answered another question".to_owned())),
        }
    }

    async fn ask<S: Seat>(
        &self,
        component: &Component,
        capabilities: CapabilitySet,
        preopens: Arc<Preopens>,
        (ports, bearer): (Arc<S::Ports>, Arc<Bearer>),
        limits: &Limits,
        question: Question,
    ) -> Result<(Finished, Duration), CallError> {
        let pre = self.ready::<S>(component, capabilities.meet(requests(&component.survey))).await?;
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let turn = turn.map_err(|_| CallError::Host("it is shutting down".to_owned()))?;
        let ticking = self.ticker.guard();
        let engine = self.engine.clone();
        let job = Job { engine, pre, ports, preopens, bearer, limits: limits.clone(), question };
        let started = tokio::time::Instant::now();
        let deadline = started + limits.time;
        // Dropped with this future: a call that nobody waits for any more ends at the next tick and leaves its place.
        let (_waiting, gone) = tokio::sync::oneshot::channel();
        // A thread of its own, which may block: a guest that reads files, or a system call that hangs, holds up nobody else.
        let work = tokio::task::spawn_blocking(move || {
            let _held = (turn, ticking);
            job.run(deadline, gone)
        });
        // The epoch ends guests and the drop ends waits; only a system call that hangs is left to this last clock.
        match tokio::time::timeout_at(deadline + TICK * 3, work).await {
            Ok(Ok(finished)) => Ok((finished, started.elapsed())),
            Ok(Err(panicked)) => Err(CallError::Host(panic_text(panicked))),
            Err(_) => Err(CallError::Limit(LimitKind::Time)),
        }
    }

    async fn ready<S: Seat>(
        &self,
        component: &Component,
        capabilities: CapabilitySet,
    ) -> Result<bindings::BoundPre<S>, LoadError> {
        let digest = component.survey.digest;
        if let Some(pre) = S::linked(self).known(digest, capabilities) {
            return Ok(pre);
        }
        let compiled = self.components.get(digest, &component.bytes).await?;
        S::linked(self).link(&self.engine, digest, &compiled, capabilities)
    }
}

impl Finished {
    fn failed(error: CallError) -> Self {
        Self {
            answer: Err(error),
            refusals: Refusals::default(),
            notes: Vec::new(),
            notes_dropped: 0,
            walls: None,
        }
    }
}

/// What a panic in the host says, for the operator.
fn panic_text(panicked: tokio::task::JoinError) -> String {
    match panicked.try_into_panic() {
        Ok(payload) => match payload.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => payload.downcast_ref::<String>().cloned().unwrap_or_else(|| "it panicked".to_owned()),
        },
        Err(_) => "the call's thread was stopped".to_owned(),
    }
}
