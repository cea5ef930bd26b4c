//! What a model is shown of a result: all of it, or a part and where the rest is.

use crate::toolbox::{Agent, Outcome, Output, Spill, Toolbox, VIEW, nearest, view};
use serde_json::Value;

/// Characters of a schema that are shown with arguments that do not fit it.
const SCHEMA: usize = 1_000;

/// Characters that are left for the remark on what is missing.
const REMARK: usize = 400;

/// A result as the model sees it.
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) truncated: bool,
    /// Bytes of the whole.
    pub(super) bytes: usize,
}

pub(super) fn shown(toolbox: &Toolbox, caller: &Agent, tool: &str, outcome: &Outcome) -> Shown {
    let mut whole = outcome.for_model();
    match outcome {
        Outcome::Arguments(_) => {
            if let Some((_, definition)) = toolbox.find(tool) {
                let schema = view(&definition.input_schema.to_string(), SCHEMA);
                whole.push_str(&format!("\nIts schema: {schema}"));
            }
        }
        Outcome::Unknown { .. } => {
            let names: Vec<&str> = toolbox.view(caller).map(|definition| definition.name.as_str()).collect();
            // The one that is meant must be one that can be called.
            whole = match nearest(tool, names.iter().copied()) {
                Some(near) => {
                    format!("there is no tool of that name; did you mean `{near}`? Nothing was run.")
                }
                None => "there is no tool of that name. Nothing was run.".to_owned(),
            };
            whole.push_str(&format!(" Your tools: {}.", names.join(", ")));
        }
        _ => {}
    }
    let (bytes, truncated) = (whole.len(), whole.chars().count() > VIEW);
    if !truncated {
        return Shown { text: whole, truncated, bytes };
    }
    let page = match outcome {
        Outcome::Done(output) => page(&whole, output),
        _ => None,
    };
    let text = page.unwrap_or_else(|| spilled(&whole, caller.spill()));
    Shown { text, truncated, bytes }
}

/// The lines of a file that fit, with how to go on: what can be had by reading on is not kept twice.
fn page(whole: &str, output: &Output) -> Option<String> {
    let structured = output.structured.as_ref()?;
    let number = |key: &str| structured.get(key).and_then(Value::as_u64);
    let (first, total) = (number("first_line")?, number("total_lines")?);
    let mut room = VIEW - REMARK;
    let mut text = String::new();
    let mut lines: u64 = 0;
    for line in whole.lines() {
        let cost = line.chars().count() + 1;
        if cost > room {
            break;
        }
        room -= cost;
        text.push_str(line);
        text.push('\n');
        lines += 1;
    }
    // A line that is too long for one view is shown like any other long result.
    (lines > 0).then(|| {
        let next = first + lines;
        format!("{text}(Lines {first}-{} of {total}. To continue: offset={next})", next - 1)
    })
}

/// The beginning and the end, and where the whole of it is.
fn spilled(whole: &str, spill: Option<&Spill>) -> String {
    let part = view(whole, VIEW - REMARK);
    match spill.map(|spill| spill.keep(whole)) {
        Some(Ok(kept)) => format!(
            "{part}\n[The whole result, {} lines, is in {}: read_file with offset and limit pages through it, and grep \
             searches it.]",
            kept.lines,
            kept.path.display()
        ),
        Some(Err(error)) => {
            tracing::warn!("a long result was not kept: {error}");
            format!("{part}\n[What is left out could not be kept; ask for less at once.]")
        }
        None => format!("{part}\n[What is left out is not kept; ask for less at once.]"),
    }
}
