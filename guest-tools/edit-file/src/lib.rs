//! The `edit_file` tool: replaces a text in a file, also where indentation or quotes differ.

pub mod matching;

use matching::Request;
use ringfence_tool::{Error, ErrorKind, Output, Tool, files, files::Target, files::Workspace};

/// Bytes of the largest file that is edited. The old and the new content are in memory together, and a guest has 64 MiB.
const MAX_FILE: usize = 16 * 1024 * 1024;

/// Bytes of the longest text that is looked for, or put in its place.
const MAX_TEXT: usize = 1024 * 1024;

struct EditFile;

#[derive(serde::Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
    occurrence: Option<u64>,
    line_hint: Option<u64>,
    expected_replacements: Option<u64>,
}

impl Tool for EditFile {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let target = workspace.target(&arguments.path)?;
        if arguments.old_text.is_empty() {
            return create(&target, &arguments.new_text);
        }
        edit(&target, &arguments)
    }
}

fn edit(target: &Target<'_>, arguments: &Arguments) -> ringfence_tool::Result {
    let name = target.shown();
    for (text, parameter) in [(&arguments.old_text, "old_text"), (&arguments.new_text, "new_text")] {
        if text.len() > MAX_TEXT {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "{parameter} has {} bytes; the limit is {MAX_TEXT} bytes. Make several smaller edits, or replace the whole file with write_file",
                    text.len()
                ),
            ));
        }
    }
    let content = target.read_text(MAX_FILE as u64).map_err(|mut error| {
        if error.kind == ErrorKind::NotFound {
            error.message.push_str("; an empty old_text would create it");
        }
        error
    })?;
    let request = Request {
        name: &name,
        old: &arguments.old_text,
        new: &arguments.new_text,
        replace_all: arguments.replace_all,
        occurrence: arguments.occurrence,
        line_hint: arguments.line_hint,
        expected: arguments.expected_replacements,
        keep_trailing_blanks: is_markdown(&name),
        limit: MAX_FILE,
    };
    let edited = matching::apply(&content, &request)?;
    let before = files::fingerprint(content.as_bytes());
    drop(content);
    let change = target.write(Some(before), edited.content.as_bytes())?;
    Ok(Output::changed(format!("edited {name}: {}", edited.summary()), &[change]))
}

fn create(target: &Target<'_>, text: &str) -> ringfence_tool::Result {
    let name = target.shown();
    if text.is_empty() {
        return Err(Error::invalid(
            "old_text and new_text are both empty, so nothing would change; write_file makes empty files",
        ));
    }
    if target.exists() && target.place().stat()?.size > 0 {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "{name} exists and is not empty; an empty old_text only creates files. Give the text to replace, or replace the whole file with write_file"
            ),
        ));
    }
    let done = if target.exists() { "filled" } else { "created" };
    let change = target.write(target.mark()?, text.as_bytes())?;
    Ok(Output::changed(format!("{done} {name} ({} characters)", text.chars().count()), &[change]))
}

/// In Markdown two blanks at the end of a line are a line break.
fn is_markdown(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    matches!(extension.as_deref(), Some("md" | "mdx" | "markdown"))
}

ringfence_tool::export_tool!(EditFile);
