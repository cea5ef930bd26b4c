//! The executor over native commands: what a component asks for, bound to who makes the call.

use super::ports::{Answer, Bearer, Command, Error, ErrorKind, Executor, Input, Outcome, Session, Stand};
use crate::exec::{self, Caller, Commands, ExecError, Place};
use std::path::PathBuf;
use std::time::Duration;

/// What lines of the host's own begin with in a command's output.
const HOST: &str = "[ringfence] ";

/// Native commands in one workspace.
#[derive(Debug, Clone)]
pub struct Native {
    commands: Commands,
    workspace: PathBuf,
}

impl Native {
    /// Of these, for callers whose workspace is that one, links resolved.
    pub fn new(commands: Commands, workspace: PathBuf) -> Self {
        Self { commands, workspace }
    }

    /// What the caller holds of files: the workspace, and what is beside it.
    fn caller(&self, by: &Bearer) -> Result<Caller, Error> {
        let held = &by.rights.directories;
        let Some(access) = held.access(&self.workspace) else {
            let message =
                "this agent does not hold the workspace, and a command needs a place to run in".to_owned();
            return Err(Error { kind: ErrorKind::Denied, message });
        };
        let mut places = vec![Place { path: self.workspace.clone(), access }];
        places.extend(
            held.iter()
                .filter(|(path, _)| *path != self.workspace)
                .map(|(path, access)| Place { path: path.to_owned(), access }),
        );
        Ok(Caller { owner: by.agent.clone(), places })
    }
}

impl Executor for Native {
    fn run<'a>(&'a self, by: &'a Bearer, command: Command) -> Answer<'a, Stand> {
        Box::pin(async move {
            let caller = self.caller(by)?;
            let millis = |ms: u32| Duration::from_millis(u64::from(ms));
            let request = exec::Request {
                line: command.line,
                directory: command.working_dir,
                shell: command.shell,
                timeout: command.timeout_ms.map(millis),
                yield_after: command.yield_ms.map(millis),
                most_output: command.max_output,
                terminal: command.tty,
            };
            let outcome = self.commands.run(&caller, request).await.map_err(error)?;
            Ok(stand(outcome))
        })
    }

    fn interact<'a>(&'a self, by: &'a Bearer, input: Input) -> Answer<'a, Stand> {
        Box::pin(async move {
            let input = exec::Input {
                session: input.session,
                text: input.text,
                close: input.close,
                terminate: input.terminate,
                wait_for: input.wait_for,
                wait: input.wait_ms.map(|ms| Duration::from_millis(u64::from(ms))),
                most_output: input.max_output,
            };
            let outcome = self.commands.interact(&by.agent, input).await.map_err(error)?;
            Ok(stand(outcome))
        })
    }

    fn sessions<'a>(&'a self, by: &'a Bearer) -> Answer<'a, Vec<Session>> {
        let sessions = self.commands.sessions(&by.agent).into_iter();
        let sessions = sessions.map(|session| Session {
            id: session.id,
            line: session.line,
            elapsed_ms: millis(session.elapsed),
            remaining_ms: millis(session.remaining),
        });
        let sessions = sessions.collect();
        Box::pin(async move { Ok(sessions) })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn error(error: ExecError) -> Error {
    let kind = match &error {
        ExecError::Place { .. } => ErrorKind::Denied,
        ExecError::Invalid(_) => ErrorKind::Invalid,
        ExecError::NoSession(_) => ErrorKind::NotFound,
        ExecError::Limit(_) => ErrorKind::Limit,
        ExecError::Walls { .. }
        | ExecError::TooLow { .. }
        | ExecError::Setup { .. }
        | ExecError::Changed(_)
        | ExecError::Unavailable(_) => ErrorKind::Unavailable,
    };
    Error { kind, message: error.to_string() }
}

fn stand(outcome: exec::Outcome) -> Stand {
    let notes = outcome.findings.lines();
    let mut stderr = outcome.stderr;
    for line in
        outcome.ended_because.iter().map(|why| format!("the command was ended: {why}")).chain(notes.clone())
    {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(&format!("{HOST}{line}\n"));
    }
    let outcome = Outcome {
        session: outcome.session,
        exit_code: outcome.exit_code,
        stdout: outcome.stdout,
        stderr,
        dropped: outcome.dropped,
        elapsed_ms: millis(outcome.elapsed),
        timed_out: outcome.timed_out,
        sandbox_level: outcome.level.name().to_owned(),
    };
    Stand { outcome, notes }
}
