//! What to type next: the command that was typed, changed so that the denial does not come again.

use super::args::{OutputFormat, RunArguments};
use super::args_rights::option;
use super::open::Setting;
use crate::authority::{Access, Capability, Denial, DenialKind, Remedy, Role};
use crate::config;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The line under a denial.
pub(super) fn line(denial: &Denial, typed: &RunArguments, setting: &Setting) -> String {
    let mut next = typed.clone();
    let lead = match &denial.remedy {
        Remedy::UseRole(role) => {
            next.rights.role = Some(role.name().to_owned());
            give(&mut next, denial.capability);
            format!("to run it as {role}:")
        }
        Remedy::Allow(capability) => {
            give(&mut next, Some(*capability));
            "to grant it for one run:".to_owned()
        }
        Remedy::AllowDirectory(place, access) => match setting.directory_for(place, *access) {
            Ok((place, directory)) => {
                keep_role(&mut next, setting, &directory, *access);
                hand_over(&mut next, directory, *access);
                rename(&mut next, &denial.subject, &place);
                if next.rights.role() == typed.rights.role() {
                    "to hand that directory over for one run:".to_owned()
                } else {
                    format!("to run it as {} with that directory handed over:", next.rights.role())
                }
            }
            Err(why) => return format!("nothing to type: {why}"),
        },
        Remedy::Unwithhold(_) => {
            if denial.kind == DenialKind::ReadOnly {
                next.rights.read_only = false;
            } else {
                give(&mut next, denial.capability);
            }
            "to run it without that restriction:".to_owned()
        }
        Remedy::Nothing(why) => return format!("nothing to type: {why}"),
    };
    format!("{lead} {}", command(&next))
}

/// The command that shows what the tool that was meant takes.
pub(super) fn look_at(typed: &RunArguments) -> String {
    let what = typed.component.as_ref().map_or_else(|| typed.name.clone(), |path| path.display().to_string());
    shell(&["ringfence", "tools", "inspect", &what])
}

/// Nothing on the command line keeps the capability away.
fn give(next: &mut RunArguments, capability: Option<Capability>) {
    let Some(capability) = capability else { return };
    next.rights.deny.retain(|denied| *denied != capability);
    // The built-in tools have what they need.
    if next.component.is_some() && !next.allow.contains(&capability) {
        next.allow.push(capability);
    }
}

/// Only main, and a profile of it that leaves the directory, can hold more than the workspace.
fn keep_role(next: &mut RunArguments, setting: &Setting, directory: &Path, access: Access) {
    let leaves = setting.profile(next.rights.role()).is_ok_and(|profile| {
        profile.role == Role::Main && profile.rights.directories.access(directory) >= Some(access)
    });
    if !leaves {
        next.rights.role = Some(Role::Main.name().to_owned());
    }
}

/// The directory is handed over, and no flag gives less at it.
fn hand_over(next: &mut RunArguments, directory: PathBuf, access: Access) {
    let mut most = access;
    next.rights.directories.retain(|(path, typed)| {
        let same = config::canonical(path).is_ok_and(|path| path == directory);
        if same {
            most = most.max(*typed);
        }
        !same
    });
    next.rights.directories.push((directory, most));
    if access == Access::ReadWrite {
        next.rights.read_only = false;
    }
}

/// Names the place by its whole path wherever the arguments name it otherwise: what a tool makes of a path that climbs out
/// of the workspace is up to it.
fn rename(next: &mut RunArguments, subject: &str, place: &Path) {
    let Some(place) = place.to_str() else { return };
    let renamed = |text: &str| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        (rename_in(&mut value, subject, place) > 0).then(|| value.to_string())
    };
    if let Some(arguments) = next.arguments.as_mut()
        && let Some(text) = renamed(arguments)
    {
        *arguments = text;
    }
    for pair in &mut next.pairs {
        let Some((key, value)) = pair.split_once('=') else { continue };
        let text = if key == "path" && value == subject { Some(place.to_owned()) } else { renamed(value) };
        if let Some(text) = text {
            *pair = format!("{key}={text}");
        }
    }
}

/// How often it was renamed.
fn rename_in(value: &mut Value, subject: &str, place: &str) -> usize {
    match value {
        Value::Object(map) => map
            .iter_mut()
            .map(|(key, inner)| {
                if key == "path" && inner.as_str() == Some(subject) {
                    *inner = place.into();
                    1
                } else {
                    rename_in(inner, subject, place)
                }
            })
            .sum(),
        Value::Array(items) => items.iter_mut().map(|item| rename_in(item, subject, place)).sum(),
        _ => 0,
    }
}

/// A command line for a shell.
fn command(run: &RunArguments) -> String {
    let mut words: Vec<String> = ["ringfence", "tools", "run"].map(str::to_owned).to_vec();
    words.extend(run.rights.words());
    let mut flag = |name: &str, value: &str| words.extend(option(name, value));
    if let Some(component) = &run.component {
        flag("--component", &component.display().to_string());
    }
    for capability in &run.allow {
        flag("--allow", capability.name());
    }
    if run.timeout != 30 {
        flag("--timeout", &run.timeout.to_string());
    }
    if run.output == OutputFormat::Json {
        flag("-o", "json");
    }
    if let Some(arguments) = &run.arguments {
        flag("--json", arguments);
    }
    if run.pairs.iter().any(|pair| pair.starts_with('-')) {
        words.push("--".to_owned());
    }
    words.push(run.name.clone());
    words.extend(run.pairs.iter().cloned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    shell(&words)
}

fn shell(words: &[&str]) -> String {
    // A word with a NUL cannot have been typed.
    shlex::try_join(words.iter().copied()).unwrap_or_default()
}
