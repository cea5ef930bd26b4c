//! The calls of one reply: those that only read run together, the others one after another. Each result is kept as soon as
//! it is there and told of after that, so that no result that was heard of is lost; the conversation puts them in the order
//! of the calls.

use super::course::Course;
use super::event::What;
use super::repeat::Admission;
use super::showing::shown;
use super::turn::TurnOutcome;
use crate::provider::{Block, Message, Speaker, ToolCall, ToolResult};
use crate::toolbox::{Agent, Note, Outcome, Toolbox};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::path::PathBuf;

/// A call that is over.
struct Over {
    /// Its place among those that run together.
    at: usize,
    /// What the model is told.
    result: ToolResult,
    /// What everybody else is told.
    finished: What,
    /// What came of it, if it was run.
    ran: Option<Ran>,
}

struct Ran {
    look: Option<String>,
    places: Vec<PathBuf>,
    outcome: Outcome,
}

impl Course<'_, '_> {
    /// Makes the calls of a reply and keeps their results. `cut` is whether the reply was cut, so that the last call may
    /// lack its end.
    pub(super) async fn calls(&mut self, calls: &[ToolCall], cut: bool) -> Result<(), TurnOutcome> {
        let (toolbox, caller, listen) = (self.turn.toolbox, self.turn.caller, self.turn.listen);
        let (mut usable, mut unusable) = (false, false);
        for group in groups(toolbox, caller, calls) {
            let admitted: Vec<Admission> =
                group.iter().map(|call| self.repeats.admit(toolbox, caller, call)).collect();
            let calls = group.iter().zip(admitted).enumerate();
            let mut running: FuturesUnordered<_> = calls
                .map(|(at, (call, admission))| make(toolbox, caller, listen, at, call, admission))
                .collect();
            let mut over = Vec::with_capacity(group.len());
            while let Some(Over { at, mut result, finished, ran }) = running.next().await {
                if cut && result.is_error {
                    result.text.push_str(
                        "\n[your reply was cut by the limit on its length; write less in one call]",
                    );
                }
                self.keep(Message { speaker: Speaker::User, blocks: vec![Block::ToolResult(result)] })?;
                listen(finished);
                over.push((at, ran));
            }
            over.sort_by_key(|(at, _)| *at);
            for Ran { look, places, outcome } in over.into_iter().filter_map(|(_, ran)| ran) {
                self.repeats.settle(toolbox, look, &places, &outcome);
                if let Outcome::Denied(denial) = &outcome {
                    self.end.denied.push(denial.to_string());
                }
                let bad = matches!(outcome, Outcome::Arguments(_));
                (usable, unusable) = (usable || !bad, unusable || bad);
            }
        }
        self.unusable = if unusable && !usable { self.unusable + 1 } else { 0 };
        Ok(())
    }
}

/// Splits calls into those that run at the same time. Order matters to all that can do more than read.
fn groups<'c>(toolbox: &Toolbox, caller: &Agent, calls: &'c [ToolCall]) -> Vec<&'c [ToolCall]> {
    let reads = |call: &ToolCall| toolbox.only_reads(caller, &call.name);
    calls.chunk_by(|before, after| reads(before) && reads(after)).collect()
}

/// Makes one call, or not.
async fn make(
    toolbox: &Toolbox,
    caller: &Agent,
    listen: &(dyn Fn(What) + Send + Sync),
    at: usize,
    call: &ToolCall,
    admission: Admission,
) -> Over {
    let (id, name) = (call.id.clone(), call.name.clone());
    listen(What::ToolStarted { id: id.clone(), name: name.clone(), arguments: call.arguments.clone() });
    let (look, places) = match admission {
        Admission::Run { look, places } => (look, places),
        Admission::Refused { kind, text } => {
            toolbox.refused(caller, &name, kind);
            let finished = What::ToolFinished {
                id: id.clone(),
                name,
                ok: false,
                outcome: "refused".to_owned(),
                kind: Some(kind.to_owned()),
                ms: 0,
                bytes: text.len(),
                truncated: false,
                summary: text.clone(),
            };
            return Over { at, result: ToolResult { id, text, is_error: true }, finished, ran: None };
        }
    };
    // Those that run together all begin before one of them is over, however short it is.
    tokio::task::yield_now().await;
    let reply = toolbox.call(caller, &call.name, &call.arguments).await;
    for note in reply.notes.iter().filter(|note| note.level == Note::NOTICE) {
        listen(What::Notice { text: note.message.clone() });
    }
    let shown = shown(toolbox, caller, &call.name, &reply.outcome);
    let ok = matches!(reply.outcome, Outcome::Done(_));
    let finished = What::ToolFinished {
        id: id.clone(),
        name,
        ok,
        outcome: reply.outcome.name().to_owned(),
        kind: reply.outcome.kind().map(str::to_owned),
        ms: u64::try_from(reply.time.as_millis()).unwrap_or(u64::MAX),
        bytes: shown.bytes,
        truncated: shown.truncated,
        summary: shown.text.lines().next().unwrap_or_default().to_owned(),
    };
    let ran = Some(Ran { look, places, outcome: reply.outcome });
    Over { at, result: ToolResult { id, text: shown.text, is_error: !ok }, finished, ran }
}
