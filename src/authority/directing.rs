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

/// A name as file systems that fold case compare it: without the case of ASCII letters, with the two other characters that
/// fold to such a letter, and without those that count for nothing.
pub fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| !counts_for_nothing(*c))
        .map(|c| match c {
            '\u{17F}' => 's',
            '\u{212A}' => 'k',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}

/// Characters that a name with another case may have more or less of (Unicode: default ignorable).
fn counts_for_nothing(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{3164}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_may_take_for_one_are_one() {
        for name in ["skills", "SKILLS", "\u{17F}kills", "s\u{212A}ills", "ski\u{200D}lls", "sk\u{AD}ills"] {
            assert_eq!(folded(name), "skills", "{name:?}");
        }
        for name in ["skill", "skills ", "skills.", "\u{455}kills", "skílls"] {
            assert_ne!(folded(name), "skills", "{name:?}");
        }
        assert_eq!(folded("agents.MD"), folded(INSTRUCTIONS));
    }
}
