//! Model calls and what they take: each is checked against the budgets before it is made, and counted after it.

use super::course::{Course, failed};
use super::event::What;
use super::turn::{Incomplete, TurnOutcome};
use crate::provider::{
    Block, Delta, Message, ModelReply, ModelRequest, ProviderErrorKind, Speaker, ToolSpec, Usage,
};

/// Characters of a token, where nothing better is known.
const CHARACTERS: u64 = 4;

/// Tokens that a reply is always left, whatever the window seems to have room for.
const LEAST_REPLY: u64 = 1024;

/// What is known of the size of the next call.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// After how many messages the last call was made, and its tokens.
    measured: Option<(usize, u64)>,
}

/// A call to make.
pub(super) struct Question<'q> {
    pub(super) system: &'q str,
    pub(super) messages: &'q [Message],
    pub(super) tools: &'q [ToolSpec],
    /// Tokens of request, as far as is known.
    pub(super) size: u64,
    pub(super) reply_tokens: u32,
    /// Whether it counts against the limit on calls; the closing one does not.
    pub(super) limited: bool,
    /// Whether people see the words come in.
    pub(super) shown: bool,
}

impl Course<'_, '_> {
    /// A limit on cost without prices would be none.
    pub(super) fn check_prices(&self) -> Result<(), TurnOutcome> {
        let one = Usage { input: 1, cached: 0, output: 1 };
        if self.turn.purse.left().cost.is_none() || self.turn.provider.cost(one).is_some() {
            return Ok(());
        }
        let problem = format!(
            "the cost cannot be limited: the prices of {} are not known; write them into the configuration, or limit tokens",
            self.turn.provider.model()
        );
        Err(failed(ProviderErrorKind::Rejected, problem))
    }

    /// Asks with the conversation as it stands, and a note of the host's that is not kept. A conversation that does not fit
    /// is summed up once.
    pub(super) async fn ask(
        &mut self,
        note: Option<&str>,
        within_limit: bool,
    ) -> Result<ModelReply, TurnOutcome> {
        let full = match self.ask_once(note, within_limit).await {
            Err(TurnOutcome::Failed(error)) if error.kind == ProviderErrorKind::ContextFull => error,
            other => return other,
        };
        match self.compact().await? {
            true => self.ask_once(note, within_limit).await,
            false => Err(TurnOutcome::Failed(full)),
        }
    }

    async fn ask_once(&mut self, note: Option<&str>, within_limit: bool) -> Result<ModelReply, TurnOutcome> {
        let mut messages = self.turn.session.messages().to_vec();
        let count = messages.len();
        if let Some(note) = note {
            add_note(&mut messages, note);
        }
        // In the closing call there is nothing to call.
        let tools = if within_limit { std::mem::take(&mut self.tools) } else { Vec::new() };
        let question = Question {
            system: self.turn.system,
            messages: &messages,
            tools: &tools,
            size: self.size_with(&tools),
            reply_tokens: self.turn.budget.reply_tokens,
            limited: within_limit,
            shown: true,
        };
        let reply = self.put(question).await;
        if within_limit {
            self.tools = tools;
        }
        let reply = reply?;
        let said = reply.usage.map(Usage::total).filter(|total| *total > 0);
        self.spending.measured = said.map(|total| (count + 1, total));
        Ok(reply)
    }

    /// Makes one model call, if the budgets leave it.
    pub(super) async fn put(&mut self, question: Question<'_>) -> Result<ModelReply, TurnOutcome> {
        let max_tokens = self.room(&question)?;
        self.end.iterations += 1;
        let (listen, shown) = (self.turn.listen, question.shown);
        let deltas = move |delta: Delta| match delta {
            Delta::Waiting(ms, reason) => listen(What::Retry { ms, reason }),
            _ if !shown => {}
            Delta::Text(text) => listen(What::TextDelta { text }),
            Delta::Thinking(text) => listen(What::ReasoningDelta { text }),
            Delta::Restart => listen(What::TextRestart {}),
        };
        let Question { system, messages, tools, .. } = question;
        let temperature = self.turn.temperature;
        let request = ModelRequest { system, messages, tools, max_tokens, temperature };
        let reply = self.turn.provider.ask(request, &deltas).await.map_err(TurnOutcome::Failed)?;
        // A service that says nothing was taken says nothing.
        let said = reply.usage.filter(|usage| usage.total() > 0);
        if let Some(usage) = said {
            self.end.usage += usage;
            listen(What::Usage { usage });
        }
        // Estimated where the service does not say.
        let usage = said.unwrap_or_else(|| Usage {
            input: question.size,
            cached: 0,
            output: characters(&reply.blocks) / CHARACTERS,
        });
        self.turn.purse.take(usage.total(), self.turn.provider.cost(usage).unwrap_or(0));
        Ok(reply)
    }

    /// Tokens that a reply may have, by all budgets.
    fn room(&self, question: &Question<'_>) -> Result<u32, TurnOutcome> {
        let left = self.turn.purse.left();
        if question.limited && self.end.iterations >= self.turn.budget.iterations {
            return Err(TurnOutcome::Incomplete(Incomplete::Iterations));
        }
        let window = self.turn.provider.context_window().saturating_sub(question.size).max(LEAST_REPLY);
        let mut room = u64::from(question.reply_tokens).min(window);
        if let Some(most) = left.tokens {
            let left = most.saturating_sub(question.size);
            if left == 0 {
                return Err(TurnOutcome::Incomplete(Incomplete::Tokens));
            }
            room = room.min(left);
        }
        if let Some(most) = left.cost {
            let price = |input, output| {
                self.turn.provider.cost(Usage { input, cached: 0, output }).unwrap_or_default()
            };
            let left = most.saturating_sub(price(question.size, 0));
            // What a million tokens cost, so that the price of one is not rounded away.
            let million = price(0, 1_000_000);
            let affordable = match million {
                0 => room,
                million => {
                    u64::try_from(u128::from(left) * 1_000_000 / u128::from(million)).unwrap_or(u64::MAX)
                }
            };
            if left == 0 || affordable == 0 {
                return Err(TurnOutcome::Incomplete(Incomplete::Cost));
            }
            room = room.min(affordable);
        }
        Ok(u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// Tokens of the next request, by the last reply's word and the characters that came after it.
    pub(super) fn size(&self) -> u64 {
        self.size_with(&self.tools)
    }

    fn size_with(&self, tools: &[ToolSpec]) -> u64 {
        let messages = self.turn.session.messages();
        if let Some((count, tokens)) = self.spending.measured
            && let Some(after) = messages.get(count.min(messages.len())..)
        {
            return tokens.saturating_add(weight(after));
        }
        let schemas: usize = tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
            .sum();
        (self.turn.system.len() + schemas) as u64 / CHARACTERS + weight(messages)
    }

    /// Forgets what was measured: the conversation is another one now.
    pub(super) fn measure_anew(&mut self) {
        self.spending.measured = None;
    }
}

/// Tokens of messages, by their characters.
pub(super) fn weight(messages: &[Message]) -> u64 {
    messages.iter().map(|message| characters(&message.blocks)).sum::<u64>() / CHARACTERS
}

fn characters(blocks: &[Block]) -> u64 {
    let count = |text: &str| text.chars().count();
    let sum: usize = blocks
        .iter()
        .map(|block| match block {
            Block::Text { text } => count(text),
            Block::Thinking { text, .. } => count(text),
            Block::ToolCall(call) => call.name.len() + count(&call.arguments),
            Block::ToolResult(result) => count(&result.text),
        })
        .sum();
    sum as u64
}

/// Adds a note where it leaves the speakers alternating.
fn add_note(messages: &mut Vec<Message>, note: &str) {
    let text = Block::Text { text: note.to_owned() };
    match messages.last_mut() {
        Some(last) if last.speaker == Speaker::User => last.blocks.push(text),
        _ => messages.push(Message { speaker: Speaker::User, blocks: vec![text] }),
    }
}
