//! The program itself, with a home and a workspace of its own and a scripted model.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A home and a workspace.
pub struct Program {
    home: tempfile::TempDir,
    workspace: tempfile::TempDir,
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Stdout as one JSON value.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Stdout as JSON Lines.
    pub fn lines(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Program {
    /// Without any configuration.
    pub fn bare() -> Self {
        Self { home: tempfile::tempdir().unwrap(), workspace: tempfile::tempdir().unwrap() }
    }

    /// With a model that says what the script says.
    pub fn scripted(script: &str) -> Self {
        let program = Self::bare();
        let path = program.home.path().join("script.toml");
        std::fs::write(&path, script).unwrap();
        program.configure(&format!("[providers.fake]\nwire = \"scripted\"\nscript = {path:?}\n"));
        program
    }

    /// Writes the configuration.
    pub fn configure(&self, text: &str) {
        let dir = self.home.path().join("config");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), text).unwrap();
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn workspace(&self) -> PathBuf {
        self.workspace.path().canonicalize().unwrap()
    }

    /// Writes a file of the workspace.
    pub fn file(&self, name: &str, text: &str) {
        std::fs::write(self.workspace.path().join(name), text).unwrap();
    }

    pub fn state(&self) -> PathBuf {
        self.home.path().join("data/state.db")
    }

    /// The program, with nothing of this test's environment but what it needs.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("RINGFENCE_HOME", self.home.path())
            .env("RINGFENCE_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs"))
            .current_dir(self.workspace.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command().args(arguments).output().unwrap())
    }

    /// The same, with something on stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> Ran {
        let mut child = self.command().args(arguments).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }
}
