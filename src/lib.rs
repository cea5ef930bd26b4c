//! Ringfence: a sandboxed agent host. Every tool is a WebAssembly component, and a role decides what is linked.

pub mod agent;
pub mod authority;
pub mod bus;
pub mod cli;
pub mod config;
pub mod egress;
pub mod exec;
pub mod provider;
pub mod sandbox;
pub mod schedule;
pub mod session;
pub mod store;
pub mod tasks;
pub mod toolbox;
