//! The course of one turn: model call, tool calls, model call, until there is an answer or a budget is at its end.

use super::compaction::Compactions;
use super::event::What;
use super::repeat::Repeats;
use super::spending::Spending;
use super::turn::{Incomplete, Said, Turn, TurnEnd, TurnOutcome};
use crate::provider::{
    Block, Message, ModelReply, ProviderError, ProviderErrorKind, Speaker, Stop, ToolCall, ToolSpec,
};

/// Times that a reply which was cut by its length is continued.
const CONTINUED: u32 = 3;

/// Replies in a row whose calls all have unusable arguments; one more ends the turn.
pub(super) const REPAIRS: u32 = 2;

// What the program itself says to the model begins so, and is kept only where the conversation needs it.
const CONTINUE: &str = "[host] Your reply was cut by the limit on its length. Go on exactly where it stops, without \
repeating any of it.";
const NUDGE: &str = "[host] Your last replies were empty. Answer now: in words, or with a call of a tool.";
const CLOSING: &str = "[host] The limit on model calls of this turn is reached; there are no further tool calls. Say now, \
in words, what was done, what was found, and what is still open.";

/// What the model said last, with the continuations of it.
struct Reply {
    text: String,
    calls: Vec<ToolCall>,
    cut: bool,
}

/// A turn on its way.
pub(super) struct Course<'t, 'a> {
    pub(super) turn: &'t mut Turn<'a>,
    pub(super) end: &'t mut TurnEnd,
    pub(super) spending: Spending,
    pub(super) repeats: Repeats,
    pub(super) compactions: Compactions,
    pub(super) tools: Vec<ToolSpec>,
    /// Replies in a row whose calls had unusable arguments.
    pub(super) unusable: u32,
}

impl<'t, 'a> Course<'t, 'a> {
    pub(super) fn new(turn: &'t mut Turn<'a>, end: &'t mut TurnEnd) -> Self {
        let tools = turn.toolbox.view(turn.caller).map(|definition| ToolSpec {
            name: definition.name.clone(),
            description: definition.description.clone(),
            input_schema: definition.input_schema.clone(),
        });
        let tools = tools.collect();
        let (spending, repeats) = (Spending::default(), Repeats::default());
        Self { turn, end, spending, repeats, compactions: Compactions::default(), tools, unusable: 0 }
    }

    pub(super) async fn run(mut self, prompt: Vec<Said>) -> Result<(), TurnOutcome> {
        let shown: Vec<&str> = prompt.iter().map(|said| said.text.as_str()).collect();
        let shown = shown.join("\n\n");
        let begun = self.check_prices().and_then(|()| self.hear(prompt));
        // Told when it is kept: what has been heard of is not lost.
        (self.turn.listen)(What::TurnStarted { prompt: shown });
        let last = self.turn.session.messages().last();
        if !begun? && last.is_some_and(|last| last.speaker == Speaker::Assistant) {
            // All of it was said before, and was answered meanwhile.
            return Ok(());
        }
        let mut answers: Vec<String> = Vec::new();
        loop {
            self.compact_if_full().await?;
            if self.end.iterations >= self.turn.budget.iterations {
                return self.close().await;
            }
            let said = self.say().await?;
            if said.calls.is_empty() {
                answers.push(said.text);
                self.end.text = answers.join("\n\n");
                if said.cut {
                    return Err(TurnOutcome::Incomplete(Incomplete::Length));
                }
                if !self.hear((self.turn.follow_ups)())? {
                    return Ok(());
                }
                continue;
            }
            self.end.text = said.text;
            self.calls(&said.calls, said.cut).await?;
            // What a person says now stands behind the results, in a text of its own.
            self.hear((self.turn.follow_ups)())?;
            if self.unusable > REPAIRS {
                let names: Vec<&str> = said.calls.iter().map(|call| call.name.as_str()).collect();
                let problem = format!(
                    "the model called {} with unusable arguments {} times in a row",
                    names.join(", "),
                    self.unusable
                );
                return Err(failed(ProviderErrorKind::Garbled, problem));
            }
        }
    }

    /// Keeps what was said: what people say together, and what the host puts in each for itself, so that neither is taken for
    /// the other. Whether there was anything new: what stands there already was read with everything else.
    fn hear(&mut self, said: Vec<Said>) -> Result<bool, TurnOutcome> {
        let said: Vec<Said> = said.into_iter().filter(|said| !said.text.trim().is_empty()).collect();
        let mut heard = false;
        for group in said.chunk_by(|one, next| one.source.is_none() && next.source.is_none()) {
            let blocks = group.iter().map(|said| Block::Text { text: said.text.clone() }).collect();
            let message = Message { speaker: Speaker::User, blocks };
            match group.first().and_then(|first| first.source.as_deref()) {
                None => {
                    self.keep(message)?;
                    heard = true;
                }
                Some(source) => {
                    let kept = self.turn.session.append_from(message, source);
                    heard |= kept.map_err(|error| TurnOutcome::Unrecorded(error.to_string()))?;
                }
            }
        }
        Ok(heard)
    }

    /// Sums up at once.
    pub(super) async fn compact_now(mut self) -> Result<(), TurnOutcome> {
        self.check_prices()?;
        self.compact().await.map(|_| ())
    }

    /// One reply of the model, with its continuations, kept.
    async fn say(&mut self) -> Result<Reply, TurnOutcome> {
        let first = self.first_words().await?;
        let (mut cut, mut text) = (first.stop == Stop::Length, text_of(&first));
        let mut calls = calls_of(&first);
        self.end.text.clone_from(&text);
        self.keep(spoken(first))?;
        let mut continued = 0;
        while cut && calls.is_empty() && continued < CONTINUED {
            continued += 1;
            let more = self.ask(Some(CONTINUE), true).await?;
            let (piece, wanted) = (text_of(&more), calls_of(&more));
            if piece.is_empty() && wanted.is_empty() {
                break;
            }
            cut = more.stop == Stop::Length;
            text.push_str(&piece);
            calls = wanted;
            self.end.text.clone_from(&text);
            self.keep(spoken(more))?;
        }
        Ok(Reply { text, calls, cut })
    }

    /// A reply that says something. An empty one is asked for again, first without a word and then with one.
    async fn first_words(&mut self) -> Result<ModelReply, TurnOutcome> {
        for note in [None, None, Some(NUDGE)] {
            let reply = self.ask(note, true).await?;
            if !text_of(&reply).trim().is_empty() || !calls_of(&reply).is_empty() {
                return Ok(reply);
            }
            if reply.stop == Stop::Refusal {
                let problem = "the model, or a filter of its service, refused to answer";
                return Err(failed(ProviderErrorKind::Rejected, problem.to_owned()));
            }
        }
        let problem = "the model gave an empty reply three times; ask again, or use another model";
        Err(failed(ProviderErrorKind::Garbled, problem.to_owned()))
    }

    /// The last call of a turn that is over its limit: it says how things stand.
    async fn close(&mut self) -> Result<(), TurnOutcome> {
        match self.ask(Some(CLOSING), false).await {
            Ok(reply) => {
                let text = text_of(&reply);
                if !text.trim().is_empty() {
                    self.end.text = text;
                    let blocks = reply.blocks.into_iter();
                    let blocks = blocks.filter(|block| !matches!(block, Block::ToolCall(_))).collect();
                    self.keep(Message { speaker: Speaker::Assistant, blocks })?;
                }
            }
            Err(TurnOutcome::Failed(error)) => {
                let text = format!("the closing words are missing: {error}");
                (self.turn.listen)(What::Notice { text });
            }
            Err(TurnOutcome::Incomplete(_)) => {}
            Err(other) => return Err(other),
        }
        Err(TurnOutcome::Incomplete(Incomplete::Iterations))
    }

    /// Adds to the conversation, before anything follows from it.
    pub(super) fn keep(&mut self, message: Message) -> Result<(), TurnOutcome> {
        let kept = self.turn.session.append(message);
        kept.map_err(|error| TurnOutcome::Unrecorded(error.to_string()))
    }
}

pub(super) fn text_of(reply: &ModelReply) -> String {
    let texts = reply.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn calls_of(reply: &ModelReply) -> Vec<ToolCall> {
    let calls = reply.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

fn spoken(reply: ModelReply) -> Message {
    Message { speaker: Speaker::Assistant, blocks: reply.blocks }
}

/// A turn that ends because of what the model did, not of how it was reached.
pub(super) fn failed(kind: ProviderErrorKind, message: String) -> TurnOutcome {
    TurnOutcome::Failed(ProviderError {
        kind,
        message,
        status: None,
        request_id: None,
        retryable: false,
        retry_after: None,
    })
}
