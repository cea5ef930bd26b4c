//! A reply, with what tests ask of it.

use ringfence::authority::Denial;
use ringfence::sandbox::{CallError, LimitKind};
use ringfence::toolbox::{self, ErrorKind, Outcome, text_of};

#[derive(Debug)]
pub struct Reply(pub toolbox::Reply);

impl Reply {
    /// All text; the call must have worked.
    pub fn text(&self) -> String {
        match &self.0.outcome {
            Outcome::Done(output) => text_of(&output.content),
            other => panic!("the call did not work: {other:?}"),
        }
    }

    /// The part for programs.
    pub fn structured(&self) -> Option<serde_json::Value> {
        match &self.0.outcome {
            Outcome::Done(output) => output.structured.clone(),
            other => panic!("the call did not work: {other:?}"),
        }
    }

    /// The tool's own error.
    pub fn error(&self) -> (ErrorKind, String) {
        match &self.0.outcome {
            Outcome::Failed(error) => (error.kind, error.message.clone()),
            other => panic!("not an error of the tool: {other:?}"),
        }
    }

    /// The host's denial.
    pub fn denial(&self) -> Denial {
        match &self.0.outcome {
            Outcome::Denied(denial) => (**denial).clone(),
            other => panic!("not denied: {other:?}"),
        }
    }

    /// The arguments that no guest was given.
    pub fn argument_error(&self) -> String {
        match &self.0.outcome {
            Outcome::Arguments(error) => error.to_string(),
            other => panic!("the arguments were taken: {other:?}"),
        }
    }

    /// What was said; the call must not have worked.
    pub fn refused(&self) -> String {
        match &self.0.outcome {
            Outcome::Done(output) => panic!("the call worked: {}", text_of(&output.content)),
            Outcome::Failed(error) => error.message.clone(),
            other => other.for_model(),
        }
    }

    /// The limit that ended it.
    pub fn limit(&self) -> LimitKind {
        match &self.0.outcome {
            Outcome::Ended(CallError::Limit(limit)) => *limit,
            other => panic!("no limit ended it: {other:?}"),
        }
    }

    /// `ok`, or the name of what became of it instead.
    pub fn outcome(&self) -> String {
        match &self.0.outcome {
            Outcome::Done(_) => "ok".to_owned(),
            other => other.kind().unwrap_or(other.name()).to_owned(),
        }
    }
}
