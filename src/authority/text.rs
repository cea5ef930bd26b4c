//! Rights as a text that can be kept: exactly what they are, and nothing else is read back.
//!
//! The same rights have one text. What reads otherwise, even by a space, was not written here and gives nothing.

use super::{Access, Capability, CapabilitySet, Directories, HostPattern, HostRule, Hosts, Rights};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A text that is not one of rights. Nothing of it counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("these rights cannot be read: {0}")]
pub struct InvalidRights(pub String);

/// What stands for every port.
const ANY: &str = "any";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    capabilities: Vec<String>,
    directories: Vec<Directory>,
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Directory {
    access: String,
    path: Place,
}

/// A path: its text or, where it is not UTF-8, its bytes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Place {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    name: String,
    port: Port,
}

/// A missing port would read as every port, so every port has a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Port {
    Number(u16),
    Word(String),
}

impl Rights {
    /// These rights as one line of JSON. Equal rights have equal texts, and [`Rights::from_text`] gives them back exactly.
    pub fn to_text(&self) -> String {
        let capabilities: Vec<&str> = self.capabilities.iter().map(Capability::name).collect();
        let directories: Vec<Value> = self
            .directories
            .iter()
            .map(|(path, access)| json!({ "access": access.to_string(), "path": place(path) }))
            .collect();
        let hosts: Vec<Value> = self.hosts.iter().map(host).collect();
        json!({ "capabilities": capabilities, "directories": directories, "hosts": hosts }).to_string()
    }

    /// The rights that a text of [`Rights::to_text`] says.
    ///
    /// # Errors
    ///
    /// When it is any other text: an unknown name, a value of another type, something twice, something missing, something
    /// behind it, or an order or spelling in which rights are not written.
    pub fn from_text(text: &str) -> Result<Self, InvalidRights> {
        let written: Written =
            serde_json::from_str(text).map_err(|error| InvalidRights(error.to_string()))?;
        let capabilities = written
            .capabilities
            .iter()
            .map(|name| Capability::from_name(name).ok_or_else(|| unknown("capability", name)));
        let directories = written.directories.into_iter().map(|directory| {
            let access = [Access::ReadOnly, Access::ReadWrite]
                .into_iter()
                .find(|access| access.to_string() == directory.access)
                .ok_or_else(|| unknown("access", &directory.access))?;
            Ok((directory.path.into(), access))
        });
        let hosts = written.hosts.into_iter().map(HostRule::try_from);
        let rights = Self {
            capabilities: capabilities.collect::<Result<CapabilitySet, _>>()?,
            directories: Directories::of(directories.collect::<Result<Vec<_>, _>>()?),
            hosts: Hosts::of(hosts.collect::<Result<Vec<_>, _>>()?),
        };
        // What the constructors leave out or put together was written by somebody else.
        if rights.to_text() == text {
            Ok(rights)
        } else {
            Err(InvalidRights("they are not written as this program writes them".to_owned()))
        }
    }
}

fn unknown(what: &str, name: &str) -> InvalidRights {
    InvalidRights(format!("there is no {what} `{}`", name.escape_debug()))
}

/// A path in its shortest spelling: `/w/` and `/w` are one place.
fn place(path: &Path) -> Value {
    let path: PathBuf = path.components().collect();
    match path.to_str() {
        Some(text) => text.into(),
        None => path.as_os_str().as_bytes().into(),
    }
}

impl From<Place> for PathBuf {
    fn from(place: Place) -> Self {
        match place {
            Place::Text(text) => text.into(),
            Place::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

/// The name stands apart from the port, since an IPv6 address has colons of its own.
fn host(rule: &HostRule) -> Value {
    let name = HostRule { pattern: rule.pattern.clone(), port: None }.to_string();
    json!({ "name": name, "port": rule.port.map_or_else(|| ANY.into(), Value::from) })
}

impl TryFrom<Host> for HostRule {
    type Error = InvalidRights;

    fn try_from(host: Host) -> Result<Self, InvalidRights> {
        let port = match host.port {
            Port::Number(port) => Some(port),
            Port::Word(word) if word == ANY => None,
            Port::Word(word) => return Err(unknown("port", &word)),
        };
        let pattern = match (host.name.as_str(), host.name.strip_prefix("*.")) {
            ("*", _) => HostPattern::Any,
            (_, Some(name)) => HostPattern::Below(name.to_owned()),
            _ => HostPattern::Exact(host.name),
        };
        Ok(Self { pattern, port })
    }
}
