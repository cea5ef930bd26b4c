//! Files, environment and flags, as typed configuration. The only room that reads the environment.

mod agent;
mod choose;
mod cron;
mod dirs;
pub mod env;
mod exec;
mod file;
mod keys;
mod places;
mod presence;
mod profiles;
mod providers;
mod read;
mod tasks;
mod words;

pub use agent::AgentConfig;
pub use cron::CronConfig;
pub use dirs::{
    Dirs, Privacy, absolute, canonical, create_private_dir, names_in, own_program, privacy, read_component,
    read_script,
};
pub use exec::{ExecConfig, can_be_searched};
pub use file::{Config, ConfigError, TABLES};
pub use keys::{KeyError, KeySource};
pub use places::{Lock, Named, dumb_terminal, is_program, is_variable, private_file};
pub use presence::{Presence, fresh_id};
pub use profiles::ProfileLimits;
pub use providers::{Prices, ProviderConfig, Wire, is_this_machine};
pub use read::in_units;
pub use tasks::TasksConfig;
