//! Which model service is asked: as flags, environment and file say, in this order, or as a key in the environment tells.

use super::providers::{Wire, address, check};
use super::read::nearest;
use super::{Config, ConfigError, KeySource, ProviderConfig, env};

/// A service that is known without configuration.
struct Known {
    name: &'static str,
    wire: Wire,
    url: &'static str,
    /// The model where none is named; empty where only the user knows.
    model: &'static str,
    window: u64,
    /// The variables of its key and, by custom, its address.
    key: Option<(env::Variable, Option<env::Variable>)>,
}

const KNOWN: &[Known] = &[
    Known {
        name: "anthropic",
        wire: Wire::Messages,
        url: "https://api.anthropic.com",
        model: "claude-sonnet-5-5",
        window: 200_000,
        key: Some((env::ANTHROPIC_KEY, Some(env::ANTHROPIC_URL))),
    },
    Known {
        name: "openai",
        wire: Wire::Chat,
        url: "https://api.openai.com/v1",
        model: "gpt-5",
        window: 272_000,
        key: Some((env::OPENAI_KEY, Some(env::OPENAI_URL))),
    },
    Known {
        name: "openrouter",
        wire: Wire::Chat,
        url: "https://openrouter.ai/api/v1",
        model: "openrouter/auto",
        window: super::providers::WINDOW,
        key: Some((env::OPENROUTER_KEY, None)),
    },
    Known { name: "ollama", url: "http://localhost:11434/v1", ..LOCAL },
    Known { name: "lmstudio", url: "http://localhost:1234/v1", ..LOCAL },
    Known { name: "llamacpp", url: "http://localhost:8080/v1", ..LOCAL },
    Known { name: "vllm", url: "http://localhost:8000/v1", ..LOCAL },
];

/// A server on this machine. Most give a model a small window unless told otherwise.
const LOCAL: Known = Known { name: "", wire: Wire::Chat, url: "", model: "", window: 32_768, key: None };

impl Known {
    fn config(&self) -> ProviderConfig {
        ProviderConfig {
            base_url: Some(self.url.to_owned()),
            key: self.key.map(|(key, _)| KeySource::Env(key.name.to_owned())),
            context_window: self.window,
            ..ProviderConfig::new(self.name, self.wire, self.model)
        }
    }

    /// The same, at the address that the environment names for it.
    fn placed(&self) -> Result<ProviderConfig, ConfigError> {
        let mut config = self.config();
        if let Some(variable) = self.key.and_then(|(_, url)| url)
            && let Some(url) = variable.text()
        {
            let wrong = |problem| ConfigError::Provider(format!("{}: {problem}", variable.name));
            config.base_url = Some(address(&url).map_err(wrong)?);
            check(&config, false).map_err(wrong)?;
        }
        Ok(config)
    }
}

/// The variables of the keys of all services that are known.
pub(super) fn key_variables() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter_map(|known| known.key.map(|(key, _)| key.name))
}

/// What is known of a service of that name.
pub(super) fn preset(name: &str) -> Option<ProviderConfig> {
    KNOWN.iter().find(|known| known.name == name).map(Known::config)
}

impl Config {
    /// The model service to ask. The first that says one wins: flags, `RINGFENCE_PROVIDER` and `RINGFENCE_MODEL`, the
    /// configuration, a key in the environment.
    ///
    /// # Errors
    ///
    /// When there is none, when there is none of that name, or when it is not said which model of it.
    pub fn choose_provider(
        &self,
        flag_provider: Option<&str>,
        flag_model: Option<&str>,
    ) -> Result<ProviderConfig, ConfigError> {
        self.choose(None, flag_provider, flag_model)
    }

    /// The same for turns as `profile`, whose own model stands in the file's place.
    ///
    /// # Errors
    ///
    /// As [`Config::choose_provider`].
    pub fn choose_provider_as(
        &self,
        profile: &str,
        flag_provider: Option<&str>,
        flag_model: Option<&str>,
    ) -> Result<ProviderConfig, ConfigError> {
        self.choose(self.profile_limits(profile).model, flag_provider, flag_model)
    }

    fn choose(
        &self,
        of_profile: Option<String>,
        flag_provider: Option<&str>,
        flag_model: Option<&str>,
    ) -> Result<ProviderConfig, ConfigError> {
        let named = flag_provider.map(str::to_owned).or_else(|| env::PROVIDER.text());
        let mut only = self.providers.keys();
        let mut provider = match named.as_deref().or(self.provider.as_deref()) {
            Some(name) => self.named(name)?,
            None => match (only.next(), only.next()) {
                (Some(name), None) => self.named(name)?,
                (Some(_), Some(_)) => {
                    return Err(ConfigError::Provider(format!(
                        "there are several providers ({}); write provider = \"…\" into the configuration, or use \
                         --provider",
                        self.names().join(", ")
                    )));
                }
                _ => detected()?,
            },
        };
        // The model of the file belongs to the provider of the file.
        let of_file = || {
            of_profile.or_else(|| self.model.clone()).filter(|_| named.is_none() || named == self.provider)
        };
        if let Some(model) = flag_model.map(str::to_owned).or_else(|| env::MODEL.text()).or_else(of_file) {
            provider.model = model;
        }
        if provider.model.is_empty() && provider.wire != Wire::Scripted {
            return Err(ConfigError::Provider(format!(
                "it is not said which model of {} to ask; use --model, or write model = \"…\" into the configuration",
                provider.name
            )));
        }
        Ok(provider)
    }

    fn named(&self, name: &str) -> Result<ProviderConfig, ConfigError> {
        if let Some(provider) = self.providers.get(name) {
            return Ok(provider.clone());
        }
        if let Some(known) = KNOWN.iter().find(|known| known.name == name) {
            return known.placed();
        }
        let names = self.names();
        let near = nearest(name, names.iter().copied());
        let hint = if near.is_empty() { format!("; there are {}", names.join(", ")) } else { near };
        Err(ConfigError::Provider(format!("there is no provider `{name}`{hint}")))
    }

    /// The names that can be chosen.
    fn names(&self) -> Vec<&str> {
        let own = self.providers.keys().map(String::as_str);
        let known = KNOWN.iter().map(|known| known.name).filter(|name| !self.providers.contains_key(*name));
        own.chain(known).collect()
    }
}

/// The service whose key is in the environment.
fn detected() -> Result<ProviderConfig, ConfigError> {
    let has_key = |known: &&Known| known.key.is_some_and(|(key, _)| key.get().is_some());
    match KNOWN.iter().find(has_key) {
        Some(known) => known.placed(),
        None => Err(ConfigError::NoProvider),
    }
}
