//! What the tests stand on: a workspace with the real components in the real sandbox, ports that write down what reaches
//! them, and eyes for everything outside.

pub mod asking;
pub mod clockwork;
mod effects;
mod guests;
pub mod model;
mod program;
mod recorder;
mod reply;
mod seed;
mod stage;
mod terminal;
mod world;
pub mod yard;

pub use effects::Snapshot;
pub use guests::{hostile, wat};
pub use model::{Model, Says};
pub use program::{Program, Ran};
pub use recorder::Recorder;
pub use reply::Reply;
pub use seed::{Going, Seed, until};
pub use stage::Stage;
pub use terminal::Terminal;
pub use world::{Conversation, World, code_cache};

/// Native commands by the real binary, with nothing configured.
pub fn commands(dirs: &ringfence::config::Dirs) -> ringfence::exec::Commands {
    let settings = ringfence::exec::Settings {
        state: dirs.places(),
        ..ringfence::exec::Settings::of(dirs.data.join("quarantine"))
    };
    ringfence::exec::Commands::new(env!("CARGO_BIN_EXE_ringfence").into(), settings)
}
