//! Where the turns of a workspace find what they work with.

use crate::agent::Ground;
use crate::authority::Directories;
use std::path::Path;

/// Opens workspaces. A chat has one; a process that serves all has as many as there is work in.
pub trait House: Send + Sync {
    /// What turns in a workspace share, with these directories at hand beside it.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened, in words.
    fn ground(&self, workspace: &Path, directories: &Directories) -> Result<Ground, String>;
}
