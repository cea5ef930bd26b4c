//! Arguments: what a model wrote, repaired where that is safe, and checked against the schema before any guest runs.

use super::definition::Definition;
use super::name;
use serde_json::{Map, Number, Value};

/// Problems that are told at once.
const TOLD: usize = 5;

/// Bytes of one told problem.
const TOLD_BYTES: usize = 240;

/// Bytes of the arguments of one call, at most.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Parts of the schema times values among the arguments: what a check may cost, since nothing interrupts it.
const MAX_STEPS: usize = 20_000_000;

/// The same for saying what is wrong: all that is wrong is found before the first of it is told.
const MAX_STEPS_TOLD: usize = 1_000_000;

/// Arguments that no guest is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid arguments for `{tool}`: {}", problems.join("; "))]
pub struct ArgumentError {
    /// The tool.
    pub tool: String,
    /// What is wrong, the first few.
    pub problems: Vec<String>,
}

/// Repairs and checks arguments as they come over a wire.
///
/// # Errors
///
/// When they are no JSON object, or do not fit the schema.
pub fn prepare(definition: &Definition, text: &str) -> Result<Value, ArgumentError> {
    let refuse = |problems: Vec<String>| ArgumentError { tool: definition.name.clone(), problems };
    if text.len() > MAX_ARGUMENTS {
        return Err(refuse(vec![format!("they have {} bytes; at most {MAX_ARGUMENTS}", text.len())]));
    }
    let value = match text.trim() {
        "" => Value::Null,
        text => serde_json::from_str(text).map_err(|e| refuse(vec![format!("they are not JSON: {e}")]))?,
    };
    let mut value = object(value, &definition.input_schema)
        .ok_or_else(|| refuse(vec!["they must be a JSON object".to_owned()]))?;
    cast(&mut value, &definition.input_schema);
    let validator = definition.validator().map_err(|e| refuse(vec![e]))?;
    let steps = count(&value).saturating_mul(definition.weight);
    if steps > MAX_STEPS {
        return Err(refuse(vec!["they hold too many values to be checked".to_owned()]));
    }
    if validator.is_valid(&value) {
        return Ok(value);
    }
    if steps > MAX_STEPS_TOLD {
        return Err(refuse(vec!["they do not fit, and hold too many values to say where".to_owned()]));
    }
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .take(TOLD)
        .map(|error| told(&error, &definition.input_schema))
        .collect();
    Err(refuse(problems))
}

/// A value and the values in it.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(count).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        _ => 1,
    }
}

/// The object in what was sent: itself, in a string, or as the only member `arguments`. `null` is an empty object.
fn object(value: Value, schema: &Value) -> Option<Value> {
    let value = match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(&text).ok()?
        }
        other => other,
    };
    let Value::Object(mut map) = value else { return None };
    let known = |key: &str| schema.get("properties").is_some_and(|p| p.get(key).is_some());
    if map.len() == 1 && map.contains_key("arguments") && !known("arguments") {
        return match map.remove("arguments")? {
            inner @ (Value::Object(_) | Value::String(_) | Value::Null) => match inner {
                Value::Null => Some(Value::Object(Map::new())),
                Value::String(text) => serde_json::from_str(&text).ok().filter(Value::is_object),
                inner => Some(inner),
            },
            _ => None,
        };
    }
    Some(Value::Object(map))
}

/// Turns a value into the type that the schema asks for, where it says the same thing in another type.
fn cast(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Value::as_array)
                .map(|names| names.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            // Many models send `null` for what they leave out.
            map.retain(|key, inner| {
                let absent = inner.is_null()
                    && !required.contains(&key.as_str())
                    && properties.get(key).is_some_and(|s| !allows(s, "null") && s.get("type").is_some());
                !absent
            });
            for (key, inner) in map.iter_mut() {
                if let Some(schema) = properties.get(key) {
                    cast(inner, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| cast(item, schema));
            }
        }
        scalar => {
            if let Some(cast) = cast_scalar(scalar, schema) {
                *scalar = cast;
            }
        }
    }
}

fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn cast_scalar(value: &Value, schema: &Value) -> Option<Value> {
    let allows = |kind: &str| allows(schema, kind);
    match value {
        Value::String(text) if !allows("string") => {
            let text = text.trim();
            if allows("integer")
                && let Ok(integer) = text.parse::<i64>()
            {
                return Some(integer.into());
            }
            // `NaN` and `inf` are not numbers of JSON, and `from_f64` says so.
            if allows("number")
                && let Some(number) = text.parse().ok().and_then(Number::from_f64)
            {
                return Some(Value::Number(number));
            }
            if allows("boolean") {
                return match text.to_ascii_lowercase().as_str() {
                    "true" | "1" | "yes" => Some(true.into()),
                    "false" | "0" | "no" => Some(false.into()),
                    _ => None,
                };
            }
            // A list or an object that was sent as text.
            let nested =
                (allows("array") && text.starts_with('[')) || (allows("object") && text.starts_with('{'));
            let mut nested: Value = nested.then(|| serde_json::from_str(text).ok()).flatten()?;
            cast(&mut nested, schema);
            Some(nested)
        }
        Value::Number(number) if allows("integer") && !number.is_i64() && !number.is_u64() => {
            let float = number.as_f64()?;
            let whole = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
            whole.then(|| Value::from(float as i64))
        }
        // Whole numbers alone: 1.10 would become "1.1", and a long one lose its digits.
        Value::Number(number) if allows("string") && !allows("number") && !allows("integer") => {
            (number.is_i64() || number.is_u64()).then(|| number.to_string().into())
        }
        Value::Bool(truth) if allows("string") && !allows("boolean") => Some(truth.to_string().into()),
        _ => None,
    }
}

/// One problem as a line that says where and what.
fn told(error: &jsonschema::ValidationError<'_>, schema: &Value) -> String {
    let at = error.instance_path().to_string();
    let mut text = match at.as_str() {
        "" => error.to_string(),
        at => format!("`{}`: {error}", at.trim_start_matches('/').replace('/', ".")),
    };
    if let jsonschema::error::ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
        let known = schema.get("properties").and_then(Value::as_object);
        let known = known.map(|p| p.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default();
        if let Some(near) = unexpected.first().and_then(|odd| name::nearest(odd, known.iter().copied())) {
            text.push_str(&format!("; did you mean `{near}`?"));
        }
    }
    text.truncate(text.floor_char_boundary(TOLD_BYTES));
    name::escape_controls(&text)
}
