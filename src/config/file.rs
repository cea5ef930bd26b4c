//! The user's `config.toml`.

use super::agent::{AgentConfig, agent};
use super::cron::{CronConfig, cron};
use super::exec::{ExecConfig, exec, no_keys};
use super::profiles::{ProfileLimits, profile};
use super::providers::{ProviderConfig, provider};
use super::read::{Reading, entries, known_keys};
use super::tasks::{TasksConfig, tasks};
use super::{Dirs, KeySource};
use crate::authority::Profile;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use toml::Table;

/// The keys of the file itself.
const KEYS: &[&str] = &["provider", "model", "providers", "agent", "tasks", "cron", "exec", "profiles"];

/// Every table of the file with every key of it. `NAME` stands for a name of the user's own.
pub const TABLES: &[(&str, &[&str])] = &[
    ("", KEYS),
    ("agent", super::agent::KEYS),
    ("tasks", super::tasks::KEYS),
    ("cron", super::cron::KEYS),
    ("exec", super::exec::KEYS),
    ("providers.NAME", super::providers::KEYS),
    ("providers.NAME.prices", super::providers::PRICES),
    ("profiles.NAME", super::profiles::KEYS),
];

/// What the user configured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The model service that is asked where no flag says another.
    pub provider: Option<String>,
    /// The model of it.
    pub model: Option<String>,
    /// Model services.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// What a turn may take.
    pub agent: AgentConfig,
    /// What background runs may take.
    pub tasks: TasksConfig,
    /// What scheduled work may take.
    pub cron: CronConfig,
    /// What native commands see and may take.
    pub exec: ExecConfig,
    /// Roles of the user's own, each narrowing one of the two.
    pub profiles: BTreeMap<String, Profile>,
    /// What turns as these may take at most, by the same names.
    pub limits: BTreeMap<String, ProfileLimits>,
}

/// A configuration that cannot be used. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be understood.
    #[error("{path}: {problem}", path = path.display())]
    Invalid {
        /// Which.
        path: PathBuf,
        /// Where in it, and why.
        problem: String,
    },
    /// It does not say which model service to ask, or says one that there is not.
    #[error("{0}")]
    Provider(String),
    /// There is no model service at all.
    #[error(
        "there is no model service to ask; set a key, such as `export ANTHROPIC_API_KEY=…` (or OPENAI_API_KEY, \
         OPENROUTER_API_KEY), or type `ringfence demo` to see the tools at work without one"
    )]
    NoProvider,
}

impl Config {
    /// Reads the user's configuration; one that is not there is empty.
    ///
    /// # Errors
    ///
    /// When it cannot be read or understood.
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let path = dirs.config.join("config.toml");
        match own_text(&path) {
            Ok(text) => Self::parse(&text).map_err(|problem| ConfigError::Invalid { path, problem }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Io { path, source }),
        }
    }

    /// Understands the text of a configuration file.
    ///
    /// # Errors
    ///
    /// Where in the text, and why, as one line or a few.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| problem(text, &error))?;
        known_keys(&table, "the file", KEYS)?;
        let read = Reading { table: &table, at: "the file" };
        let mut config = Self {
            provider: read.text("provider")?.map(str::to_owned),
            model: read.text("model")?.map(str::to_owned),
            ..Self::default()
        };
        if let Some(value) = table.get("agent") {
            config.agent = agent(value)?;
        }
        if let Some(value) = table.get("tasks") {
            config.tasks = tasks(value)?;
        }
        if let Some(value) = table.get("cron") {
            config.cron = cron(value)?;
        }
        for (name, value) in entries(&table, "providers")? {
            config.providers.insert(name.clone(), provider(name, value)?);
        }
        for (name, value) in entries(&table, "profiles")? {
            let (profile, limits) = profile(name, value)?;
            config.profiles.insert(name.clone(), profile);
            config.limits.insert(name.clone(), limits);
        }
        if let Some(value) = table.get("exec") {
            config.exec = exec(value)?;
            no_keys(&config.exec, config.key_variables())?;
        }
        Ok(config)
    }

    /// The variables that hold keys of model services: of those that are known, and of those that are configured.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        let configured = self.key_sources().filter_map(|key| match key {
            KeySource::Env(name) => Some(name.as_str()),
            KeySource::File(_) | KeySource::Command(_) => None,
        });
        let known = super::choose::key_variables().map(|name| -> &str { name });
        known.chain(configured)
    }

    /// The files that hold keys of model services.
    pub fn key_files(&self) -> impl Iterator<Item = &Path> {
        self.key_sources().filter_map(|key| match key {
            KeySource::File(path) => Some(path.as_path()),
            KeySource::Env(_) | KeySource::Command(_) => None,
        })
    }

    fn key_sources(&self) -> impl Iterator<Item = &KeySource> {
        self.providers.values().filter_map(|provider| provider.key.as_ref())
    }

    /// The role, the profile that is built in, or the configured profile of that name.
    pub fn profile(&self, name: &str) -> Option<Profile> {
        Profile::built_in(name).or_else(|| self.profiles.get(name).cloned())
    }

    /// The names that [`Config::profile`] knows.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        let built_in = Profile::BUILT_IN.into_iter().map(|name| -> &str { name });
        built_in.chain(self.profiles.keys().map(String::as_str))
    }

    /// What a turn as that profile may take at most. A role, and a name that is not known, has no limits of its own.
    pub fn profile_limits(&self, name: &str) -> ProfileLimits {
        self.limits.get(name).cloned().unwrap_or_default()
    }
}

/// The text of a file that nobody else could have written: it names commands that are run.
#[expect(clippy::disallowed_methods, reason = "this room reads the configuration file")]
fn own_text(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let mut file = std::fs::File::open(path)?;
    let about = file.metadata()?;
    let mine = [0, rustix::process::geteuid().as_raw()].contains(&about.uid());
    if !mine {
        return Err(io::Error::other("it belongs to another user"));
    }
    if about.mode() & 0o002 != 0 {
        return Err(io::Error::other(format!("everybody can write it; type `chmod 600 {}`", path.display())));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// What is wrong with a text, and where. The line itself is not repeated: a key may have been written into it.
fn problem(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("line {line}, column {column}: {message}")
        }
        None => message.to_owned(),
    }
}
