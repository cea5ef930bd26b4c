//! What the tools for native commands share: where a command stands, as a text for models and as facts for programs.

use crate::{Error, Output};

/// The level of a sandbox with every wall, the only one that need not be told.
const FULL: &str = "full";

/// Where a command stands: the host's answer, apart from the bindings that each tool has of its own.
#[derive(Debug)]
pub struct Report {
    /// Set while it still runs: the name to ask again by.
    pub session: Option<String>,
    /// Set once it has ended.
    pub exit_code: Option<i32>,
    /// Standard output since the last answer, head and tail joined.
    pub stdout: String,
    /// Standard error since the last answer, head and tail joined.
    pub stderr: String,
    /// Characters left out of the two.
    pub dropped: u64,
    /// Milliseconds since it started.
    pub elapsed_ms: u64,
    /// Whether the time limit ended it.
    pub timed_out: bool,
    /// Which walls stood around it.
    pub sandbox: String,
}

impl Report {
    /// What a tool answers. `limit` is the time limit in seconds where the call set one, and `terminated` whether the call
    /// was to end the command.
    pub fn output(self, limit: Option<u32>, terminated: bool) -> Output {
        Output::text(self.text(limit, terminated)).structured(serde_json::json!({
            "exit_code": self.exit_code,
            "timed_out": self.timed_out,
            "dropped": self.dropped,
            "elapsed_ms": self.elapsed_ms,
            "session": self.session,
            "sandbox": self.sandbox,
        }))
    }

    /// The output first and the end last, whatever the output holds: the last line is never the command's own.
    fn text(&self, limit: Option<u32>, terminated: bool) -> String {
        let mut parts = Vec::new();
        let (stdout, stderr) = (without_end(&self.stdout), without_end(&self.stderr));
        if !stdout.is_empty() {
            parts.push(stdout.to_owned());
        }
        if !stderr.is_empty() {
            parts.push(format!("STDERR:\n{stderr}"));
        }
        if parts.is_empty() {
            parts.push("(no output)".to_owned());
        }
        match self.dropped {
            0 => {}
            1 => parts.push("[1 character left out of the middle of the output]".to_owned()),
            many => parts.push(format!("[{many} characters left out of the middle of the output]")),
        }
        if self.sandbox != FULL {
            parts.push(format!("Sandbox: {}", self.sandbox));
        }
        if self.timed_out {
            let seconds = limit.map_or(self.elapsed_ms / 1000, u64::from);
            parts.push(format!("Command timed out after {seconds} seconds."));
        }
        parts.extend((terminated && self.session.is_none()).then(|| "Terminated.".to_owned()));
        parts.push(match (self.exit_code, &self.session) {
            (Some(code), _) => format!("Exit code: {code}"),
            (None, Some(id)) => format!("Still running: session {id}, {} so far", seconds(self.elapsed_ms)),
            (None, None) => "Exit code: unknown".to_owned(),
        });
        parts.join("\n")
    }
}

/// Milliseconds as seconds; the first ten of them to a tenth.
pub fn seconds(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} s", ms / 1000),
    }
}

/// The value of a parameter that has two names. Two names with two values are an error: nobody knows which one is meant.
///
/// # Errors
///
/// When both are given and differ.
pub fn either(
    (name, first): (&str, Option<String>),
    (alias, second): (&str, Option<String>),
) -> Result<Option<String>, Error> {
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    match (given(first), given(second)) {
        (Some(first), Some(second)) if first != second => Err(Error::invalid(format!(
            "`{name}` and `{alias}` are the same and differ; give `{name}` alone"
        ))),
        (first, second) => Ok(first.or(second)),
    }
}

/// A text without the line break that it ends with.
fn without_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Defines `report`, which makes a [`Report`] of an outcome. Takes the path of the generated module `ringfence:host/exec`.
#[macro_export]
macro_rules! command_reports {
    ($($exec:ident)::+) => {
        fn report(outcome: $($exec)::+::Outcome) -> $crate::command::Report {
            $crate::command::Report {
                session: outcome.session,
                exit_code: outcome.exit_code,
                stdout: outcome.stdout,
                stderr: outcome.stderr,
                dropped: outcome.dropped,
                elapsed_ms: outcome.elapsed_ms,
                timed_out: outcome.timed_out,
                sandbox: outcome.sandbox_level,
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::{Report, either, seconds};

    fn ended(stdout: &str, stderr: &str) -> Report {
        Report {
            session: None,
            exit_code: Some(0),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            dropped: 0,
            elapsed_ms: 1_234,
            timed_out: false,
            sandbox: "full".to_owned(),
        }
    }

    #[test]
    fn output_comes_first_and_the_end_last() {
        assert_eq!(ended("hello\n", "").text(None, false), "hello\nExit code: 0");
        assert_eq!(ended("", "").text(None, false), "(no output)\nExit code: 0");
        assert_eq!(ended("", "bad\n").text(None, false), "STDERR:\nbad\nExit code: 0");
        assert_eq!(ended("a\n\n", "b").text(None, false), "a\n\nSTDERR:\nb\nExit code: 0");
        let all = Report {
            exit_code: Some(137),
            dropped: 2_001,
            timed_out: true,
            sandbox: "no-cgroup".to_owned(),
            ..ended("a\n", "b\n")
        };
        let told = "a\nSTDERR:\nb\n[2001 characters left out of the middle of the output]\nSandbox: no-cgroup\n\
                    Command timed out after 1 seconds.\nExit code: 137";
        assert_eq!(all.text(None, false), told);
        assert_eq!(all.text(Some(5), false), told.replace("after 1 seconds", "after 5 seconds"));
    }

    #[test]
    fn what_still_runs_has_a_session_and_no_exit_code() {
        let runs = || Report { session: Some("0123456789ab".to_owned()), exit_code: None, ..ended("a", "") };
        let told = "a\nStill running: session 0123456789ab, 1.2 s so far";
        assert_eq!(runs().text(None, false), told);
        assert_eq!(runs().text(None, true), told, "asked to end, and not yet ended");
        assert_eq!(ended("", "").text(None, true), "(no output)\nTerminated.\nExit code: 0");
        let lost = Report { exit_code: None, ..ended("", "") };
        assert_eq!(lost.text(None, false), "(no output)\nExit code: unknown");
    }

    #[test]
    fn seconds_are_exact_while_they_are_few() {
        for (ms, told) in [(0, "0.0 s"), (999, "0.9 s"), (9_999, "9.9 s"), (10_000, "10 s"), (61_999, "61 s")]
        {
            assert_eq!(seconds(ms), told);
        }
    }

    #[test]
    fn two_names_have_one_value() {
        let both = |first: Option<&str>, second: Option<&str>| {
            either(("command", first.map(str::to_owned)), ("cmd", second.map(str::to_owned)))
        };
        for (first, second) in
            [(Some("a"), None), (None, Some("a")), (Some("a"), Some("a")), (Some(""), Some("a"))]
        {
            assert_eq!(both(first, second).unwrap().as_deref(), Some("a"));
        }
        assert!(both(None, Some("")).unwrap().is_none());
        let message = both(Some("a"), Some("b")).unwrap_err().message;
        assert!(message.contains("`command` and `cmd`"), "{message}");
    }
}
