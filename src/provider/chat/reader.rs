//! The reply, from a stream or in one piece.

use super::calls::Calls;
use super::reasoning::Reasoning;
use super::tags::{Piece, Tags};
use crate::provider::fault::Fault;
use crate::provider::sse::Event;
use crate::provider::wire::{Progress, Reader, count, text, values, with_ids};
use crate::provider::{Block, Delta, ModelReply, ProviderErrorKind, Stop, Usage};
use serde_json::Value;

/// Reads one reply.
#[derive(Debug)]
pub(super) struct ChatReader {
    provider: String,
    text: String,
    tags: Tags,
    reasoning: Reasoning,
    calls: Calls,
    refused: bool,
    stop: Option<String>,
    usage: Option<Usage>,
    id: Option<String>,
}

impl ChatReader {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            text: String::new(),
            tags: Tags::default(),
            reasoning: Reasoning::default(),
            calls: Calls::default(),
            refused: false,
            stop: None,
            usage: None,
            id: None,
        }
    }

    /// Takes a chunk of a stream, or a whole reply: they differ in one name.
    fn chunk(&mut self, chunk: &Value, hear: &mut dyn FnMut(Delta)) -> Result<(), Fault> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::of_event(error));
        }
        if self.id.is_none() {
            self.id = text(chunk, "id").map(str::to_owned);
        }
        let figures = [chunk.get("usage"), chunk.pointer("/x_groq/usage")];
        for figures in figures.into_iter().flatten().filter(|figures| figures.is_object()) {
            self.usage = Some(usage(figures));
        }
        let choices = chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for choice in choices {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(piece) =
                [choice.get("delta"), choice.get("message")].into_iter().flatten().find(|p| p.is_object())
            {
                self.piece(piece, hear)?;
            }
            if let Some(error) = choice.get("error").filter(|error| error.is_object()) {
                return Err(Fault::of_event(error));
            }
            if let Some(reason) = text(choice, "finish_reason").filter(|reason| !reason.is_empty()) {
                self.stop = Some(reason.to_owned());
                self.flush(hear);
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: &Value, hear: &mut dyn FnMut(Delta)) -> Result<(), Fault> {
        if let Some(thought) = self.reasoning.take(piece) {
            hear(Delta::Thinking(thought));
        }
        match piece.get("content") {
            Some(Value::String(more)) => self.content(more, hear),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, hear)),
            _ => {}
        }
        if let Some(refusal) = text(piece, "refusal").filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.flush(hear);
            self.say(refusal, hear);
        }
        match piece.get("tool_calls") {
            Some(Value::Array(calls)) => calls.iter().try_for_each(|call| self.calls.take(call))?,
            Some(call @ Value::Object(_)) => self.calls.take(call)?,
            _ => {}
        }
        if let Some(call @ Value::Object(_)) = piece.get("function_call") {
            self.calls.take(call)?;
        }
        Ok(())
    }

    /// Content in parts: text, or thinking that holds text in parts.
    fn part(&mut self, part: &Value, hear: &mut dyn FnMut(Delta)) {
        match part.get("thinking") {
            Some(thinking) => {
                let inner = thinking.as_array().map(Vec::as_slice).unwrap_or_default();
                let texts = inner.iter().filter_map(|inner| text(inner, "text"));
                for thought in texts.chain(thinking.as_str()) {
                    self.reasoning.take_part(thought);
                    hear(Delta::Thinking(thought.to_owned()));
                }
            }
            None => self.content(text(part, "text").unwrap_or_default(), hear),
        }
    }

    /// Text, which may begin with thinking.
    fn content(&mut self, more: &str, hear: &mut dyn FnMut(Delta)) {
        for piece in self.tags.take(more) {
            self.tell(piece, hear);
        }
    }

    /// Nothing more of the text comes.
    fn flush(&mut self, hear: &mut dyn FnMut(Delta)) {
        if let Some(piece) = self.tags.finish() {
            self.tell(piece, hear);
        }
    }

    fn tell(&mut self, piece: Piece, hear: &mut dyn FnMut(Delta)) {
        match piece {
            Piece::Text(text) => self.say(&text, hear),
            Piece::Thought(thought) => {
                self.reasoning.take_part(&thought);
                hear(Delta::Thinking(thought));
            }
        }
    }

    fn say(&mut self, more: &str, hear: &mut dyn FnMut(Delta)) {
        if !more.is_empty() {
            self.text.push_str(more);
            hear(Delta::Text(more.to_owned()));
        }
    }
}

impl Reader for ChatReader {
    fn event(&mut self, event: &Event, hear: &mut dyn FnMut(Delta)) -> Result<Progress, Fault> {
        if event.data.trim() == "[DONE]" {
            self.flush(hear);
            return Ok(Progress::Done);
        }
        let mut done = false;
        let lines: String = event
            .data
            .lines()
            .filter(|line| {
                let end = line.trim() == "[DONE]";
                done |= end;
                !end
            })
            .collect::<Vec<_>>()
            .join("\n");
        if lines.trim().is_empty() {
            return Ok(Progress::More);
        }
        for chunk in values(&lines)? {
            if event.name == "error" && chunk.get("error").is_none() {
                return Err(Fault::of_event(&chunk));
            }
            self.chunk(&chunk, hear)?;
        }
        if done {
            self.flush(hear);
        }
        Ok(match (done, &self.stop) {
            (true, _) => Progress::Done,
            (_, Some(_)) => Progress::Whole,
            _ => Progress::More,
        })
    }

    fn whole(&mut self, reply: &Value, hear: &mut dyn FnMut(Delta)) -> Result<(), Fault> {
        let choices = reply.get("choices").is_some_and(Value::is_array);
        let error = reply.get("error").is_some_and(|error| !error.is_null());
        if !choices && !error {
            return Err(Fault::garbled(
                "it sent JSON that is no chat completion; check `base_url` and `wire`",
            ));
        }
        self.chunk(reply, hear)?;
        self.flush(hear);
        Ok(())
    }

    fn reply(self: Box<Self>) -> Result<ModelReply, Fault> {
        let mut blocks = Vec::new();
        if let Some((raw, text)) = self.reasoning.finish() {
            blocks.push(Block::Thinking { provider: self.provider, raw, text });
        }
        if !self.text.is_empty() {
            blocks.push(Block::Text { text: self.text });
        }
        let calls = self.calls.finish()?;
        let stop = match self.stop.as_deref() {
            Some("length" | "max_tokens") => Stop::Length,
            Some("content_filter" | "refusal") => Stop::Refusal,
            Some("error") => {
                return Err(Fault::broken(ProviderErrorKind::Overloaded, "the reply ended with an error"));
            }
            // Whatever the service says: calls are to be made.
            _ if !calls.is_empty() => Stop::ToolCalls,
            _ if self.refused => Stop::Refusal,
            _ => Stop::End,
        };
        blocks.extend(calls.into_iter().map(Block::ToolCall));
        Ok(ModelReply { blocks: with_ids(blocks), stop, usage: self.usage, request_id: self.id })
    }
}

fn usage(figures: &Value) -> Usage {
    let details = figures.get("prompt_tokens_details").unwrap_or(&Value::Null);
    Usage {
        input: count(figures, "prompt_tokens").unwrap_or(0),
        cached: count(details, "cached_tokens")
            .or_else(|| count(figures, "prompt_cache_hit_tokens"))
            .unwrap_or(0),
        output: count(figures, "completion_tokens").unwrap_or(0),
    }
}
