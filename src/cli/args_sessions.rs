//! What people can type about what was said and done before.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// The commands about sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of this workspace, the latest first.
    List {
        /// Where to look.
        #[command(flatten)]
        place: Place,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what was said in a session.
    Show(OneSession),
    /// Write a session as Markdown for people or as JSON Lines for programs, to stdout.
    Export {
        /// Which.
        #[command(flatten)]
        one: OneSession,
        /// Markdown, or everything that is kept as JSON Lines.
        #[arg(long, value_enum, default_value_t = ExportFormat::Md)]
        format: ExportFormat,
    },
    /// Remove sessions and what was said in them. Their audit rows stay.
    Rm {
        /// Which.
        #[arg(required = true, value_name = "SESSION")]
        names: Vec<String>,
        /// Where to look.
        #[command(flatten)]
        place: Place,
        /// Do not ask. It is asked on a terminal only.
        #[arg(short, long)]
        yes: bool,
    },
}

/// One session.
#[derive(Debug, Args)]
pub struct OneSession {
    /// Its key, such as cli:abcd2345; `cli:` may be left out.
    #[arg(value_name = "SESSION")]
    pub name: String,
    /// Where to look.
    #[command(flatten)]
    pub place: Place,
}

/// Of which workspace.
#[derive(Debug, Args)]
pub struct Place {
    /// The workspace; the current directory otherwise.
    #[arg(short = 'C', long = "workspace", value_name = "DIR", conflicts_with = "all")]
    pub workspace: Option<PathBuf>,
    /// Every workspace.
    #[arg(long)]
    pub all: bool,
}

/// What `sessions export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Markdown.
    Md,
    /// JSON Lines.
    Jsonl,
}

/// Of `audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Calls of this session only.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Calls only that were denied, or during which something was refused.
    #[arg(long)]
    pub denied: bool,
    /// Calls of this tool only.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// The newest so many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
