//! From the configuration to what native commands see and may take. Whatever is wrong with it is said before anything runs.

use super::exit::Exit;
use super::open::Stop;
use crate::authority::Access;
use crate::config::{self, Config, Dirs, ExecConfig, can_be_searched, env};
use crate::exec::{Commands, Most, Place, Settings, refuse_secrets, refuse_state};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is told wherever the sandbox was taken away.
pub(super) const UNSANDBOXED: &str = "warning: --dangerously-no-sandbox: commands run without any sandbox, with \
    everything that your account may do";

/// The same at each prompt.
pub(super) const MARK: &str = "[no sandbox] ";

/// What is configured, and what of it has nothing behind it.
pub(super) struct Native {
    pub(super) settings: Settings,
    /// Directories that are named and not there, each with its key. They are left out, since one file may serve many
    /// machines.
    pub(super) absent: Vec<(&'static str, PathBuf)>,
}

/// Where files are moved that a command made and that must not lie there, below the data directory.
const QUARANTINE: &str = "quarantine";

impl Native {
    /// What is configured, looked at for real: directories are there, and none of them is one that no command is given. The
    /// sandbox is always a part of it.
    ///
    /// # Errors
    ///
    /// What cannot be used, with its key.
    pub(super) fn of(config: &Config, dirs: &Dirs) -> Result<Self, Stop> {
        let exec = &config.exec;
        let mut absent = Vec::new();
        let home = env::home().map(|home| config::canonical(&home).unwrap_or(home));
        let state = state(config, dirs);
        let mut places: Vec<Place> = Vec::new();
        for (key, paths, access) in [
            ("read_only", &exec.read_only, Access::ReadOnly),
            ("read_write", &exec.read_write, Access::ReadWrite),
        ] {
            for path in paths {
                let Some(path) = there(key, path, &mut absent)? else { continue };
                let place = Place { path, access };
                let alone = std::slice::from_ref(&place);
                refuse_state(alone, &state)
                    .and_then(|()| refuse_secrets(alone, home.as_deref()))
                    .map_err(|error| wrong(key, &error.to_string()))?;
                beside(key, &place, &places)?;
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        // What lies in another comes after it.
        places.sort_by(|one, other| one.path.cmp(&other.path));
        let before = searched("path_prepend", &exec.path_prepend, &mut absent)?;
        let after = searched("path_append", &exec.path_append, &mut absent)?;
        let settings = Settings {
            timeout: exec.timeout,
            least: exec.least,
            places,
            environment: passed(config)?,
            path: (before, after),
            searched: env::search_path(),
            zone: env::zone(),
            most: most(exec),
            home,
            state,
            quarantine: dirs.data.join(QUARANTINE),
            unsandboxed: false,
        };
        Ok(Self { settings, absent })
    }
}

/// Native commands of this process. `unsandboxed` is what the person typed for it: what is recorded to run by itself, now or
/// later, never has it.
///
/// # Errors
///
/// When this program does not know its own file.
pub(super) fn commands(settings: &Settings, unsandboxed: bool) -> Result<Commands, Stop> {
    let program = config::own_program().ok_or_else(|| {
        Stop("this program does not know its own file, which it starts commands with".to_owned(), Exit::Load)
    })?;
    Ok(Commands::new(program, Settings { unsandboxed, ..settings.clone() }))
}

fn wrong(key: &str, problem: &str) -> Stop {
    Stop(format!("exec.{key}: {problem}"), Exit::Config)
}

/// This program's own places, and the files that hold keys: each by the name it was given, and by its real one.
fn state(config: &Config, dirs: &Dirs) -> Vec<PathBuf> {
    let mut state = dirs.places();
    for file in config.key_files() {
        let real = config::absolute(file).unwrap_or_else(|_| file.to_owned());
        for file in [file.to_owned(), real] {
            if !state.contains(&file) {
                state.push(file);
            }
        }
    }
    state
}

/// The real name of a directory; `None` where nothing is there.
fn there(
    key: &'static str,
    path: &Path,
    absent: &mut Vec<(&'static str, PathBuf)>,
) -> Result<Option<PathBuf>, Stop> {
    let shown = path.display();
    match config::canonical(path) {
        Ok(real) if real.is_dir() => Ok(Some(real)),
        Ok(_) => Err(wrong(key, &format!("{shown}: it is not a directory"))),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            absent.push((key, path.to_owned()));
            Ok(None)
        }
        Err(error) => Err(wrong(key, &format!("{shown}: {error}"))),
    }
}

/// A part of what can be changed cannot be kept from it: not every level of the sandbox could.
fn beside(key: &str, place: &Place, others: &[Place]) -> Result<(), Stop> {
    let inside =
        |inner: &Place, outer: &Place| inner.access < outer.access && inner.path.starts_with(&outer.path);
    let clash = |other: &&Place| {
        inside(place, other)
            || inside(other, place)
            || (place.path == other.path && place.access != other.access)
    };
    match others.iter().find(clash) {
        Some(other) => {
            let (place, other, access) = (place.path.display(), other.path.display(), other.access);
            Err(wrong(
                key,
                &format!("{place}: it overlaps with {other}, which is {access}; give one of the two"),
            ))
        }
        None => Ok(()),
    }
}

/// Directories for `PATH`, under their real names where they are there.
fn searched(
    key: &'static str,
    paths: &[PathBuf],
    absent: &mut Vec<(&'static str, PathBuf)>,
) -> Result<Vec<PathBuf>, Stop> {
    let mut all = Vec::new();
    for path in paths {
        let path = there(key, path, absent)?.unwrap_or_else(|| path.clone());
        if !can_be_searched(&path) {
            let problem = format!("{}: its real name has a colon or a line end in it", path.display());
            return Err(wrong(key, &problem));
        }
        all.push(path);
    }
    Ok(all)
}

/// The variables that are passed on and set. A key under another name is the key.
fn passed(config: &Config) -> Result<Vec<(String, std::ffi::OsString)>, Stop> {
    let passed = env::passed(&config.exec.environment);
    for (name, value) in &passed {
        if let Some(key) = config.key_variables().find(|key| env::holds(key, value)) {
            let problem =
                format!("`{name}` is not passed on: it holds what {key} holds, the key of a model service");
            return Err(wrong("environment", &problem));
        }
    }
    Ok(passed)
}

fn most(exec: &ExecConfig) -> Most {
    Most {
        memory: exec.memory,
        processes: exec.processes,
        file: exec.file_size,
        descriptors: exec.descriptors,
        temporary: exec.temporary,
        processor: exec.processor.as_secs(),
    }
}
