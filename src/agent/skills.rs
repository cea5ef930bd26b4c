//! Skills: what a person or a project wrote down on how to do something (`SKILL.md`, agentskills.io).
//!
//! A model sees the catalogue and reads a skill when it needs it. Skills are text; nothing in them is run.

use super::front::{Front, split};
use super::workspace::{ReadError, WorkspaceReader};
use crate::toolbox::one_line;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The file of a skill.
const FILE: &str = crate::authority::SKILL;

/// Where a workspace has its skills; the first wins.
const IN_WORKSPACE: &[&str] = crate::authority::SKILLS;

/// Skills of one directory, at most.
const MOST: usize = 128;

/// Bytes of one skill.
const FILE_BYTES: usize = 64 << 10;

/// Bytes of all skills that are always in the prompt.
const ALWAYS_BYTES: usize = 16 << 10;

/// Bytes of the catalogue.
const CATALOGUE_BYTES: usize = 8 << 10;

/// Remarks on skills, at most.
const WARNINGS: usize = 16;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// What `read_file` finds it by.
    pub path: String,
    /// Whether all of it is always in the prompt.
    pub always: bool,
    body: String,
}

/// Where skills are looked for, and what there is for them to use.
pub struct Sources<'a> {
    /// The workspace. Its skills hide the user's of the same name.
    pub workspace: &'a WorkspaceReader,
    /// The user's own, where there is such a directory. Tools need a right of their own to read in it.
    pub user: Option<&'a WorkspaceReader>,
    /// Skills that the user does not want.
    pub disabled: &'a [String],
    /// Whether a program of that name can be found.
    pub has_program: &'a dyn Fn(&str) -> bool,
    /// Whether an environment variable is set.
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

/// The skills that can be used, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    /// What was wrong with others, or odd about these; one line each, for the person.
    pub warnings: Vec<String>,
}

impl Skills {
    /// Finds the skills.
    pub fn load(sources: &Sources<'_>) -> Self {
        let mut found = Self::default();
        for root in IN_WORKSPACE {
            found.scan(sources, sources.workspace, root, |name| format!("{root}/{name}/{FILE}"));
        }
        if let Some(user) = sources.user {
            let at = |name: &str| user.path().join(name).join(FILE).display().to_string();
            found.scan(sources, user, ".", at);
        }
        found.skills.sort_by(|a, b| a.name.cmp(&b.name));
        // Names and front matter are others' text; each remark is one line of ours.
        found.warnings.iter_mut().for_each(|warning| *warning = one_line(warning));
        let more = found.warnings.len().saturating_sub(WARNINGS);
        if more > 0 {
            found.warnings.truncate(WARNINGS);
            found.warnings.push(format!("{more} more remarks on skills are left out"));
        }
        found
    }

    fn scan(
        &mut self,
        sources: &Sources<'_>,
        reader: &WorkspaceReader,
        root: &str,
        shown: impl Fn(&str) -> String,
    ) {
        for directory in reader.directories(root, MOST) {
            // Its name stands in the prompt.
            if one_line(&directory) != directory {
                self.warnings.push(format!("skill {directory} was left out: its name cannot be shown"));
                continue;
            }
            let path = PathBuf::from(root).join(&directory).join(FILE);
            let read = match reader.read(&path, FILE_BYTES) {
                Ok(read) => read,
                Err(ReadError::Missing) => continue,
                Err(error) => {
                    self.warnings.push(format!("skill {directory} was left out: {error}"));
                    continue;
                }
            };
            let parsed = split(&read.text).ok_or_else(|| "it does not begin with front matter".to_owned());
            let parsed = parsed.and_then(|(yaml, body)| {
                Front::parse(yaml, &directory, &mut self.warnings).map(|front| (front, body))
            });
            let (front, body) = match parsed {
                Ok(parsed) => parsed,
                Err(problem) => {
                    self.warnings.push(format!("skill {directory} was left out: {problem}"));
                    continue;
                }
            };
            let unmet = front.bins.iter().any(|bin| !(sources.has_program)(bin))
                || front.env.iter().any(|variable| !(sources.has_variable)(variable));
            let hidden = self.skills.iter().any(|known| known.name == front.name);
            if unmet || hidden || sources.disabled.contains(&front.name) {
                continue;
            }
            if read.cut {
                self.warnings.push(format!("skill {}: it is cut at {FILE_BYTES} bytes", front.name));
            }
            self.skills.push(Skill {
                path: shown(&directory),
                name: front.name,
                description: front.description,
                always: front.always,
                body: body.to_owned(),
            });
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter()
    }

    /// The skill of that name.
    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// A prompt, and after it the skills that it names as `$name`, whole, in the order in which it names them.
    pub fn with_named(&self, prompt: &str) -> String {
        let mut text = prompt.to_owned();
        let mut named: Vec<&str> = Vec::new();
        for word in prompt.split_whitespace().filter_map(|word| word.strip_prefix('$')) {
            let word = word.trim_end_matches([',', '.', ';', ':', '!', '?', ')']);
            if let Some(skill) = self.get(word)
                && !named.contains(&skill.name.as_str())
            {
                named.push(&skill.name);
                // Nothing in it ends it.
                let body = skill.body.trim().replace("</skill", "<\\/skill");
                let _ = write!(text, "\n\n<skill name=\"{}\">\n{body}\n</skill>", skill.name);
            }
        }
        text
    }

    /// What the prompt says of them; nothing where there are none.
    pub(super) fn for_prompt(&self) -> String {
        let mut text = String::new();
        let mut room = ALWAYS_BYTES;
        let (always, others): (Vec<_>, Vec<_>) = self.skills.iter().partition(|skill| skill.always);
        let mut listed = others;
        for skill in always {
            // One that does not fit is listed like any other.
            match room.checked_sub(skill.body.len()) {
                Some(left) => {
                    room = left;
                    let _ = write!(text, "\n### {}\n{}\n", skill.name, skill.body.trim());
                }
                None => listed.push(skill),
            }
        }
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        let mut lines = String::new();
        for (index, skill) in listed.iter().enumerate() {
            let line = format!("- {}: {} ({})\n", skill.name, skill.description, skill.path);
            if lines.len() + line.len() > CATALOGUE_BYTES {
                let _ = writeln!(lines, "- and {} more that are not listed here", listed.len() - index);
                break;
            }
            lines.push_str(&line);
        }
        if !lines.is_empty() {
            text.push_str("\nRead one with read_file before you do what it is about:\n");
            text.push_str(&lines);
        }
        text
    }
}
