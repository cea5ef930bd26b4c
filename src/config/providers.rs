//! The tables `[providers.NAME]`.

use super::KeySource;
use super::read::{Reading, entries, known_keys, nearest};
use serde_json::Map;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::{Table, Value};

/// How a model service is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat completions: OpenAI, and nearly everybody else.
    Chat,
    /// Anthropic's messages.
    Messages,
    /// Replies out of a file; nothing is asked.
    Scripted,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Messages, Self::Scripted];

    /// Its name in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Messages => "messages",
            Self::Scripted => "scripted",
        }
    }
}

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Sent.
    pub input: f64,
    /// Sent, and found in the service's cache.
    pub cached: f64,
    /// Received.
    pub output: f64,
}

impl Prices {
    /// What these tokens cost, in millionths of a dollar, rounded up. `cached` are a part of `input`.
    pub fn cost(self, input: u64, cached: u64, output: u64) -> u64 {
        let fresh = input.saturating_sub(cached) as f64 * self.input;
        (fresh + cached as f64 * self.cached + output as f64 * self.output).ceil() as u64
    }
}

/// A model service.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderConfig {
    /// Its name.
    pub name: String,
    /// How it is spoken to.
    pub wire: Wire,
    /// Where it is. `None` is the place of those who made the wire.
    pub base_url: Option<String>,
    /// The file of a scripted one.
    pub script: Option<PathBuf>,
    /// The model, as the service calls it.
    pub model: String,
    /// Where its key is kept.
    pub key: Option<KeySource>,
    /// Tokens that a request and its reply may have together.
    pub context_window: u64,
    /// What it costs; without, budgets of money cannot be kept.
    pub prices: Option<Prices>,
    /// Further headers. They are no place for keys.
    pub headers: BTreeMap<String, String>,
    /// Further members of each request's body, such as `temperature`.
    pub body: Map<String, serde_json::Value>,
    /// Whether replies come piece by piece.
    pub stream: bool,
    /// Seconds of silence in a reply after which it is given up. `None` is the default.
    pub idle_seconds: Option<u64>,
}

/// Tokens where the configuration says nothing.
pub(super) const WINDOW: u64 = 128_000;

pub(super) const KEYS: &[&str] = &[
    "wire",
    "base_url",
    "script",
    "model",
    "key",
    "context_window",
    "prices",
    "headers",
    "body",
    "stream",
    "idle_seconds",
    "plain_http",
];

pub(super) const PRICES: &[&str] = &["input", "cached", "output"];

/// What a request's body says of itself and nobody else may.
const RESERVED: &[&str] = &[
    "model",
    "messages",
    "system",
    "tools",
    "stream",
    "stream_options",
    // Budgets are kept with these.
    "max_tokens",
    "max_completion_tokens",
    "n",
];

impl ProviderConfig {
    /// One of that name and wire, with defaults.
    pub fn new(name: &str, wire: Wire, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            wire,
            base_url: None,
            script: None,
            model: model.to_owned(),
            key: None,
            context_window: WINDOW,
            prices: None,
            headers: BTreeMap::new(),
            body: Map::new(),
            stream: true,
            idle_seconds: None,
        }
    }
}

pub(super) fn provider(name: &str, value: &Value) -> Result<ProviderConfig, String> {
    let at = format!("providers.{name}");
    let table = value.as_table().ok_or_else(|| format!("{at}: expected a table"))?;
    known_keys(table, &at, KEYS)?;
    let read = Reading { table, at: &at };
    let mut provider = match super::choose::preset(name) {
        Some(preset) => preset,
        None => {
            let chat = ProviderConfig::new(name, Wire::Chat, "");
            let wire = read.text("wire")?;
            wire.ok_or_else(|| format!("{at}: `wire` is missing; write wire = \"chat\" or \"messages\""))?;
            chat
        }
    };
    if let Some(wire) = read.text("wire")? {
        provider.wire = Wire::ALL.into_iter().find(|known| known.name() == wire).ok_or_else(|| {
            let near = nearest(wire, Wire::ALL.map(Wire::name));
            format!(
                "{at}.wire: there is no wire `{wire}`{near}; write \"chat\", \"messages\" or \"scripted\""
            )
        })?;
    }
    if let Some(url) = read.text("base_url")? {
        // A key of the default place is not sent to another.
        if provider.base_url.as_deref() != Some(url) {
            provider.key = None;
        }
        provider.base_url = Some(address(url).map_err(|problem| format!("{at}.base_url: {problem}"))?);
    }
    provider.script = read.text("script")?.map(PathBuf::from);
    if let Some(model) = read.text("model")? {
        provider.model = model.to_owned();
    }
    if let Some(value) = table.get("key") {
        provider.key = Some(key(value).map_err(|problem| format!("{at}.key: {problem}"))?);
    }
    if let Some(window) = read.whole("context_window", 1_000)? {
        provider.context_window = window;
    }
    if let Some(value) = table.get("prices") {
        provider.prices = Some(prices(value, &format!("{at}.prices"))?);
    }
    for (name, value) in entries(table, "headers")? {
        let value = value.as_str().ok_or_else(|| format!("{at}.headers.{name}: expected a string"))?;
        if ["authorization", "x-api-key"].contains(&name.to_lowercase().as_str()) {
            return Err(format!("{at}.headers.{name}: a key is written as key = {{ env = \"…\" }}"));
        }
        provider.headers.insert(name.clone(), value.to_owned());
    }
    for (name, value) in entries(table, "body")? {
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("{at}.body.{name}: this member is not free to choose"));
        }
        let value = serde_json::to_value(value).map_err(|error| format!("{at}.body.{name}: {error}"))?;
        provider.body.insert(name.clone(), value);
    }
    provider.stream = read.flag("stream")?.unwrap_or(true);
    provider.idle_seconds = read.whole("idle_seconds", 1)?;
    let plain = read.flag("plain_http")?.unwrap_or(false);
    check(&provider, plain).map_err(|problem| format!("{at}: {problem}"))?;
    Ok(provider)
}

/// What the parts of a provider must have together.
pub(super) fn check(provider: &ProviderConfig, plain: bool) -> Result<(), String> {
    if (provider.wire == Wire::Scripted) != provider.script.is_some() {
        return Err("`script` belongs to wire = \"scripted\", which needs it".to_owned());
    }
    let url = provider.base_url.as_deref().unwrap_or("https://");
    if provider.key.is_some() && !plain && url.starts_with("http://") && !is_this_machine(url) {
        return Err(
            "the key would cross the network readable for all; write an https address as `base_url`, or \
                    plain_http = true if that network is yours"
                .to_owned(),
        );
    }
    Ok(())
}

/// Whether an address names this machine.
pub fn is_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An address without a slash at its end.
pub(super) fn address(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.ok_or_else(|| format!("`{url}` does not begin with https:// or http://"))?;
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err(format!("`{}` is no address", url.escape_debug()));
    }
    if authority.contains('@') {
        return Err("a password does not belong into an address; write key = { env = \"…\" }".to_owned());
    }
    if rest.contains(['?', '#']) {
        return Err(format!("`{url}` has a query or fragment; a base address has none"));
    }
    Ok(url.trim_end_matches('/').to_owned())
}

fn key(value: &Value) -> Result<KeySource, String> {
    const HOW: &str =
        "write key = { env = \"NAME\" }, { file = \"/path\" } or { command = [\"program\", \"argument\"] }";
    let table = match value {
        Value::Table(table) => table,
        // Not repeated: it may be the key.
        Value::String(_) => return Err(format!("a key is not written into the configuration; {HOW}")),
        _ => return Err(HOW.to_owned()),
    };
    known_keys(table, "key", &["env", "file", "command"])?;
    let mut members = table.iter();
    let (Some((name, value)), None) = (members.next(), members.next()) else { return Err(HOW.to_owned()) };
    match (name.as_str(), value) {
        ("env", Value::String(name)) if is_variable(name) => Ok(KeySource::Env(name.clone())),
        ("env", Value::String(_)) => Err("`env` takes the name of a variable, not the key".to_owned()),
        ("file", Value::String(path)) => {
            let path = super::dirs::of_person(path);
            if path.is_absolute() {
                Ok(KeySource::File(path))
            } else {
                Err("`file` takes an absolute path, or one that begins with ~/".to_owned())
            }
        }
        ("command", Value::Array(words)) if !words.is_empty() => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.map(KeySource::Command).ok_or_else(|| HOW.to_owned())
        }
        _ => Err(HOW.to_owned()),
    }
}

pub(super) fn is_variable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.is_empty()
        && name.len() <= 100
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn prices(value: &Value, at: &str) -> Result<Prices, String> {
    let table: &Table = value.as_table().ok_or_else(|| format!("{at}: expected a table"))?;
    known_keys(table, at, PRICES)?;
    let read = Reading { table, at };
    let needed = |key: &str| {
        read.number(key)?
            .ok_or_else(|| format!("{at}: `{key}` is missing; write dollars for a million tokens"))
    };
    let input = needed("input")?;
    Ok(Prices { input, cached: read.number("cached")?.unwrap_or(input), output: needed("output")? })
}
