//! Calls that a turn has made often enough: a third identical look-up, a third probe of one place outside.

use crate::authority::DenialKind;
use crate::provider::ToolCall;
use crate::toolbox::{Agent, Outcome, Toolbox, text_of};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

/// Times that the same is run.
const MOST: u32 = 2;

/// What was looked up and tried in this turn.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    looked_up: HashMap<String, Look>,
    probed: HashMap<PathBuf, u32>,
}

#[derive(Debug, Default)]
struct Look {
    times: u32,
    answer: Option<String>,
}

/// What is to become of a call.
#[derive(Debug)]
pub(super) enum Admission {
    /// It is run.
    Run {
        /// The look-up that it is.
        look: Option<String>,
        /// The places that it names.
        places: Vec<PathBuf>,
    },
    /// It is not.
    Refused {
        /// The kind's stable name.
        kind: &'static str,
        /// What the model is told.
        text: String,
    },
}

impl Repeats {
    /// Decides on a call before it is run.
    pub(super) fn admit(&mut self, toolbox: &Toolbox, caller: &Agent, call: &ToolCall) -> Admission {
        let Some(arguments) = toolbox.canonical(&call.name, &call.arguments) else {
            return Admission::Run { look: None, places: Vec::new() };
        };
        let places = toolbox.places(&arguments);
        let probed = |place: &&PathBuf| self.probed.get(*place).is_some_and(|times| *times >= MOST);
        if let Some(place) = places.iter().find(probed) {
            let text = format!(
                "refused: {} lies outside of what you hold and was denied {MOST} times in this turn. No tool and no \
                 other spelling will reach it. Do without it, or ask the user to grant it.",
                place.display()
            );
            return Admission::Refused { kind: "repeated-probe", text };
        }
        let look = toolbox.looks_up(caller, &call.name).then(|| {
            let arguments = spelled_alike(arguments, toolbox);
            format!("{} {arguments}", call.name)
        });
        if let Some(key) = &look {
            let known = self.looked_up.entry(key.clone()).or_default();
            if known.times >= MOST {
                let text = format!(
                    "refused: you have looked this up {MOST} times in this turn and the answer was the same. Use the \
                     answer that you have, or look for something else."
                );
                return Admission::Refused { kind: "repeated-look-up", text };
            }
            known.times += 1;
        }
        Admission::Run { look, places }
    }

    /// Notes how a call ended that was run.
    pub(super) fn settle(
        &mut self,
        toolbox: &Toolbox,
        look: Option<String>,
        places: &[PathBuf],
        outcome: &Outcome,
    ) {
        if let Outcome::Denied(denial) = outcome
            && denial.kind == DenialKind::OutsideWorkspace
        {
            // The host names the place as it saw it; a single path argument is the same place, however it leads there.
            let mut seen: Vec<PathBuf> = toolbox.place(&denial.subject).into_iter().collect();
            if let [only] = places
                && !seen.contains(only)
            {
                seen.push(only.clone());
            }
            for place in seen {
                *self.probed.entry(place).or_default() += 1;
            }
        }
        match look {
            Some(key) => {
                let answer = answer(outcome);
                let known = self.looked_up.entry(key).or_default();
                if known.answer.as_ref().is_some_and(|before| *before != answer) {
                    known.times = 1;
                }
                known.answer = Some(answer);
            }
            // What changes something may change every answer.
            None if matches!(outcome, Outcome::Done(_) | Outcome::Failed(_) | Outcome::Ended(_)) => {
                self.looked_up.clear();
            }
            None => {}
        }
    }
}

/// The arguments with every place under one name: another spelling of a path is no other look-up.
fn spelled_alike(arguments: Value, toolbox: &Toolbox) -> Value {
    match arguments {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| {
                let place =
                    if key == "path" { value.as_str().and_then(|path| toolbox.place(path)) } else { None };
                match place {
                    Some(place) => (key, place.display().to_string().into()),
                    None => (key, spelled_alike(value, toolbox)),
                }
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| spelled_alike(item, toolbox)).collect(),
        other => other,
    }
}

/// What tells one answer from another: the content's mark where the tool gives one, since a second read of an unchanged file
/// is answered in other words than the first.
fn answer(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(output) => match &output.structured {
            Some(structured) if structured.get("fingerprint").is_some() => structured.to_string(),
            _ => text_of(&output.content),
        },
        other => other.for_model(),
    }
}
