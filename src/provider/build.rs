//! From configuration to a provider.

use super::chat::Chat;
use super::clock::Bounds;
use super::messages::Messages;
use super::scripted::{Script, ScriptPrices, Scripted};
use super::service::Service;
use super::wire::Wire;
use super::{Provider, ProviderError, ProviderErrorKind};
use crate::config::{self, ProviderConfig};
use crate::egress::{Client, Header};
use std::time::Duration;

/// How long a reply in one piece may take.
const WHOLE: Duration = Duration::from_secs(600);

/// The provider of that configuration. Its key is looked up now, so that a missing one is told before anything begins;
/// no connection is made.
///
/// # Errors
///
/// When there is no key where the configuration says it is, or no script.
pub fn build(config: &ProviderConfig, client: &Client) -> Result<Box<dyn Provider>, ProviderError> {
    build_with(config, client, Bounds::default())
}

/// The same, with bounds of the caller's own.
///
/// # Errors
///
/// As [`build`].
pub fn build_with(
    config: &ProviderConfig,
    client: &Client,
    mut bounds: Bounds,
) -> Result<Box<dyn Provider>, ProviderError> {
    if let Some(seconds) = config.idle_seconds {
        bounds.idle = Duration::from_secs(seconds);
        bounds.first = bounds.first.max(bounds.idle);
    }
    if !config.stream {
        // Nothing comes before all of it is there.
        bounds.first = bounds.first.max(WHOLE);
        if config.idle_seconds.is_none() {
            bounds.idle = bounds.idle.max(WHOLE);
        }
    }
    let (wire, place): (Box<dyn Wire>, &str) = match config.wire {
        config::Wire::Scripted => return scripted(config),
        config::Wire::Messages => {
            (Box::new(Messages::new(&config.name, &config.model, config.stream)), "https://api.anthropic.com")
        }
        config::Wire::Chat => {
            let place = "https://api.openai.com/v1";
            // The makers of the wire gave the limit a new name; the others mostly know the old one.
            let newer =
                config.base_url.as_deref().is_none_or(|url| url.starts_with("https://api.openai.com"));
            (Box::new(Chat::new(&config.name, &config.model, config.stream, newer)), place)
        }
    };
    let url = wire.address(config.base_url.as_deref().unwrap_or(place));
    let key = config.key.as_ref().map(config::KeySource::resolve).transpose();
    let key =
        key.map_err(|error| failed(ProviderErrorKind::Credentials, format!("{}: {error}", config.name)))?;
    let key_source = match &config.key {
        Some(source) => format!("the key from {source}"),
        None => "a request without a key; write key = { env = \"…\" } into the configuration".to_owned(),
    };
    Ok(Box::new(Service {
        name: config.name.clone(),
        model: config.model.clone(),
        window: config.context_window,
        prices: config.prices,
        local: config::is_this_machine(&url),
        url,
        key,
        key_source,
        headers: config
            .headers
            .iter()
            .map(|(name, value)| Header::Plain(name.clone(), value.clone()))
            .collect(),
        extra: config.body.clone(),
        wire,
        client: client.clone(),
        bounds,
    }))
}

fn scripted(config: &ProviderConfig) -> Result<Box<dyn Provider>, ProviderError> {
    let rejected =
        |problem: String| failed(ProviderErrorKind::Rejected, format!("{}: {problem}", config.name));
    let path = config.script.as_deref().ok_or_else(|| rejected("`script` is missing".to_owned()))?;
    let text = config::read_script(path).map_err(|error| rejected(format!("{}: {error}", path.display())))?;
    let mut script =
        Script::parse(&text).map_err(|error| rejected(format!("{}: {error}", path.display())))?;
    // The configuration's prices count where the script has none of its own.
    script.prices = script.prices.or(config.prices.map(|prices| ScriptPrices {
        input: prices.input,
        cached: prices.cached,
        output: prices.output,
    }));
    Ok(Box::new(Scripted::new(script).called(&config.name)))
}

fn failed(kind: ProviderErrorKind, message: String) -> ProviderError {
    ProviderError { kind, message, status: None, request_id: None, retryable: false, retry_after: None }
}
