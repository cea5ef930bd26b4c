//! Where a key is kept. The key itself is never in the configuration, and never on a command line.

use super::env;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes of a key, at most.
const MOST: u64 = 16 << 10;

/// How long a command may take to say a key: long enough for somebody to unlock a password store.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long its output may stay open after its end.
const GRACE: Duration = Duration::from_secs(5);

/// Where a key is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// In an environment variable.
    Env(String),
    /// In a file that only its owner can read.
    File(PathBuf),
    /// It is what a command prints.
    Command(Vec<String>),
}

/// A key that cannot be had. It holds nothing of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no key from {origin}: {problem}")]
pub struct KeyError {
    /// From where.
    pub origin: String,
    /// Why not, and what to do.
    pub problem: String,
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable {name}"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            // Its arguments may say more than others should read.
            Self::Command(words) => write!(f, "the command `{}`", words.first().map_or("", String::as_str)),
        }
    }
}

impl KeySource {
    /// The key, without space around it.
    ///
    /// # Errors
    ///
    /// When it cannot be had, is empty, or others can read its file.
    pub fn resolve(&self) -> Result<SecretString, KeyError> {
        let text = match self {
            Self::Env(name) => {
                env::secret(name).ok_or_else(|| format!("it is not set; type `export {name}=…`"))
            }
            Self::File(path) => file(path),
            Self::Command(words) => command(words),
        };
        let text = text.and_then(|text| {
            let key = text.lines().next().unwrap_or_default().trim();
            if key.is_empty() { Err("it is empty".to_owned()) } else { Ok(SecretString::from(key)) }
        });
        text.map_err(|problem| KeyError { origin: self.to_string(), problem })
    }
}

/// The text of a key file. It is looked at once it is open, so that nobody puts another in its place.
#[expect(clippy::disallowed_methods, reason = "this room reads the files that the configuration names")]
fn file(path: &Path) -> Result<Zeroizing<String>, String> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    // A pipe in its place must not make us wait for a writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if about.mode() & 0o077 != 0 {
            return Err(format!("others can read it; type `chmod 600 {}`", path.display()));
        }
    }
    read(file).map_err(|error| error.to_string())
}

/// What a command prints. It says what it needs on stderr, which is the person's.
#[expect(clippy::disallowed_methods, reason = "the user's own command, from the user's own configuration")]
fn command(words: &[String]) -> Result<Zeroizing<String>, String> {
    let Some((program, arguments)) = words.split_first() else { return Err("it is empty".to_owned()) };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(|error| format!("it does not start: {error}"))?;
    let Some(stdout) = child.stdout.take() else { return Err("it has no output".to_owned()) };
    let (tell, told) = std::sync::mpsc::channel();
    // Ends with the pipe, which what the command started may hold open for ever.
    std::thread::spawn(move || tell.send(read(stdout)));
    let status = wait(&mut child);
    if status.is_err() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
    }
    match status {
        Ok(Some(code)) if code != 0 => return Err(format!("it failed with exit code {code}")),
        Ok(None) | Err(_) => return Err("it was ended by a signal".to_owned()),
        Ok(Some(_)) => {}
    }
    match told.recv_timeout(GRACE) {
        Ok(text) => text.map_err(|error| error.to_string()),
        Err(_) => Err("something that it started holds its output open".to_owned()),
    }
}

/// The exit code; `None` for the end by a signal; an error when it takes too long.
fn wait(child: &mut Child) -> io::Result<Option<i32>> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn read(from: impl io::Read) -> io::Result<Zeroizing<String>> {
    // Room from the start, so that no copy of a part is left behind where the buffer grew.
    let mut text = Zeroizing::new(String::with_capacity(MOST as usize));
    from.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}
