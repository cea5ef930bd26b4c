//! What people can type to have the machine and the program's own places looked at.

use crate::exec::Feature;
use clap::{Args, Subcommand};

/// Of `doctor`.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true)]
pub struct DoctorArguments {
    /// What to look at more closely; without, everything in a few lines.
    #[command(subcommand)]
    pub command: Option<DoctorCommand>,
}

/// What can be looked at more closely.
#[derive(Debug, Subcommand)]
pub enum DoctorCommand {
    /// Show what the sandbox of commands is made of here, what is missing and why, and what a command sees.
    Sandbox(SandboxArguments),
}

/// Of `doctor sandbox`.
#[derive(Debug, Args)]
pub struct SandboxArguments {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Tell it as if the machine lacked a feature, such as control-group.
    #[arg(long, value_name = "FEATURE", value_parser = feature, num_args = 1..)]
    pub without: Vec<Feature>,
}

fn feature(name: &str) -> Result<Feature, String> {
    let known = Feature::ALL.map(Feature::name);
    Feature::ALL.into_iter().find(|feature| feature.name() == name).ok_or_else(|| {
        match crate::toolbox::nearest(name, known) {
            Some(near) => format!("there is no such feature; did you mean {near}?"),
            None => format!("there is no such feature; there are {}", known.join(", ")),
        }
    })
}
