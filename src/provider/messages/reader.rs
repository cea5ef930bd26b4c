//! The reply, from a stream or in one piece.

use crate::provider::fault::Fault;
use crate::provider::sse::Event;
use crate::provider::wire::{BLOCKS, Progress, Reader, count, is_shallow, text, too_many, values, with_ids};
use crate::provider::{Block, Delta, ModelReply, ProviderErrorKind, Stop, ToolCall, Usage};
use serde_json::Value;

/// Reads one reply.
#[derive(Debug)]
pub(super) struct MessagesReader {
    provider: String,
    blocks: Vec<Open>,
    stop: Option<String>,
    figures: Figures,
    id: Option<String>,
}

/// A block that is coming in.
#[derive(Debug)]
struct Open {
    index: u64,
    /// As it came, with what was added since.
    raw: Value,
    /// The text of a call's arguments so far.
    input: String,
}

#[derive(Debug, Default)]
struct Figures {
    known: bool,
    input: u64,
    written: u64,
    read: u64,
    output: u64,
}

impl MessagesReader {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            blocks: Vec::new(),
            stop: None,
            figures: Figures::default(),
            id: None,
        }
    }

    /// Takes the head of a message: its id, its first figures, and all of it where it came in one piece.
    fn head(&mut self, message: &Value, hear: &mut dyn FnMut(Delta)) {
        self.id = text(message, "id").map(str::to_owned);
        self.figures.take(message.get("usage"));
        let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for block in blocks {
            self.begin(self.blocks.len() as u64, block, hear);
        }
        if let Some(stop) = text(message, "stop_reason") {
            self.stop = Some(stop.to_owned());
        }
    }

    fn begin(&mut self, index: u64, block: &Value, hear: &mut dyn FnMut(Delta)) {
        for (key, delta) in [("text", Delta::Text as fn(String) -> Delta), ("thinking", Delta::Thinking)] {
            if let Some(text) = text(block, key).filter(|text| !text.is_empty()) {
                hear(delta(text.to_owned()));
            }
        }
        // One more than is taken says that there were too many.
        if self.blocks.len() <= BLOCKS {
            self.blocks.push(Open { index, raw: block.clone(), input: String::new() });
        }
    }

    fn add(&mut self, index: Option<u64>, delta: &Value, hear: &mut dyn FnMut(Delta)) {
        let kind = text(delta, "type").unwrap_or_default();
        let known = self.blocks.iter_mut().rev().find(|open| index.is_none_or(|index| open.index == index));
        let Some(open) = known else {
            // A block that never began: text is text all the same.
            if let Some(text) = text(delta, "text") {
                let block = serde_json::json!({ "type": "text", "text": text });
                self.begin(index.unwrap_or(self.blocks.len() as u64), &block, hear);
            }
            return;
        };
        match kind {
            "text_delta" => hear(Delta::Text(open.append("text", delta))),
            "thinking_delta" => hear(Delta::Thinking(open.append("thinking", delta))),
            "signature_delta" => {
                open.append("signature", delta);
            }
            "input_json_delta" => open.input.push_str(text(delta, "partial_json").unwrap_or_default()),
            _ => {}
        }
    }

    fn take(&mut self, event: &Value, name: &str, hear: &mut dyn FnMut(Delta)) -> Result<Progress, Fault> {
        let kind = text(event, "type").unwrap_or(name);
        let index = event.get("index").and_then(Value::as_u64);
        let part = |key: &str| event.get(key).unwrap_or(&Value::Null);
        match kind {
            "message_start" => self.head(part("message"), hear),
            "content_block_start" => {
                self.begin(index.unwrap_or(self.blocks.len() as u64), part("content_block"), hear);
            }
            "content_block_delta" => self.add(index, part("delta"), hear),
            "message_delta" => {
                self.figures.take(event.get("usage"));
                if let Some(stop) = text(part("delta"), "stop_reason") {
                    self.stop = Some(stop.to_owned());
                }
            }
            "message_stop" => return Ok(Progress::Done),
            "error" => return Err(Fault::of_event(event.get("error").unwrap_or(event))),
            // A ping, the end of a block, or something new.
            _ => {}
        }
        Ok(if self.stop.is_some() { Progress::Whole } else { Progress::More })
    }
}

impl Reader for MessagesReader {
    fn event(&mut self, event: &Event, hear: &mut dyn FnMut(Delta)) -> Result<Progress, Fault> {
        let mut progress = Progress::More;
        if event.data.trim() == "[DONE]" {
            return Ok(Progress::Done);
        }
        for value in values(&event.data)? {
            progress = progress.max(self.take(&value, &event.name, hear)?);
        }
        Ok(progress)
    }

    fn whole(&mut self, reply: &Value, hear: &mut dyn FnMut(Delta)) -> Result<(), Fault> {
        if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::of_event(error));
        }
        if !reply.get("content").is_some_and(Value::is_array) {
            return Err(Fault::garbled("it sent JSON that is no message; check `base_url` and `wire`"));
        }
        self.head(reply, hear);
        Ok(())
    }

    fn reply(self: Box<Self>) -> Result<ModelReply, Fault> {
        if self.blocks.len() > BLOCKS {
            return Err(too_many());
        }
        let provider = self.provider;
        let blocks: Vec<Block> = self.blocks.into_iter().filter_map(|open| open.close(&provider)).collect();
        let blocks = with_ids(blocks);
        let calls = blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
        let stop = match self.stop.as_deref() {
            // A pause is a reply that the service wants to go on with: for us the same as one that was cut.
            Some("max_tokens" | "pause_turn") => Stop::Length,
            Some("refusal") => Stop::Refusal,
            Some("model_context_window_exceeded") => {
                let message = "the conversation fills the model's context; the reply was cut";
                return Err(Fault::last(ProviderErrorKind::ContextFull, message));
            }
            _ if calls => Stop::ToolCalls,
            _ => Stop::End,
        };
        Ok(ModelReply { blocks, stop, usage: self.figures.usage(), request_id: self.id })
    }
}

impl Open {
    /// Adds to a member of the block; gives what was added.
    fn append(&mut self, key: &str, delta: &Value) -> String {
        let more = text(delta, key).unwrap_or_default();
        match self.raw.get_mut(key) {
            Some(Value::String(so_far)) => so_far.push_str(more),
            _ => {
                if let Some(raw) = self.raw.as_object_mut() {
                    raw.insert(key.to_owned(), Value::String(more.to_owned()));
                }
            }
        }
        more.to_owned()
    }

    fn close(self, provider: &str) -> Option<Block> {
        match text(&self.raw, "type")? {
            "text" => {
                let text = text(&self.raw, "text").filter(|text| !text.is_empty())?;
                Some(Block::Text { text: text.to_owned() })
            }
            "thinking" | "redacted_thinking" if is_shallow(&self.raw) => {
                let text = text(&self.raw, "thinking").unwrap_or_default().to_owned();
                Some(Block::Thinking { provider: provider.to_owned(), raw: self.raw, text })
            }
            "tool_use" => {
                let name = text(&self.raw, "name").filter(|name| !name.trim().is_empty())?.to_owned();
                let id = text(&self.raw, "id").unwrap_or_default().to_owned();
                // Whole where no pieces followed.
                let arguments = match self.raw.get("input") {
                    _ if !self.input.trim().is_empty() => self.input,
                    Some(Value::String(text)) if !text.trim().is_empty() => text.clone(),
                    Some(input @ Value::Object(_)) => input.to_string(),
                    _ => "{}".to_owned(),
                };
                Some(Block::ToolCall(ToolCall { id, name, arguments }))
            }
            _ => None,
        }
    }
}

impl Figures {
    /// Later figures replace earlier ones; those that are missing leave them.
    fn take(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        self.known = true;
        let update = |figure: &mut u64, key: &str| *figure = count(usage, key).unwrap_or(*figure);
        update(&mut self.input, "input_tokens");
        update(&mut self.written, "cache_creation_input_tokens");
        update(&mut self.read, "cache_read_input_tokens");
        update(&mut self.output, "output_tokens");
    }

    fn usage(&self) -> Option<Usage> {
        let input = self.input.saturating_add(self.written).saturating_add(self.read);
        self.known.then_some(Usage { input, cached: self.read, output: self.output })
    }
}
