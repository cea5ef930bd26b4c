//! The calls of one reply: those that only read run together, the others one after another, and the results stand in the
//! order of the calls.

use super::course::Course;
use super::event::What;
use super::repeat::Admission;
use super::showing::{Shown, shown};
use crate::provider::{Block, ToolCall, ToolResult};
use crate::toolbox::{Agent, Outcome, Reply, Toolbox};
use futures_util::future::join_all;
use std::path::PathBuf;

/// How one call ended, on the way to its result.
enum Ended {
    Ran { look: Option<String>, places: Vec<PathBuf>, reply: Reply, shown: Shown },
    Refused { text: String },
}

impl Course<'_, '_> {
    /// Makes the calls of a reply. `cut` is whether the reply was cut, so that the last call may lack its end.
    pub(super) async fn calls(&mut self, calls: &[ToolCall], cut: bool) -> Vec<Block> {
        let (toolbox, caller) = (self.turn.toolbox, self.turn.caller);
        let mut results = Vec::with_capacity(calls.len());
        let (mut usable, mut unusable) = (false, false);
        for group in groups(toolbox, caller, calls) {
            let admitted: Vec<Admission> =
                group.iter().map(|call| self.repeats.admit(toolbox, caller, call)).collect();
            let listen = self.turn.listen;
            let ended = group
                .iter()
                .zip(admitted)
                .map(|(call, admission)| make(self.turn.toolbox, caller, listen, call, admission));
            for (call, ended) in group.iter().zip(join_all(ended).await) {
                let (mut text, is_error) = match ended {
                    Ended::Refused { text } => (text, true),
                    Ended::Ran { look, places, reply, shown } => {
                        self.repeats.settle(toolbox, look, &places, &reply.outcome);
                        if let Outcome::Denied(denial) = &reply.outcome {
                            self.end.denied.push(denial.to_string());
                        }
                        let bad = matches!(reply.outcome, Outcome::Arguments(_));
                        (usable, unusable) = (usable || !bad, unusable || bad);
                        (shown.text, !matches!(reply.outcome, Outcome::Done(_)))
                    }
                };
                if cut && is_error {
                    text.push_str(
                        "\n[your reply was cut by the limit on its length; write less in one call]",
                    );
                }
                results.push(Block::ToolResult(ToolResult { id: call.id.clone(), text, is_error }));
            }
        }
        self.unusable = if unusable && !usable { self.unusable + 1 } else { 0 };
        results
    }
}

/// Splits calls into those that run at the same time. Order matters to all that can do more than read.
fn groups<'c>(toolbox: &Toolbox, caller: &Agent, calls: &'c [ToolCall]) -> Vec<&'c [ToolCall]> {
    let reads = |call: &ToolCall| toolbox.only_reads(caller, &call.name);
    calls.chunk_by(|before, after| reads(before) && reads(after)).collect()
}

/// Makes one call, or not, and tells of it.
async fn make(
    toolbox: &Toolbox,
    caller: &Agent,
    listen: &(dyn Fn(What) + Send + Sync),
    call: &ToolCall,
    admission: Admission,
) -> Ended {
    let (id, name) = (call.id.clone(), call.name.clone());
    listen(What::ToolStarted { id: id.clone(), name: name.clone(), arguments: call.arguments.clone() });
    let (look, places) = match admission {
        Admission::Run { look, places } => (look, places),
        Admission::Refused { kind, text } => {
            toolbox.refused(caller, &name, kind);
            listen(What::ToolFinished {
                id,
                name,
                ok: false,
                outcome: "refused".to_owned(),
                kind: Some(kind.to_owned()),
                ms: 0,
                bytes: text.len(),
                truncated: false,
                summary: text.clone(),
            });
            return Ended::Refused { text };
        }
    };
    // Those that run together all begin before one of them is over, however short it is.
    tokio::task::yield_now().await;
    let reply = toolbox.call(caller, &call.name, &call.arguments).await;
    let shown = shown(toolbox, caller, &call.name, &reply.outcome);
    listen(What::ToolFinished {
        id,
        name,
        ok: matches!(reply.outcome, Outcome::Done(_)),
        outcome: reply.outcome.name().to_owned(),
        kind: reply.outcome.kind().map(str::to_owned),
        ms: u64::try_from(reply.time.as_millis()).unwrap_or(u64::MAX),
        bytes: shown.bytes,
        truncated: shown.truncated,
        summary: shown.text.lines().next().unwrap_or_default().to_owned(),
    });
    Ended::Ran { look, places, reply, shown }
}
