//! The tools that come with the program, and what each is granted: the least that it needs.

use crate::authority::{Access, Capability, CapabilitySet, Directories, Grant, Hosts, Rights};
use std::time::Duration;

/// A tool as the build embedded it.
pub(super) struct Embedded {
    pub(super) wasm: &'static [u8],
    pub(super) definition: &'static str,
}

/// The embedded tools.
pub(super) const EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// What a built-in tool is granted. A name that is not listed gets nothing.
pub(super) fn grant(tool: &str) -> Grant {
    let files = |access| Rights {
        capabilities: CapabilitySet::of(&[Capability::Files]),
        directories: Directories::everywhere(access),
        hosts: Hosts::none(),
    };
    let only = |capability| Rights { capabilities: CapabilitySet::of(&[capability]), ..Rights::none() };
    Grant(match tool {
        "read_file" | "list_dir" | "find_files" | "grep" => files(Access::ReadOnly),
        "write_file" | "edit_file" | "apply_patch" => files(Access::ReadWrite),
        "message" => only(Capability::Message),
        "spawn" => only(Capability::Spawn),
        "tasks" => only(Capability::Tasks),
        "cron" => only(Capability::Cron),
        "exec" | "exec_session" | "list_exec_sessions" => only(Capability::Exec),
        _ => Rights::none(),
    })
}

/// The time of a call for a built-in tool that waits for other agents or for a command: the longest wait that the host allows,
/// and a little to tell of it. Nothing of its other limits is different.
pub(super) fn clock(tool: &str) -> Option<Duration> {
    let seconds = match tool {
        "spawn" | "tasks" => 310,
        "exec" => 610,
        "exec_session" => 130,
        _ => return None,
    };
    Some(Duration::from_secs(seconds))
}

/// Whether a built-in tool changes nothing although it holds more than files: it lists what is there.
pub(super) fn lists(tool: &str) -> bool {
    tool == "list_exec_sessions"
}
