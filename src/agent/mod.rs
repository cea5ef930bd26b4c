//! One turn: from what the user said to a final answer, with the tools of the caller's role and within budgets.

mod briefing;
mod calls;
mod compaction;
mod course;
mod event;
mod front;
mod ground;
pub mod instructions;
pub mod prompt;
mod purse;
mod record;
mod repeat;
mod round;
mod showing;
pub mod skills;
mod spending;
mod turn;
pub mod workspace;

pub use briefing::Briefing;
pub use event::{Event, VERSION, What};
pub use ground::{Calling, Ground, GroundError, RESULTS, results_of};
pub use purse::{Means, Purse};
pub use record::Recorder;
pub use round::{Hooks, Round, Work};
pub use turn::{Budget, Incomplete, Said, Turn, TurnEnd, TurnOutcome};
