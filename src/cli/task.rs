//! `ringfence run`: one task, its answer on stdout.

use super::args::Voice;
use super::args_rights::option;
use super::ask::{Format, TaskArguments};
use super::background;
use super::events::Stream;
use super::exit::Exit;
use super::native;
use super::open::Stop;
use super::outcome::{self, Failure};
use super::paint::{Painter, Text};
use super::printer::Printer;
use super::signals::Signals;
use super::turn::{Hooks, Talk};
use crate::agent::{Incomplete, Said, TurnEnd, TurnOutcome, What};
use crate::config::Named;
use crate::provider::Usage;
use crate::store::{Execution, TaskRow};
use crate::tasks::{Announcement, Hands};
use crate::toolbox::one_line;
use serde_json::json;
use std::io::{IsTerminal as _, Read as _};

/// Bytes of a prompt that is read from stdin.
const MOST: u64 = 4 * 1024 * 1024;

/// What a run came to.
struct Ran {
    end: TurnEnd,
    exit: Exit,
    session: String,
    cost: Option<u64>,
    tasks: Vec<TaskRow>,
}

pub(super) async fn run(printer: &Printer, voice: Voice, typed: &TaskArguments) -> Exit {
    if typed.ask.sandbox.none {
        printer.note(native::UNSANDBOXED);
    }
    // Whoever pipes the answer on wants it whole; who watches wants to see it come.
    let live = typed.output == Format::Text && std::io::stdout().is_terminal();
    let text = if live { Text::Live } else { Text::AtTheEnd };
    let moves = typed.output == Format::Text || !std::io::stdout().is_terminal();
    let painter = Painter::new(*printer, text, voice, moves);
    let mut stream = Stream::nowhere();
    let ran = ask(printer, (&painter, live), &mut stream, typed).await;
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
    (painter, live): (&Painter, bool),
    stream: &mut Stream,
    typed: &TaskArguments,
) -> Result<Ran, Stop> {
    let mut signals = Signals::listen();
    let prompt = prompt(typed)?;
    let last = typed.last_message.as_ref().map(|path| {
        Named::open(path).map_err(|error| Stop(format!("{}: {error}", path.display()), Exit::Usage))
    });
    let last = last.transpose()?;
    let hands = if typed.detach { Hands::Others } else { Hands::Own };
    let mut talk = Talk::open(&typed.ask, &typed.session, ("run", hands))?;
    talk.share_purse();
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
    let arrived = |announcement: &Announcement| {
        // What came of one that succeeded is in the answer.
        if announcement.execution != Execution::Succeeded || !painter.is_quiet() {
            painter.between(&background::line(announcement));
        }
        if typed.output == Format::Jsonl {
            stream.emit(background::event(announcement), |event| {
                printer.json(event);
            });
        }
    };
    listen(talk.started()?);
    let start = jiff::Timestamp::now().as_millisecond();
    background::greet(&talk, &|line| painter.tell(line))?;
    let message = |text: &str| painter.message(text);
    let hooks = Hooks { listen: &listen, message: &message, follow_ups: &Vec::new, arrived: &arrived };
    let deadline = talk.budget.time.map(|time| tokio::time::Instant::now() + time);
    let mut ended_by = None;
    let first = talk.turn(vec![Said::by_person(prompt)], hooks, async {
        ended_by = Some(signals.next().await);
    });
    let mut end = first.await?;
    // What the turn has started is waited for; what becomes of it is a further turn, within the same limits.
    while ended_by.is_none() && !typed.detach {
        let (place, tasks) = (talk.place(), talk.tasks.clone());
        let on_their_way = tasks.unended(&place);
        if on_their_way > 0 {
            painter.say(&background::waiting(on_their_way));
        }
        let next = tokio::select! {
            biased;
            exit = signals.next() => {
                ended_by = Some(exit);
                None
            }
            () = background::until(deadline) => {
                end.outcome = TurnOutcome::Incomplete(Incomplete::Time);
                None
            }
            next = tasks.arrival_or_none(&place) => next,
        };
        let Some(next) = next else { break };
        let mut all = vec![next];
        all.extend(tasks.arrived(&place));
        if end.outcome != TurnOutcome::Completed {
            // A limit is reached: the person is told, and the agent when somebody asks it again.
            background::told(&mut talk, &all, &arrived);
            continue;
        }
        if let Some(deadline) = deadline {
            talk.budget.time = Some(deadline.saturating_duration_since(tokio::time::Instant::now()));
        }
        let heard = talk.hear(all, hooks, async {
            ended_by = Some(signals.next().await);
        });
        let Some(heard) = heard.await? else { continue };
        if typed.output == Format::Text && !live && !end.text.is_empty() {
            printer.result(&end.text);
        }
        end = TurnEnd {
            iterations: end.iterations + heard.iterations,
            usage: sum(end.usage, heard.usage),
            denied: [end.denied, heard.denied].concat(),
            ..heard
        };
    }
    let reason = if ended_by.is_some() { "the run was interrupted" } else { "the time of the run was over" };
    background::close(&mut talk, &arrived, reason).await;
    let tasks = background::since(&talk, start);
    if typed.detach && tasks.iter().any(|row| !row.execution.ended()) {
        super::worker::start().map_err(|error| {
            Stop(
                format!("no process can be started for the background tasks: {error}; type: ringfence serve --once"),
                Exit::Failed,
            )
        })?;
    }
    if let (Some(last), Some(path)) = (&last, &typed.last_message) {
        last.write(&end.text).map_err(|error| Stop(format!("{}: {error}", path.display()), Exit::Failed))?;
    }
    let exit = ended_by.unwrap_or_else(|| outcome::exit(&end));
    let cost = talk.provider.cost(end.usage);
    Ok(Ran { end, exit, session: talk.key.to_string(), cost, tasks })
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

fn sum(one: Usage, other: Usage) -> Usage {
    let mut sum = one;
    sum += other;
    sum
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
    let signal = matches!(ran.exit, Exit::Interrupted | Exit::Terminated);
    let mut failure = Failure::of_turn(end).or_else(|| signal.then(|| Failure::of_signal(ran.exit)));
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
                let tasks: Vec<_> = ran.tasks.iter().map(background::as_json).collect();
                map.insert("tasks".to_owned(), tasks.into());
                map.insert("denied".to_owned(), end.denied.clone().into());
            }
            printer.json(&object)
        }
    };
    if typed.detach {
        for row in ran.tasks.iter().filter(|row| !row.execution.ended()) {
            let label = one_line(&row.label);
            printer.note(&format!("task {} ({label}) goes on in the background", row.id));
            printer.hint(&format!("ringfence tasks show {}", row.id));
        }
    }
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
