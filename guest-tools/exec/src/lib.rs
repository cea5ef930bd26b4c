//! The `exec` tool: runs a command through the host, which starts it in the operating system's sandbox. It holds that interface
//! and nothing else.

use ringfence_tool::command::either;
use ringfence_tool::{Error, Tool};

#[allow(missing_docs, reason = "generated")]
mod host {
    wit_bindgen::generate!({
        inline: "
            package ringfence:exec-tool;
            world imports { import ringfence:host/exec@0.1.0; }
        ",
        path: "../../wit/ringfence-host",
        world: "ringfence:exec-tool/imports",
        generate_all,
    });
}

use host::ringfence::host::{exec, types};

struct Exec;

#[derive(Default, serde::Deserialize)]
struct Arguments {
    command: Option<String>,
    cmd: Option<String>,
    working_dir: Option<String>,
    workdir: Option<String>,
    timeout: Option<u32>,
    shell: Option<String>,
    yield_time_ms: Option<u32>,
    max_output_chars: Option<u32>,
    #[serde(default)]
    tty: bool,
}

impl Tool for Exec {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    /// A command that fails is a result like any other: an error says that it was not run.
    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let limit = arguments.timeout;
        let outcome = exec::run(&command(arguments)?).map_err(told)?;
        Ok(report(outcome).output(limit, false))
    }
}

fn command(arguments: Arguments) -> Result<exec::Command, Error> {
    let line = either(("command", arguments.command), ("cmd", arguments.cmd))?;
    let Some(line) = line.filter(|line| !line.trim().is_empty()) else {
        return Err(Error::invalid("exec needs `command`, a command line for the shell"));
    };
    let directory = either(("working_dir", arguments.working_dir), ("workdir", arguments.workdir))?;
    Ok(exec::Command {
        line,
        working_dir: directory.filter(|directory| !directory.trim().is_empty()),
        shell: arguments.shell,
        timeout_ms: arguments.timeout.map(|seconds| seconds.saturating_mul(1000)),
        yield_ms: arguments.yield_time_ms,
        max_output: arguments.max_output_chars,
        tty: arguments.tty,
    })
}

ringfence_tool::host_errors!(types);
ringfence_tool::command_reports!(exec);
ringfence_tool::export_tool!(Exec);

#[cfg(test)]
mod tests {
    use super::{Arguments, command};

    #[test]
    fn what_is_left_out_is_left_to_the_host() {
        let line = |line: &str| Some(line.to_owned());
        for arguments in [
            Arguments { command: line("ls"), ..Default::default() },
            Arguments { cmd: line("ls"), working_dir: line(" "), workdir: line(""), ..Default::default() },
        ] {
            let command = command(arguments).unwrap();
            assert_eq!((command.line.as_str(), command.working_dir, command.shell), ("ls", None, None));
            assert_eq!((command.timeout_ms, command.yield_ms, command.max_output), (None, None, None));
            assert!(!command.tty);
        }
    }

    #[test]
    fn a_command_is_needed_and_handed_over_as_it_is() {
        for blank in [None, Some(String::new()), Some(" \n".to_owned())] {
            let message = command(Arguments { command: blank, ..Default::default() }).unwrap_err().message;
            assert!(message.contains("`command`"), "{message}");
        }
        let text = " echo 'a  b'\n# and more\n";
        let arguments = Arguments { command: Some(text.to_owned()), ..Default::default() };
        assert_eq!(command(arguments).unwrap().line, text);
    }
}
