//! What the tests stand on: a workspace with the real components in the real sandbox, ports that write down what reaches
//! them, and eyes for everything outside.

mod effects;
mod guests;
mod recorder;
mod reply;
mod world;

pub use effects::Snapshot;
pub use guests::{hostile, wat};
pub use recorder::Recorder;
pub use reply::Reply;
pub use world::{Conversation, World, code_cache};
