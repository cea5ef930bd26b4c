//! How a component, or a call of one, fails.

use super::limits::LimitKind;
use crate::authority::Denial;

/// The sandbox could not be set up at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The engine does not start here.
    #[error("the WebAssembly engine does not start on this machine")]
    Engine(#[source] wasmtime::Error),
    /// Its clock does not start.
    #[error("the clock thread does not start")]
    Clock(#[source] std::io::Error),
    /// A directory cannot be handed over.
    #[error("{path}: {reason}")]
    Directory {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
}

/// A component cannot be loaded; it is the component's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Larger than a component may be.
    #[error("it has {size} bytes; a component may have at most {most}")]
    TooLarge {
        /// Its bytes.
        size: usize,
        /// The most.
        most: usize,
    },
    /// Not a component.
    #[error("it is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// A component without the tool interface.
    #[error("it is a component, but not a tool: it does not export {expected}{found}")]
    NotATool {
        /// What is missing.
        expected: &'static str,
        /// What is there instead, as the rest of the sentence.
        found: String,
    },
    /// It does not compile or link.
    #[error("it does not compile or link: {0}")]
    Broken(String),
    /// It compiles too slowly or is built to.
    #[error("compiling it is refused: {0}")]
    Costly(String),
}

impl LoadError {
    /// What a compiler or linker says of a component: it may quote names out of it, which are any text of any length.
    pub(super) fn broken(said: &str) -> Self {
        let mut plain = String::new();
        for c in said.chars().take(1000) {
            if c.is_ascii_graphic() || c == ' ' {
                plain.push(c);
            } else {
                plain.extend(c.escape_debug());
            }
        }
        Self::Broken(plain)
    }
}

/// A call that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It was refused; nothing of the component ran.
    #[error(transparent)]
    Denied(Box<Denial>),
    /// The component cannot be loaded.
    #[error("the component does not load: {0}")]
    Load(#[from] LoadError),
    /// A limit ended it.
    #[error("the call was ended: {0}")]
    Limit(LimitKind),
    /// The component trapped: its own fault.
    #[error("the component crashed: {0}")]
    Trap(String),
    /// The component left through `wasi:cli/exit`.
    #[error("the component left with exit code {0} instead of answering")]
    Exit(i32),
    /// The component answered with something that is not an answer.
    #[error("the component's answer cannot be read: {0}")]
    Answer(String),
    /// Its directories cannot be handed over together.
    #[error("the directories of this run cannot be handed over: {0}")]
    Directories(String),
    /// The host's own fault; the call is over, the host goes on.
    #[error("the host failed in this call: {0}")]
    Host(String),
}

impl CallError {
    /// Its stable name, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Denied(denial) => denial.kind.name(),
            Self::Load(_) => "load",
            Self::Limit(limit) => limit.name(),
            Self::Trap(_) => "trap",
            Self::Exit(_) => "exit",
            Self::Answer(_) => "answer",
            Self::Directories(_) => "directories",
            Self::Host(_) => "host",
        }
    }
}
