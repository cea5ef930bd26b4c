//! Answers more than anybody wants.
//!
//! It exports the contract itself, since the library would parse the structured part and answer with one text only.

use ringfence_tool::bindings::{
    self,
    exports::ringfence::tool::tool::{Content, Definition, Error, ErrorKind, Guest, Image, Output},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    mib: usize,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    text: String,
}

const TOOLS: [&str; 8] = [
    "output_flood",
    "error_flood",
    "image_flood",
    "many_contents",
    "deep_structured",
    "not_json",
    "say",
    "say_error",
];

struct Component;

impl Guest for Component {
    fn definitions() -> Vec<Definition> {
        TOOLS
            .iter()
            .map(|name| Definition {
                name: (*name).to_owned(),
                description: "Answers more than anybody wants.".to_owned(),
                input_schema: r#"{"type":"object"}"#.to_owned(),
                output_schema: None,
            })
            .collect()
    }

    fn call(name: String, arguments: String) -> Result<Output, Error> {
        let asked: Asked = serde_json::from_str(&arguments)
            .map_err(|e| failed(ErrorKind::InvalidArguments, e.to_string()))?;
        let flood = || "x".repeat(asked.mib << 20);
        match name.as_str() {
            "output_flood" => Ok(said(vec![Content::Text(flood())], None)),
            "error_flood" => Err(failed(ErrorKind::Failed, flood())),
            "image_flood" => {
                let image = Image { mime_type: "image/png".to_owned(), data: flood().into_bytes() };
                Ok(said(vec![Content::Image(image)], None))
            }
            "many_contents" => {
                Ok(said((0..asked.count).map(|_| Content::Text(String::new())).collect(), None))
            }
            "deep_structured" => {
                let deep = format!("{}{}", "[".repeat(asked.count), "]".repeat(asked.count));
                Ok(said(vec![Content::Text("deep".to_owned())], Some(deep)))
            }
            "not_json" => Ok(said(vec![Content::Text("not JSON".to_owned())], Some("{\"a\":".to_owned()))),
            "say" => Ok(said(vec![Content::Text(asked.text)], None)),
            "say_error" => Err(failed(ErrorKind::Failed, asked.text)),
            other => Err(failed(ErrorKind::NotFound, format!("no tool {other}"))),
        }
    }
}

fn said(content: Vec<Content>, structured: Option<String>) -> Output {
    Output { content, structured }
}

fn failed(kind: ErrorKind, message: String) -> Error {
    Error { kind, message }
}

bindings::export!(Component with_types_in bindings);
