//! `ringfence config`: what is in force, and where it comes from.

use super::args::ConfigCommand;
use super::exit::Exit;
use super::native::Native;
use super::open::{Setting, Stop, dirs};
use super::printer::Printer;
use crate::config::{self, Config, Dirs, env};
use crate::toolbox::nearest;
use serde_json::{Value, json};
use std::path::PathBuf;

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
            for (key, path) in Native::of(&config, &dirs)?.absent {
                printer.note(&format!("warning: exec.{key}: {} is not there, and left out", path.display()));
            }
            if config.profiles.values().any(|profile| profile.tools.is_some()) {
                for warning in tools_not_there(&Setting::for_looking()?) {
                    printer.note(&format!("warning: {warning}"));
                }
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

/// Tools that profiles leave and that do not come with the program. They are no error: a component file may have them.
fn tools_not_there(setting: &Setting) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, profile) in &setting.config.profiles {
        for tool in profile.tools.iter().flatten().filter(|tool| setting.toolbox.find(tool).is_none()) {
            let hint = match nearest(tool, setting.toolbox.names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "to see which there are: ringfence tools list".to_owned(),
            };
            warnings.push(format!("profiles.{name}.tools: no tool `{tool}` comes with this program; {hint}"));
        }
    }
    warnings
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
    let defaults = Config::default();
    for ((key, value), (_, default)) in limits(config).into_iter().zip(limits(&defaults)) {
        let from = if value == default { "default" } else { "file" };
        add(key, value, from);
    }
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
        let at = |key: &str| format!("profiles.{name}.{key}");
        add(&at("role"), profile.role.name().into(), "file");
        let most = config.profile_limits(name);
        for (key, value) in [
            ("model", json!(most.model)),
            ("max_iterations", json!(most.iterations)),
            ("max_tokens", json!(most.tokens)),
            ("timeout_seconds", json!(most.time.map(|time| time.as_secs()))),
        ] {
            // What a profile does not limit is no value of its own.
            if !value.is_null() {
                add(&at(key), value, "file");
            }
        }
    }
    all
}

/// What turns, background runs and jobs may take, key by key.
fn limits(config: &Config) -> Vec<(&'static str, Value)> {
    let Config { agent, tasks, cron, exec, .. } = config;
    let paths =
        |paths: &[PathBuf]| json!(paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
    vec![
        ("agent.main_iterations", json!(agent.main_iterations)),
        ("agent.subagent_iterations", json!(agent.subagent_iterations)),
        ("agent.reply_tokens", json!(agent.reply_tokens)),
        ("agent.max_tokens", json!(agent.max_tokens)),
        ("agent.max_cost_millionths", json!(agent.max_cost)),
        ("agent.timeout_seconds", json!(agent.timeout.map(|time| time.as_secs()))),
        ("agent.instructions", json!(agent.instructions)),
        ("agent.disabled_skills", json!(agent.disabled_skills)),
        ("tasks.running", json!(tasks.running)),
        ("tasks.running_per_session", json!(tasks.running_per_session)),
        ("tasks.queued", json!(tasks.queued)),
        ("tasks.per_session", json!(tasks.per_session)),
        ("tasks.timeout_seconds", json!(tasks.timeout.as_secs())),
        ("tasks.max_tokens", json!(tasks.max_tokens)),
        ("cron.jobs_per_session", json!(cron.jobs_per_session)),
        ("cron.jobs", json!(cron.jobs)),
        ("cron.grace_seconds", json!(cron.grace.as_secs())),
        ("cron.timeout_seconds", json!(cron.timeout.as_secs())),
        ("cron.failures", json!(cron.failures)),
        ("exec.timeout_seconds", json!(exec.timeout.map(|time| time.as_secs()))),
        ("exec.min_level", exec.least.name().into()),
        ("exec.read_only", paths(&exec.read_only)),
        ("exec.read_write", paths(&exec.read_write)),
        ("exec.path_prepend", paths(&exec.path_prepend)),
        ("exec.path_append", paths(&exec.path_append)),
        ("exec.environment", json!(exec.environment)),
        ("exec.memory", json!(exec.memory)),
        ("exec.processes", json!(exec.processes)),
        ("exec.file_size", json!(exec.file_size)),
        ("exec.descriptors", json!(exec.descriptors)),
        ("exec.temporary", json!(exec.temporary)),
        ("exec.processor_seconds", json!(exec.processor.as_secs())),
    ]
}
