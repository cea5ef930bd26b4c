//! Says of itself what a test wants it to say.
//!
//! The definitions are read from [`SLOT`], a piece of static data that a test finds in the finished file by its first
//! bytes and overwrites with JSON, filled up with spaces. So one build serves every kind of lie.

use ringfence_tool::bindings::{
    self,
    exports::ringfence::tool::tool::{Content, Definition, Error, Guest, Output},
};
use serde::Deserialize;
use std::hint::black_box;

const MARK: &[u8] = b"RINGFENCE-DEFINITIONS-SLOT";
const SIZE: usize = 16 * 1024;

static SLOT: [u8; SIZE] = {
    // No zeros: a linker may leave them out of the file.
    let mut slot = [b'.'; SIZE];
    let mut at = 0;
    while at < MARK.len() {
        slot[at] = MARK[at];
        at += 1;
    }
    slot
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Lie {
    definitions: Vec<One>,
    /// Each definition this many times more, with a number after its name.
    repeat: usize,
    /// Bytes added to each description.
    pad_description: usize,
    /// Bytes added to each schema, as spaces.
    pad_schema: usize,
    /// `spin` or `trap`, before anything is answered.
    first: String,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct One {
    name: String,
    description: String,
    input_schema: String,
    output_schema: Option<String>,
}

fn lie() -> Lie {
    // Opaque, since the compiler knows what the slot held when it was built.
    let slot = black_box(&SLOT);
    serde_json::from_slice(slot).unwrap_or_else(|_| Lie {
        definitions: vec![One {
            name: "honest".to_owned(),
            description: "Does nothing.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: None,
        }],
        ..Lie::default()
    })
}

struct Component;

impl Guest for Component {
    fn definitions() -> Vec<Definition> {
        let lie = lie();
        match lie.first.as_str() {
            "spin" => while black_box(true) {},
            "trap" => std::arch::wasm32::unreachable(),
            _ => {}
        }
        let description = "x".repeat(lie.pad_description);
        let schema = " ".repeat(lie.pad_schema);
        let mut definitions = Vec::new();
        for number in 0..=lie.repeat {
            let number = if number == 0 { String::new() } else { format!("_{number}") };
            definitions.extend(lie.definitions.iter().cloned().map(|one| Definition {
                name: format!("{}{number}", one.name),
                description: format!("{}{description}", one.description),
                input_schema: format!("{}{schema}", one.input_schema),
                output_schema: one.output_schema,
            }));
        }
        definitions
    }

    fn call(name: String, _arguments: String) -> Result<Output, Error> {
        Ok(Output { content: vec![Content::Text(format!("{name} was called"))], structured: None })
    }
}

bindings::export!(Component with_types_in bindings);
