//! The linkers, side by side: what every role gets, and what only main gets.
//!
//! The functions that link main's interfaces are public and generic, so that the compile-fail tests can try them on
//! [`SubagentState`](super::SubagentState) and see the type checker refuse.

use super::bindings::ringfence::host::{cron, exec, log, message, spawn, tasks, types};
use super::state::{MainState, RoleState};
use super::wasi;
use crate::authority::{Capability, CapabilitySet};
use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

/// A linker that provides exactly `capabilities`, and the leftovers of language runtimes with nothing behind them.
pub(super) fn build<S: RoleState>(
    engine: &Engine,
    capabilities: CapabilitySet,
) -> wasmtime::Result<Linker<S>> {
    let capabilities = capabilities.meet(S::ROLE.capabilities());
    let mut linker = Linker::new(engine);
    wasi::link_leftovers(&mut linker)?;
    types::add_to_linker::<S, super::imports::SharedView>(&mut linker, |s| super::imports::View(s.shared()))?;
    if capabilities.contains(Capability::Files) {
        wasi::link_files(&mut linker)?;
    }
    if capabilities.contains(Capability::Log) {
        log::add_to_linker::<S, super::imports::SharedView>(&mut linker, |s| {
            super::imports::View(s.shared())
        })?;
    }
    if capabilities.contains(Capability::Exec) {
        exec::add_to_linker::<S, super::imports::SharedView>(&mut linker, |s| {
            super::imports::View(s.shared())
        })?;
    }
    S::link_own(&mut linker, capabilities)?;
    Ok(linker)
}

/// What only main gets, as far as `capabilities` holds it.
pub(super) fn link_main(linker: &mut Linker<MainState>, capabilities: CapabilitySet) -> wasmtime::Result<()> {
    if capabilities.contains(Capability::Message) {
        link_message(linker)?;
    }
    if capabilities.contains(Capability::Spawn) {
        link_spawn(linker)?;
    }
    if capabilities.contains(Capability::Tasks) {
        link_tasks(linker)?;
    }
    if capabilities.contains(Capability::Cron) {
        link_cron(linker)?;
    }
    Ok(())
}

/// Links `message` for data that can send messages.
///
/// # Errors
///
/// When it is linked already.
pub fn link_message<S: message::Host + Send + 'static>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    message::add_to_linker::<S, HasSelf<S>>(linker, |s| s)
}

/// Links `spawn` for data that can start agents.
///
/// # Errors
///
/// When it is linked already.
pub fn link_spawn<S: spawn::Host + Send + 'static>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    spawn::add_to_linker::<S, HasSelf<S>>(linker, |s| s)
}

/// Links `tasks` for data that can look after agents.
///
/// # Errors
///
/// When it is linked already.
pub fn link_tasks<S: tasks::Host + Send + 'static>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    tasks::add_to_linker::<S, HasSelf<S>>(linker, |s| s)
}

/// Links `cron` for data that can schedule.
///
/// # Errors
///
/// When it is linked already.
pub fn link_cron<S: cron::Host + Send + 'static>(linker: &mut Linker<S>) -> wasmtime::Result<()> {
    cron::add_to_linker::<S, HasSelf<S>>(linker, |s| s)
}
