//! The `apply_patch` tool: several edits to one or several files, all or none.

mod draft;
mod edit;

#[cfg(test)]
mod tests;

use draft::Drafts;
use ringfence_tool::{Error, ErrorKind, Output, Tool, files::Change, files::Workspace};

/// How many edits one call takes.
const MAX_EDITS: usize = 20;

struct ApplyPatch;

#[derive(serde::Deserialize)]
struct Arguments {
    edits: Vec<edit::Edit>,
    #[serde(default)]
    dry_run: bool,
}

impl Tool for ApplyPatch {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let count = arguments.edits.len();
        if count == 0 || count > MAX_EDITS {
            return Err(Error::invalid(format!("edits must be 1 to {MAX_EDITS}, not {count}")));
        }
        let workspace = Workspace::open()?;
        let mut drafts = Drafts::new(&workspace);
        for (number, edit) in (1..).zip(&arguments.edits) {
            drafts.apply(edit).map_err(|mut error| {
                error.message.push_str(&format!(" (edit {number} of {count}; nothing was written)"));
                error
            })?;
        }
        let summary = drafts.summary();
        if arguments.dry_run {
            let text = format!("dry run: the patch applies; nothing was written\n{summary}");
            return Ok(Output::changed(text, &[]));
        }
        let changes = write(&drafts)?;
        Ok(Output::changed(format!("patch applied\n{summary}"), &changes))
    }
}

/// Writes all files. When one cannot be written, those before it get their old content back.
fn write(drafts: &Drafts<'_>) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for (index, draft) in drafts.files().iter().enumerate() {
        match draft.write() {
            Ok(change) => changes.push(change),
            Err(error) => return Err(undo(drafts, index, error)),
        }
    }
    Ok(changes)
}

fn undo(drafts: &Drafts<'_>, written: usize, mut error: Error) -> Error {
    let mut restored = Vec::new();
    let mut lost = Vec::new();
    for draft in drafts.files().iter().take(written).rev() {
        match draft.restore() {
            Ok(()) => restored.push(draft.name()),
            Err(failed) => lost.push(failed.message),
        }
    }
    restored.reverse();
    if restored.is_empty() && lost.is_empty() {
        error.message.push_str("; no file was changed");
    }
    if !restored.is_empty() {
        error.message.push_str(&format!("; restored what was written before it: {}", restored.join(", ")));
    }
    if !lost.is_empty() {
        error.kind = ErrorKind::Failed;
        error.message.push_str(&format!("; COULD NOT RESTORE: {}", lost.join("; ")));
    }
    error
}

ringfence_tool::export_tool!(ApplyPatch);
