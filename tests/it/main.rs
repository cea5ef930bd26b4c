//! All integration tests, in one binary.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    unreachable_pub,
    reason = "tests look at the world from outside of the walls, and fail by panicking"
)]

mod architecture;
mod attack;
mod authority;
mod bad_input;
mod cache;
mod cases;
mod cli;
mod compile_fail;
mod compiler;
mod config;
mod docs;
mod escapes_a;
mod escapes_h;
mod hostile_list;
mod limits;
mod parity_edit;
mod parity_patch;
mod parity_read;
mod parity_registry;
mod parity_search;
mod race;
mod red_team;
mod roles;
mod support;
mod toolbox;
mod wire;
mod wit;
