//! What directs main: places of a workspace whose text is put before it as instructions. Only main itself changes them, since
//! whoever else could would speak to it with a voice that no person gave them.

/// A project's instructions, at the root of the workspace.
pub const INSTRUCTIONS: &str = "AGENTS.md";

/// Where a workspace has its skills; the first wins.
pub const SKILLS: &[&str] = &[".agents/skills", "skills"];

/// The file of a skill, in a directory of its own.
pub const SKILL: &str = "SKILL.md";

/// Directories at the root of the workspace that direct main with everything below them. `.ringfence` is reserved: nothing
/// reads it yet.
pub const DIRECTORIES: &[&str] = &[".agents", "skills", ".ringfence"];
