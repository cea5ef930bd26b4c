//! The command line: one file a verb. It talks to people and decides nothing.

mod args;
mod exit;
mod inspect;
mod list;
mod open;
mod person;
mod printer;
mod remedy;
mod run;

pub use args::{Arguments, Command, ToolsCommand};
pub use exit::Exit;

use crate::sandbox::CompileBounds;
use clap::Parser as _;
use printer::Printer;
use std::ffi::OsString;

/// Runs the program with these arguments, the program's name first; what it ends with.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return printer::usage(&error),
    };
    start_log();
    let printer = Printer::new();
    if let Command::CompileComponent { processor, memory } = arguments.command {
        return compile(&printer, CompileBounds { processor, memory, ..CompileBounds::default() });
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return printer.error(&format!("no thread can be started: {error}"), Exit::Failed),
    };
    let exit = runtime.block_on(run_command(&printer, arguments.command));
    // A call that hangs in the system must not hold up the end of the program.
    runtime.shutdown_background();
    exit
}

/// The task that the program calls itself for, before anything of a host is started.
fn compile(printer: &Printer, bounds: CompileBounds) -> Exit {
    match crate::sandbox::compile_task(bounds, std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => Exit::Done,
        Err(error) => printer.error(&error.to_string(), Exit::Failed),
    }
}

async fn run_command(printer: &Printer, command: Command) -> Exit {
    match command {
        Command::Tools { command: ToolsCommand::List(arguments) } => list::run(printer, &arguments),
        Command::Tools { command: ToolsCommand::Inspect(arguments) } => {
            inspect::run(printer, &arguments).await
        }
        Command::Tools { command: ToolsCommand::Run(arguments) } => run::run(printer, &arguments).await,
        Command::CompileComponent { .. } => Exit::Usage,
    }
}

/// Logs to stderr what `RINGFENCE_LOG` asks for.
fn start_log() {
    let wanted = crate::config::env::LOG.get().and_then(|value| value.into_string().ok());
    let filter = tracing_subscriber::EnvFilter::new(wanted.as_deref().unwrap_or("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // A second start in one process keeps the first log.
    let _ = log.try_init();
}
