//! Exit codes. The table in the README is checked against this one.

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// The tool failed, or the program did.
    Failed = 1,
    /// The command line, or the arguments for a tool, make no sense.
    Usage = 2,
    /// The configuration cannot be used.
    Config = 3,
    /// Something was denied.
    Denied = 5,
    /// Time was over.
    TimedOut = 7,
    /// A component does not load.
    Load = 8,
}

impl Exit {
    /// Every code and what it means, for help texts.
    pub const TABLE: &[(Self, &str)] = &[
        (Self::Done, "done"),
        (Self::Failed, "the tool failed"),
        (Self::Usage, "the command or the tool's arguments make no sense"),
        (Self::Config, "the configuration or the workspace cannot be used"),
        (Self::Denied, "denied"),
        (Self::TimedOut, "timed out"),
        (Self::Load, "the component does not load"),
    ];

    /// The code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
