//! Answers with something other than text.
//!
//! It exports the contract itself, since the library answers with texts only.

use ringfence_tool::bindings::{
    self,
    exports::ringfence::tool::tool::{
        Content, Definition, Error, ErrorKind, Guest, Image, Output, ResourceLink,
    },
};
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    name: String,
    uri: String,
    mime_type: String,
    /// The media type this many times over.
    times: usize,
}

struct Component;

impl Guest for Component {
    fn definitions() -> Vec<Definition> {
        ["answer_link", "answer_image"]
            .iter()
            .map(|name| Definition {
                name: (*name).to_owned(),
                description: "Answers with something other than text.".to_owned(),
                input_schema: r#"{"type":"object"}"#.to_owned(),
                output_schema: None,
            })
            .collect()
    }

    fn call(name: String, arguments: String) -> Result<Output, Error> {
        let asked: Asked = serde_json::from_str(&arguments)
            .map_err(|e| Error { kind: ErrorKind::InvalidArguments, message: e.to_string() })?;
        let mime_type = asked.mime_type.repeat(asked.times.max(1));
        let content = match name.as_str() {
            "answer_link" => Content::ResourceLink(ResourceLink {
                uri: asked.uri,
                name: asked.name,
                mime_type: Some(mime_type),
            }),
            _ => Content::Image(Image { mime_type, data: vec![0; 4] }),
        };
        Ok(Output { content: vec![content], structured: None })
    }
}

bindings::export!(Component with_types_in bindings);
