//! From what an agent asks for to a job: shell, directory, environment. The command line itself is never looked into.

use super::ExecError;
use super::commands::Request;
use super::spec::{Caller, Job, Place, Settings};
use rustix::fs::{Access as Wanted, AtFlags, CWD};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Where shells are looked for: places that only the system's owner writes to.
const SHELLS: [&str; 3] = ["/bin", "/usr/bin", "/usr/local/bin"];

/// What is searched for programs where the person has no path of their own.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Below these, a directory of the person's own path is in the view.
const SYSTEM: [&str; 4] = ["/usr", "/bin", "/sbin", "/nix/store"];

/// The longest that one call lasts.
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// The longest that a session lasts where the person has set no bound.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// A command that finds itself without a terminal asks nobody anything.
const QUIET: [(&str, &str); 12] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("EDITOR", "false"),
    ("VISUAL", "false"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("CI", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
];

/// How long a command may take.
pub(super) fn time(request: &Request, settings: &Settings) -> Duration {
    match (request.timeout, settings.timeout) {
        (Some(asked), _) => asked.clamp(Duration::from_secs(1), LONGEST),
        (None, Some(configured)) if request.yield_after.is_some() => configured,
        (None, Some(configured)) => configured.min(LONGEST),
        (None, None) if request.yield_after.is_some() => DAY,
        (None, None) => LONGEST,
    }
}

/// A job, with everything decided.
///
/// # Errors
///
/// When something that is asked for is not there, or outside of what the caller holds.
pub(super) fn job(caller: &Caller, request: &Request, settings: &Settings) -> Result<Job, ExecError> {
    let line = &request.line;
    if line.trim().is_empty() {
        return Err(ExecError::Invalid("the command is empty".to_owned()));
    }
    if line.contains('\0') {
        return Err(ExecError::Invalid("the command holds a NUL character".to_owned()));
    }
    let mut places = caller.places.clone();
    // What the caller holds by itself stays as it holds it.
    for own in &settings.places {
        if places.iter().all(|place| place.path != own.path) {
            places.push(own.clone());
        }
    }
    let directory = directory(caller, request.directory.as_deref())?;
    let (shell, program) = shell(request.shell.as_deref())?;
    let mut argv: Vec<OsString> = vec![program.clone().into()];
    if shell == "bash" {
        argv.extend(["--noprofile", "--norc"].map(OsString::from));
    }
    argv.extend(["-c".into(), OsString::from(line)]);
    let environment = environment(settings, &places, &directory, (&program, request.terminal));
    Ok(Job { argv, directory, environment, places, most: settings.most, terminal: request.terminal })
}

/// The shell that is asked for, or the first that there is.
fn shell(asked: Option<&str>) -> Result<(String, PathBuf), ExecError> {
    let find = |name: &str| {
        SHELLS
            .iter()
            .map(|place| Path::new(place).join(name))
            .find(|program| rustix::fs::accessat(CWD, program, Wanted::EXEC_OK, AtFlags::empty()).is_ok())
    };
    match asked {
        Some(name @ ("bash" | "sh" | "zsh")) => match find(name) {
            Some(program) => Ok((name.to_owned(), program)),
            None => Err(ExecError::Invalid(format!("there is no shell {name} here"))),
        },
        Some(other) => {
            let other: String = other.chars().take(40).collect::<String>().escape_debug().collect();
            Err(ExecError::Invalid(format!(
                "`{other}` is no shell that can be asked for; there are bash, sh, zsh"
            )))
        }
        None => ["bash", "sh"]
            .into_iter()
            .find_map(|name| Some((name.to_owned(), find(name)?)))
            .ok_or_else(|| ExecError::Invalid("there is no shell here".to_owned())),
    }
}

/// Where a command runs: within one of the places that its caller holds.
fn directory(caller: &Caller, asked: Option<&str>) -> Result<PathBuf, ExecError> {
    let Some(workspace) = caller.places.first() else {
        return Err(ExecError::Unavailable("there is no workspace to run a command in".to_owned()));
    };
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else { return Ok(workspace.path.clone()) };
    let path = workspace.path.join(asked);
    let problem =
        |problem: String| ExecError::Place { path: PathBuf::from(asked.escape_debug().to_string()), problem };
    let inside = |path: &Path| caller.places.iter().any(|place: &Place| path.starts_with(&place.path));
    let outside = || problem("it lies outside of the directories that this agent holds".to_owned());
    if asked.contains('\0') {
        return Err(problem("it holds a NUL character".to_owned()));
    }
    // Said before it is looked for, so that nobody learns here what is there.
    if !inside(&lexical(&path)) {
        return Err(outside());
    }
    let real = crate::config::canonical(&path).map_err(|error| problem(error.to_string()))?;
    if !inside(&real) {
        return Err(outside());
    }
    if !real.is_dir() {
        return Err(problem("it is not a directory".to_owned()));
    }
    Ok(real)
}

/// A path without `.` and `..`, as it is written.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Every variable of a command.
fn environment(
    settings: &Settings,
    places: &[Place],
    directory: &Path,
    (shell, terminal): (&Path, bool),
) -> Vec<(OsString, OsString)> {
    let home = settings.home_within(places);
    let mut all: Vec<(OsString, OsString)> =
        QUIET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    set("HOME", home.into());
    set("PATH", search_path(settings, places));
    set("USER", "agent".into());
    set("LOGNAME", "agent".into());
    set("SHELL", shell.into());
    set("PWD", directory.into());
    set("TERM", if terminal { "xterm-256color" } else { "dumb" }.into());
    if !terminal {
        set("NO_COLOR", "1".into());
    }
    if let Some(zone) = &settings.zone {
        set("TZ", zone.clone());
    }
    for (name, value) in &settings.environment {
        if !all.iter().any(|(known, _)| known == name.as_str()) {
            all.push((name.into(), value.clone()));
        }
    }
    all
}

/// Where programs are looked for: data, put together and never given to a shell.
fn search_path(settings: &Settings, places: &[Place]) -> OsString {
    let (before, after) = &settings.path;
    let seen = |path: &Path| {
        path.is_absolute()
            && (SYSTEM.iter().any(|system| path.starts_with(system))
                || settings.places.iter().any(|place| path.starts_with(&place.path)))
            // The workspace is never searched unless the person wrote it down.
            && !places.first().is_some_and(|workspace| path.starts_with(&workspace.path))
    };
    let own: Vec<&PathBuf> = settings.searched.iter().filter(|path| seen(path)).collect();
    let mut parts: Vec<OsString> = before.iter().map(|path| path.clone().into()).collect();
    if own.is_empty() {
        parts.push(SEARCHED.into());
    } else {
        parts.extend(own.into_iter().map(|path| path.clone().into()));
    }
    parts.extend(after.iter().map(|path| path.clone().into()));
    parts.retain(|part| !part.as_bytes().is_empty());
    parts.join(std::ffi::OsStr::new(":"))
}
