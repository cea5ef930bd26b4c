//! How a call ends, for models, people and programs.

use super::arguments::ArgumentError;
use crate::authority::Denial;
use crate::sandbox::{CallError, Content, Note, Output, ToolError};
use std::time::Duration;

/// Characters of a result that a model sees.
pub const VIEW: usize = 16_000;

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// It worked.
    Done(Output),
    /// The tool answered with an error.
    Failed(ToolError),
    /// It was refused: before anything ran, or on the way.
    Denied(Box<Denial>),
    /// The arguments do not fit; nothing ran.
    Arguments(ArgumentError),
    /// There is no tool of that name; nothing ran.
    Unknown {
        /// The name.
        tool: String,
        /// The one that is meant, if that is clear.
        near: Option<String>,
    },
    /// It gave no answer.
    Ended(CallError),
}

/// One call that is over.
#[derive(Debug)]
pub struct Reply {
    /// How it ended.
    pub outcome: Outcome,
    /// Lines that the tool left for the operator.
    pub notes: Vec<Note>,
    /// How long it took.
    pub time: Duration,
}

impl Outcome {
    /// Its stable name, for programs and audit rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
            Self::Denied(_) => "denied",
            Self::Arguments(_) => "arguments",
            Self::Unknown { .. } => "unknown",
            Self::Ended(_) => "ended",
        }
    }

    /// The name of its kind within that, where it did not work.
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Done(_) | Self::Arguments(_) | Self::Unknown { .. } => None,
            Self::Failed(error) => Some(super::error_kind_name(error.kind)),
            Self::Denied(denial) => Some(denial.kind.name()),
            Self::Ended(error) => Some(error.name()),
        }
    }

    /// What a model is told, whole; [`view`] bounds it.
    pub fn for_model(&self) -> String {
        match self {
            Self::Done(output) => text_of(&output.content),
            Self::Failed(error) => format!("{} [try another way]", error.message),
            Self::Denied(denial) => format!("{denial} [do not retry; ask the user if it is needed]"),
            Self::Arguments(error) => format!("{error} [correct the arguments and call again]"),
            Self::Unknown { tool, near: Some(near) } => {
                format!("there is no tool `{tool}`; did you mean `{near}`? Nothing was run.")
            }
            Self::Unknown { tool, near: None } => format!("there is no tool `{tool}`. Nothing was run."),
            Self::Ended(error) => format!("{error} [nothing was returned]"),
        }
    }
}

/// The text of a result; what is no text is named.
pub fn text_of(content: &[Content]) -> String {
    let texts: Vec<String> = content
        .iter()
        .map(|content| match content {
            Content::Text(text) => text.clone(),
            Content::Image { mime_type, data } => format!("[image: {mime_type}, {} bytes]", data.len()),
            Content::ResourceLink { uri, name, .. } => format!("[{name}: {uri}]"),
        })
        .collect();
    texts.join("\n")
}

/// Bounds a text to `most` characters: its head and its tail, and between them how much is missing.
pub fn view(text: &str, most: usize) -> String {
    let total = text.chars().count();
    if total <= most {
        return text.to_owned();
    }
    let (head, tail) = (most * 3 / 4, most / 4);
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(byte, _)| byte);
    let (head_end, tail_start) = (at(head), at(total - tail));
    let first = text.get(..head_end).unwrap_or_default();
    let last = text.get(tail_start..).unwrap_or_default();
    format!("{first}\n[... {} of {total} characters left out ...]\n{last}", total - head - tail)
}
