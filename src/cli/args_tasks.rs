//! What people can type about background work.

use super::args_sessions::Place;
use clap::{Args, Subcommand};

/// The commands about background tasks.
#[derive(Debug, Subcommand)]
pub enum TasksCommand {
    /// List the background tasks of this workspace, the newest first.
    List(TasksList),
    /// Show everything that is known of a task.
    Show(OneTask),
    /// Show what a task called and said, in order.
    Logs(OneTask),
    /// End a task that waits or runs.
    Cancel {
        /// Its id, or the beginning of it.
        #[arg(value_name = "ID")]
        id: String,
        /// Do not wait until it has ended.
        #[arg(long)]
        no_wait: bool,
    },
    /// Run once more what a task that has ended was asked, with the rights that it had.
    Retry {
        /// Its id, or the beginning of it.
        #[arg(value_name = "ID")]
        id: String,
        /// Run it here, and print its result.
        #[arg(long)]
        wait: bool,
    },
}

/// Of `tasks list`.
#[derive(Debug, Args)]
pub struct TasksList {
    /// Where to look.
    #[command(flatten)]
    pub place: Place,
    /// Tasks of this session only.
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Tasks only that wait or run.
    #[arg(long)]
    pub unended: bool,
    /// The newest so many; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// One task.
#[derive(Debug, Args)]
pub struct OneTask {
    /// Its id, or the beginning of it.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `serve`.
#[derive(Debug, Clone, Copy, Args)]
pub struct ServeArguments {
    /// End when nothing waits, runs, or is to be told.
    #[arg(long)]
    pub once: bool,
    /// Print what is to be told as JSON, an object a line.
    #[arg(long)]
    pub json: bool,
    /// Leave what is to be told to whoever comes.
    #[arg(long, hide = true)]
    pub worker: bool,
    /// Start a worker and end.
    #[arg(long, hide = true)]
    pub detach: bool,
}
