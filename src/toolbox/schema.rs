//! What it may cost to check arguments against a schema.
//!
//! A schema comes from a component and is evaluated outside of its walls, where no limit of a call holds: a few lines that
//! each refer twice to the next one double the work with every line. So it is weighed before it is ever used.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// Parts of a schema, counted as often as references lead to them.
const MAX_WEIGHT: usize = 4_096;

/// Parts inside each other, references followed.
const MAX_DEPTH: usize = 128;

/// Patterns; each is compiled.
const MAX_PATTERNS: usize = 32;

/// The parts of a schema, counted as often as references lead to them; the rest of a sentence about it when that is too much.
pub(super) fn weigh(schema: &Value) -> Result<usize, String> {
    let mut scale = Scale { root: schema, known: HashMap::new(), patterns: 0 };
    Ok(scale.weigh(schema, 0)?.weight)
}

/// What is known of one part.
#[derive(Clone, Copy, Default)]
struct Part {
    weight: usize,
    depth: usize,
}

struct Scale<'s> {
    root: &'s Value,
    /// By address; `None` while a part is being weighed, so that a circle is seen.
    known: HashMap<*const Value, Option<Part>>,
    patterns: usize,
}

impl<'s> Scale<'s> {
    fn weigh(&mut self, value: &'s Value, level: usize) -> Result<Part, String> {
        if !(value.is_object() || value.is_array()) {
            return Ok(Part::default());
        }
        let part = match self.known.get(&std::ptr::from_ref(value)) {
            Some(Some(part)) => *part,
            Some(None) => return Err("refers to itself in a circle".to_owned()),
            None => {
                if level >= MAX_DEPTH {
                    return Err(too_deep());
                }
                self.known.insert(value, None);
                let part = self.weigh_new(value, level + 1)?;
                self.known.insert(value, Some(part));
                part
            }
        };
        if level + part.depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if part.weight > MAX_WEIGHT {
            return Err(format!("has more than {MAX_WEIGHT} parts, counted as often as it refers to them"));
        }
        Ok(part)
    }

    fn weigh_new(&mut self, value: &'s Value, level: usize) -> Result<Part, String> {
        let mut sum = Part::default();
        let mut add = |part: Part| {
            sum.weight = sum.weight.saturating_add(part.weight);
            sum.depth = sum.depth.max(part.depth);
        };
        match value {
            Value::Object(map) => {
                self.check_keywords(map, level)?;
                for inner in map.values() {
                    add(self.weigh(inner, level)?);
                }
                if let Some(Value::String(target)) = map.get("$ref") {
                    let target = self.target(target)?;
                    add(self.weigh(target, level)?);
                }
                sum.weight = sum.weight.saturating_add(1);
                // To know what is evaluated, all that stands beside these is evaluated again.
                if map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems") {
                    sum.weight = sum.weight.saturating_mul(3);
                }
            }
            Value::Array(items) => {
                for inner in items {
                    add(self.weigh(inner, level)?);
                }
            }
            _ => {}
        }
        sum.depth += 1;
        Ok(sum)
    }

    fn check_keywords(&mut self, map: &Map<String, Value>, level: usize) -> Result<(), String> {
        let text = |key: &str| map.get(key).is_some_and(Value::is_string);
        // Where these lead is decided elsewhere than at the reference, and could not be followed here.
        if let Some(key) = ["$dynamicRef", "$recursiveRef"].into_iter().find(|key| text(key)) {
            return Err(format!("uses {key}"));
        }
        if level > 1 && text("$id") {
            return Err("has an $id below its root".to_owned());
        }
        let by_key = map.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
        self.patterns += usize::from(text("pattern")) + by_key;
        if self.patterns > MAX_PATTERNS {
            return Err(format!("has more than {MAX_PATTERNS} patterns"));
        }
        Ok(())
    }

    /// What a reference leads to. Only a plain path through the schema is followed: there is one way to read it.
    fn target(&self, reference: &str) -> Result<&'s Value, String> {
        let path = reference.strip_prefix('#').filter(|path| !path.contains('%'));
        path.and_then(|path| self.root.pointer(path))
            .ok_or_else(|| format!("refers to {reference:?}, which is no path to a part of it"))
    }
}

fn too_deep() -> String {
    format!("has parts more than {MAX_DEPTH} levels down, references followed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_people_write_weighs_little() {
        let address =
            json!({ "type": "object", "properties": { "street": { "type": "string", "pattern": "^." } } });
        let schema = json!({
            "type": "object",
            "$defs": { "address": address },
            "properties": { "from": { "$ref": "#/$defs/address" }, "to": { "$ref": "#/$defs/address" } },
            "unevaluatedProperties": false,
        });
        assert!(weigh(&schema).unwrap() < 100);
        // What is data in a schema is no reference.
        let odd =
            json!({ "properties": { "$ref": { "type": "string" }, "$id": { "const": "$dynamicRef" } } });
        weigh(&odd).unwrap();
    }

    #[test]
    fn references_count_as_often_as_they_are_followed() {
        let doubling = |lines: usize| {
            let mut defs = Map::new();
            for line in 0..lines {
                let next = json!({ "$ref": format!("#/$defs/{}", line + 1) });
                defs.insert(line.to_string(), json!({ "allOf": [next, next] }));
            }
            defs.insert(lines.to_string(), json!({ "required": ["x"] }));
            json!({ "$defs": defs, "$ref": "#/$defs/0" })
        };
        weigh(&doubling(5)).unwrap();
        for lines in [12, 40, 60] {
            assert!(weigh(&doubling(lines)).unwrap_err().contains("parts"), "{lines}");
        }
    }

    #[test]
    fn circles_chains_and_what_cannot_be_followed_are_refused() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "properties": { "more": { "$ref": "#" } } }),
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "items": { "$ref": "#/$defs/a" } } } }),
            json!({ "$ref": "#/nowhere" }),
            json!({ "$defs": { "a": true }, "$ref": "#/%24defs/a" }),
            json!({ "$defs": { "a": { "$anchor": "a" } }, "$ref": "#a" }),
            json!({ "$dynamicRef": "#a" }),
            json!({ "properties": { "a": { "$id": "urn:a" } } }),
        ] {
            assert!(weigh(&schema).is_err(), "{schema}");
        }
        let mut defs = Map::new();
        for line in 0..200 {
            defs.insert(line.to_string(), json!({ "$ref": format!("#/$defs/{}", line + 1) }));
        }
        defs.insert("200".to_owned(), json!(true));
        assert!(weigh(&json!({ "$defs": defs })).unwrap_err().contains("levels"));
    }

    #[test]
    fn what_is_evaluated_again_and_again_and_many_patterns_are_refused() {
        let mut nested = json!({ "properties": { "x": true } });
        for _ in 0..20 {
            nested = json!({ "unevaluatedProperties": false, "allOf": [nested] });
        }
        assert!(weigh(&nested).is_err());
        let patterns: Map<String, Value> = (0..33).map(|n| (format!("^{n}"), json!(true))).collect();
        assert!(weigh(&json!({ "patternProperties": patterns })).unwrap_err().contains("patterns"));
    }
}
