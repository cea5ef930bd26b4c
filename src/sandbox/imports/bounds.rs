//! Bounds that several interfaces share. What breaks one reaches no port.

use crate::sandbox::ports::{Error, ErrorKind};

/// Characters of a label or of a name for people, at most.
const MAX_LABEL: usize = 64;

/// Bytes of a task's or a job's text, at most.
const MAX_TEXT: usize = 32 << 10;

/// Characters of an id.
const ID: usize = 8;

/// Characters of a wrong id that an error repeats.
const SHOWN: usize = 32;

/// Milliseconds that one call may wait for background runs; a longer wait is cut to this.
pub(super) const MAX_WAIT: u32 = 300_000;

pub(super) fn error<T>(kind: ErrorKind, message: String) -> Result<T, Error> {
    Err(Error { kind, message })
}

/// A text that a model is told later.
pub(super) fn text(what: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return error(ErrorKind::Invalid, format!("{what} is empty"));
    }
    if text.len() > MAX_TEXT {
        return error(ErrorKind::Limit, format!("{what} has {} bytes; at most {MAX_TEXT}", text.len()));
    }
    Ok(())
}

/// A name that people are shown within a line.
pub(super) fn label(what: &str, label: Option<&str>) -> Result<(), Error> {
    short(what, label, MAX_LABEL)?;
    if label.is_some_and(|label| label.contains(char::is_control)) {
        return error(ErrorKind::Invalid, format!("{what} has control characters; write it as one line"));
    }
    Ok(())
}

/// A text that is looked up or read: never empty where it is given, and of at most `most` characters.
pub(super) fn short(what: &str, text: Option<&str>, most: usize) -> Result<(), Error> {
    let Some(text) = text else { return Ok(()) };
    if text.trim().is_empty() {
        return error(ErrorKind::Invalid, format!("{what} is empty"));
    }
    let characters = text.chars().count();
    if characters > most {
        return error(ErrorKind::Invalid, format!("{what} has {characters} characters; at most {most}"));
    }
    Ok(())
}

/// The name of something that is looked up, which people are shown within a line.
pub(super) fn name(what: &str, name: Option<&str>, most: usize) -> Result<(), Error> {
    short(what, name, most)?;
    if name.is_some_and(|name| name.contains(char::is_control)) {
        return error(ErrorKind::Invalid, format!("{what} has control characters; no name has any"));
    }
    Ok(())
}

/// An id as the host gives them. Another text names nothing, whatever a port would make of it.
pub(super) fn id(of: &str, id: &str) -> Result<(), Error> {
    if id.len() == ID && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Ok(());
    }
    let shown: String = id.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    let cut = if id.chars().nth(SHOWN).is_some() { "…" } else { "" };
    let message = format!("there is no {of} `{shown}{cut}`; an id has {ID} characters, a-z and 0-9");
    error(ErrorKind::NotFound, message)
}
