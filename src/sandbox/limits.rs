//! The limits of one call, and what counts against them.

use std::time::Duration;
use wasmtime::ResourceLimiter;

/// The limits of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time of the whole call, host functions included.
    pub time: Duration,
    /// Bytes over all linear memories together.
    pub memory: usize,
    /// Elements over all tables together.
    pub table_elements: usize,
    /// Host resources (open files, streams, pollables) at once.
    pub handles: usize,
    /// Bytes that one host call, or the result, may hand from guest to host.
    pub host_copies: usize,
    /// Random bytes at once.
    pub random: u64,
    /// Lines for the operator.
    pub log_lines: usize,
    /// Bytes of one such line.
    pub log_line: usize,
    /// Bytes of the result.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            memory: 64 << 20,
            table_elements: 20_000,
            handles: 512,
            host_copies: 4 << 20,
            random: 64 << 10,
            log_lines: 1_000,
            log_line: 4 << 10,
            output: 1 << 20,
        }
    }
}

impl Limits {
    /// For reading definitions: nothing that a tool could be busy with.
    pub fn probe() -> Self {
        Self { time: Duration::from_secs(5), memory: 64 << 20, log_lines: 0, handles: 32, ..Self::default() }
    }
}

/// Which limit ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LimitKind {
    /// Its time was over.
    #[error("it ran out of time")]
    Time,
    /// It wanted more memory.
    #[error("it wanted more memory than it may have")]
    Memory,
    /// It wanted larger tables.
    #[error("it wanted larger tables than it may have")]
    Table,
    /// It called itself too deep.
    #[error("its stack overflowed")]
    Stack,
    /// It held too many host resources at once.
    #[error("it held too many handles at once")]
    Handles,
    /// It handed too many bytes to the host at once.
    #[error("it handed more to the host at once than it may")]
    HostCopies,
    /// It asked for too many random bytes at once.
    #[error("it asked for too many random bytes at once")]
    Random,
    /// Its result was too large.
    #[error("its result was too large")]
    Output,
}

impl LimitKind {
    /// Its stable name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "timeout",
            Self::Memory => "memory",
            Self::Table => "table",
            Self::Stack => "stack",
            Self::Handles => "handles",
            Self::HostCopies => "host-copies",
            Self::Random => "random",
            Self::Output => "output",
        }
    }
}

/// Counts memory and tables of one store, all of them together.
#[derive(Debug)]
pub(super) struct Meter {
    memory_left: usize,
    elements_left: usize,
    /// The limit that was hit, for telling a trap that follows from it.
    pub(super) hit: Option<LimitKind>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { memory_left: limits.memory, elements_left: limits.table_elements, hit: None }
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        match self.memory_left.checked_sub(desired.saturating_sub(current)) {
            Some(left) => self.memory_left = left,
            None => {
                self.hit = Some(LimitKind::Memory);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.hit = Some(LimitKind::Memory);
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        match self.elements_left.checked_sub(desired.saturating_sub(current)) {
            Some(left) => self.elements_left = left,
            None => {
                self.hit = Some(LimitKind::Table);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.hit = Some(LimitKind::Table);
        Ok(())
    }
}
