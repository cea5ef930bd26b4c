//! What a model thinks, in the fields that services have for it.

use crate::provider::wire::{BLOCKS, is_shallow};
use serde_json::{Map, Value};

/// The fields. They are given back under the name under which they came.
pub(super) const FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// Thinking as it comes in.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    text: String,
    field: Option<&'static str>,
    details: Vec<Value>,
}

impl Reasoning {
    /// Takes what a piece of a reply holds of it; gives the text that is new.
    pub(super) fn take(&mut self, piece: &Value) -> Option<String> {
        if let Some(details) = piece.get("reasoning_details").and_then(Value::as_array) {
            details.iter().for_each(|detail| self.detail(detail));
        }
        // Some services fill both fields with the same text.
        for field in ["reasoning_content", "reasoning"] {
            if self.field.is_some_and(|known| known != field) {
                continue;
            }
            if let Some(text) = piece.get(field).and_then(Value::as_str)
                && !text.is_empty()
            {
                self.field = Some(field);
                self.text.push_str(text);
                return Some(text.to_owned());
            }
        }
        None
    }

    /// Takes thinking that came as a part of the content.
    pub(super) fn take_part(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Pieces of one detail become one again.
    fn detail(&mut self, detail: &Value) {
        let same = |last: &Map<String, Value>, key: &str| last.get(key) == detail.get(key);
        let full = self.details.len() >= BLOCKS;
        match self.details.last_mut() {
            Some(Value::Object(last)) if same(last, "type") && same(last, "index") => {
                merge(last, detail);
            }
            _ if full || !is_shallow(detail) => {}
            _ => self.details.push(detail.clone()),
        }
    }

    /// The block of it: as it is given back, and as people may see it. Nothing where the model did not think aloud.
    pub(super) fn finish(self) -> Option<(Value, String)> {
        let mut raw = Map::new();
        if let Some(field) = self.field {
            raw.insert(field.to_owned(), Value::String(self.text.clone()));
        }
        if !self.details.is_empty() {
            raw.insert("reasoning_details".to_owned(), Value::Array(self.details));
        }
        (!raw.is_empty() || !self.text.is_empty()).then_some((Value::Object(raw), self.text))
    }
}

fn merge(last: &mut Map<String, Value>, detail: &Value) {
    let Some(detail) = detail.as_object() else { return };
    for (key, value) in detail {
        match (last.get_mut(key), value) {
            (Some(Value::String(so_far)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                so_far.push_str(more);
            }
            (_, Value::Null) => {}
            _ if !is_shallow(value) => {}
            _ => {
                last.insert(key.clone(), value.clone());
            }
        }
    }
}
