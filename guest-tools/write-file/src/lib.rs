//! The `write_file` tool: creates a file or replaces its whole content.

use ringfence_tool::{Output, Tool, files::Workspace};

struct WriteFile;

#[derive(serde::Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl Tool for WriteFile {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let target = workspace.target(&arguments.path)?;
        let change = target.write(target.mark()?, arguments.content.as_bytes())?;
        let done = if change.before.is_some() { "replaced" } else { "created" };
        let count = match arguments.content.chars().count() {
            1 => "1 character".to_owned(),
            count => format!("{count} characters"),
        };
        Ok(Output::changed(format!("{done} {} ({count})", change.path), &[change]))
    }
}

ringfence_tool::export_tool!(WriteFile);
