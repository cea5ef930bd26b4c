//! Exit codes. The table in the README is checked against this one.

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The agent or the tool failed, or the program did.
    Failed = 1,
    /// The command line, or the arguments for a tool, make no sense.
    Usage = 2,
    /// The configuration or the credentials cannot be used.
    Config = 3,
    /// The model service failed, after its retries.
    Provider = 4,
    /// Something that was needed was denied.
    Denied = 5,
    /// A limit on model calls, tokens or money was reached.
    Limit = 6,
    /// Time was over.
    TimedOut = 7,
    /// The sandbox or a component does not load.
    Load = 8,
    /// Ended with Ctrl-C.
    Interrupted = 130,
    /// Told to end.
    Terminated = 143,
}

impl Exit {
    /// Every code and what it means, for help texts.
    pub const TABLE: &[(Self, &str)] = &[
        (Self::Done, "done"),
        (Self::Failed, "the agent or the tool failed"),
        (Self::Usage, "the command or the tool's arguments make no sense"),
        (Self::Config, "the configuration, the credentials or the workspace cannot be used"),
        (Self::Provider, "the model service failed"),
        (Self::Denied, "denied"),
        (Self::Limit, "a limit was reached"),
        (Self::TimedOut, "timed out"),
        (Self::Load, "the sandbox or a component does not load"),
        (Self::Interrupted, "ended with Ctrl-C"),
        (Self::Terminated, "told to end"),
    ];

    /// The table as one line of a help text.
    pub(super) fn help() -> String {
        let entries = Self::TABLE.iter().map(|(exit, meaning)| format!("{} {meaning}", exit.code()));
        format!("Exit codes: {}.", entries.collect::<Vec<_>>().join(", "))
    }

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
