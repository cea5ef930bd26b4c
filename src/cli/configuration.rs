//! `ringfence config`: what is in force, and where it comes from.

use super::args::ConfigCommand;
use super::exit::Exit;
use super::open::{Stop, dirs};
use super::printer::Printer;
use crate::config::{self, Config, Dirs, env};
use serde_json::{Value, json};

/// A value and where it comes from.
struct Origin {
    key: String,
    value: Value,
    from: &'static str,
}

pub(super) fn run(printer: &Printer, command: ConfigCommand) -> Exit {
    match look(printer, command) {
        Ok(exit) => exit,
        Err(stop) => stop.tell(printer),
    }
}

fn look(printer: &Printer, command: ConfigCommand) -> Result<Exit, Stop> {
    let dirs = dirs()?;
    let path = dirs.config.join("config.toml");
    Ok(match command {
        ConfigCommand::Path => printer.result(&path.display().to_string()),
        ConfigCommand::Validate => {
            let config = load(&dirs)?;
            if let Some(name) = &config.provider {
                let chosen = config.choose_provider(Some(name), None);
                chosen.map_err(|error| Stop(error.to_string(), Exit::Config))?;
            }
            let says = match config::canonical(&path) {
                Ok(_) => "can be used",
                Err(_) => "is not there; the defaults hold",
            };
            printer.result(&format!("{}: {says}", path.display()))
        }
        ConfigCommand::Show { json } => {
            let config = load(&dirs)?;
            let values = values(&config, &dirs);
            if json {
                let all: serde_json::Map<String, Value> = values
                    .into_iter()
                    .map(|v| (v.key, json!({ "value": v.value, "origin": v.from })))
                    .collect();
                printer.json(&all)
            } else {
                let width = values.iter().map(|v| v.key.len()).max().unwrap_or_default();
                let lines: Vec<String> = values
                    .iter()
                    .map(|v| format!("{:width$}  {}  ({})", v.key, plain(&v.value), v.from))
                    .collect();
                printer.result(&lines.join("\n"))
            }
        }
    })
}

/// As every start reads it.
fn load(dirs: &Dirs) -> Result<Config, Stop> {
    Config::load(dirs).map_err(|error| Stop(error.to_string(), Exit::Config))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn values(config: &Config, dirs: &Dirs) -> Vec<Origin> {
    let mut all = Vec::new();
    let mut add = |key: &str, value: Value, from: &'static str| {
        all.push(Origin { key: key.to_owned(), value, from });
    };
    let place = |variable: env::Variable, below: &'static str| {
        if variable.get().is_some() { variable.name } else { below }
    };
    let home = place(env::HOME, "default");
    add("directories.config", dirs.config.display().to_string().into(), home);
    add("directories.data", dirs.data.display().to_string().into(), home);
    add("directories.cache", dirs.cache.display().to_string().into(), place(env::CACHE_DIR, home));
    let chosen = |variable: env::Variable, in_file: Option<&String>| match (variable.text(), in_file) {
        (Some(value), _) => (value.into(), variable.name),
        (None, Some(value)) => (value.clone().into(), "file"),
        (None, None) => (Value::Null, "default"),
    };
    let (value, from) = chosen(env::PROVIDER, config.provider.as_ref());
    add("provider", value, from);
    let (value, from) = chosen(env::MODEL, config.model.as_ref());
    add("model", value, from);
    let (agent, default) = (&config.agent, crate::config::AgentConfig::default());
    let source = |same: bool| if same { "default" } else { "file" };
    let mut number = |key: &str, value: Option<u64>, same: bool| add(key, json!(value), source(same));
    number(
        "agent.main_iterations",
        Some(agent.main_iterations.into()),
        agent.main_iterations == default.main_iterations,
    );
    number(
        "agent.subagent_iterations",
        Some(agent.subagent_iterations.into()),
        agent.subagent_iterations == default.subagent_iterations,
    );
    number("agent.reply_tokens", Some(agent.reply_tokens.into()), agent.reply_tokens == default.reply_tokens);
    number("agent.max_tokens", agent.max_tokens, agent.max_tokens.is_none());
    number("agent.max_cost_millionths", agent.max_cost, agent.max_cost.is_none());
    number("agent.timeout_seconds", agent.timeout.map(|time| time.as_secs()), agent.timeout.is_none());
    add("agent.instructions", agent.instructions.into(), source(agent.instructions == default.instructions));
    add("agent.disabled_skills", json!(agent.disabled_skills), source(agent.disabled_skills.is_empty()));
    for (name, provider) in &config.providers {
        let at = |key: &str| format!("providers.{name}.{key}");
        add(&at("wire"), provider.wire.name().into(), "file");
        add(&at("model"), provider.model.clone().into(), "file");
        add(&at("base_url"), json!(provider.base_url), "file");
        // Where the key is, never the key.
        add(&at("key"), json!(provider.key.as_ref().map(ToString::to_string)), "file");
        add(&at("context_window"), provider.context_window.into(), "file");
    }
    for (name, profile) in &config.profiles {
        add(&format!("profiles.{name}.role"), profile.role.name().into(), "file");
    }
    all
}
