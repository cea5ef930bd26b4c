//! The table `[exec]`: what native commands see and may take. It widens nothing by itself: who may run commands is a matter of
//! roles, and what no command is ever given is refused where the places are looked at.

use super::providers::is_variable;
use super::read::{LONGEST, Reading, known_keys, nearest, strings};
use crate::authority::Level;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::{Table, Value};

/// Entries of a list, at most.
const MOST: usize = 64;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

/// What the user configured for native commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// Time of a command that names none; `None` is without end, as far as there is a command without one.
    pub timeout: Option<Duration>,
    /// The lowest level of the sandbox at which a command runs.
    pub least: Level,
    /// Directories beside the workspace that a command can read. They need not be there.
    pub read_only: Vec<PathBuf>,
    /// The same that it can change.
    pub read_write: Vec<PathBuf>,
    /// Directories in front of `PATH`.
    pub path_prepend: Vec<PathBuf>,
    /// Directories behind it.
    pub path_append: Vec<PathBuf>,
    /// Variables that are passed on, by name.
    pub environment: Vec<String>,
    /// Bytes of memory of a command, all its processes together.
    pub memory: u64,
    /// Processes and threads of a command.
    pub processes: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Open descriptors of a process.
    pub descriptors: u64,
    /// Bytes below each of the directories that a command has in memory.
    pub temporary: u64,
    /// Processor time of a process.
    pub processor: Duration,
}

impl Default for ExecConfig {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            least: Level::LEAST,
            read_only: Vec::new(),
            read_write: Vec::new(),
            path_prepend: Vec::new(),
            path_append: Vec::new(),
            environment: Vec::new(),
            memory: 2048 * MIB,
            processes: 512,
            file_size: 4096 * MIB,
            descriptors: 4096,
            temporary: 512 * MIB,
            processor: Duration::from_secs(3_600),
        }
    }
}

pub(super) const KEYS: &[&str] = &[
    "timeout",
    "min_level",
    "read_only",
    "read_write",
    "path_prepend",
    "path_append",
    "environment",
    "memory",
    "processes",
    "file_size",
    "descriptors",
    "temporary",
    "processor",
];

/// Keys of other programs that judge what a command line says. Nothing of the kind is here, and a list that were taken and
/// held to nothing would be worse than none.
const JUDGING: &[&str] = &[
    "deny_patterns",
    "denypatterns",
    "allow_patterns",
    "allowpatterns",
    "denied_commands",
    "allowed_commands",
    "blocked_commands",
    "allow_list",
    "deny_list",
    "allowlist",
    "denylist",
    "blacklist",
    "whitelist",
];

/// Keys that would take the sandbox away.
const DISARMING: &[&str] =
    &["sandbox", "no_sandbox", "dangerously_no_sandbox", "unsandboxed", "disable_sandbox", "enable_sandbox"];

pub(super) fn exec(value: &Value) -> Result<ExecConfig, String> {
    let table = value.as_table().ok_or("exec: expected a table")?;
    for key in table.keys() {
        let plain = key.to_ascii_lowercase().replace('-', "_");
        if JUDGING.contains(&plain.as_str()) {
            return Err(format!(
                "exec: unknown key `{key}`; the text of a command is never judged: what it can reach is decided by \
                 `read_only`, `read_write` and the sandbox"
            ));
        }
        if DISARMING.contains(&plain.as_str()) {
            return Err(format!(
                "exec: unknown key `{key}`; no configuration takes the sandbox away: see `min_level`, and \
                 `ringfence run --help`"
            ));
        }
    }
    known_keys(table, "exec", KEYS)?;
    let read = Reading { table, at: "exec" };
    let default = ExecConfig::default();
    let timeout = read.time_within("timeout", Duration::ZERO..=LONGEST)?;
    let bytes = |key, least, most| read.bytes_within(key, least..=most);
    let config = ExecConfig {
        timeout: timeout.map_or(default.timeout, |time| Some(time).filter(|time| !time.is_zero())),
        least: least(read)?.unwrap_or(default.least),
        read_only: directories(table, "read_only")?,
        read_write: directories(table, "read_write")?,
        path_prepend: searched(table, "path_prepend")?,
        path_append: searched(table, "path_append")?,
        environment: variables(table)?,
        memory: bytes("memory", 16 * MIB, TIB)?.unwrap_or(default.memory),
        processes: read.within("processes", 8..=32_768)?.unwrap_or(default.processes),
        file_size: bytes("file_size", 1, TIB)?.unwrap_or(default.file_size),
        descriptors: read.within("descriptors", 32..=1_048_576)?.unwrap_or(default.descriptors),
        temporary: bytes("temporary", MIB, TIB)?.unwrap_or(default.temporary),
        processor: read
            .time_within("processor", Duration::from_secs(1)..=LONGEST)?
            .unwrap_or(default.processor),
    };
    if let Some(both) = config.read_write.iter().find(|path| config.read_only.contains(path)) {
        return Err(format!("exec.read_write: `{}` is in exec.read_only as well", both.display()));
    }
    Ok(config)
}

fn least(read: Reading<'_>) -> Result<Option<Level>, String> {
    let Some(name) = read.text("min_level")? else { return Ok(None) };
    if name == Level::Unsandboxed.name() {
        return Err(format!(
            "{}.min_level: no configuration takes the sandbox away; the lowest is \"{}\"",
            read.at,
            Level::Landlock
        ));
    }
    let known = || Level::ALL.into_iter().filter(|level| *level != Level::Unsandboxed).map(Level::name);
    Level::least_named(name).map(Some).ok_or_else(|| {
        let near = nearest(name, known());
        let all: Vec<String> = known().map(|name| format!("\"{name}\"")).collect();
        format!("{}.min_level: there is no level `{name}`{near}; write one of {}", read.at, all.join(", "))
    })
}

fn list(table: &Table, key: &str) -> Result<Vec<String>, String> {
    let items = strings(table, "exec", key)?.unwrap_or_default();
    if items.len() > MOST {
        return Err(format!("exec.{key}: there are {} entries, and {MOST} are the most", items.len()));
    }
    Ok(items)
}

/// A list of directories. What is there, and whether a command may have it, is for whoever opens them.
fn directories(table: &Table, key: &str) -> Result<Vec<PathBuf>, String> {
    let mut places: Vec<PathBuf> = Vec::new();
    for item in list(table, key)? {
        let place = directory(&item).map_err(|problem| format!("exec.{key}: {problem}"))?;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    Ok(places)
}

/// A list of directories for `PATH`. They are names and never text of a shell, so that every character is a character of a
/// name; only what stands between two names cannot stand in one.
fn searched(table: &Table, key: &str) -> Result<Vec<PathBuf>, String> {
    let places = directories(table, key)?;
    match places.iter().find(|place| !can_be_searched(place)) {
        Some(place) => Err(format!(
            "exec.{key}: `{}` has a colon in its name, which is what separates two directories; write two entries",
            place.display()
        )),
        None => Ok(places),
    }
}

/// Whether a directory can stand in `PATH`.
pub fn can_be_searched(place: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    !place.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b':' | b'\n' | b'\0'))
}

fn directory(text: &str) -> Result<PathBuf, String> {
    if text.contains(char::is_control) {
        return Err(format!("`{}` has a control character in its name", text.escape_debug()));
    }
    if text == "~" {
        return Err("your home as a whole is never handed over; name directories in it".to_owned());
    }
    let place = super::dirs::of_person(text);
    if !place.is_absolute() {
        return Err(format!("`{text}` is not an absolute path, nor one that begins with ~/"));
    }
    Ok(place)
}

fn variables(table: &Table) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for name in list(table, "environment")? {
        if !is_variable(&name) {
            // Not repeated where it may hold a value.
            let shown = name.split('=').next().unwrap_or_default().escape_debug().to_string();
            return Err(format!(
                "exec.environment: `{shown}` is no name of a variable; only names stand here, the values are those of \
                 the environment"
            ));
        }
        if let Some(why) = refused(&name) {
            return Err(format!("exec.environment: `{name}` is not passed on: {why}"));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Beginnings of names that are never passed on.
const PREFIXES: &[(&str, &str)] = &[
    ("LD_", LOADS),
    ("DYLD_", LOADS),
    ("BASH_FUNC_", DIRECTS),
    ("GIT_CONFIG", DIRECTS),
    ("RINGFENCE_", "it is this program's own"),
];

const LOADS: &str = "it directs the loader of every program";
const DIRECTS: &str = "it directs what a shell, an interpreter or git runs";
const SET: &str = "every command has it already, with a value of the sandbox";

/// Names that are never passed on.
const NAMES: &[(&[&str], &str)] = &[
    (&["GLIBC_TUNABLES", "MALLOC_CONF"], LOADS),
    (
        &[
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "IFS",
            "CDPATH",
            "ZDOTDIR",
            "GIT_EXEC_PATH",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_ASKPASS",
            "GIT_EXTERNAL_DIFF",
            "GIT_PROXY_COMMAND",
            "GIT_TEMPLATE_DIR",
            "SSH_ASKPASS",
            "NODE_OPTIONS",
            "PYTHONSTARTUP",
            "PYTHONPATH",
            "PYTHONHOME",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "RUBYLIB",
            "JAVA_TOOL_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "_JAVA_OPTIONS",
        ],
        DIRECTS,
    ),
    (&["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO"], "it leads to your keys"),
    (
        &[
            "HOME",
            "PATH",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "TERM",
            "TMPDIR",
            "PWD",
            "OLDPWD",
            "TZ",
            "GIT_TERMINAL_PROMPT",
            "GIT_EDITOR",
            "EDITOR",
            "VISUAL",
            "GIT_PAGER",
            "PAGER",
            "MANPAGER",
            "SYSTEMD_PAGER",
            "CI",
            "PYTHONUNBUFFERED",
            "NO_COLOR",
        ],
        SET,
    ),
];

/// Why a variable of that name is never passed on, if it is not. Which hold keys is not known here.
fn refused(name: &str) -> Option<&'static str> {
    let begins = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
    let named = NAMES.iter().find(|(names, _)| names.contains(&name));
    begins.map(|(_, why)| *why).or(named.map(|(_, why)| *why))
}

/// Refuses a variable that holds a key of a model service. `keys` are the variables that do.
pub(super) fn no_keys<'k>(
    config: &ExecConfig,
    keys: impl IntoIterator<Item = &'k str>,
) -> Result<(), String> {
    match keys.into_iter().find(|key| config.environment.iter().any(|name| name == key)) {
        Some(name) => Err(format!(
            "exec.environment: `{name}` is not passed on: it holds the key of a model service, which no command has"
        )),
        None => Ok(()),
    }
}
