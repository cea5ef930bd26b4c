//! What the components that try the forbidden share.
//!
//! Each component is an example of this crate, named after its suite: `escape_*` tries to reach files that were not
//! handed over, `limits_*` to use up the host, `role_*` to call an interface that a role may not hold, `wire_*` to be
//! something that the host does not serve, `definitions_*` to lie about what it is. What a component does is set by its
//! arguments, and unless it is meant to run away it ends on its own.
//!
//! Answers are one text of JSON, so that a test can tell apart what was refused and what was not.

pub mod raw;

use ringfence_tool::{Error, Output};

/// The answer to a call: a value as JSON text.
///
/// # Errors
///
/// When the value cannot be written as JSON.
pub fn answer(value: &impl serde::Serialize) -> ringfence_tool::Result {
    serde_json::to_string(value).map(Output::text).map_err(|e| Error::invalid(e.to_string()))
}

/// Arguments of a tool that takes none.
#[derive(Debug, serde::Deserialize)]
pub struct Nothing {}

/// Defines a [`ringfence_tool::Tool`] whose schema takes any object; its arguments are checked by their type.
#[macro_export]
macro_rules! tool {
    ($type:ident, $name:literal, $about:literal, $arguments:ty, $call:expr) => {
        pub(crate) struct $type;

        impl ringfence_tool::Tool for $type {
            const DEFINITION: &'static str = concat!(
                r#"{"name":""#,
                $name,
                r#"","description":""#,
                $about,
                r#"","input_schema":{"type":"object"}}"#
            );
            type Arguments = $arguments;

            fn call(arguments: Self::Arguments) -> ringfence_tool::Result {
                let call: fn(Self::Arguments) -> ringfence_tool::Result = $call;
                call(arguments)
            }
        }
    };
}
