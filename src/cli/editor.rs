//! The line editor of the chat.

use super::slash::COMMANDS;
use reedline::{
    ColumnarMenu, Completer, CompletionResult, DefaultHinter, EditCommand, Emacs, FileBackedHistory, Hinter,
    History, KeyCode, KeyModifiers, MenuBuilder as _, Prompt, PromptEditMode, PromptHistorySearch, Reedline,
    ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion, ValidationResult, Validator,
    default_emacs_keybindings,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Lines that are remembered from one chat to the next.
const REMEMBERED: usize = 2_000;

const MENU: &str = "commands";
const INTERRUPT: &str = "interrupt";

/// What came of reading a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line, or several that belong together.
    Line(String),
    /// Ctrl-C, and whether nothing was typed.
    Interrupt(bool),
    /// Ctrl-D, or nobody is there any more.
    End,
    /// Somebody called [`Editor::breaker`]. What was typed until then stands there again with the next reading.
    Broken,
}

/// Reads lines.
pub(super) enum Editor {
    /// With everything that a terminal can do.
    Full(Box<Reedline>, Arc<AtomicBool>, Arrow),
    /// On a terminal that can do no more than print.
    Plain(Arrow),
}

impl Editor {
    /// One that remembers lines in this file, where there is one. Each of its prompts begins with the mark.
    pub(super) fn new(history: Option<PathBuf>, color: bool, mark: &'static str) -> Self {
        if crate::config::dumb_terminal() {
            return Self::Plain(Arrow(mark));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext]),
        );
        let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
        // As itself it does not say whether something was typed.
        let interrupt = ReedlineEvent::ExecuteHostCommand(INTERRUPT.to_owned());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('c'), interrupt);
        let menu = ColumnarMenu::default().with_name(MENU);
        let mut line = Reedline::create()
            .with_ansi_colors(color)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_completer(Box::new(Commands))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_hinter(Box::new(Hints::default()))
            .with_validator(Box::new(Backslash))
            .use_bracketed_paste(true)
            .with_break_signal(Arc::clone(&stop));
        if let Some(history) = history.and_then(|path| FileBackedHistory::with_file(REMEMBERED, path).ok()) {
            line = line.with_history(Box::new(history));
        }
        Self::Full(Box::new(line), stop, Arrow(mark))
    }

    /// Set to true, it ends the reading that goes on.
    pub(super) fn breaker(&self) -> Option<Arc<AtomicBool>> {
        match self {
            Self::Full(_, stop, _) => Some(Arc::clone(stop)),
            Self::Plain(_) => None,
        }
    }

    /// Reads one line; blocks the thread until then.
    pub(super) fn read(&mut self, printer: super::printer::Printer) -> std::io::Result<Typed> {
        let (line, arrow) = match self {
            Self::Full(line, _, arrow) => (line, arrow),
            Self::Plain(arrow) => return plain(printer, arrow),
        };
        loop {
            match line.read_line(arrow) {
                Ok(Signal::Success(text)) => return Ok(Typed::Line(joined(&text))),
                Ok(Signal::HostCommand(_)) => {
                    let empty = line.current_buffer_contents().is_empty();
                    line.run_edit_commands(&[EditCommand::Clear]);
                    return Ok(Typed::Interrupt(empty));
                }
                Ok(Signal::CtrlC) => return Ok(Typed::Interrupt(false)),
                Ok(Signal::CtrlD) => return Ok(Typed::End),
                Ok(Signal::ExternalBreak(_)) => {
                    // What is printed now begins where the line stood.
                    printer.clear_line();
                    return Ok(Typed::Broken);
                }
                // A signal of another kind asks for nothing here.
                Ok(_) => {}
                Err(error) => return Err(std::io::Error::other(error.to_string())),
            }
        }
    }
}

fn plain(printer: super::printer::Printer, arrow: &Arrow) -> std::io::Result<Typed> {
    let mut all = String::new();
    loop {
        printer.piece(&arrow.then("> "));
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line)? == 0 {
            return Ok(Typed::End);
        }
        all.push_str(line.trim_end_matches(['\n', '\r']));
        if !all.ends_with('\\') {
            return Ok(Typed::Line(joined(&all)));
        }
        all.push('\n');
    }
}

/// A backslash at the end of a line continues it and is not a part of what is said.
fn joined(text: &str) -> String {
    text.replace("\\\n", "\n")
}

struct Backslash;

impl Validator for Backslash {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// The commands that begin like what was typed.
fn matching(line: &str) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
    let typed = line.to_lowercase();
    let command = typed.starts_with('/') && !typed.contains(char::is_whitespace);
    COMMANDS.iter().filter(move |(name, _, _)| command && name.starts_with(&typed))
}

struct Commands;

impl Completer for Commands {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let before = line.get(..pos).unwrap_or(line);
        let suggestions: Vec<Suggestion> = matching(before)
            .map(|(name, argument, does)| Suggestion {
                value: (*name).to_owned(),
                description: Some((*does).to_owned()),
                span: Span::new(0, pos),
                append_whitespace: !argument.is_empty(),
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// What a command takes, or how an earlier line went on.
#[derive(Default)]
struct Hints {
    rest: String,
    earlier: DefaultHinter,
}

impl Hinter for Hints {
    fn handle(&mut self, line: &str, pos: usize, history: &dyn History, color: bool, cwd: &str) -> String {
        if !line.starts_with('/') {
            self.rest.clear();
            return self.earlier.handle(line, pos, history, color, cwd);
        }
        let Some((name, argument, _)) = matching(line).next() else {
            self.rest.clear();
            return String::new();
        };
        self.rest = name.get(line.len()..).unwrap_or_default().to_owned();
        let shown = format!("{} {argument}", self.rest);
        if color { format!("\u{1b}[2m{shown}\u{1b}[0m") } else { shown }
    }

    fn complete_hint(&self) -> String {
        if self.rest.is_empty() { self.earlier.complete_hint() } else { self.rest.clone() }
    }

    fn next_hint_token(&self) -> String {
        if self.rest.is_empty() { self.earlier.next_hint_token() } else { self.rest.clone() }
    }
}

/// What stands before a line, with a mark in front of it where there is something that nobody may forget.
pub(super) struct Arrow(&'static str);

impl Arrow {
    fn then(&self, rest: &str) -> String {
        format!("{}{rest}", self.0)
    }
}

impl Prompt for Arrow {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Owned(self.then("> "))
    }
    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Owned(self.then(". "))
    }
    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(self.then(&format!("(search: {}) ", search.term)))
    }
}
