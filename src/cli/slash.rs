//! What a line in the chat means: a command, or something to say.

use crate::toolbox::nearest;

/// A command of the chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slash {
    /// What there is to type.
    Help,
    /// A new conversation.
    New,
    /// End the running turn and forget what waits.
    Stop,
    /// How things stand.
    Status,
    /// The last messages.
    History(usize),
    /// Show the model, or take another.
    Model(Option<String>),
    /// The tools of this role.
    Tools,
    /// The background tasks of this session.
    Tasks,
    /// Sum up older messages now.
    Compact,
    /// Leave.
    Exit,
}

/// What a line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Nothing.
    Empty,
    /// Something to say to the agent.
    Say(String),
    /// A command.
    Command(Slash),
    /// A command that there is not, or not like this; what to tell the person.
    Wrong(String),
}

/// Messages that `/history` shows unless told otherwise, and the most that it shows.
const HISTORY: (usize, usize) = (10, 50);

/// Every command: its name, what may stand behind it, and what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("/help", "", "what there is to type"),
    ("/new", "", "begin a new conversation; this one is kept"),
    ("/stop", "", "end the running turn and its background tasks, keep what was said"),
    ("/status", "", "model, session, tokens, context"),
    ("/history", "[n]", "the last n messages (10, at most 50)"),
    ("/model", "[NAME]", "show the model, or take another for this chat"),
    ("/tools", "", "the tools that this role can call"),
    ("/tasks", "", "the background tasks of this session"),
    ("/compact", "", "sum up older messages for the model; the history is kept whole"),
    ("/exit", "", "leave"),
];

/// Understands a line. A command is a slash and letters; a path such as `/etc/hosts` is something to say.
pub fn understand(line: &str) -> Line {
    let line = line.trim();
    let Some(rest) = line.strip_prefix('/') else {
        return if line.is_empty() { Line::Empty } else { Line::Say(line.to_owned()) };
    };
    let (word, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if word.contains('/') {
        return Line::Say(line.to_owned());
    }
    let (name, argument) = (format!("/{}", word.to_lowercase()), argument.trim());
    let command = match name.as_str() {
        "/help" => Slash::Help,
        "/new" => Slash::New,
        "/stop" => Slash::Stop,
        "/status" => Slash::Status,
        "/tools" => Slash::Tools,
        "/tasks" => Slash::Tasks,
        "/compact" => Slash::Compact,
        "/exit" | "/quit" => Slash::Exit,
        "/history" => return history(argument),
        "/model" => {
            let model = (!argument.is_empty()).then(|| argument.to_owned());
            return Line::Command(Slash::Model(model));
        }
        _ => return Line::Wrong(unknown(&name)),
    };
    if argument.is_empty() {
        Line::Command(command)
    } else {
        Line::Wrong(format!("{name} takes no arguments"))
    }
}

fn history(argument: &str) -> Line {
    if argument.is_empty() {
        return Line::Command(Slash::History(HISTORY.0));
    }
    match argument.parse::<usize>() {
        Ok(n) if n > 0 => Line::Command(Slash::History(n.min(HISTORY.1))),
        _ => Line::Wrong("/history takes a number of messages, such as /history 20".to_owned()),
    }
}

fn unknown(name: &str) -> String {
    match nearest(name, COMMANDS.iter().map(|(known, _, _)| *known)) {
        Some(near) => format!("there is no {name}; did you mean {near}?"),
        None => format!("there is no {name}; /help shows what there is"),
    }
}

/// The text of `/help`.
pub fn help() -> String {
    let mut lines: Vec<String> = COMMANDS
        .iter()
        .map(|(name, argument, does)| format!("{:18}{does}", format!("{name} {argument}")))
        .collect();
    lines.push(
        "Anything else is said to the agent. Alt-Enter, or a backslash at its end, continues a line."
            .to_owned(),
    );
    lines.push(
        "Ctrl-C ends the running turn; again within two seconds, or at an empty prompt, it leaves."
            .to_owned(),
    );
    lines.join("\n")
}
