//! The `list_exec_sessions` tool: the caller's commands that still run, through the host. It holds that interface and nothing
//! else.

use ringfence_tool::command::seconds;
use ringfence_tool::sheet::one_line;
use ringfence_tool::{Output, Tool};
use serde_json::json;

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:list-exec-sessions-tool;
            world imports { import ringfence:host/exec@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:list-exec-sessions-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{exec, types};

/// Characters of a command line that are shown.
const SHOWN: usize = 100;

struct ListExecSessions;

#[derive(serde::Deserialize)]
struct Arguments {}

impl Tool for ListExecSessions {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(_: Arguments) -> ringfence_tool::Result {
        let all = exec::sessions().map_err(told)?;
        let facts: Vec<_> = all
            .iter()
            .map(|session| {
                json!({
                    "session": session.id,
                    "elapsed_ms": session.elapsed_ms,
                    "remaining_ms": session.remaining_ms,
                    "command": shown(&session.line),
                })
            })
            .collect();
        Ok(Output::text(listed(&all)).structured(json!({ "sessions": facts })))
    }
}

fn listed(all: &[exec::Session]) -> String {
    if all.is_empty() {
        return "No command sessions.".to_owned();
    }
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(session: &exec::Session) -> String {
    let (so_far, left) = (seconds(session.elapsed_ms), seconds(session.remaining_ms));
    format!("- {}: {so_far} so far, {left} left: {}", session.id, shown(&session.line))
}

/// A command on one line, as much of it as is needed to know it again: a line may be longer than a result.
fn shown(command: &str) -> String {
    let command = one_line(command.trim());
    match command.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", command.get(..at).unwrap_or_default()),
        None => command.into_owned(),
    }
}

ringfence_tool::host_errors!(types);
ringfence_tool::export_tool!(ListExecSessions);

#[cfg(test)]
mod tests {
    use super::{exec, listed, shown};

    #[test]
    fn each_command_has_one_line() {
        let session = |id: &str, line: &str, elapsed_ms, remaining_ms| exec::Session {
            id: id.to_owned(),
            line: line.to_owned(),
            elapsed_ms,
            remaining_ms,
        };
        let all =
            [session("0123456789ab", "sleep 60", 12_345, 47_655), session("ba9876543210", "a\nb", 10, 9_990)];
        assert_eq!(
            listed(&all),
            "- 0123456789ab: 12 s so far, 47 s left: sleep 60\n- ba9876543210: 0.0 s so far, 9.9 s left: a\\nb"
        );
        assert_eq!(listed(&[]), "No command sessions.");
    }

    #[test]
    fn a_long_command_is_cut_between_characters() {
        assert_eq!(shown(&"ä".repeat(100)), "ä".repeat(100));
        assert_eq!(shown(&"ä".repeat(101)), format!("{}…", "ä".repeat(100)));
    }
}
