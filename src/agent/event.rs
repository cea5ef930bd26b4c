//! What happens in a turn, as a versioned stream: programs read it as JSON Lines, and the terminal is painted from the same.

use crate::provider::Usage;
use serde::Serialize;

/// The version of the stream. It changes when a field changes its meaning or goes; new types and fields do not change it.
pub const VERSION: u32 = 1;

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// [`VERSION`].
    pub v: u32,
    /// Counts from 1, without gaps.
    pub seq: u64,
    /// When, RFC 3339 in UTC, milliseconds.
    pub ts: String,
    /// The session's key.
    pub session: String,
    /// The turn's id, within a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum What {
    /// A session was opened.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// The role or profile.
        role: String,
        /// The workspace.
        workspace: String,
        /// Messages that were there already.
        messages: usize,
    },
    /// A turn began.
    #[serde(rename = "turn.started")]
    TurnStarted {
        /// What the user said.
        prompt: String,
    },
    /// A piece of the answer.
    #[serde(rename = "text.delta")]
    TextDelta {
        /// The piece.
        text: String,
    },
    /// A piece of what the model thinks.
    #[serde(rename = "reasoning.delta")]
    ReasoningDelta {
        /// The piece.
        text: String,
    },
    /// The pieces of this model call so far are void: it begins anew.
    #[serde(rename = "text.restart")]
    TextRestart {},
    /// A call begins.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments, as the model wrote them.
        arguments: String,
    },
    /// A call is over.
    #[serde(rename = "tool.finished")]
    ToolFinished {
        /// The call.
        id: String,
        /// The tool.
        name: String,
        /// Whether it worked.
        ok: bool,
        /// `done`, `failed`, `denied`, `arguments`, `unknown`, `ended` or `refused`.
        outcome: String,
        /// The kind within that, where it did not work.
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        /// Milliseconds.
        ms: u64,
        /// Bytes of the result.
        bytes: usize,
        /// Whether the model saw a part of it only.
        truncated: bool,
        /// The first line of what the model was told, for people.
        summary: String,
    },
    /// Tokens of one model call.
    #[serde(rename = "usage")]
    Usage {
        /// The call's, or nothing where the service does not say.
        #[serde(flatten)]
        usage: Usage,
    },
    /// The wire waits before it tries again.
    #[serde(rename = "retry")]
    Retry {
        /// Milliseconds.
        ms: u64,
        /// Why.
        reason: String,
    },
    /// Older messages were summed up for the model; the history is kept whole.
    #[serde(rename = "compaction")]
    Compaction {
        /// Messages before.
        before: usize,
        /// Messages after.
        after: usize,
    },
    /// A background task has ended.
    #[serde(rename = "task.updated")]
    TaskUpdated {
        /// Its id.
        id: String,
        /// Its label.
        label: String,
        /// How it ended: `succeeded`, `incomplete`, `failed`, `timed-out`, `cancelled` or `lost`.
        state: String,
        /// What people are told of it, in one line.
        text: String,
    },
    /// Something that the person should know.
    #[serde(rename = "notice")]
    Notice {
        /// What.
        text: String,
    },
    /// The turn could not go on.
    #[serde(rename = "error")]
    Error {
        /// Its kind's stable name.
        kind: String,
        /// What failed.
        message: String,
        /// The HTTP status, where there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// The service's name for the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        request_id: Option<String>,
        /// Whether trying again may help.
        retryable: bool,
    },
    /// A turn is over.
    #[serde(rename = "turn.finished")]
    TurnFinished {
        /// `completed`, `incomplete`, `cancelled` or `failed`.
        outcome: String,
        /// The final answer, or what there is of it.
        text: String,
        /// Model calls.
        iterations: u32,
        /// Tokens of all of them.
        #[serde(flatten)]
        usage: Usage,
        /// What was denied, one line each.
        denied: Vec<String>,
    },
}
