//! What to type next: the command that was typed, changed so that the denial does not come again.

use super::args::{OutputFormat, RunArguments};
use crate::authority::{Access, Denial, Remedy};

/// The line under a denial.
pub(super) fn line(denial: &Denial, typed: &RunArguments) -> String {
    let mut next = typed.clone();
    let lead = match &denial.remedy {
        Remedy::UseRole(role) => {
            next.role = role.name().to_owned();
            format!("to run it as {role}:")
        }
        Remedy::Allow(capability) => {
            next.allow.push(*capability);
            "to grant it for one run:".to_owned()
        }
        Remedy::AllowDirectory(path, access) => {
            // Only main can hold more than the workspace.
            next.role = "main".to_owned();
            next.directories.push((path.clone(), *access));
            "to hand that directory over for one run:".to_owned()
        }
        Remedy::Unwithhold(_) => {
            next.deny.retain(|denied| Some(*denied) != denial.capability);
            next.read_only = false;
            "to run it without that restriction:".to_owned()
        }
        Remedy::Nothing(why) => return format!("nothing to type: {why}"),
    };
    format!("{lead} {}", command(&next))
}

/// A command line for a shell.
fn command(run: &RunArguments) -> String {
    let mut words: Vec<String> = ["ringfence", "tools", "run"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if run.role != "main" {
        flag("--role", run.role.clone());
    }
    if let Some(workspace) = &run.workspace {
        flag("-C", workspace.display().to_string());
    }
    for (path, access) in &run.directories {
        let mark = if *access == Access::ReadWrite { ":rw" } else { "" };
        flag("--dir", format!("{}{mark}", path.display()));
    }
    if let Some(component) = &run.component {
        flag("--component", component.display().to_string());
    }
    for capability in &run.allow {
        flag("--allow", capability.to_string());
    }
    for capability in &run.deny {
        flag("--deny", capability.to_string());
    }
    if run.timeout != 30 {
        flag("--timeout", run.timeout.to_string());
    }
    if run.output == OutputFormat::Json {
        flag("-o", "json".to_owned());
    }
    if let Some(arguments) = &run.arguments {
        flag("--json", arguments.clone());
    }
    if run.read_only {
        words.push("--read-only".to_owned());
    }
    words.push(run.name.clone());
    words.extend(run.pairs.iter().cloned());
    // A word with a NUL cannot have been typed.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}
