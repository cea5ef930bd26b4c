//! The table `[agent]`: what a turn may take.

use super::read::{Reading, known_keys, strings};
use std::time::Duration;
use toml::Value;

/// What a turn may take, where flags do not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// Model calls of a turn of the main agent.
    pub main_iterations: u32,
    /// Model calls of a subagent.
    pub subagent_iterations: u32,
    /// Tokens of one reply.
    pub reply_tokens: u32,
    /// Tokens of a turn, all model calls together.
    pub max_tokens: Option<u64>,
    /// Money of a turn, in millionths of a dollar.
    pub max_cost: Option<u64>,
    /// Time of a turn.
    pub timeout: Option<Duration>,
    /// Whether the workspace's AGENTS.md is read.
    pub instructions: bool,
    /// Skills that are not offered, by name.
    pub disabled_skills: Vec<String>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            main_iterations: 40,
            subagent_iterations: 15,
            reply_tokens: 8192,
            max_tokens: None,
            max_cost: None,
            timeout: None,
            instructions: true,
            disabled_skills: Vec::new(),
        }
    }
}

pub(super) const KEYS: &[&str] = &[
    "main_iterations",
    "subagent_iterations",
    "reply_tokens",
    "max_tokens",
    "max_cost",
    "timeout",
    "instructions",
    "disabled_skills",
];

pub(super) fn agent(value: &Value) -> Result<AgentConfig, String> {
    let table = value.as_table().ok_or("agent: expected a table")?;
    known_keys(table, "agent", KEYS)?;
    let read = Reading { table, at: "agent" };
    let default = AgentConfig::default();
    Ok(AgentConfig {
        main_iterations: read.small("main_iterations", 1)?.unwrap_or(default.main_iterations),
        subagent_iterations: read.small("subagent_iterations", 1)?.unwrap_or(default.subagent_iterations),
        reply_tokens: read.small("reply_tokens", 16)?.unwrap_or(default.reply_tokens),
        max_tokens: read.whole("max_tokens", 1)?,
        max_cost: read.number("max_cost")?.map(|dollars| (dollars * 1e6).round() as u64),
        timeout: read.time("timeout")?,
        instructions: read.flag("instructions")?.unwrap_or(default.instructions),
        disabled_skills: strings(table, "agent", "disabled_skills")?.unwrap_or_default(),
    })
}
