//! What people can type.

use super::args_cron::CronCommand;
use super::args_doctor::DoctorArguments;
use super::args_rights::{RightsArguments, SandboxFlag, capability};
use super::args_sessions::{AuditArguments, SessionsCommand};
use super::args_tasks::{ServeArguments, TasksCommand};
use super::ask::{ChatArguments, TaskArguments};
use super::exit::Exit;
use crate::authority::Capability;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const FIRST_STEPS: &str = "\
Without a command, in a terminal: a chat
One task: ringfence run \"what to do\"
Without any key: ringfence demo";

/// A sandboxed agent host: every tool is a WebAssembly component, and a role decides what is linked.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, after_help = FIRST_STEPS, after_long_help = Exit::help())]
pub struct Arguments {
    /// The command; without one, a chat.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Of the chat.
    #[command(flatten)]
    pub chat: ChatArguments,
    /// How to speak.
    #[command(flatten)]
    pub voice: Voice,
}

/// How the program speaks.
#[derive(Debug, Clone, Copy, Args)]
pub struct Voice {
    /// Colour on the terminal.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Print results and errors, and nothing on the way.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more on the way: what every call was given and answered.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// When there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Give the agent one task and print its answer.
    #[command(after_help = Exit::help())]
    Run(Box<TaskArguments>),
    /// See the tools at work on a short task, without a key and without a network.
    Demo,
    /// Look at tools and run them.
    Tools {
        /// What to do with them.
        #[command(subcommand)]
        command: ToolsCommand,
    },
    /// Compile the component on stdin to stdout. The program calls itself with this.
    #[command(name = crate::sandbox::COMPILE_TASK, hide = true)]
    CompileComponent {
        /// Seconds of processor time that it may take.
        processor: u64,
        /// Bytes of memory that it may take.
        memory: u64,
    },
    /// Let the agent work later, once or again and again.
    #[command(after_help = Exit::help())]
    Cron {
        /// What to do with such jobs.
        #[command(subcommand)]
        command: CronCommand,
    },
    /// Look at what was said before.
    Sessions {
        /// What to do with it.
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// Look at background tasks, end them, and run them again.
    Tasks {
        /// What to do with them.
        #[command(subcommand)]
        command: TasksCommand,
    },
    /// Run what waits in the background, and print what it comes to, until this is told to end.
    Serve(ServeArguments),
    /// Look at what tools were called, and what became of it.
    Audit(AuditArguments),
    /// Look at the configuration.
    Config {
        /// What to do with it.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Look at what keeps the program from its work, and what to do about it.
    #[command(after_help = Exit::help())]
    Doctor(DoctorArguments),
}

/// The commands about tools.
#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List the tools and which of them a role can call.
    List(ListArguments),
    /// Show what a tool or a component file asks for, and what each role would say.
    Inspect(InspectArguments),
    /// Run one tool under a role.
    #[command(after_help = Exit::help())]
    Run(Box<RunArguments>),
}

/// The commands about configuration.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ConfigCommand {
    /// Show what is in force, and where each value comes from.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Read the configuration as every start does, and say whether it can be used.
    Validate,
    /// Show where the configuration file is.
    Path,
}

/// Of `tools list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// As this role or configured profile sees them.
    #[arg(long, default_value = "main")]
    pub role: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `tools inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// A tool's name, or the path of a component file.
    #[arg(value_name = "NAME|FILE.wasm")]
    pub what: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Of `tools run`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("role", |role| {
    role.help("Run it as this role or configured profile").value_name("ROLE").default_value("main")
}))]
pub struct RunArguments {
    /// A tool's name; with --component, one of that component's tools.
    pub name: String,
    /// The tool's arguments as key=value; values are read as the tool's schema says.
    #[arg(value_name = "KEY=VALUE", conflicts_with = "arguments")]
    pub pairs: Vec<String>,
    /// The tool's arguments as a JSON object.
    #[arg(long = "json", value_name = "ARGS")]
    pub arguments: Option<String>,
    /// As whom, and with what.
    #[command(flatten)]
    pub rights: RightsArguments,
    /// Whether commands have a sandbox.
    #[command(flatten)]
    pub sandbox: SandboxFlag,
    /// A component file to take tools from. It holds what --allow grants and nothing else.
    #[arg(long, value_name = "FILE.wasm")]
    pub component: Option<PathBuf>,
    /// Grant the component a capability: files, exec, log, message, spawn, tasks, cron.
    #[arg(long, value_name = "CAPABILITY", value_parser = capability, requires = "component")]
    pub allow: Vec<Capability>,
    /// Seconds that the call may take, at most 600.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub timeout: u64,
    /// What to print on stdout.
    #[arg(short = 'o', long, value_enum, default_value_t = OutputFormat::Text)]
    pub output: OutputFormat,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The result's text.
    Text,
    /// One JSON object, whatever became of the call.
    Json,
}
