//! Packages: a component with its digest, its definitions and what it was granted.

use super::builtin;
use super::definition::Definition;
use crate::authority::Grant;
use crate::sandbox::{Component, LoadError, RawDefinition};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

/// Where a package comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It comes with the program.
    BuiltIn,
    /// A file that a person named.
    File(PathBuf),
}

/// A component with its definitions and what it was granted.
#[derive(Debug)]
pub struct Package {
    /// Where it comes from.
    pub origin: Origin,
    /// What it was granted.
    pub grant: Grant,
    /// The time of a call where the ordinary one is too short for what it does.
    pub(super) clock: Option<Duration>,
    /// Its tools.
    pub definitions: Vec<Definition>,
    component: Source,
}

/// A built-in is read at its first use; start-up touches no component.
#[derive(Debug)]
enum Source {
    Embedded { wasm: &'static [u8], read: OnceLock<Result<Component, LoadError>> },
    Read(Component),
}

impl Package {
    /// The packages that come with the program.
    pub(super) fn built_in() -> Vec<Self> {
        builtin::EMBEDDED
            .iter()
            .filter_map(|embedded| {
                let definition = embedded_definition(embedded.definition)?;
                Some(Self {
                    origin: Origin::BuiltIn,
                    grant: builtin::grant(&definition.name),
                    clock: builtin::clock(&definition.name),
                    definitions: vec![definition],
                    component: Source::Embedded { wasm: embedded.wasm, read: OnceLock::new() },
                })
            })
            .collect()
    }

    /// A package of a component that was read from a file, with definitions that were checked.
    pub(super) fn third_party(
        path: PathBuf,
        component: Component,
        definitions: Vec<Definition>,
        grant: Grant,
    ) -> Self {
        let component = Source::Read(component);
        Self { origin: Origin::File(path), grant, clock: None, definitions, component }
    }

    /// The component.
    ///
    /// # Errors
    ///
    /// When it cannot be read as one.
    pub fn component(&self) -> Result<&Component, LoadError> {
        match &self.component {
            Source::Read(component) => Ok(component),
            Source::Embedded { wasm, read } => {
                read.get_or_init(|| Component::read(*wasm)).as_ref().map_err(Clone::clone)
            }
        }
    }
}

/// The build embeds each tool's own definition file. A test holds every one of them to the contract, so that none is
/// missing here; a broken one is left out rather than shown.
fn embedded_definition(text: &str) -> Option<Definition> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let field = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let schema = |key: &str| value.get(key).map(ToString::to_string);
    let raw = RawDefinition {
        name: field("name")?,
        description: field("description")?,
        input_schema: schema("input_schema")?,
        output_schema: schema("output_schema"),
    };
    Definition::check(raw).ok()
}
