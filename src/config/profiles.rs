//! The tables `[profiles.NAME]`: roles of the user's own, and what turns as one may take.

use super::read::{LONGEST, Reading, known_keys, nearest, strings};
use crate::authority::{
    Access, Capability, CapabilitySet, Directories, HostRule, Hosts, Profile, Rights, Role,
};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use toml::Value;

pub(super) const KEYS: &[&str] = &[
    "role",
    "capabilities",
    "files",
    "directories",
    "hosts",
    "tools",
    "model",
    "max_iterations",
    "max_tokens",
    "timeout",
];

/// What a turn as a profile may take at most. It stands beside what would hold without, and the lesser of the two holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileLimits {
    /// The model that is asked.
    pub model: Option<String>,
    /// Model calls of a turn.
    pub iterations: Option<u32>,
    /// Tokens of a turn, all model calls together.
    pub tokens: Option<u64>,
    /// Time of a turn.
    pub time: Option<Duration>,
}

impl ProfileLimits {
    /// Model calls of a turn that could have `without`.
    pub fn iterations(&self, without: u32) -> u32 {
        self.iterations.map_or(without, |most| most.min(without))
    }

    /// Tokens of a turn that could have `without`; `None` is no limit.
    pub fn tokens(&self, without: Option<u64>) -> Option<u64> {
        self.tokens.into_iter().chain(without).min()
    }

    /// Time of a turn that could have `without`; `None` is no limit.
    pub fn time(&self, without: Option<Duration>) -> Option<Duration> {
        self.time.into_iter().chain(without).min()
    }
}

pub(super) fn profile(name: &str, value: &Value) -> Result<(Profile, ProfileLimits), String> {
    let at = format!("profiles.{name}");
    if Profile::built_in(name).is_some() {
        let what = if Role::from_name(name).is_some() { "a role" } else { "a profile that is built in" };
        return Err(format!("{at}: `{name}` is {what} and cannot be configured; choose another name"));
    }
    let table = value.as_table().ok_or_else(|| format!("{at}: expected a table"))?;
    known_keys(table, &at, KEYS)?;
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
    let profile = Profile { name: name.to_owned(), role, rights, tools: strings(table, &at, "tools")? };
    Ok((profile, limits(Reading { table, at: &at })?))
}

fn limits(read: Reading<'_>) -> Result<ProfileLimits, String> {
    let model = read.text("model")?;
    if model.is_some_and(|model| model.trim().is_empty()) {
        return Err(format!("{}.model: write the model as its service calls it, or leave it out", read.at));
    }
    Ok(ProfileLimits {
        model: model.map(str::to_owned),
        iterations: read.within("max_iterations", 1..=10_000)?,
        tokens: read.within("max_tokens", 1..=1_000_000_000)?,
        time: read.time_within("timeout", Duration::from_secs(1)..=LONGEST)?,
    })
}
