//! Calls, put together from their pieces: by id, else by index and order.

use crate::provider::ToolCall;
use crate::provider::fault::Fault;
use crate::provider::wire::{BLOCKS, too_many};
use serde_json::Value;

/// Calls as they come in.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    index: Option<u64>,
    name: String,
    arguments: String,
    /// The arguments came as an object, and so at once.
    whole: bool,
}

impl Call {
    /// Whether its arguments need nothing more.
    fn is_complete(&self) -> bool {
        self.whole || serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

impl Calls {
    /// Takes one piece.
    pub(super) fn take(&mut self, piece: &Value) -> Result<(), Fault> {
        let function = piece.get("function").unwrap_or(piece);
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text(piece, "id"), text(function, "name"));
        let index = piece.get("index").and_then(Value::as_u64);
        let at = self.place(&id, index, &name);
        if at == self.calls.len() {
            if at >= BLOCKS {
                return Err(too_many());
            }
            self.calls.push(Call { index, ..Call::default() });
        }
        let Some(call) = self.calls.get_mut(at) else { return Ok(()) };
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        match function.get("arguments") {
            Some(Value::String(text)) if !call.whole => call.arguments.push_str(text),
            Some(object @ (Value::Object(_) | Value::Array(_))) => {
                call.arguments = object.to_string();
                call.whole = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Which call a piece belongs to; one past the last for a new one.
    fn place(&self, id: &str, index: Option<u64>, name: &str) -> usize {
        let new = self.calls.len();
        let last_of = |wanted: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(wanted);
        if !id.is_empty()
            && let Some(same) = last_of(&|call| call.id == id)
            && let Some(call) = self.calls.get(same)
        {
            // An id given twice, to calls that differ in number and name, says nothing.
            let another = index.is_some() && index != call.index && !name.is_empty() && name != call.name;
            return if another { new } else { same };
        }
        let by_index = match index {
            Some(index) => last_of(&|call| call.index == Some(index)),
            None => new.checked_sub(1),
        };
        let Some(at) = by_index else { return new };
        let Some(call) = self.calls.get(at) else { return new };
        let goes_on = if name.is_empty() {
            // Services that number everything 0 still send the pieces of a call one after the other. An id of its own
            // and no name: some services give each piece an id.
            true
        } else if call.name.is_empty() {
            true
        } else {
            // The name again: either each piece repeats it, or another call of the same number begins.
            id.is_empty() && call.name == name && !call.is_complete()
        };
        if goes_on { at } else { new }
    }

    /// The calls, some of them without an id. Pieces that never got a name are none.
    pub(super) fn finish(self) -> Result<Vec<ToolCall>, Fault> {
        let mut calls = Vec::new();
        for call in self.calls.into_iter().filter(|call| !call.name.trim().is_empty()) {
            let name = call.name.trim().to_owned();
            let mut id = call.id;
            for arguments in split(&call.arguments) {
                if calls.len() >= BLOCKS {
                    return Err(too_many());
                }
                calls.push(ToolCall { id: std::mem::take(&mut id), name: name.clone(), arguments });
            }
        }
        Ok(calls)
    }
}

/// The arguments of each call in what came as one: objects one after the other are calls that a service ran together.
fn split(arguments: &str) -> Vec<String> {
    if arguments.trim().is_empty() {
        return vec!["{}".to_owned()];
    }
    let objects: Result<Vec<serde_json::Map<String, Value>>, _> =
        serde_json::Deserializer::from_str(arguments).into_iter().collect();
    match objects {
        Ok(objects) if objects.len() > 1 => {
            objects.into_iter().map(|object| Value::Object(object).to_string()).collect()
        }
        _ => vec![arguments.to_owned()],
    }
}
