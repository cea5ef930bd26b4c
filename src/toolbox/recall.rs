//! What a caller has read, so that an unchanged file is not sent twice and an unread one is not edited unnoticed.
//!
//! Kept by the host from the structured part of the built-in tools' results: guests start afresh with every call.

use crate::sandbox::{Content, Output};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Files that are remembered; beyond, all is forgotten, which costs a repeated read and nothing else.
const MOST: usize = 4096;

/// What a caller has read.
#[derive(Debug, Default)]
pub(super) struct Recall(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// The content that a file was last seen with.
    files: HashMap<String, String>,
    /// The content that a read of just these arguments gave.
    reads: HashMap<String, String>,
}

impl Recall {
    /// Notes the result of a built-in tool, and shortens or adds to it.
    pub(super) fn note(&self, tool: &str, arguments: &Value, output: &mut Output) {
        let Some(structured) = &output.structured else { return };
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files.len() + seen.reads.len() > MOST {
            *seen = Seen::default();
        }
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        match tool {
            "read_file" => {
                let (Some(path), Some(now)) = (text(structured, "path"), text(structured, "fingerprint"))
                else {
                    return;
                };
                let forced = arguments.get("force") == Some(&Value::Bool(true));
                let mut key = arguments.clone();
                if let Some(key) = key.as_object_mut() {
                    key.remove("force");
                    // One file, however its path was written.
                    key.insert("path".to_owned(), path.clone().into());
                }
                let before = seen.reads.insert(key.to_string(), now.clone());
                if !forced && before.as_ref() == Some(&now) {
                    let stub = format!(
                        "{path} is unchanged since you last read this part of it; what you read then still holds \
                         (force=true sends it again)"
                    );
                    output.content = vec![Content::Text(stub)];
                }
                seen.files.insert(path, now);
            }
            "write_file" | "edit_file" | "apply_patch" => {
                let changes =
                    structured.get("changes").and_then(Value::as_array).cloned().unwrap_or_default();
                for change in &changes {
                    let (Some(path), Some(after)) = (text(change, "path"), text(change, "after")) else {
                        continue;
                    };
                    if let (Some(before), "edit_file") = (text(change, "before"), tool) {
                        let warning = match seen.files.get(&path) {
                            None => Some(format!("warning: {path} was edited without reading it first")),
                            Some(known) if *known != before => {
                                Some(format!("warning: {path} changed since you last read it; read it again"))
                            }
                            Some(_) => None,
                        };
                        output.content.extend(warning.map(Content::Text));
                    }
                    // What was read of it before holds no more, and what was written is known.
                    let quoted = Value::String(path.clone()).to_string();
                    seen.reads.retain(|key, _| !key.contains(&quoted));
                    seen.files.insert(path, after);
                }
            }
            _ => {}
        }
    }
}
