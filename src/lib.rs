//! Ringfence: a sandboxed agent host. Every tool is a WebAssembly component, and a role decides what is linked.

pub mod authority;
pub mod cli;
pub mod config;
pub mod exec;
pub mod sandbox;
pub mod toolbox;
