//! The real program in a directory of its own: a workspace, an outside beside it, and the program's own home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A place to run the program in.
pub(super) struct Context {
    _temp: tempfile::TempDir,
    root: PathBuf,
}

/// The program after it ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Context {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        for name in ["ws", "outside", "home/config"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        Self { _temp: temp, root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join("ws")
    }

    /// A path below the root, as text.
    pub(super) fn at(&self, name: &str) -> String {
        self.root.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file below the root, with the directories above it.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap()
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        fs::symlink_metadata(self.root.join(name)).is_ok()
    }

    pub(super) fn config(&self, text: &str) {
        self.file("home/config/config.toml", text);
    }

    /// A program with the environment of this context and no other, started in the workspace. The tests' code cache is
    /// shared, so that no component is compiled twice.
    pub(super) fn program(&self, program: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_ringfence"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(binary.parent().unwrap().to_owned()).chain(std::env::split_paths(&path));
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::join_paths(dirs).unwrap())
            .env("RINGFENCE_HOME", self.root.join("home"))
            .env("RINGFENCE_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .current_dir(self.workspace());
        command
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_ringfence"));
        command.args(arguments);
        command
    }

    /// Runs the program.
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a line as a person at a shell would.
    pub(super) fn shell(&self, line: &str) -> Ran {
        self.program("sh").args(["-c", line]).output().unwrap().into()
    }

    /// A text without the paths that differ from run to run.
    pub(super) fn shown(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "[ROOT]")
    }
}

impl Ran {
    /// The result, of a command that worked and said nothing else.
    #[track_caller]
    pub(super) fn done(&self) -> &str {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        &self.stdout
    }

    /// What was said on stderr, of a command that ended like this and has no result.
    #[track_caller]
    pub(super) fn ended(&self, code: i32) -> &str {
        assert_eq!((self.code, self.stdout.as_str()), (code, ""), "{self:?}");
        assert!(!self.stderr.trim().is_empty(), "{self:?}");
        &self.stderr
    }

    /// The one JSON object on stdout.
    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        let value: serde_json::Value = serde_json::from_str(&self.stdout).unwrap();
        assert!(value.is_object(), "{self:?}");
        value
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("it ends by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}
