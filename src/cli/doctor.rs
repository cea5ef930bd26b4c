//! `ringfence doctor`: what keeps the program from its work, with what to do about it.

use super::args_doctor::{DoctorArguments, DoctorCommand, SandboxArguments};
use super::doctor_sandbox::Report;
use super::exit::Exit;
use super::native::{self, Native};
use super::open::{Stop, dirs};
use super::printer::Printer;
use crate::config::{self, Config, Dirs, Privacy};
use std::path::Path;

pub(super) async fn run(printer: &Printer, typed: &DoctorArguments) -> Exit {
    let told = match &typed.command {
        Some(DoctorCommand::Sandbox(typed)) => sandbox(printer, typed).await,
        None => everything(printer).await,
    };
    told.unwrap_or_else(|stop| stop.tell(printer))
}

/// The sandbox of commands, from what was found to what is missing.
async fn sandbox(printer: &Printer, typed: &SandboxArguments) -> Result<Exit, Stop> {
    let dirs = dirs()?;
    let config = load(&dirs)?;
    let report = report(&config, &dirs, typed).await?;
    let written =
        if typed.json { printer.json(&report.json()) } else { printer.result(&report.lines().join("\n")) };
    Ok(if report.runs() { written } else { Exit::Load })
}

async fn report(config: &Config, dirs: &Dirs, typed: &SandboxArguments) -> Result<Report, Stop> {
    let native = Native::of(config, dirs)?;
    let machine = native::commands(&native.settings, false)?.machine().await;
    let machine = machine.map_err(|error| Stop(error.to_string(), Exit::Load))?;
    Ok(Report { machine: machine.without(&typed.without), native, file: dirs.config.join("config.toml") })
}

fn load(dirs: &Dirs) -> Result<Config, Stop> {
    Config::load(dirs).map_err(|error| Stop(error.to_string(), Exit::Config))
}

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    says: String,
    /// What to end with, where something is wrong.
    wrong: Option<Exit>,
    /// What to type.
    hint: Option<String>,
}

impl Finding {
    fn fine(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, says: says.into(), wrong: None, hint: None }
    }

    fn wrong(what: &'static str, says: impl Into<String>, exit: Exit) -> Self {
        Self { what, says: says.into(), wrong: Some(exit), hint: None }
    }
}

/// Everything that there is to look at, a line each. It ends as the first that is wrong says.
async fn everything(printer: &Printer) -> Result<Exit, Stop> {
    let dirs = dirs()?;
    let (config, mut findings) = match Config::load(&dirs) {
        Ok(config) => {
            let path = dirs.config.join("config.toml");
            let says = match config::canonical(&path) {
                Ok(_) => "can be used",
                Err(_) => "is not there; the defaults hold",
            };
            let fine = Finding::fine("configuration", format!("{} {says}", path.display()));
            (Some(config), vec![fine])
        }
        Err(error) => (None, vec![Finding::wrong("configuration", error.to_string(), Exit::Config)]),
    };
    for (what, dir, forbidden) in [
        // What it says of keys is where they are, so that others may read it.
        ("directory", &dirs.config, 0o022),
        ("directory", &dirs.data, 0o077),
        ("directory", &dirs.cache, 0o022),
    ] {
        findings.push(directory(what, dir, forbidden));
    }
    if let Some(config) = &config {
        findings.push(model(config));
        findings.push(commands(config, &dirs).await);
    }
    let mut exit = Exit::Done;
    let mut lines = Vec::new();
    for finding in &findings {
        let mark = if finding.wrong.is_some() { "wrong" } else { "ok" };
        lines.push(format!("{mark:5}  {:13}  {}", finding.what, finding.says));
        lines.extend(finding.hint.iter().map(|hint| format!("       {hint}")));
        if let (Exit::Done, Some(wrong)) = (exit, finding.wrong) {
            exit = wrong;
        }
    }
    let written = printer.result(&lines.join("\n"));
    Ok(if exit == Exit::Done { written } else { exit })
}

fn directory(what: &'static str, dir: &Path, forbidden: u32) -> Finding {
    let shown = dir.display();
    let chmod = || {
        let path = dir.to_string_lossy();
        shlex::try_join(["chmod", "go-rwx", &path]).ok().map(|command| format!("type: {command}"))
    };
    match config::privacy(dir) {
        Ok(Privacy::Private) => Finding::fine(what, format!("{shown} is yours alone")),
        Ok(Privacy::Absent) => Finding::fine(what, format!("{shown} is not there yet")),
        Ok(Privacy::Open { mode }) if mode & forbidden == 0 => {
            Finding::fine(what, format!("{shown} can be changed by you alone"))
        }
        Ok(Privacy::Open { mode }) => Finding {
            hint: chmod(),
            ..Finding::wrong(what, format!("{shown} is open to others (mode {mode:03o})"), Exit::Config)
        },
        Ok(Privacy::Foreign) => {
            Finding::wrong(what, format!("{shown} belongs to another user"), Exit::Config)
        }
        Err(error) => Finding::wrong(what, format!("{shown}: {error}"), Exit::Config),
    }
}

/// Which model service would be asked. Its key is not looked up: that may ask a person for something.
fn model(config: &Config) -> Finding {
    match config.choose_provider(None, None) {
        Ok(provider) => {
            let key = provider
                .key
                .as_ref()
                .map_or_else(|| "no key".to_owned(), |key| format!("its key from {key}"));
            Finding::fine("model service", format!("{}, {key}", provider.name))
        }
        // Nothing is wrong with a program that is not set up yet.
        Err(config::ConfigError::NoProvider) => Finding::fine("model service", "none is configured yet"),
        Err(error) => Finding::wrong("model service", error.to_string(), Exit::Config),
    }
}

async fn commands(config: &Config, dirs: &Dirs) -> Finding {
    let all = SandboxArguments { json: false, without: Vec::new() };
    match report(config, dirs, &all).await {
        Ok(report) if report.runs() => Finding::fine("sandbox", report.verdict()),
        Ok(report) => Finding {
            hint: Some("to see what is missing: ringfence doctor sandbox".to_owned()),
            ..Finding::wrong("sandbox", report.verdict(), Exit::Load)
        },
        Err(Stop(problem, exit)) => Finding::wrong("sandbox", problem, exit),
    }
}
