//! Agents that run commands: main and a subagent in one turn, and what the person hears.

use crate::support::Program;

/// Main begins a command that goes on, and has a helper look for it and run one of its own.
const SCRIPT: &str = r##"
[[reply]]
user = "the helper's work"
calls = [
  { name = "list_exec_sessions", arguments = {} },
  { name = "exec", arguments = { command = "echo by helper > helper.txt; ls" } },
]

[[reply]]
user = "the helper's work"
result = "No command sessions"
text = "the helper saw no sessions"

[[reply]]
user = "do it"
calls = [
  { name = "exec", arguments = { command = "echo by main > main.txt; echo x > .envrc\n# a second line\nsleep 1000", yield_time_ms = 200 } },
  { name = "spawn", arguments = { task = "the helper's work", wait = true } },
]

[[reply]]
user = "do it"
result = "the helper saw no sessions"
text = "both are done"
"##;

#[test]
fn main_and_a_subagent_run_commands_apart_and_the_person_hears_what_they_leave() {
    let program = Program::scripted(SCRIPT);
    let ran = program.run(&["run", "do it"]);
    assert_eq!(ran.stdout, "both are done\n", "{ran:?}");
    assert_eq!(std::fs::read_to_string(program.workspace().join("main.txt")).unwrap(), "by main\n");
    assert_eq!(std::fs::read_to_string(program.workspace().join("helper.txt")).unwrap(), "by helper\n");
    assert!(ran.stderr.contains("# a second line\n"), "all lines of a command are shown: {}", ran.stderr);
    // The command that went on ended with the program, and what it had made was looked at.
    assert!(!program.workspace().join(".envrc").exists(), "{ran:?}");
    assert!(ran.stderr.contains(".envrc") && ran.stderr.contains("quarantine"), "{}", ran.stderr);
    let rows = program.run(&["audit", "--json", "--tool", "exec"]).json();
    let calls = rows["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 2, "{rows}");
    assert!(calls.iter().all(|call| call["sandbox"] == "full"), "{rows}");
}

#[test]
fn what_a_command_left_is_told_to_the_person_by_the_host() {
    let script = r#"
[[reply]]
calls = [{ name = "exec", arguments = { command = "mkdir .vscode; echo all: > Makefile" } }]
[[reply]]
text = "nothing to see"
"#;
    let program = Program::scripted(script);
    let ran = program.run(&["run", "do it"]);
    for wanted in [".vscode", "quarantine", "Makefile"] {
        assert!(ran.stderr.contains(wanted), "{wanted} in {}", ran.stderr);
    }
}
