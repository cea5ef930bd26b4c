//! `ringfence demo`: a short task in a scratch workspace. The model's words are scripted; everything else is real.

use super::exit::Exit;
use super::open::{Setting, Stop, whole};
use super::printer::Printer;
use crate::agent::{Budget, Purse, Said, Turn, TurnOutcome, What};
use crate::authority::{Profile, Role};
use crate::provider::scripted::{Script, Scripted};
use crate::sandbox::Limits;
use crate::session::{Session, SessionKey};
use crate::toolbox::{Agent, Outcome};
use serde_json::json;
use std::sync::{Mutex, PoisonError};

/// What the model says.
const SCRIPT: &str = include_str!("../../assets/demo.toml");

/// What the person says.
const TASK: &str = "The banner of this project shows the wrong year. Find it and correct it.";

/// The scratch workspace.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# Lighthouse\n\nA program that greets. Its banner is in `src/banner.txt`.\n"),
    ("src/banner.txt", "*** Lighthouse ***\nshining since 1926\n"),
    ("src/main.py", "print(open('src/banner.txt').read())\n"),
];

/// Lines of a result that are shown.
const LINES: usize = 6;

pub(super) async fn run(printer: &Printer) -> Exit {
    match play(printer).await {
        Ok(()) => Exit::Done,
        Err(stop) => stop.tell(printer),
    }
}

async fn play(printer: &Printer) -> Result<(), Stop> {
    let failed = |problem: String| Stop(format!("the demonstration: {problem}"), Exit::Failed);
    let scratch = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let setting = Setting::open(Some(scratch.path()), &[], Limits::default())?;
    let main = setting.agent(Profile::plain(Role::Main), false, &[])?;
    printer.result("Ringfence demo. The model's words come from a script, so that no key is needed.");
    printer
        .result("Everything else is real: the tools, the sandbox that they run in, the files, the denial.\n");
    printer.result(&format!("Scratch workspace: {} (removed at the end)", setting.workspace.display()));
    printer.note("(the tools are compiled at their first use; that takes some seconds once)");
    for (path, content) in FILES {
        let arguments = json!({ "path": path, "content": content }).to_string();
        let reply = setting.toolbox.call(&main, "write_file", &arguments).await;
        if !matches!(reply.outcome, Outcome::Done(_)) {
            return Err(failed(reply.outcome.for_model()));
        }
    }
    turn(printer, &setting, &main).await?;
    let subagent = setting.agent(Profile::plain(Role::Subagent), false, &[])?;
    denial(printer, &setting, &subagent).await?;
    printer.result("\nNext, with a model of your own:");
    for line in [
        "  export ANTHROPIC_API_KEY=...     (or OPENAI_API_KEY, or OPENROUTER_API_KEY)",
        "  ringfence run \"what is in this directory?\"",
        "or without one:",
        "  ringfence tools list --role subagent",
        "  ringfence tools run list_dir path=.",
    ] {
        printer.result(line);
    }
    drop(setting);
    scratch.close().map_err(|error| failed(whole(&error)))
}

/// The task, as main.
async fn turn(printer: &Printer, setting: &Setting, main: &Agent) -> Result<(), Stop> {
    let failed = |problem: String| Stop(format!("the demonstration: {problem}"), Exit::Failed);
    let provider = Scripted::new(Script::parse(SCRIPT).map_err(|error| failed(error.to_string()))?);
    let mut session = Session::ephemeral(SessionKey::new("cli", "demo"));
    printer.result(&format!("\nyou: {TASK}"));
    let said = Mutex::new(String::new());
    let listen = |what: What| match what {
        What::TextDelta { text } => said.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text),
        What::ToolStarted { name, arguments, .. } => {
            speak(printer, &said);
            printer.result(&format!("  -> {name} {arguments}"));
        }
        What::ToolFinished { name, outcome, ms, summary, .. } => {
            printer.result(&format!("  <- {name} {outcome} in {ms} ms: {summary}"));
        }
        _ => {}
    };
    let budget = Budget { iterations: 40, tokens: None, cost: None, time: None, reply_tokens: 8192 };
    let turn = Turn {
        provider: &provider,
        toolbox: &setting.toolbox,
        caller: main,
        session: &mut session,
        system: "",
        budget: &budget,
        purse: &Purse::of(&budget),
        temperature: None,
        follow_ups: &Vec::new,
        listen: &listen,
    };
    let end = turn.run(vec![Said::by_person(TASK)]).await;
    speak(printer, &said);
    match end.outcome {
        TurnOutcome::Completed => {}
        TurnOutcome::Failed(error) => return Err(failed(error.to_string())),
        other => return Err(failed(format!("it did not come to its end: {other:?}"))),
    }
    let path = json!({ "path": "src/banner.txt" }).to_string();
    let banner = setting.toolbox.call(main, "read_file", &path).await.outcome.for_model();
    printer.result("\nThe file as it is now:");
    for line in banner.lines().take(LINES) {
        printer.result(&format!("  {line}"));
    }
    Ok(())
}

/// Prints what the model has said since it was last printed.
fn speak(printer: &Printer, said: &Mutex<String>) {
    let text = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
    if !text.is_empty() {
        printer.result(&format!("model (scripted): {text}"));
    }
}

/// The same tool as a subagent.
async fn denial(printer: &Printer, setting: &Setting, subagent: &Agent) -> Result<(), Stop> {
    printer.result("\nNow the same call of `message`, by name, as a subagent:");
    let arguments = json!({ "content": "You should never see this." }).to_string();
    match setting.toolbox.call(subagent, "message", &arguments).await.outcome {
        Outcome::Denied(denial) => {
            printer.result(&format!("  {denial}"));
            printer.result(
                "  Nothing was sent. A subagent's sandbox has no such import: there is nothing to talk into.",
            );
            Ok(())
        }
        other => {
            Err(Stop(format!("the demonstration: it was not denied: {}", other.for_model()), Exit::Failed))
        }
    }
}
