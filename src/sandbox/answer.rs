//! What a tool answers, in the host's own types.

use super::bindings::exports::ringfence::tool::tool as wire;
use super::error::CallError;
use super::limits::LimitKind;
use serde_json::Value;

pub use wire::ErrorKind;

/// Bytes of an error's message that are kept.
const MAX_MESSAGE: usize = 16 << 10;

/// One piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image.
    Image {
        /// Its media type.
        mime_type: String,
        /// The encoded bytes.
        data: Vec<u8>,
    },
    /// A link.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What to call it.
        name: String,
        /// Its media type, where known.
        mime_type: Option<String>,
    },
}

/// What a call that worked gave back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// For the model and the person, in order.
    pub content: Vec<Content>,
    /// For programs.
    pub structured: Option<Value>,
}

/// A call that the tool itself answered with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    /// Which kind.
    pub kind: ErrorKind,
    /// What failed, as the tool says it.
    pub message: String,
}

/// A definition as the component gives it, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawDefinition {
    /// The tool's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema, as text.
    pub input_schema: String,
    /// JSON Schema, as text.
    pub output_schema: Option<String>,
}

impl From<wire::Definition> for RawDefinition {
    fn from(wire: wire::Definition) -> Self {
        Self {
            name: wire.name,
            description: wire.description,
            input_schema: wire.input_schema,
            output_schema: wire.output_schema,
        }
    }
}

impl From<wire::Content> for Content {
    fn from(wire: wire::Content) -> Self {
        match wire {
            wire::Content::Text(text) => Self::Text(text),
            wire::Content::Image(image) => Self::Image { mime_type: image.mime_type, data: image.data },
            wire::Content::ResourceLink(link) => {
                Self::ResourceLink { uri: link.uri, name: link.name, mime_type: link.mime_type }
            }
        }
    }
}

impl Content {
    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image { mime_type, data } => mime_type.len() + data.len(),
            Self::ResourceLink { uri, name, mime_type } => {
                uri.len() + name.len() + mime_type.as_ref().map_or(0, String::len)
            }
        }
    }
}

/// Takes an answer over into the host's types, within `most` bytes.
pub(super) fn accept(
    answer: Result<wire::Output, wire::Error>,
    most: usize,
) -> Result<Result<Output, ToolError>, CallError> {
    let wire = match answer {
        Ok(wire) => wire,
        Err(wire::Error { kind, mut message }) => {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            message.shrink_to_fit();
            return Ok(Err(ToolError { kind, message }));
        }
    };
    let content: Vec<Content> = wire.content.into_iter().map(Content::from).collect();
    let structured = wire.structured.unwrap_or_default();
    if content.iter().map(Content::size).sum::<usize>() + structured.len() > most {
        return Err(CallError::Limit(LimitKind::Output));
    }
    let structured = match structured.as_str() {
        "" => None,
        text => Some(
            serde_json::from_str(text).map_err(|e| CallError::Answer(format!("its structured part: {e}")))?,
        ),
    };
    Ok(Ok(Output { content, structured }))
}
