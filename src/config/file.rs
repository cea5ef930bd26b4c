//! The user's `config.toml`.

use super::Dirs;
use crate::authority::{
    Access, Capability, CapabilitySet, Directories, HostRule, Hosts, Profile, Rights, Role,
};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use toml::{Table, Value};

/// What the user configured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// Roles of the user's own, each narrowing one of the two.
    pub profiles: BTreeMap<String, Profile>,
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
}

impl Config {
    /// Reads the user's configuration; one that is not there is empty.
    ///
    /// # Errors
    ///
    /// When it cannot be read or understood.
    #[expect(clippy::disallowed_methods, reason = "this room reads the configuration file")]
    pub fn load(dirs: &Dirs) -> Result<Self, ConfigError> {
        let path = dirs.config.join("config.toml");
        match std::fs::read_to_string(&path) {
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
        let table: Table =
            text.parse().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())?;
        known_keys(&table, "the file", &["profiles"])?;
        let mut config = Self::default();
        for (name, value) in entries(&table, "profiles")? {
            config.profiles.insert(name.clone(), profile(name, value)?);
        }
        Ok(config)
    }

    /// The role, or configured profile, of that name.
    pub fn profile(&self, name: &str) -> Option<Profile> {
        Role::from_name(name).map(Profile::plain).or_else(|| self.profiles.get(name).cloned())
    }

    /// The names that [`Config::profile`] knows.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        let roles = Role::ALL.into_iter().map(|role| -> &str { role.name() });
        roles.chain(self.profiles.keys().map(String::as_str))
    }
}

fn profile(name: &str, value: &Value) -> Result<Profile, String> {
    let at = format!("profiles.{name}");
    if Role::from_name(name).is_some() {
        return Err(format!("{at}: `{name}` is a role and cannot be configured; choose another name"));
    }
    let table = value.as_table().ok_or_else(|| format!("{at}: expected a table"))?;
    known_keys(table, &at, &["role", "capabilities", "files", "directories", "hosts", "tools"])?;
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("{at}.{key}: expected a string")),
    };
    let role = text("role")?
        .ok_or_else(|| format!("{at}: `role` is missing; write role = \"subagent\" or \"main\""))?;
    let role = Role::from_name(role)
        .ok_or_else(|| format!("{at}.role: there is no role `{role}`; write \"main\" or \"subagent\""))?;
    let mut rights = Rights::all();
    if let Some(names) = strings(table, &at, "capabilities")? {
        let known = |name: &String| {
            Capability::from_name(name).ok_or_else(|| {
                let near = nearest(name, Capability::ALL.map(Capability::name));
                format!("{at}.capabilities: there is no capability `{name}`{near}")
            })
        };
        rights.capabilities = names.iter().map(known).collect::<Result<CapabilitySet, String>>()?;
    }
    let access = match text("files")? {
        None | Some("read-write") => Access::ReadWrite,
        Some("read-only") => Access::ReadOnly,
        Some("none") => {
            rights.capabilities = rights.capabilities.without(Capability::Files);
            Access::ReadOnly
        }
        Some(other) => {
            return Err(format!("{at}.files: `{other}` is none of \"read-write\", \"read-only\", \"none\""));
        }
    };
    rights.directories = match strings(table, &at, "directories")? {
        None => Directories::everywhere(access),
        Some(paths) => {
            let named = |path: &&String| {
                let path = Path::new(path);
                path.is_absolute() && !path.components().any(|c| c == Component::ParentDir)
            };
            if let Some(unclear) = paths.iter().find(|path| !named(path)) {
                return Err(format!("{at}.directories: `{unclear}` is not an absolute path without `..`"));
            }
            Directories::of(paths.into_iter().map(|path| (PathBuf::from(path), access)))
        }
    };
    if let Some(hosts) = strings(table, &at, "hosts")? {
        let rules = hosts.iter().map(|host| HostRule::parse(host)).collect::<Result<Vec<_>, _>>();
        rights.hosts = Hosts::of(rules.map_err(|error| format!("{at}.hosts: {error}"))?);
    }
    Ok(Profile { name: name.to_owned(), role, rights, tools: strings(table, &at, "tools")? })
}

fn entries<'t>(table: &'t Table, key: &str) -> Result<Vec<(&'t String, &'t Value)>, String> {
    match table.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Table(inner)) => Ok(inner.iter().collect()),
        Some(_) => Err(format!("{key}: expected a table")),
    }
}

fn strings(table: &Table, at: &str, key: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("{at}.{key}: expected a list of strings");
    match table.get(key) {
        None => Ok(None),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}

fn known_keys(table: &Table, at: &str, known: &[&str]) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(format!("{at}: unknown key `{key}`{}", nearest(key, known.iter().copied()))),
    }
}

/// `; did you mean …?`, when a known name is near.
fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let best = known.into_iter().map(|k| (strsim::damerau_levenshtein(k, name), k)).min();
    match best {
        Some((distance, near)) if distance <= 1 + name.len() / 3 => format!("; did you mean `{near}`?"),
        _ => String::new(),
    }
}
