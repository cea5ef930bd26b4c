//! What happens in a turn, for the eyes of a person: painted from the same events that programs read.

use super::args::Voice;
use super::markdown;
use super::printer::Printer;
use crate::agent::What;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines of the open block that are shown while it is written.
const OPEN_LINES: usize = 8;

/// Characters of a call's arguments in its one line.
const BRIEF: usize = 80;

/// Characters of a tool's name there.
const NAME: usize = 64;

/// What is done with the text of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// It goes to stdout while it comes in.
    Live,
    /// Whoever runs the turn prints it at the end.
    AtTheEnd,
}

/// Paints one turn after the other.
#[derive(Debug)]
pub(super) struct Painter {
    printer: Printer,
    text: Text,
    voice: Voice,
    spinner: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The text of this reply that is not on the screen for good.
    open: String,
    /// Whether stdout stands in the middle of a line.
    mid_line: bool,
    /// The arguments of calls that run.
    calls: HashMap<String, String>,
}

impl Painter {
    /// `moves` says whether there may be a spinner: not where something else writes to the same terminal.
    pub(super) fn new(printer: Printer, text: Text, voice: Voice, moves: bool) -> Self {
        let drawn =
            moves && !voice.quiet && std::io::stderr().is_terminal() && !crate::config::dumb_terminal();
        let spinner = drawn.then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { printer, text, voice, spinner, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Paints one event.
    pub(super) fn hear(&self, what: &What) {
        let mut state = self.state();
        match what {
            // Whoever runs the turn tells of the tasks.
            What::SessionStarted { .. } | What::Usage { .. } | What::TaskUpdated { .. } => {}
            What::TurnStarted { .. } | What::ReasoningDelta { .. } => self.busy("thinking"),
            What::TextDelta { text } => self.piece(&mut state, text),
            What::TextRestart {} => {
                state.open.clear();
                if state.mid_line {
                    self.printer.piece("\n");
                    state.mid_line = false;
                }
                self.say("note: the connection broke; the reply begins anew");
            }
            What::ToolStarted { id, name, arguments } => {
                self.settle(&mut state, true);
                if let Some(line) = command_line(name, arguments) {
                    self.say(&line);
                }
                state.calls.insert(id.clone(), arguments.clone());
                self.busy(&format!("{} {}", one_line(name, NAME), brief(arguments)));
            }
            What::ToolFinished { id, name, ok, outcome, kind, ms, bytes, truncated, summary } => {
                let arguments = state.calls.remove(id).unwrap_or_default();
                let named = kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
                let cut = if *truncated { ", shown in part" } else { "" };
                let name = one_line(name, NAME);
                let mut line =
                    format!("tool {name} {}: {outcome}{named}, {ms} ms, {bytes} bytes{cut}", brief(&arguments));
                if !ok {
                    line.push_str(&format!(": {}", one_line(for_people(summary), 300)));
                }
                self.say(&line);
                if outcome == "denied"
                    && let Some(meaning) = kind.as_deref().and_then(meaning)
                {
                    self.say(&format!("  nothing was done: {meaning}"));
                }
                if self.voice.verbose {
                    self.say(&format!("  given: {}", one_line(&arguments, 2_000)));
                    self.say(&format!("  answered: {}", one_line(summary, 2_000)));
                }
                self.busy("thinking");
            }
            What::Retry { ms, reason } => {
                self.say(&format!("note: waiting {}.{} s: {reason}", ms / 1_000, ms % 1_000 / 100));
            }
            What::Compaction { before, after } => self.say(&format!(
                "note: older messages were summed up for the model: {before} messages are {after} now; the history is kept whole"
            )),
            What::Notice { text } => {
                self.settle(&mut state, true);
                self.say(&format!("note: {}", set_back(text)));
            }
            // Whoever runs the turn says how it ended.
            What::Error { .. } | What::TurnFinished { .. } => self.settle(&mut state, false),
        }
    }

    /// A message that an agent sends to the person.
    pub(super) fn message(&self, text: &str) {
        let mut state = self.state();
        self.settle(&mut state, true);
        self.above(|| self.printer.note(&format!("message: {}", set_back(text))));
    }

    /// A line for the person, whatever moves.
    pub(super) fn tell(&self, text: &str) {
        self.above(|| self.printer.note(text));
    }

    /// A line between two replies of a turn, for what makes the agent speak again: what it said until then is not to run into
    /// what it says next.
    pub(super) fn between(&self, text: &str) {
        if self.text == Text::Live {
            self.settle(&mut self.state(), true);
        }
        self.tell(text);
    }

    /// Ends a turn: everything that was said is on the screen, and nothing moves any more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        self.settle(&mut state, false);
        state.calls.clear();
        if let Some(spinner) = &self.spinner {
            spinner.disable_steady_tick();
            spinner.finish_and_clear();
        }
    }

    /// Whether the person wants nothing on the way.
    pub(super) fn is_quiet(&self) -> bool {
        self.voice.quiet
    }

    /// A line on stderr, unless the person wants none on the way.
    pub(super) fn say(&self, line: &str) {
        if !self.voice.quiet {
            self.above(|| self.printer.note(line));
        }
    }

    fn piece(&self, state: &mut State, text: &str) {
        state.open.push_str(text);
        if self.text == Text::AtTheEnd {
            return;
        }
        if self.spinner.is_none() {
            let text = std::mem::take(&mut state.open);
            state.mid_line = !text.ends_with('\n');
            self.printer.piece(&text);
            return;
        }
        let done = markdown::finished(&state.open);
        if done > 0 {
            let rest = state.open.split_off(done);
            let block = std::mem::replace(&mut state.open, rest);
            self.above(|| self.printer.painted(&markdown::render(&block)));
        }
        self.busy(&markdown::tail(&state.open, OPEN_LINES));
    }

    /// Puts what is open on the screen for good. `on` says that the turn goes on after it.
    fn settle(&self, state: &mut State, on: bool) {
        let open = std::mem::take(&mut state.open);
        if let Some(spinner) = &self.spinner {
            spinner.set_message("");
        }
        if self.text == Text::AtTheEnd {
            if on && self.voice.verbose && !open.trim().is_empty() {
                self.say(&format!("said: {}", open.trim()));
            }
            return;
        }
        if !open.trim().is_empty() {
            self.above(|| self.printer.painted(&markdown::render(&open)));
        }
        if state.mid_line {
            self.printer.piece("\n");
            state.mid_line = false;
        }
    }

    fn busy(&self, with: &str) {
        if let Some(spinner) = &self.spinner {
            if spinner.is_finished() {
                spinner.reset();
            }
            spinner.enable_steady_tick(Duration::from_millis(120));
            spinner.set_message(crate::toolbox::escape_controls(with));
        }
    }

    /// Prints above what moves.
    fn above(&self, print: impl FnOnce()) {
        match &self.spinner {
            Some(spinner) => spinner.suspend(print),
            None => print(),
        }
    }
}

/// What a model was told, without what is for the model alone.
fn for_people(told: &str) -> &str {
    let told = told.strip_prefix("denied: ").unwrap_or(told);
    match told.rsplit_once(" [") {
        Some((text, advice)) if advice.ends_with(']') => text,
        _ => told,
    }
}

/// What a denial of this kind means for the person.
fn meaning(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "not-for-role" => "this role never has that; another may (--role)",
        "withheld" => "a flag of this run or the profile takes it away (--deny, --read-only, --role)",
        "not-granted" => "the tool was not granted it",
        "not-provided" => "this build has nothing that provides it",
        "outside-workspace" => {
            "it lies outside of what the agent holds; to main, --dir hands over another directory"
        }
        "read-only" => "that directory may only be read (--read-only, or --dir without :rw)",
        "hard-link" => "the file has other names, which may lie outside; a copy of it has none",
        "special-file" => "only regular files are opened",
        "link-refused" => "links that may lead outside are neither followed nor made",
        "directing" => "it directs the main agent; only main itself may change it (--role main)",
        _ => return None,
    })
}

/// A shell command with all its lines, since what stands behind the first one runs as well. One that fits into a line is told
/// with the call's end.
fn command_line(tool: &str, arguments: &str) -> Option<String> {
    let Ok(Value::Object(map)) = serde_json::from_str(arguments) else { return None };
    let inner = |value: &Value| match value {
        Value::Object(map) => Some(map.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    // Models put arguments into arguments, and such a call is made as well.
    let map = map.get("arguments").and_then(inner).unwrap_or(map);
    let line = map.get("command").or_else(|| map.get("cmd")).filter(|_| tool == "exec")?.as_str()?;
    if line.lines().count() < 2 && line.chars().count() <= BRIEF / 2 {
        return None;
    }
    // Control characters and what is not to be seen are written out.
    let lines: Vec<String> = line.lines().map(crate::toolbox::one_line).collect();
    Some(format!("exec runs:\n    {}", lines.join("\n    ")))
}

/// Arguments in a few words.
fn brief(arguments: &str) -> String {
    let text = match serde_json::from_str(arguments) {
        Ok(Value::Object(map)) => {
            let words = map.iter().map(|(key, value)| match value {
                Value::String(text) => format!("{key}={}", one_line(text, BRIEF / 2)),
                other => format!("{key}={}", one_line(&other.to_string(), BRIEF / 2)),
            });
            words.collect::<Vec<_>>().join(" ")
        }
        _ => arguments.to_owned(),
    };
    one_line(&text, BRIEF)
}

/// Text whose further lines are not taken for lines of the program's own.
fn set_back(text: &str) -> String {
    text.trim_end().replace('\n', "\n  ")
}

/// The first line, cut to so many characters.
fn one_line(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut = line.char_indices().nth(most).and_then(|(at, _)| line.get(..at));
    match cut {
        Some(head) => format!("{head}..."),
        None if text.trim_end().lines().count() > 1 => format!("{line} ..."),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod command_lines {
    use super::command_line;

    #[test]
    fn a_comment_hides_nothing_and_nothing_acts() {
        let shown = command_line("exec", r##"{"command":"# harmless\nrm -rf x\u001b[2J"}"##).unwrap();
        assert!(shown.contains("# harmless\n") && shown.contains("rm -rf x"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let nested = command_line("exec", r#"{"arguments":{"command":"echo one\necho two"}}"#).unwrap();
        assert!(nested.contains("echo two"), "{nested}");
        assert_eq!(command_line("exec", r#"{"command":"ls"}"#), None, "it is told with the call");
        assert_eq!(command_line("grep", r#"{"command":"a\nb"}"#), None);
    }
}
