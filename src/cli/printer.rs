//! The one place that writes to stdout and stderr: results to stdout, everything else to stderr.

use super::args::Color;
use super::exit::Exit;
use crate::toolbox::escape_controls;
use serde::Serialize;
use std::io::{self, ErrorKind, Write as _};

/// Writes for people and programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printer(());

impl Printer {
    pub(super) fn new() -> Self {
        Self(())
    }

    /// A result, to stdout. Control characters are written out. A reader that has gone (`| head`) is no failure; a full
    /// disk is one.
    pub(super) fn result(&self, text: &str) -> Exit {
        match self.put(text) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.error(&format!("the result cannot be written: {error}"), Exit::Failed)
            }
            _ => Exit::Done,
        }
    }

    /// The same for whoever must know whether it reached the reader.
    ///
    /// # Errors
    ///
    /// When it did not, or not whole.
    pub(super) fn put(&self, text: &str) -> io::Result<()> {
        let mut text = escape_controls(text);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }

    /// A result for programs, to stdout, as one line of JSON.
    pub(super) fn json(&self, value: &impl Serialize) -> Exit {
        self.result(&json_line(value))
    }

    /// A line to stderr.
    pub(super) fn note(&self, text: &str) {
        let _ = writeln!(anstream::stderr().lock(), "{}", escape_controls(text));
    }

    /// A piece of a text, to stdout, at once and without an end of line.
    pub(super) fn piece(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(escape_controls(text).as_bytes());
        let _ = out.flush();
    }

    /// Clears the line that is edited, so that what is printed next begins where it stood. For terminals that can.
    pub(super) fn clear_line(&self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(b"\r\x1b[J");
        let _ = out.flush();
    }

    /// A text with colours of this program's own making, to stdout. What it was made of had its control characters written
    /// out before.
    pub(super) fn painted(&self, text: &str) {
        let mut out = anstream::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
    }

    /// An error to stderr, and what to end with.
    pub(super) fn error(&self, text: &str, exit: Exit) -> Exit {
        self.note(&format!("error: {text}"));
        exit
    }

    /// What to type next, to stderr.
    pub(super) fn hint(&self, text: &str) {
        self.note(&format!("  {text}"));
    }
}

/// A value as one line of JSON on which no terminal acts.
pub(super) fn json_line(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
    // JSON leaves the C1 controls and DEL as they are; a terminal may act on them.
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            plain.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Which colours there are: as the person says, or as stdout, stderr, `NO_COLOR` and `TERM` say.
pub(super) fn choose_color(color: Color) {
    let choice = match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// What clap has to say: help and version to stdout, usage errors to stderr.
pub(super) fn usage(error: &clap::Error) -> Exit {
    let _ = error.print();
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion => Exit::Done,
        _ => Exit::Usage,
    }
}
