//! One turn: from what the user said to a final answer, with the tools of the caller's role and within budgets.

mod calls;
mod compaction;
mod course;
mod event;
mod front;
pub mod instructions;
pub mod prompt;
mod repeat;
mod showing;
pub mod skills;
mod spending;
mod turn;
pub mod workspace;

pub use event::{Event, VERSION, What};
pub use turn::{Budget, Incomplete, Turn, TurnEnd, TurnOutcome};
