//! Definitions: what a tool says of itself, checked before a model ever sees it.

use super::name::{self, MAX_DESCRIPTION, MAX_NAME};
use super::schema::weigh;
use crate::sandbox::RawDefinition;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use std::sync::OnceLock;

/// Bytes of a schema, at most.
const MAX_SCHEMA: usize = 64 << 10;

/// Definitions of one component, at most.
const MAX_DEFINITIONS: usize = 64;

/// A checked definition.
#[derive(Debug)]
pub struct Definition {
    /// The tool's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema 2020-12 of its arguments: an object.
    pub input_schema: Value,
    /// JSON Schema 2020-12 of its structured output.
    pub output_schema: Option<Value>,
    /// Parts of the input schema, counted as often as it refers to them.
    pub(super) weight: usize,
    /// Made at the first call: most definitions are only shown.
    validator: OnceLock<Result<Validator, String>>,
}

/// A definition that is refused, with the component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{tool}`: {problem}")]
pub struct DefinitionError {
    /// The name it gives itself, made visible.
    pub tool: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Definition {
    /// Checks what a component gave.
    ///
    /// # Errors
    ///
    /// When name, description or a schema is not as the contract says.
    pub fn check(raw: RawDefinition) -> Result<Self, DefinitionError> {
        let tool: String = raw.name.chars().take(MAX_NAME).flat_map(char::escape_default).collect();
        let refuse = |problem: String| DefinitionError { tool: tool.clone(), problem };
        if !name::is_name(&raw.name) {
            let rule = "its name is not an ASCII letter followed by letters, digits, `_` or `-`";
            return Err(refuse(format!("{rule} ({MAX_NAME} at most)")));
        }
        if raw.description.len() > MAX_DESCRIPTION {
            let size = raw.description.len();
            return Err(refuse(format!("its description has {size} bytes; at most {MAX_DESCRIPTION}")));
        }
        if let Some(c) = name::invisible(&raw.description) {
            return Err(refuse(format!(
                "its description contains U+{:04X}, which nobody sees",
                u32::from(c)
            )));
        }
        let (input_schema, weight) =
            schema(&raw.input_schema).map_err(|e| refuse(format!("its input schema {e}")))?;
        if input_schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(refuse("its input schema is not of \"type\": \"object\" at the root".to_owned()));
        }
        let output_schema = raw.output_schema.as_deref().map(schema).transpose();
        let output_schema = output_schema.map_err(|e| refuse(format!("its output schema {e}")))?;
        let output_schema = output_schema.map(|(schema, _)| schema);
        let definition = Self {
            name: raw.name,
            description: raw.description,
            input_schema,
            output_schema,
            weight,
            validator: OnceLock::new(),
        };
        Ok(definition)
    }

    /// Checks the definitions of one component.
    ///
    /// # Errors
    ///
    /// When there is none, there are too many, two share a look, or one is not as the contract says.
    pub fn check_all(raw: Vec<RawDefinition>) -> Result<Vec<Self>, DefinitionError> {
        let whole = |problem: String| DefinitionError { tool: "(component)".to_owned(), problem };
        if raw.is_empty() || raw.len() > MAX_DEFINITIONS {
            return Err(whole(format!(
                "it defines {} tools; 1 to {MAX_DEFINITIONS} are possible",
                raw.len()
            )));
        }
        let mut looks = std::collections::BTreeMap::new();
        let mut checked = Vec::with_capacity(raw.len());
        for definition in raw {
            let definition = Self::check(definition)?;
            if let Some(other) = looks.insert(name::look(&definition.name), definition.name.clone()) {
                return Err(whole(format!("its tools `{other}` and `{}` look alike", definition.name)));
            }
            // A third party's schema is tried now, so that a broken one is refused with the component.
            definition.validator().map_err(|problem| DefinitionError {
                tool: definition.name.clone(),
                problem: format!("its input schema is no JSON Schema: {problem}"),
            })?;
            checked.push(definition);
        }
        Ok(checked)
    }

    /// What checks arguments.
    ///
    /// # Errors
    ///
    /// When the schema is no JSON Schema.
    pub(super) fn validator(&self) -> Result<&Validator, String> {
        let made = self.validator.get_or_init(|| {
            jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                // Linear in the text: a tool's pattern must not hang the host.
                .with_pattern_options(PatternOptions::regex().size_limit(1 << 18).dfa_size_limit(1 << 20))
                .build(&self.input_schema)
                .map_err(|error| error.to_string())
        });
        made.as_ref().map_err(Clone::clone)
    }
}

/// Reads a schema and weighs it; the rest of a sentence about it when it cannot be used.
fn schema(text: &str) -> Result<(Value, usize), String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!("has {} bytes; at most {MAX_SCHEMA}", text.len()));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    if let Some(found) = text_problem(&value) {
        return Err(found);
    }
    let weight = weigh(&value)?;
    Ok((value, weight))
}

/// References that leave the schema, and texts that nobody sees.
fn text_problem(value: &Value) -> Option<String> {
    match value {
        Value::Object(map) => map.iter().find_map(|(key, inner)| {
            let reference = matches!(key.as_str(), "$ref" | "$dynamicRef" | "$schema" | "$id");
            match inner.as_str() {
                Some(text) if reference && key != "$schema" && key != "$id" && !text.starts_with('#') => {
                    Some(format!("refers to {text:?}, outside of itself"))
                }
                _ => text_problem(&Value::String(key.clone())).or_else(|| text_problem(inner)),
            }
        }),
        Value::Array(items) => items.iter().find_map(text_problem),
        Value::String(text) => {
            name::invisible(text).map(|c| format!("contains U+{:04X}, which nobody sees", u32::from(c)))
        }
        _ => None,
    }
}
