//! What a model is sent of a conversation, whatever was kept of it.
//!
//! After every message that is pushed the view is valid on every wire: the user speaks first, speakers alternate, nothing
//! is empty, no two calls have one id, and the message after calls begins with their results, one each, in order. It follows
//! from the messages alone, so that the same history gives the same view at every load.

use crate::provider::{Block, Message, Speaker, ToolCall, ToolResult};
use std::collections::{BTreeMap, BTreeSet};

/// In place of the result of a call that has none.
pub(super) const INTERRUPTED: &str =
    "interrupted: the call was not finished, and whether it took effect is not known";

/// In front of a conversation whose beginning is gone.
const BEGINNING_LOST: &str = "(The beginning of this conversation could not be read.)";

/// A valid conversation.
#[derive(Debug, Default)]
pub(super) struct View {
    messages: Vec<Message>,
    /// Of each message, the number of the first that was pushed into it.
    firsts: Vec<i64>,
    /// From a call's id, as the model wrote it, to the place of its result. The newest call of that id counts.
    slots: BTreeMap<String, Slot>,
    /// The ids in the view.
    taken: BTreeSet<String>,
    /// The last message of the model, as it was pushed.
    said: Option<Message>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    message: usize,
    block: usize,
    filled: bool,
}

impl View {
    /// A conversation of which a summary stands for the beginning.
    pub(super) fn after(summary: &str) -> Self {
        let mut view = Self::default();
        view.push(0, &Message::user(summary));
        view
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds what was said next.
    pub(super) fn push(&mut self, seq: i64, message: &Message) {
        match message.speaker {
            Speaker::User => {
                self.said = None;
                for result in message.results() {
                    self.fill(result);
                }
                let words = message.blocks.iter().filter(|block| is_said(block));
                let words = words.filter(|block| matches!(block, Block::Text { .. })).cloned().collect();
                self.join(seq, Speaker::User, words);
            }
            Speaker::Assistant => self.push_reply(seq, message),
        }
    }

    fn push_reply(&mut self, seq: i64, message: &Message) {
        if self.said.as_ref() == Some(message) {
            // Written twice.
            return;
        }
        self.said = Some(message.clone());
        let mut calls = Vec::new();
        let mut blocks = Vec::new();
        for block in &message.blocks {
            match block {
                Block::ToolCall(call) => {
                    if calls.iter().any(|(id, _)| *id == call.id) {
                        continue;
                    }
                    let call = ToolCall { id: self.free_id(&call.id), ..call.clone() };
                    calls.push((block_id(block), call.id.clone()));
                    blocks.push(Block::ToolCall(call));
                }
                Block::ToolResult(_) => {}
                Block::Text { .. } | Block::Thinking { .. } => {
                    if is_said(block) {
                        blocks.push(block.clone());
                    }
                }
            }
        }
        // Thoughts alone are nothing that a wire would take.
        if blocks.iter().all(|block| matches!(block, Block::Thinking { .. })) {
            return;
        }
        if self.messages.is_empty() {
            self.join(seq, Speaker::User, vec![Block::Text { text: BEGINNING_LOST.to_owned() }]);
        }
        self.join(seq, Speaker::Assistant, blocks);
        let at = self.messages.len();
        let mut results = Vec::new();
        for (block, (written, id)) in calls.into_iter().enumerate() {
            self.slots.insert(written.to_owned(), Slot { message: at, block, filled: false });
            let text = INTERRUPTED.to_owned();
            results.push(Block::ToolResult(ToolResult { id, text, is_error: true }));
        }
        self.join(seq, Speaker::User, results);
    }

    /// Puts a result in the place that was left for it. One without a call, or a second one, has none.
    fn fill(&mut self, result: &ToolResult) {
        let Some(slot) = self.slots.get_mut(&result.id).filter(|slot| !slot.filled) else { return };
        let place = self.messages.get_mut(slot.message).and_then(|m| m.blocks.get_mut(slot.block));
        if let Some(Block::ToolResult(place)) = place {
            let ToolResult { text, is_error, .. } = result.clone();
            *place = ToolResult { id: place.id.clone(), text, is_error };
            slot.filled = true;
        }
    }

    /// Adds blocks to the last message if it is of the same speaker, or as a message of their own.
    fn join(&mut self, seq: i64, speaker: Speaker, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.speaker == speaker => last.blocks.extend(blocks),
            _ => {
                self.messages.push(Message { speaker, blocks });
                self.firsts.push(seq);
            }
        }
    }

    fn free_id(&mut self, wanted: &str) -> String {
        let stem = if wanted.is_empty() { "call" } else { wanted };
        let mut id = stem.to_owned();
        let mut count = 1;
        while !self.taken.insert(id.clone()) {
            count += 1;
            id = format!("{stem}_{count}");
        }
        id
    }

    /// The number from which on the last `keep` messages were pushed. Results are kept with their calls.
    pub(super) fn tail(&self, keep: usize) -> Option<i64> {
        let mut at = self.messages.len().saturating_sub(keep);
        if self.messages.get(at).is_some_and(|message| message.results().next().is_some()) {
            at = at.saturating_sub(1);
        }
        self.firsts.get(at).copied()
    }
}

fn is_said(block: &Block) -> bool {
    !matches!(block, Block::Text { text } if text.trim().is_empty())
}

fn block_id(block: &Block) -> &str {
    match block {
        Block::ToolCall(call) => &call.id,
        _ => "",
    }
}
