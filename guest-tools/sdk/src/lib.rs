//! What a Ringfence tool needs.
//!
//! A tool is a type that implements [`Tool`]; [`export_tool!`] turns it into a component. Its definition is a JSON file
//! beside the source, so that the host can embed it without running the component, and so that there is one text of it:
//!
//! ```ignore
//! struct Shout;
//!
//! #[derive(serde::Deserialize)]
//! struct Arguments { text: String }
//!
//! impl ringfence_tool::Tool for Shout {
//!     const DEFINITION: &'static str = include_str!("../definition.json");
//!     type Arguments = Arguments;
//!     fn call(arguments: Arguments) -> ringfence_tool::Result {
//!         Ok(ringfence_tool::Output::text(arguments.text.to_uppercase()))
//!     }
//! }
//!
//! ringfence_tool::export_tool!(Shout);
//! ```

pub mod command;
#[cfg(feature = "files")]
pub mod files;
mod host;
pub mod page;
pub mod sheet;
pub mod text;

#[doc(hidden)]
#[allow(missing_docs, reason = "generated")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/ringfence-tool",
        world: "pure-tool",
        pub_export_macro: true,
        default_bindings_module: "ringfence_tool::bindings",
    });
}

use bindings::exports::ringfence::tool::tool as wire;

/// Why a call did not work; see the WIT for what each kind means.
pub use wire::ErrorKind;

/// How a call ends.
pub type Result = std::result::Result<Output, Error>;

/// One tool.
pub trait Tool {
    /// Its definition: a JSON object with `name`, `description`, `input_schema` and, where there is structured output,
    /// `output_schema`.
    const DEFINITION: &'static str;
    /// Its arguments. The host has already checked them against the schema.
    type Arguments: serde::de::DeserializeOwned;
    /// Does the work.
    fn call(arguments: Self::Arguments) -> Result;
}

/// What a call that worked gives back.
#[derive(Debug, Default)]
pub struct Output {
    text: Vec<String>,
    structured: Option<serde_json::Value>,
}

impl Output {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: vec![text.into()], structured: None }
    }

    /// Adds a text after those that are there.
    pub fn and(mut self, text: impl Into<String>) -> Self {
        self.text.push(text.into());
        self
    }

    /// Sets the part for programs.
    pub fn structured(mut self, value: serde_json::Value) -> Self {
        self.structured = Some(value);
        self
    }
}

/// A call that did not work.
#[derive(Debug)]
pub struct Error {
    /// Which kind.
    pub kind: ErrorKind,
    /// What failed and what to try.
    pub message: String,
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The arguments make no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }
}

#[doc(hidden)]
pub fn definition_of<T: Tool>() -> wire::Definition {
    // A definition that cannot be read becomes one that the host refuses with its reason; a trap would hide it.
    let value: serde_json::Value = serde_json::from_str(T::DEFINITION).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).unwrap_or_default().to_owned();
    let schema = |key: &str| value.get(key).map(ToString::to_string);
    wire::Definition {
        name: text("name"),
        description: text("description"),
        input_schema: schema("input_schema").unwrap_or_default(),
        output_schema: schema("output_schema"),
    }
}

#[doc(hidden)]
pub fn dispatch<T: Tool>(arguments: &str) -> std::result::Result<wire::Output, wire::Error> {
    let arguments = serde_json::from_str(arguments)
        .map_err(|e| wire::Error { kind: ErrorKind::InvalidArguments, message: format!("arguments: {e}") })?;
    match T::call(arguments) {
        Ok(output) => Ok(wire::Output {
            content: output.text.into_iter().map(wire::Content::Text).collect(),
            structured: output.structured.map(|v| v.to_string()),
        }),
        Err(error) => Err(wire::Error { kind: error.kind, message: error.message }),
    }
}

/// Makes a component of one or several [`Tool`]s.
#[macro_export]
macro_rules! export_tool {
    ($($tool:ty),+ $(,)?) => {
        struct RingfenceComponent;

        impl $crate::bindings::exports::ringfence::tool::tool::Guest for RingfenceComponent {
            fn definitions() -> Vec<$crate::bindings::exports::ringfence::tool::tool::Definition> {
                vec![$($crate::definition_of::<$tool>()),+]
            }

            fn call(
                name: String,
                arguments: String,
            ) -> Result<
                $crate::bindings::exports::ringfence::tool::tool::Output,
                $crate::bindings::exports::ringfence::tool::tool::Error,
            > {
                $(
                    if $crate::definition_of::<$tool>().name == name {
                        return $crate::dispatch::<$tool>(&arguments);
                    }
                )+
                Err($crate::bindings::exports::ringfence::tool::tool::Error {
                    kind: $crate::ErrorKind::NotFound,
                    message: format!("this component has no tool `{name}`"),
                })
            }
        }

        $crate::bindings::export!(RingfenceComponent with_types_in $crate::bindings);
    };
}
