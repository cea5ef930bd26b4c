//! What a turn's system prompt is made of, and what the person should know of it.

use super::ground::{Ground, GroundError};
use super::instructions::Instructions;
use super::prompt::{self, Setup};
use super::skills::{Skills, Sources};
use super::turn::Said;
use super::workspace::WorkspaceReader;
use crate::config;
use crate::toolbox::Agent as Caller;

/// A system prompt, and what there is to know of it.
pub struct Briefing {
    /// The prompt.
    pub text: String,
    /// What was left out of it or is odd about it; one line each.
    pub notices: Vec<String>,
    skills: Skills,
}

impl Briefing {
    /// Reads what the workspace and the user say, anew each time.
    ///
    /// # Errors
    ///
    /// When the workspace is not there any more.
    pub fn read(ground: &Ground, caller: &Caller) -> Result<Self, GroundError> {
        let workspace = WorkspaceReader::open(&ground.workspace)
            .map_err(|source| GroundError::Workspace { path: ground.workspace.clone(), source })?;
        let mut notices = Vec::new();
        let instructions = match ground.config.agent.instructions.then(|| Instructions::load(&workspace)) {
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
        let user = WorkspaceReader::open(&ground.own_skills()).ok();
        let skills = Skills::load(&Sources {
            workspace: &workspace,
            user: user.as_ref(),
            disabled: &ground.config.agent.disabled_skills,
            has_program: &config::is_program,
            has_variable: &config::is_variable,
        });
        notices.extend(skills.warnings.iter().cloned());
        let text = prompt::system(&Setup {
            toolbox: &ground.toolbox,
            caller,
            workspace: &ground.workspace,
            instructions: instructions.as_ref(),
            skills: &skills,
            now: &jiff::Zoned::now(),
        });
        Ok(Self { text, notices, skills })
    }

    /// What is said, with the skills that a person names in it. What the host puts in names none.
    pub fn with_skills(&self, said: Said) -> Said {
        match said.source {
            None => Said { text: self.skills.with_named(&said.text), source: None },
            Some(_) => said,
        }
    }
}
