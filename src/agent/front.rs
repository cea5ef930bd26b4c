//! The front matter of a `SKILL.md`: the agentskills.io format, read leniently.

use serde_json::{Map, Value};

/// Characters of a name.
const NAME: usize = 64;

/// Characters of a description.
const DESCRIPTION: usize = 1024;

/// Where the keys that are not of the format itself may stand, below `metadata`.
const OWN: &[&str] = &["ringfence", "nanobot", "openclaw"];

/// What a skill says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Front {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) always: bool,
    pub(super) bins: Vec<String>,
    pub(super) env: Vec<String>,
}

/// Splits a file into its front matter and its body.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches('\n').strip_prefix("---")?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix(['\n', '\r'])?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((rest.get(..at)?, rest.get(at + line.len()..)?.trim_start_matches(['\n', '\r'])));
        }
        at += line.len();
    }
    None
}

impl Front {
    /// Understands front matter. Warnings are about what was taken nevertheless.
    ///
    /// # Errors
    ///
    /// Why the skill cannot be used.
    pub(super) fn parse(yaml: &str, directory: &str, warnings: &mut Vec<String>) -> Result<Self, String> {
        let value: Value = serde_saphyr::from_str(yaml).map_err(|error| {
            let text = error.to_string();
            format!("its front matter is no YAML: {}", text.lines().next().unwrap_or_default())
        })?;
        let map = value.as_object().ok_or("its front matter is no mapping")?;
        let own = own(map);
        let member = |key: &str| own.and_then(|own| own.get(key)).or_else(|| map.get(key));
        let name = text(map.get("name")).unwrap_or_else(|| {
            warnings.push(format!("skill {directory}: it has no name; its directory's is used"));
            directory.to_owned()
        });
        if !is_name(&name) {
            return Err(format!(
                "`{}` is no name: 1 to {NAME} lower-case letters, digits and single hyphens between them",
                name.escape_debug()
            ));
        }
        if name != directory {
            warnings.push(format!("skill {name}: its directory is called {directory}"));
        }
        let described = text(map.get("description")).unwrap_or_default();
        let mut description = described.split_whitespace().collect::<Vec<_>>().join(" ");
        if description.is_empty() {
            return Err("it has no description, so that nobody knows when to use it".to_owned());
        }
        if let Some(c) = crate::toolbox::invisible(&description) {
            return Err(format!("its description contains U+{:04X}, which nobody sees", u32::from(c)));
        }
        if description.chars().count() > DESCRIPTION {
            warnings.push(format!("skill {name}: its description is cut to {DESCRIPTION} characters"));
            description = description.chars().take(DESCRIPTION).collect();
        }
        let always = matches!(member("always"), Some(Value::Bool(true)));
        let requires = member("requires").and_then(Value::as_object);
        let list = |key: &str| requires.and_then(|r| r.get(key)).map(texts).unwrap_or_default();
        Ok(Self { name, description, always, bins: list("bins"), env: list("env") })
    }
}

/// What stands below `metadata` for programs like this one; some write it as JSON in a text.
fn own(map: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let metadata = map.get("metadata")?.as_object()?;
    OWN.iter().find_map(|key| metadata.get(*key)?.as_object())
}

/// A scalar as text, whatever YAML took it for.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// A list of texts, or one text; nothing for `null`.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(|item| text(Some(item))).collect(),
        one => text(Some(one)).into_iter().collect(),
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=NAME).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}
