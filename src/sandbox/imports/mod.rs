//! The host interfaces, one file each. A file holds what the interface does and nothing of who may have it.

mod bounds;
mod cron;
mod exec;
mod log;
mod message;
mod spawn;
mod tasks;

use super::bindings::ringfence::host::types;
use super::state::{MainState, Shared};
use wasmtime::component::HasData;

/// What the interfaces that every role may have work on.
pub(super) struct View<'a>(pub(super) &'a mut Shared);

/// Names [`View`] for the linkers.
pub(super) struct SharedView;

impl HasData for SharedView {
    type Data<'a> = View<'a>;
}

impl types::Host for View<'_> {}

impl types::Host for MainState {}
