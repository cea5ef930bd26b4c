//! What a turn's system prompt is made of, and what the person should know of it.

use super::exit::Exit;
use super::open::{Setting, Stop};
use crate::agent::instructions::Instructions;
use crate::agent::prompt::{self, Setup};
use crate::agent::skills::{Skills, Sources};
use crate::agent::workspace::WorkspaceReader;
use crate::config;
use crate::toolbox::Agent as Caller;
use std::path::PathBuf;

/// A system prompt.
pub(super) struct Prompt {
    pub(super) text: String,
    /// What was left out of it or is odd about it; one line each.
    pub(super) notices: Vec<String>,
    skills: Skills,
}

/// Where the user's own skills are.
pub(super) fn own_skills(setting: &Setting) -> PathBuf {
    setting.dirs.config.join("skills")
}

impl Prompt {
    /// Reads what the workspace and the user say, anew each time.
    pub(super) fn read(setting: &Setting, caller: &Caller) -> Result<Self, Stop> {
        let workspace = WorkspaceReader::open(&setting.workspace)
            .map_err(|error| Stop(format!("{}: {error}", setting.workspace.display()), Exit::Config))?;
        let mut notices = Vec::new();
        let instructions = match setting.config.agent.instructions.then(|| Instructions::load(&workspace)) {
            Some(Ok(found)) => found,
            Some(Err(problem)) => {
                notices.push(problem);
                None
            }
            None => None,
        };
        if instructions.as_ref().is_some_and(|instructions| instructions.cut) {
            notices.push("AGENTS.md is longer than 32 KiB; the agent was given its beginning".to_owned());
        }
        let user = WorkspaceReader::open(&own_skills(setting)).ok();
        let skills = Skills::load(&Sources {
            workspace: &workspace,
            user: user.as_ref(),
            disabled: &setting.config.agent.disabled_skills,
            has_program: &config::is_program,
            has_variable: &config::is_variable,
        });
        notices.extend(skills.warnings.iter().cloned());
        let text = prompt::system(&Setup {
            toolbox: &setting.toolbox,
            caller,
            workspace: &setting.workspace,
            instructions: instructions.as_ref(),
            skills: &skills,
            now: &jiff::Zoned::now(),
        });
        Ok(Self { text, notices, skills })
    }

    /// What the person says, with the skills that it names.
    pub(super) fn with_skills(&self, said: &str) -> String {
        self.skills.with_named(said)
    }
}
