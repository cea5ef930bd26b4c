//! What people can type about jobs that come due.

use super::args_rights::RightsArguments;
use super::args_sessions::Place;
use clap::{Args, Subcommand, ValueEnum};

/// The commands about jobs.
#[derive(Debug, Subcommand)]
pub enum CronCommand {
    /// Add a job. It runs while a chat of its workspace is open, or the program serves.
    Add(Box<AddArguments>),
    /// List the jobs of this workspace.
    List {
        /// Where to look.
        #[command(flatten)]
        place: Place,
        /// Those that are done as well.
        #[arg(long)]
        done: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a job.
    Show {
        /// Its id, or the beginning of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a job now, and print its answer. A paused job is run as well.
    Run {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Let a job come due no more until it is resumed.
    Pause {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Let a job come due again, as if it had never been paused.
    Resume {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Change a job. What became of its due times stays.
    Edit(Box<EditArguments>),
    /// Remove jobs. What became of their due times stays.
    Rm {
        /// Their ids, or the beginnings of them.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Show what became of a job's due times, the newest first.
    History {
        /// Its id, or the beginning of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Of `cron add`.
#[derive(Debug, Args)]
pub struct AddArguments {
    /// What is to be done each time, in words.
    #[arg(required = true)]
    pub message: Vec<String>,
    /// When.
    #[command(flatten)]
    pub when: When,
    /// The time zone of --at or --cron, such as Europe/Berlin; this system's otherwise.
    #[arg(long, value_name = "ZONE", conflicts_with = "every")]
    pub tz: Option<String>,
    /// What it is called; the beginning of the message otherwise.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,
    /// What becomes of due times that passed while nothing ran: nothing, or one run for all of them.
    #[arg(long, value_enum, value_name = "HOW")]
    pub missed: Option<Missed>,
    /// The conversation that it works in; one of its own otherwise.
    #[arg(short, long, value_name = "NAME")]
    pub session: Option<String>,
    /// Keep its answers in the conversation, and send none.
    #[arg(long)]
    pub silent: bool,
    /// The configured provider to ask.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model, as the provider calls it.
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// Tokens that a run may take, of all model calls together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// What it may do. A job never has cron.
    #[command(flatten)]
    pub rights: RightsArguments,
}

/// When a job is due.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct When {
    /// Again and again, so far apart: a number with s, m, h or d, from 1m to 365d.
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub every: Option<u64>,
    /// Once, at a time such as 2026-12-01T09:00, with or without an offset.
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// By a cron expression such as "0 9 * * MON-FRI".
    #[arg(long, value_name = "EXPR")]
    pub cron: Option<String>,
}

/// Of `cron edit`.
#[derive(Debug, Args)]
pub struct EditArguments {
    /// Its id, or the beginning of it.
    pub id: String,
    /// What it is to be called.
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,
    /// What is to be done each time.
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Again and again, so far apart.
    #[arg(long, value_name = "TIME", value_parser = every, conflicts_with_all = ["at", "cron"])]
    pub every: Option<u64>,
    /// Once, at this time.
    #[arg(long, value_name = "TIME", conflicts_with = "cron")]
    pub at: Option<String>,
    /// By a cron expression.
    #[arg(long, value_name = "EXPR")]
    pub cron: Option<String>,
    /// The time zone of --at or --cron.
    #[arg(long, value_name = "ZONE", conflicts_with = "every")]
    pub tz: Option<String>,
}

/// What becomes of due times that were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Missed {
    /// They are over.
    Skip,
    /// One run for all of them.
    Once,
}

/// A name that is shown within a line.
fn name(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 64 || text.contains(char::is_control) {
        return Err("write 1 to 64 characters, none of them a control character".to_owned());
    }
    Ok(text.to_owned())
}

/// A distance such as `90`, `90s`, `5m`, `2h` or `1d`, in seconds. Which are too short or too long is the schedule's to say.
fn every(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (text.get(..at), 1),
        Some((at, 'm')) => (text.get(..at), 60),
        Some((at, 'h')) => (text.get(..at), 3_600),
        Some((at, 'd')) => (text.get(..at), 86_400),
        _ => (Some(text), 1),
    };
    number
        .and_then(|number| number.parse::<u64>().ok())
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "write a time such as 90s, 5m, 2h or 1d".to_owned())
}
