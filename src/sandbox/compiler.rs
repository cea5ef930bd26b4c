//! Compiling a component: in a process of its own, since a compilation cannot be interrupted, and a small component can be
//! written to take minutes and gigabytes of it.

use super::engine;
use super::error::LoadError;
use super::limits::Limits;
use super::survey::MAX_COMPONENT;
use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};
use wasmtime::Engine;

/// What the program is called with to compile.
pub const TASK: &str = "compile-component";

/// The bounds of one compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileBounds {
    /// Wall-clock time.
    pub time: Duration,
    /// Processor time over all its threads, in seconds.
    pub processor: u64,
    /// Memory in bytes.
    pub memory: u64,
}

impl Default for CompileBounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(120), processor: 240, memory: 2 << 30 }
    }
}

/// Bytes of native code of one component.
const MAX_CODE: u64 = 1 << 30;

/// In front of what the other process answers.
const CODE: u8 = 0;
const PROBLEM: u8 = 1;

/// How often it is looked whether the other process has ended.
const LOOK: Duration = Duration::from_millis(2);

/// Compiles in a process of its own where there is a program for that, and in this one otherwise.
#[derive(Debug, Clone, Default)]
pub(super) struct Compiler {
    pub(super) program: Option<PathBuf>,
    pub(super) bounds: CompileBounds,
}

impl Compiler {
    /// The native code of a component, for an engine like this one.
    pub(super) fn compile(&self, engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
        match &self.program {
            Some(program) => elsewhere(program, self.bounds, bytes),
            None => here(engine, bytes),
        }
    }
}

fn here(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    engine.precompile_component(bytes).map_err(|error| LoadError::broken(&error.root_cause().to_string()))
}

fn elsewhere(program: &Path, bounds: CompileBounds, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    let cannot = |error: io::Error| LoadError::Broken(format!("the compiler cannot be started: {error}"));
    let mut child = crate::exec::own(program, TASK)
        .args([bounds.processor.to_string(), bounds.memory.to_string()])
        .spawn()
        .map_err(cannot)?;
    let (Some(mut stdin), Some(mut stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(cannot(io::Error::other("it has no pipes")));
    };
    let mut answer = Vec::new();
    let ended = std::thread::scope(|scope| {
        // It may end before it has read everything; how it ended says more than a broken pipe.
        scope.spawn(move || stdin.write_all(bytes));
        scope.spawn(|| stdout.by_ref().take(MAX_CODE + 1).read_to_end(&mut answer));
        wait(&mut child, bounds.time)
    });
    match (ended.map_err(cannot)?, answer.split_first()) {
        (Some(status), Some((&CODE, code))) if status.success() && code.len() as u64 <= MAX_CODE => {
            Ok(code.to_vec())
        }
        (Some(status), Some((&PROBLEM, text))) if status.success() => {
            Err(LoadError::broken(&String::from_utf8_lossy(text)))
        }
        (None, _) => {
            Err(LoadError::Costly(format!("it takes longer than {} seconds", bounds.time.as_secs_f64())))
        }
        (Some(_), _) => {
            let text = format!(
                "it takes more than {} MiB, or {} seconds of processor time",
                bounds.memory >> 20,
                bounds.processor
            );
            Err(LoadError::Costly(text))
        }
    }
}

/// Waits for the other process, at most `time`; `None` when it had to be ended.
fn wait(child: &mut Child, time: Duration) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// The other process: reads a component from `input` and writes its native code to `output`, within bounds that the system
/// enforces.
///
/// # Errors
///
/// When the bounds cannot be set, or `input` or `output` fails.
pub fn compile_task(bounds: CompileBounds, input: impl Read, mut output: impl Write) -> anyhow::Result<()> {
    let bound = |resource, most| {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit)
    };
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("this process cannot be tied to its parent")?;
    bound(Resource::Cpu, bounds.processor).context("processor time cannot be bounded")?;
    // What is written to counts, and not what the engine sets aside for instances that it will never have here.
    bound(Resource::Data, bounds.memory).context("memory cannot be bounded")?;
    bound(Resource::Core, 0).context("core dumps cannot be turned off")?;
    let mut bytes = Vec::new();
    input.take(MAX_COMPONENT as u64 + 1).read_to_end(&mut bytes).context("the component cannot be read")?;
    let engine = engine::build(Limits::default().memory).map_err(anyhow::Error::from)?;
    match here(&engine, &bytes) {
        Ok(code) => {
            output.write_all(&[CODE])?;
            output.write_all(&code)?;
        }
        Err(LoadError::Broken(text)) => {
            output.write_all(&[PROBLEM])?;
            output.write_all(text.as_bytes())?;
        }
        Err(other) => return Err(other.into()),
    }
    output.flush().context("the code cannot be handed back")
}
