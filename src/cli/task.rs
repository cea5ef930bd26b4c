//! `ringfence run`: one task, its answer on stdout.

use super::args::Voice;
use super::args_rights::option;
use super::ask::{Format, TaskArguments};
use super::events::Stream;
use super::exit::Exit;
use super::open::Stop;
use super::outcome::{self, Failure};
use super::paint::{Painter, Text};
use super::printer::Printer;
use super::signals::Signals;
use super::turn::{Hooks, Talk};
use crate::agent::{Said, TurnEnd, TurnOutcome, What};
use crate::config::Named;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _};
use std::sync::Mutex;

/// Bytes of a prompt that is read from stdin.
const MOST: u64 = 4 * 1024 * 1024;

/// What a run came to.
struct Ran {
    end: TurnEnd,
    exit: Exit,
    session: String,
    cost: Option<u64>,
}

pub(super) async fn run(printer: &Printer, voice: Voice, typed: &TaskArguments) -> Exit {
    // Whoever pipes the answer on wants it whole; who watches wants to see it come.
    let live = typed.output == Format::Text && std::io::stdout().is_terminal();
    let text = if live { Text::Live } else { Text::AtTheEnd };
    let moves = typed.output == Format::Text || !std::io::stdout().is_terminal();
    let painter = Painter::new(*printer, text, voice, moves);
    let mut stream = Stream::nowhere();
    let ran = ask(printer, &painter, &mut stream, typed).await;
    painter.end();
    match ran {
        Ok(ran) => tell(printer, typed, live, &ran),
        Err(stop) => {
            let failure = Failure::of_stop(&stop);
            match typed.output {
                Format::Text => {}
                Format::Json => {
                    printer.json(&failure.as_json());
                }
                Format::Jsonl => stream.emit(failure.as_event(), |event| {
                    printer.json(event);
                }),
            }
            stop.tell(printer)
        }
    }
}

async fn ask(
    printer: &Printer,
    painter: &Painter,
    stream: &mut Stream,
    typed: &TaskArguments,
) -> Result<Ran, Stop> {
    let mut signals = Signals::listen();
    let prompt = prompt(typed)?;
    let last = typed.last_message.as_ref().map(|path| {
        Named::open(path).map_err(|error| Stop(format!("{}: {error}", path.display()), Exit::Usage))
    });
    let last = last.transpose()?;
    let mut talk = Talk::open(&typed.ask, &typed.session)?;
    *stream = Stream::new(&talk.key);
    let stream = &*stream;
    let listen = |what: What| {
        painter.hear(&what);
        if typed.output == Format::Jsonl {
            stream.emit(what, |event| {
                printer.json(event);
            });
        }
    };
    listen(talk.started()?);
    let ended_by = Mutex::new(None);
    let stop = async {
        let exit = signals.next().await;
        if let Ok(mut by) = ended_by.lock() {
            *by = Some(exit);
        }
    };
    let hooks = Hooks { listen: &listen, message: &|text| painter.message(text), follow_ups: &Vec::new };
    let end = talk.turn(vec![Said::by_person(prompt)], hooks, stop).await?;
    if let (Some(last), Some(path)) = (&last, &typed.last_message) {
        last.write(&end.text).map_err(|error| Stop(format!("{}: {error}", path.display()), Exit::Failed))?;
    }
    let exit = match (&end.outcome, ended_by.into_inner()) {
        (TurnOutcome::Cancelled, Ok(Some(exit))) => exit,
        _ => outcome::exit(&end),
    };
    let cost = talk.provider.cost(end.usage);
    Ok(Ran { end, exit, session: talk.key.to_string(), cost })
}

/// The command that goes on where a turn ended: with the same rights, asked of the same model, in the same conversation.
fn go_on(typed: &TaskArguments, session: &str) -> Option<String> {
    if typed.session.ephemeral {
        return None;
    }
    let ask = &typed.ask;
    let mut words: Vec<String> = vec!["ringfence".to_owned(), "run".to_owned()];
    for (name, value) in [("--provider", &ask.provider), ("--model", &ask.model)] {
        words.extend(value.iter().flat_map(|value| option(name, value)));
    }
    words.extend(ask.rights.words());
    words.extend(option("-s", session));
    words.push("go on".to_owned());
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

fn prompt(typed: &TaskArguments) -> Result<String, Stop> {
    let usage = |problem: &str| Stop(problem.to_owned(), Exit::Usage);
    let missing =
        || usage("there is nothing to do; type for example: ringfence run \"what is in this directory?\"");
    let text = match typed.prompt.as_slice() {
        [dash] if dash == "-" => stdin()?,
        [] if std::io::stdin().is_terminal() => return Err(missing()),
        [] => stdin()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() { Err(missing()) } else { Ok(text) }
}

fn stdin() -> Result<String, Stop> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| Stop(format!("stdin cannot be read: {error}"), Exit::Usage))?;
    if bytes.len() as u64 > MOST {
        return Err(Stop("the prompt on stdin is longer than 4 MiB".to_owned(), Exit::Usage));
    }
    String::from_utf8(bytes)
        .map_err(|_| Stop("the prompt on stdin is not UTF-8 text".to_owned(), Exit::Usage))
}

fn tell(printer: &Printer, typed: &TaskArguments, live: bool, ran: &Ran) -> Exit {
    let end = &ran.end;
    let mut failure = Failure::of_turn(end);
    if let Some(failure) = &mut failure {
        failure.code = ran.exit.code();
        failure.hint = failure.hint.take().and_then(|_| go_on(typed, &ran.session));
    }
    let written = match typed.output {
        Format::Text if !live && !end.text.is_empty() => printer.result(&end.text),
        Format::Text | Format::Jsonl => Exit::Done,
        Format::Json => {
            let mut object = failure.as_ref().map_or_else(|| json!({ "ok": true }), Failure::as_json);
            if let Some(map) = object.as_object_mut() {
                map.insert("outcome".to_owned(), end.outcome.name().into());
                map.insert("text".to_owned(), end.text.clone().into());
                map.insert("session".to_owned(), ran.session.clone().into());
                map.insert("iterations".to_owned(), end.iterations.into());
                map.insert("usage".to_owned(), json!(end.usage));
                map.insert("cost_usd".to_owned(), ran.cost.map(|cost| cost as f64 / 1e6).into());
                map.insert("denied".to_owned(), end.denied.clone().into());
            }
            printer.json(&object)
        }
    };
    if !end.denied.is_empty() {
        printer.note("denied on the way:");
        for denial in &end.denied {
            printer.hint(denial.trim_start_matches("denied: "));
        }
    }
    if let Some(failure) = failure {
        let (line, hint) = failure.lines();
        printer.error(&line, ran.exit);
        if let Some(hint) = hint {
            printer.hint(&hint);
        }
    }
    // An answer that could not be written was not given.
    if ran.exit == Exit::Done { written } else { ran.exit }
}
