//! Letters on stdout: what is to reach a person, from sessions that nobody looks at.

use super::printer::{Printer, json_line};
use super::sessions::rfc3339;
use crate::store::{Delivery, LetterFilter, LetterRow, Store, StoreError};
use crate::toolbox::one_line;
use serde_json::json;

/// Whether a letter was being printed when the printing was given up.
#[derive(Debug, Default)]
pub(super) struct Abandoned(bool);

impl Abandoned {
    /// Whether it was seen is not known, then; and others are told so.
    pub(super) fn settle(&self, store: &Store, process: &str) {
        if self.0
            && let Err(error) = store.bury(process, "its process was told to end")
        {
            tracing::warn!("that a letter may have been shown cannot be noted: {error}");
        }
    }
}

/// Prints what waits for people at sessions that no other process attends, one after the other, until nothing does.
///
/// # Errors
///
/// Why that cannot go on, in words. What was not printed is still to be.
pub(super) async fn print(
    store: &Store,
    process: &str,
    printer: Printer,
    json: bool,
    abandoned: &mut Abandoned,
) -> Result<(), String> {
    let failed = |error: StoreError| error.to_string();
    let filter = LetterFilter { unattended: true, ..LetterFilter::default() };
    // One at a time: what this process has not begun with is certainly not shown.
    while let Some(letter) = store.take_letters(process, &filter, 1).map_err(failed)?.pop() {
        let text = if json { json_line(&as_json(&letter)) } else { block(&letter) };
        abandoned.0 = true;
        // Who reads it may stand still; nothing else does because of that.
        let written = tokio::task::spawn_blocking(move || printer.put(&text)).await;
        abandoned.0 = false;
        match written {
            Ok(Ok(())) => store.letter_done(letter.id, process, Delivery::Delivered).map_err(failed)?,
            Ok(Err(error)) => return Err(format!("what is to be told cannot be written: {error}")),
            Err(error) => return Err(format!("what is to be told cannot be written: {error}")),
        };
    }
    Ok(())
}

/// A letter for people. Lines of it are set back, so that none is taken for the beginning of another.
fn block(letter: &LetterRow) -> String {
    let workspace = one_line(&letter.workspace.display().to_string());
    let from = format!("{}:{}", letter.channel, letter.chat);
    let head = format!("{} ({workspace}) {}:", one_line(&from), letter.kind);
    if letter.uncertain {
        return format!("{head} may have been shown before; {}", look(letter));
    }
    let mut text = format!("{head}\n  {}", letter.content.trim_end().replace('\n', "\n  "));
    for file in &letter.attachments {
        text.push_str(&format!("\n  with {}", one_line(file)));
    }
    text
}

/// The command that shows where a letter came from.
fn look(letter: &LetterRow) -> String {
    let (workspace, key) =
        (letter.workspace.display().to_string(), format!("{}:{}", letter.channel, letter.chat));
    let words = ["ringfence", "sessions", "show", "-C", &workspace, &key];
    shlex::try_join(words).unwrap_or_default()
}

fn as_json(letter: &LetterRow) -> serde_json::Value {
    let mut object = json!({
        "letter": letter.id,
        "session": format!("{}:{}", letter.channel, letter.chat),
        "workspace": letter.workspace.display().to_string(),
        "kind": letter.kind,
        "source": letter.source,
        "created": rfc3339(letter.created),
        "uncertain": letter.uncertain,
    });
    if let Some(object) = object.as_object_mut() {
        if letter.uncertain {
            object.insert("show".to_owned(), look(letter).into());
        } else {
            object.insert("content".to_owned(), letter.content.clone().into());
            object.insert("attachments".to_owned(), letter.attachments.clone().into());
        }
    }
    object
}
