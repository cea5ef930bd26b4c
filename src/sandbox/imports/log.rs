//! `ringfence:host/log`: notes for the operator.

use super::View;
use crate::sandbox::bindings::ringfence::host::log::{Host, Level};

impl Host for View<'_> {
    async fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        self.0.notes.push(level, message);
        Ok(())
    }
}
