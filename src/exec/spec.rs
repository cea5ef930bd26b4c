//! What a command is given, as types. Nothing here is a command line of another program, and nothing is looked up by name
//! that the command could have changed meanwhile.

use crate::authority::{Access, Level};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A directory that a command sees at its own path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where, links resolved.
    pub path: PathBuf,
    /// How.
    pub access: Access,
}

/// What a command may take. The defaults are for builds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Most {
    /// Bytes of memory, all its processes together where there is a control group, each otherwise.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u32,
    /// Bytes of one file.
    pub file: u64,
    /// Open descriptors of a process.
    pub descriptors: u64,
    /// Bytes below each of `/tmp`, the home directory and `/dev/shm`, which are in memory.
    pub temporary: u64,
    /// Seconds of processor time of a process.
    pub processor: u64,
}

impl Default for Most {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            processes: 512,
            file: 4 << 30,
            descriptors: 4096,
            temporary: 512 << 20,
            processor: 3600,
        }
    }
}

/// What the user configured for commands: the table `[exec]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Time of a command where it names none; `None` is without end, which a call never has.
    pub timeout: Option<Duration>,
    /// The lowest level at which a command runs.
    pub least: Level,
    /// Directories beside the workspace.
    pub places: Vec<Place>,
    /// Variables that are passed on, by name, with their value.
    pub environment: Vec<(String, OsString)>,
    /// Directories in front of `PATH`, and behind it.
    pub path: (Vec<PathBuf>, Vec<PathBuf>),
    /// The person's own path for programs; what of it is in the view is searched.
    pub searched: Vec<PathBuf>,
    /// The person's own time zone, as `TZ` has it.
    pub zone: Option<OsString>,
    /// What a command may take.
    pub most: Most,
    /// The person's home directory: what a command has there is empty and its own.
    pub home: Option<PathBuf>,
    /// Places of the program's own state, which no command ever sees.
    pub state: Vec<PathBuf>,
    /// Where files are moved that a command made and that must not lie there.
    pub quarantine: PathBuf,
    /// Whether the user took the sandbox away on the command line.
    pub unsandboxed: bool,
}

impl Settings {
    /// Where nothing is configured: the workspace alone, and what is moved away goes to `quarantine`.
    pub fn of(quarantine: PathBuf) -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            least: super::Level::LEAST,
            places: Vec::new(),
            environment: Vec::new(),
            path: (Vec::new(), Vec::new()),
            searched: Vec::new(),
            zone: None,
            most: Most::default(),
            home: None,
            state: Vec::new(),
            quarantine,
            unsandboxed: false,
        }
    }

    /// The home directory of a command that sees these places: the person's path, so that what is configured below it is where
    /// it belongs, unless that would hide a place or lie in the system.
    pub fn home_within(&self, places: &[Place]) -> PathBuf {
        const SYSTEM: [&str; 8] = ["/usr", "/etc", "/proc", "/dev", "/sys", "/bin", "/lib", "/run"];
        let own = PathBuf::from("/home/agent");
        let Some(home) =
            self.home.as_ref().filter(|home| home.is_absolute() && home.components().count() > 1)
        else {
            return own;
        };
        let taken = places.iter().any(|place| home.starts_with(&place.path));
        if taken || SYSTEM.iter().any(|system| home.starts_with(system)) { own } else { home.clone() }
    }
}

/// Who asks for a command, and what of the file system it may have: its caller's rights, not the tool's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Whose sessions these are.
    pub owner: String,
    /// Directories, the workspace first.
    pub places: Vec<Place>,
}

/// One command, ready to be run: everything is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The program and its arguments; the program by its path within the view.
    pub argv: Vec<OsString>,
    /// Where, within one of the places.
    pub directory: PathBuf,
    /// Every variable that it has.
    pub environment: Vec<(OsString, OsString)>,
    /// What it sees beside the system, the workspace first.
    pub places: Vec<Place>,
    /// What it may take.
    pub most: Most,
    /// Whether it has a terminal of its own.
    pub terminal: bool,
}

/// How a command's first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// With everything around it: it was ended from here.
    Killed,
    /// Because its processes took more memory than they may.
    OutOfMemory,
}
