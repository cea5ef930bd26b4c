//! What people can type about rights: where, as whom, and what is taken away. The same for everything that calls tools.

use crate::authority::{Access, Capability};
use clap::Args;
use std::path::PathBuf;

/// The role where none is typed.
const MAIN: &str = "main";

/// Which directories, which role, and less than it could have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct RightsArguments {
    /// The role or configured profile as which tools are called; main otherwise.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// The workspace; the current directory otherwise.
    #[arg(short = 'C', long = "workspace", value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Another directory to hand over, read-only unless :rw stands behind it. Main alone can have it.
    #[arg(long = "dir", value_name = "DIR[:rw]", value_parser = directory)]
    pub directories: Vec<(PathBuf, Access)>,
    /// Hand directories over read-only.
    #[arg(long)]
    pub read_only: bool,
    /// Take a capability away for this run.
    #[arg(long, value_name = "CAPABILITY", value_parser = capability)]
    pub deny: Vec<Capability>,
}

/// Whether native commands have a sandbox. It is typed for one process: it is no part of the rights that are kept with a
/// background run or a job, and no remedy says it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Args)]
pub struct SandboxFlag {
    /// Run commands without any sandbox, with everything that your account may do. It holds for this process alone: background
    /// tasks and jobs have the sandbox all the same.
    #[arg(long = "dangerously-no-sandbox")]
    pub none: bool,
}

impl RightsArguments {
    /// The role's name.
    pub fn role(&self) -> &str {
        self.role.as_deref().unwrap_or(MAIN)
    }

    /// The words to type for these, after a command.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.role() != MAIN {
            words.extend(option("--role", self.role()));
        }
        if let Some(workspace) = &self.workspace {
            words.extend(option("-C", &workspace.display().to_string()));
        }
        for (path, access) in &self.directories {
            let path = path.display();
            let mark = match access {
                Access::ReadWrite => ":rw",
                // The path itself may end like a mark.
                Access::ReadOnly if path.to_string().contains(':') => ":ro",
                Access::ReadOnly => "",
            };
            words.extend(option("--dir", &format!("{path}{mark}")));
        }
        for capability in &self.deny {
            words.extend(option("--deny", capability.name()));
        }
        if self.read_only {
            words.push("--read-only".to_owned());
        }
        words
    }
}

/// An option and its value. A value that begins with a dash would be taken for another option.
pub(super) fn option(name: &str, value: &str) -> Vec<String> {
    if value.starts_with('-') {
        vec![format!("{name}={value}")]
    } else {
        vec![name.to_owned(), value.to_owned()]
    }
}

pub(super) fn capability(name: &str) -> Result<Capability, String> {
    Capability::from_name(name).ok_or_else(|| {
        let known = Capability::ALL.map(Capability::name);
        match crate::toolbox::nearest(name, known) {
            Some(near) => format!("there is no such capability; did you mean {near}?"),
            None => format!("there is no such capability; there are {}", known.join(", ")),
        }
    })
}

fn directory(text: &str) -> Result<(PathBuf, Access), String> {
    let (path, access) = match text.rsplit_once(':') {
        Some((path, "rw")) => (path, Access::ReadWrite),
        Some((path, "ro")) => (path, Access::ReadOnly),
        _ => (text, Access::ReadOnly),
    };
    if path.is_empty() {
        Err("the directory is missing".to_owned())
    } else {
        Ok((PathBuf::from(path), access))
    }
}
