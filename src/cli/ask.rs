//! What people can type when they want a model to work: for one task, and for a chat.

use super::args_rights::{RightsArguments, SandboxFlag};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct ChatArguments {
    /// Whom to ask, and as whom.
    #[command(flatten)]
    pub ask: AskArguments,
    /// Which conversation.
    #[command(flatten)]
    pub session: SessionArguments,
}

/// Of `run`.
#[derive(Debug, Clone, Args)]
pub struct TaskArguments {
    /// What to do, in words. `-` reads it from stdin, as does leaving it out in a pipe.
    #[arg(value_name = "PROMPT|-")]
    pub prompt: Vec<String>,
    /// What to print on stdout.
    #[arg(short = 'o', long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    /// Let background tasks go on in a process of their own, and do not wait for them.
    #[arg(long)]
    pub detach: bool,
    /// Write the answer to this file as well.
    #[arg(long, value_name = "FILE")]
    pub last_message: Option<PathBuf>,
    /// Whom to ask, and as whom.
    #[command(flatten)]
    pub ask: AskArguments,
    /// Which conversation.
    #[command(flatten)]
    pub session: SessionArguments,
}

/// What `run` prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The answer.
    Text,
    /// One JSON object, at the end.
    Json,
    /// Everything that happens, as one JSON object a line.
    Jsonl,
}

/// Which model, which rights, which limits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
pub struct AskArguments {
    /// The configured provider to ask.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// The model, as the provider calls it.
    #[arg(short, long, value_name = "NAME")]
    pub model: Option<String>,
    /// As whom, and with what.
    #[command(flatten)]
    pub rights: RightsArguments,
    /// Whether commands have a sandbox.
    #[command(flatten)]
    pub sandbox: SandboxFlag,
    /// Model calls that a turn may take.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub max_turns: Option<u32>,
    /// Tokens that a turn may take, of all model calls together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Dollars that a turn may cost, such as 0.50.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<u64>,
    /// Time that a turn may take: seconds, or a number with s, m or h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
}

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[group(multiple = false)]
pub struct SessionArguments {
    /// The conversation of this name; a new one where there is none.
    #[arg(short, long = "session", value_name = "NAME")]
    pub session: Option<String>,
    /// The latest conversation of this workspace.
    #[arg(short, long = "continue")]
    pub continued: bool,
    /// A conversation that is not kept.
    #[arg(long)]
    pub ephemeral: bool,
}

/// Dollars, as millionths.
fn dollars(text: &str) -> Result<u64, String> {
    let wrong = || "write dollars such as 0.50".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 || (whole.is_empty() && part.is_empty()) {
        return Err(wrong());
    }
    let millionths = format!("{whole}{part:0<6}").parse().map_err(|_| wrong())?;
    if millionths == 0 { Err("write more than nothing".to_owned()) } else { Ok(millionths) }
}

/// A time such as `90`, `90s`, `5m` or `1h`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (text.get(..at), 1),
        Some((at, 'm')) => (text.get(..at), 60),
        Some((at, 'h')) => (text.get(..at), 3_600),
        _ => (Some(text), 1),
    };
    number
        .and_then(|number| number.parse::<u64>().ok())
        .and_then(|number| number.checked_mul(unit))
        .filter(|seconds| (1..=7 * 24 * 3_600).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| "write a time from 1s to 168h, such as 90, 90s, 5m or 1h".to_owned())
}
