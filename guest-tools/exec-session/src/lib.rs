//! The `exec_session` tool: looks after a command that still runs, through the host. It holds that interface and nothing else.

use ringfence_tool::command::either;
use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:exec-session-tool;
            world imports { import ringfence:host/exec@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:exec-session-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{exec, types};

/// Milliseconds to wait for a text where none are said.
const WAIT_FOR: u32 = 10_000;

/// Milliseconds to wait for whatever comes where none are said.
const WAIT: u32 = 1_000;

/// Characters of an unknown id that are told.
const TOLD: usize = 64;

struct ExecSession;

#[derive(Default, serde::Deserialize)]
struct Arguments {
    session_id: String,
    input: Option<String>,
    chars: Option<String>,
    #[serde(default)]
    close_stdin: bool,
    #[serde(default)]
    terminate: bool,
    wait_for: Option<String>,
    wait_timeout_ms: Option<u32>,
    yield_time_ms: Option<u32>,
    max_output_chars: Option<u32>,
}

impl Tool for ExecSession {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let terminate = arguments.terminate;
        let input = input(arguments)?;
        let outcome = exec::interact(&input).map_err(|error| match error.kind {
            types::ErrorKind::NotFound => unknown(&input.session),
            _ => told(error),
        })?;
        Ok(report(outcome).output(None, terminate))
    }
}

fn input(arguments: Arguments) -> Result<exec::Input, Error> {
    let text = either(("input", arguments.input), ("chars", arguments.chars))?.unwrap_or_default();
    if arguments.terminate && !text.is_empty() {
        return Err(Error::invalid("a command that is to end takes no `input`; leave one of the two out"));
    }
    let wait_for = arguments.wait_for.filter(|text| !text.is_empty());
    let wait = match &wait_for {
        Some(_) => arguments.wait_timeout_ms.unwrap_or(WAIT_FOR),
        None => arguments.yield_time_ms.or(arguments.wait_timeout_ms).unwrap_or(WAIT),
    };
    Ok(exec::Input {
        session: arguments.session_id,
        text,
        close: arguments.close_stdin,
        terminate: arguments.terminate,
        wait_for,
        wait_ms: Some(wait),
        max_output: arguments.max_output_chars,
    })
}

/// What a caller is told of an id that it made up, on one line whatever the id holds.
fn unknown(id: &str) -> Error {
    let told: String = one_line(id).chars().take(TOLD).collect();
    let cut = if told.len() < one_line(id).len() { "…" } else { "" };
    let message =
        format!("you have no command session `{told}{cut}`; list_exec_sessions shows those that run");
    Error::new(ringfence_tool::ErrorKind::NotFound, message)
}

ringfence_tool::host_errors!(types);
ringfence_tool::command_reports!(exec);
ringfence_tool::export_tool!(ExecSession);

#[cfg(test)]
mod tests {
    use super::{Arguments, input, unknown};

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_wait_for_text_and_a_plain_one_have_clocks_of_their_own() {
        let wait = |wait_for: &str, wait_timeout_ms, yield_time_ms| {
            let arguments =
                Arguments { wait_for: some(wait_for), wait_timeout_ms, yield_time_ms, ..Default::default() };
            input(arguments).unwrap().wait_ms
        };
        assert_eq!(wait("ready", None, None), Some(10_000));
        assert_eq!(wait("ready", Some(120_000), Some(5)), Some(120_000));
        assert_eq!(wait("ready", None, Some(5)), Some(10_000));
        assert_eq!(wait("", None, None), Some(1_000));
        assert_eq!(wait("", Some(7), Some(0)), Some(0));
        assert_eq!(wait("", Some(7), None), Some(7));
    }

    #[test]
    fn a_line_break_is_input_and_ending_takes_none() {
        assert_eq!(input(Arguments { chars: some("\n"), ..Default::default() }).unwrap().text, "\n");
        let ends = |text: &str| {
            input(Arguments { input: some(text), terminate: true, ..Default::default() })
                .map(|input| input.terminate)
        };
        assert!(ends("").unwrap());
        assert!(ends("y\n").unwrap_err().message.contains("`input`"));
    }

    #[test]
    fn an_unknown_id_is_told_on_one_line() {
        let message = unknown("a\nb\u{1b}[2J").message;
        assert!(message.contains(r"`a\nb\u{1b}[2J`") && !message.contains(char::is_control), "{message}");
        let message = unknown(&"ä".repeat(10_000)).message;
        assert!(message.contains('…') && message.chars().count() < 200, "{message}");
    }
}
