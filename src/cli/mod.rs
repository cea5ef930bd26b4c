//! The command line: one file a verb. It talks to people and decides nothing.

mod args;
mod args_cron;
mod args_doctor;
mod args_rights;
mod args_sessions;
mod args_tasks;
mod ask;
mod audit;
mod background;
mod chat;
mod commands;
mod configuration;
mod cron;
mod cron_run;
mod demo;
mod doctor;
mod doctor_sandbox;
mod editor;
mod events;
mod exit;
mod house;
mod inspect;
pub mod ladder;
mod list;
mod markdown;
mod native;
mod open;
mod outbox;
mod outcome;
mod paint;
mod person;
mod printer;
mod remedy;
mod run;
mod serve;
mod sessions;
mod signals;
pub mod slash;
pub mod status;
mod task;
mod tasks;
mod tasks_act;
mod tasks_show;
mod toolchains;
mod turn;
mod typing;
mod worker;

pub use args::{Arguments, Command, ToolsCommand};
pub use exit::Exit;
pub use markdown::finished;

use crate::sandbox::CompileBounds;
use clap::{CommandFactory as _, Parser as _};
use printer::Printer;
use std::ffi::OsString;

/// Runs the program with these arguments, the program's name first; what it ends with.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|task| task == crate::exec::LAUNCHER) && arguments.len() == 2 {
        return if crate::exec::launcher() == 0 { Exit::Done } else { Exit::Failed };
    }
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return printer::usage(&error),
    };
    if arguments.command.is_some() && arguments.chat != ask::ChatArguments::default() {
        let problem = "options of the chat stand before a command; write them behind it";
        return printer::usage(
            &Arguments::command().error(clap::error::ErrorKind::ArgumentConflict, problem),
        );
    }
    start_log();
    printer::choose_color(arguments.voice.color);
    let printer = Printer::new();
    if let Some(Command::CompileComponent { processor, memory }) = arguments.command {
        return compile(&printer, CompileBounds { processor, memory, ..CompileBounds::default() });
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return printer.error(&format!("no thread can be started: {error}"), Exit::Failed),
    };
    let exit = runtime.block_on(async {
        let exit = run_command(&printer, &arguments).await;
        // Whatever still runs ends here, and what it left is looked at before nobody can.
        crate::exec::end_all().await.iter().for_each(|line| printer.note(line));
        exit
    });
    // A call that hangs in the system must not hold up the end of the program.
    runtime.shutdown_background();
    exit
}

/// The task that the program calls itself for, before anything of a host is started.
fn compile(printer: &Printer, bounds: CompileBounds) -> Exit {
    match crate::sandbox::compile_task(bounds, std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => Exit::Done,
        Err(error) => printer.error(&format!("{error:#}"), Exit::Failed),
    }
}

async fn run_command(printer: &Printer, arguments: &Arguments) -> Exit {
    let Some(command) = &arguments.command else {
        return chat::run(printer, arguments.voice, &arguments.chat).await;
    };
    match command {
        Command::Run(typed) => task::run(printer, arguments.voice, typed).await,
        Command::Demo => demo::run(printer).await,
        Command::Tools { command: ToolsCommand::List(typed) } => list::run(printer, typed),
        Command::Tools { command: ToolsCommand::Inspect(typed) } => inspect::run(printer, typed).await,
        Command::Tools { command: ToolsCommand::Run(typed) } => run::run(printer, typed).await,
        Command::Cron { command } => cron::run(printer, command).await,
        Command::Sessions { command } => sessions::run(printer, command),
        Command::Tasks { command } => tasks::run(printer, command).await,
        Command::Serve(typed) => serve::run(printer, arguments.voice, *typed).await,
        Command::Audit(typed) => audit::run(printer, typed),
        Command::Config { command } => configuration::run(printer, *command),
        Command::Doctor(typed) => doctor::run(printer, typed).await,
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
