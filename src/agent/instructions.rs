//! What a project says to those who work in it: its `AGENTS.md`.

use super::workspace::{ReadError, WorkspaceReader};

/// The file, at the root of the workspace.
pub const FILE: &str = crate::authority::INSTRUCTIONS;

/// Bytes of it that are read.
pub const MOST: usize = 32 << 10;

/// A project's instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instructions {
    /// The text, as much of it as is read.
    pub text: String,
    /// Whether there is more.
    pub cut: bool,
}

impl Instructions {
    /// Reads them; `None` where there are none.
    ///
    /// # Errors
    ///
    /// When there is a file that is not read; why, as a line for the person.
    pub fn load(workspace: &WorkspaceReader) -> Result<Option<Self>, String> {
        match workspace.read(FILE, MOST) {
            Ok(read) if read.text.trim().is_empty() => Ok(None),
            Ok(read) => Ok(Some(Self { text: read.text, cut: read.cut })),
            Err(ReadError::Missing) => Ok(None),
            Err(error) => Err(format!("{FILE} was left out: {error}")),
        }
    }
}
