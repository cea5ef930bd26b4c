//! Files, environment and flags, as typed configuration. The only room that reads the environment.

mod dirs;
pub mod env;
mod file;

pub use dirs::{Dirs, absolute, canonical, create_private_dir, own_program, read_component};
pub use file::{Config, ConfigError};
