//! Asks a model over a wire, under a clock that never waits, and keeps what was heard.

use super::Model;
use jiff::Timestamp;
use ringfence::config::{Config, KeySource, ProviderConfig, Wire};
use ringfence::egress::Client;
use ringfence::provider::{
    Bounds, Clock, Delta, Message, ModelReply, ModelRequest, ProviderError, ToolSpec, Wait, build_with,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When it is, under the clock of the tests.
pub const NOW: &str = "2026-03-01T12:00:00Z";

/// A clock that stands still and writes down how long it should have waited.
#[derive(Debug, Default)]
pub struct StillClock {
    waits: Mutex<Vec<Duration>>,
}

impl Clock for StillClock {
    fn wait(&self, time: Duration) -> Wait<'_> {
        self.waits.lock().unwrap().push(time);
        Box::pin(std::future::ready(()))
    }

    fn now(&self) -> Timestamp {
        NOW.parse().unwrap()
    }

    fn chance(&self) -> f64 {
        0.5
    }
}

/// How one request went.
#[derive(Debug)]
pub struct Asking {
    pub reply: Result<ModelReply, ProviderError>,
    pub deltas: Vec<Delta>,
    /// Milliseconds that the clock was asked to wait.
    pub waits: Vec<u128>,
}

impl Asking {
    #[track_caller]
    pub fn ok(self) -> ModelReply {
        self.reply.unwrap()
    }

    #[track_caller]
    pub fn error(self) -> ProviderError {
        self.reply.unwrap_err()
    }

    pub fn restarts(&self) -> usize {
        self.deltas.iter().filter(|delta| **delta == Delta::Restart).count()
    }

    /// All text that was heard since the last restart.
    pub fn heard(&self) -> String {
        let begin = self.deltas.iter().rposition(|delta| *delta == Delta::Restart).map_or(0, |at| at + 1);
        self.deltas[begin..]
            .iter()
            .filter_map(|delta| match delta {
                Delta::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}

/// A provider `test` at that service.
pub fn provider(wire: Wire, model: &Model) -> ProviderConfig {
    ProviderConfig { base_url: Some(model.url()), ..ProviderConfig::new("test", wire, "m-1") }
}

/// The same, with a key out of a file.
pub fn with_key(config: ProviderConfig, dir: &std::path::Path, key: &str) -> ProviderConfig {
    use std::os::unix::fs::PermissionsExt as _;
    let path = dir.join("key");
    std::fs::write(&path, format!("{key}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    ProviderConfig { key: Some(KeySource::File(path)), ..config }
}

/// The provider of a configuration text.
pub fn configured(text: &str) -> ProviderConfig {
    Config::parse(text).unwrap().choose_provider(Some("test"), None).unwrap()
}

/// Says hello.
pub fn ask(config: &ProviderConfig) -> Asking {
    ask_with(config, Bounds::default(), &[Message::user("hello")], &[])
}

/// Says that, with those tools, within those bounds.
pub fn ask_with(config: &ProviderConfig, bounds: Bounds, messages: &[Message], tools: &[ToolSpec]) -> Asking {
    let clock = Arc::new(StillClock::default());
    let bounds = Bounds { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..bounds };
    let provider = build_with(config, &Client::new(), bounds).unwrap();
    let deltas = Mutex::new(Vec::new());
    let hear = |delta: Delta| deltas.lock().unwrap().push(delta);
    let request = ModelRequest { system: "be brief", messages, tools, max_tokens: 100, temperature: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let reply = runtime.block_on(provider.ask(request, &hear));
    let waits = clock.waits.lock().unwrap().iter().map(Duration::as_millis).collect();
    Asking { reply, deltas: deltas.into_inner().unwrap(), waits }
}
