//! The tables `[profiles.NAME]`: roles of the user's own.

use super::read::{known_keys, nearest, strings};
use crate::authority::{
    Access, Capability, CapabilitySet, Directories, HostRule, Hosts, Profile, Rights, Role,
};
use std::path::{Component, Path, PathBuf};
use toml::Value;

pub(super) const KEYS: &[&str] = &["role", "capabilities", "files", "directories", "hosts", "tools"];

pub(super) fn profile(name: &str, value: &Value) -> Result<Profile, String> {
    let at = format!("profiles.{name}");
    if Role::from_name(name).is_some() {
        return Err(format!("{at}: `{name}` is a role and cannot be configured; choose another name"));
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
    Ok(Profile { name: name.to_owned(), role, rights, tools: strings(table, &at, "tools")? })
}
