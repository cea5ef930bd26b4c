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

mod agent_budgets;
mod agent_compaction;
mod agent_loop;
mod agent_repeats;
mod agent_spill;
mod architecture;
mod attack;
mod audit;
mod authority;
mod background_bounds;
mod background_denied;
mod background_routes;
mod bad_input;
mod bus;
mod cache;
mod cases;
mod chat;
mod chat_background;
mod cli;
mod compile_fail;
mod compiler;
mod config;
mod config_limits;
mod config_providers;
mod context;
mod cron;
mod directing;
mod docs;
mod doctor;
mod escapes_a;
mod escapes_g;
mod escapes_h;
mod events;
mod exec_agents;
mod exec_causes;
mod exec_commands;
mod exec_config;
mod exec_escapes;
mod exec_flag;
mod exec_guard;
mod exec_launch;
mod exec_places;
mod exec_wiring;
mod guest_units;
mod hostile_list;
mod kill;
mod kill_background;
mod limits;
mod parity_commands;
mod parity_cron;
mod parity_edit;
mod parity_exec;
mod parity_message;
mod parity_patch;
mod parity_read;
mod parity_registry;
mod parity_search;
mod parity_sessions;
mod parity_skills;
mod parity_spawn;
mod race;
mod red_agent;
mod red_background;
mod red_team;
mod roles;
mod run;
mod schedule_due;
mod schedule_service;
mod scripted;
mod serve;
mod sessions;
mod store;
mod store_jobs;
mod store_outbox;
mod store_presence;
mod store_tasks;
mod support;
mod tool_clock;
mod tool_cron;
mod tool_spawn;
mod tool_tasks;
mod toolbox;
mod wire;
mod wires;
mod wires_chat;
mod wires_faults;
mod wires_fuzz;
mod wires_messages;
mod wires_run;
mod wires_sse;
mod wit;
mod wrong_versions;
