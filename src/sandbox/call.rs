//! One call: a fresh store, its limits, the answer, and the store dropped.

use super::answer::{self, Output, RawDefinition, ToolError};
use super::bindings::exports::ringfence::tool::tool as wire;
use super::bindings::{Bound, BoundPre};
use super::error::CallError;
use super::fence::{Preopens, Refusals};
use super::limits::{LimitKind, Limits};
use super::ports::Bearer;
use super::state::{Note, RoleState, Shared};
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;
use wasmtime::component::ResourceTableError;
use wasmtime::{Engine, Store, Trap, UpdateDeadline};
use wasmtime_wasi::I32Exit;

/// What a component is asked.
#[derive(Debug, Clone)]
pub(super) enum Question {
    /// For its definitions.
    Definitions,
    /// To run a tool.
    Call {
        /// Which.
        tool: String,
        /// With what: the text of a JSON object.
        arguments: String,
    },
}

/// What it answered.
#[derive(Debug)]
pub(super) enum Answer {
    Definitions(Vec<RawDefinition>),
    Called(Result<Output, ToolError>),
}

/// How a call ended, and what was seen of it.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) answer: Result<Answer, CallError>,
    pub(super) refusals: Refusals,
    pub(super) notes: Vec<Note>,
    pub(super) notes_dropped: u64,
    pub(super) walls: Option<String>,
}

/// Everything that one call needs.
pub(super) struct Job<S: RoleState> {
    pub(super) engine: Engine,
    pub(super) pre: BoundPre<S>,
    pub(super) ports: Arc<S::Ports>,
    pub(super) preopens: Arc<Preopens>,
    pub(super) bearer: Arc<Bearer>,
    pub(super) limits: Limits,
    pub(super) question: Question,
}

impl<S: RoleState> Job<S> {
    /// Runs it on this thread, which may block, until its time is over or its caller is `gone`. Guests are looked at with
    /// every tick of the epoch, what waits in the host is dropped.
    pub(super) fn run(self, deadline: Instant, gone: oneshot::Receiver<Infallible>) -> Finished {
        let shared = Shared::new(&self.limits, self.preopens, S::shared_ports(&self.ports), self.bearer);
        let mut store = Store::new(&self.engine, S::new(shared, &self.ports));
        store.limiter(|state| &mut state.shared().meter);
        store.set_hostcall_fuel(self.limits.host_copies);
        store.epoch_deadline_callback(move |_| {
            let over = Instant::now() >= deadline;
            if over { Err(Trap::Interrupt.into()) } else { Ok(UpdateDeadline::Yield(1)) }
        });
        store.set_epoch_deadline(1);
        let most = self.limits.output;
        let asked = async {
            let bound = self.pre.instantiate_async(&mut store).await?;
            ask(&bound, &mut store, self.question).await
        };
        let runtime = tokio::runtime::Handle::current();
        let ended = runtime.block_on(async {
            tokio::select! {
                biased;
                _ = gone => None,
                ended = tokio::time::timeout_at(deadline, asked) => ended.ok(),
            }
        });
        let answer = match ended {
            Some(Ok(Heard::Definitions(heard))) => Ok(Answer::Definitions(heard)),
            Some(Ok(Heard::Called(heard))) => answer::accept(heard, most).map(Answer::Called),
            Some(Err(error)) => Err(classify(&error, store.data_mut().shared().meter.hit)),
            None => Err(CallError::Limit(LimitKind::Time)),
        };
        let shared = store.data_mut().shared();
        Finished {
            answer,
            refusals: std::mem::take(&mut shared.refusals),
            notes: std::mem::take(&mut shared.notes.lines),
            notes_dropped: shared.notes.dropped,
            walls: shared.walls.take(),
        }
    }
}

/// An answer as it comes over the wire.
enum Heard {
    Definitions(Vec<RawDefinition>),
    Called(Result<wire::Output, wire::Error>),
}

async fn ask<S: RoleState>(
    bound: &Bound,
    store: &mut Store<S>,
    question: Question,
) -> wasmtime::Result<Heard> {
    let tool = bound.ringfence_tool_tool();
    match question {
        Question::Definitions => {
            let definitions = tool.call_definitions(store).await?;
            Ok(Heard::Definitions(definitions.into_iter().map(RawDefinition::from).collect()))
        }
        Question::Call { tool: name, arguments } => {
            Ok(Heard::Called(tool.call_call(store, &name, &arguments).await?))
        }
    }
}

/// What the engine says when a guest hands over more bytes at once than its fuel for that; it has no type of its own.
const TOO_MUCH_COPIED: &str = "too much data is being copied between the host and the guest";

/// What the engine says when a guest holds or lends too many handles, be they of its own making; no type of its own either.
const TOO_MANY_LENT: &str = "store handle limit exceeded";

/// What an error of the engine means.
fn classify(error: &wasmtime::Error, hit: Option<LimitKind>) -> CallError {
    if let Some(limit) = error.downcast_ref::<LimitKind>() {
        return CallError::Limit(*limit);
    }
    if let Some(I32Exit(code)) = error.downcast_ref() {
        return CallError::Exit(*code);
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return CallError::Limit(LimitKind::Handles);
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return CallError::Host("no place for another instance".to_owned());
    }
    match (error.downcast_ref::<Trap>(), hit) {
        (Some(Trap::Interrupt), _) => CallError::Limit(LimitKind::Time),
        (Some(Trap::StackOverflow), _) => CallError::Limit(LimitKind::Stack),
        (_, Some(limit)) => CallError::Limit(limit),
        (Some(trap), None) => CallError::Trap(trap.to_string()),
        (None, None) if error.root_cause().to_string().starts_with(TOO_MUCH_COPIED) => {
            CallError::Limit(LimitKind::HostCopies)
        }
        (None, None) if error.root_cause().to_string().ends_with(TOO_MANY_LENT) => {
            CallError::Limit(LimitKind::Handles)
        }
        (None, None) => CallError::Answer(error.root_cause().to_string()),
    }
}
