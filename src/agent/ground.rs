//! What all turns in a workspace share: tools, configuration, store, model services.

use super::record::Recorder;
use crate::authority::{Flags, Profile};
use crate::config::{self, Config, ConfigError, Dirs, ProviderConfig};
use crate::egress;
use crate::exec::Commands;
use crate::provider::{self, Provider};
use crate::sandbox::ports::SharedPorts;
use crate::sandbox::{Native, OwnReadOnly};
use crate::session::{SessionError, SessionKey};
use crate::store::Store;
use crate::toolbox::{Agent as Caller, Ports, RoleMismatch, Spill, Toolbox};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where long results are kept, in the data directory.
pub const RESULTS: &str = "results";

/// The name of those of a session.
pub fn results_of(workspace: &Path, key: &SessionKey) -> String {
    format!("{}\0{key}", workspace.display())
}

/// By name and model.
type Providers = BTreeMap<(String, String), Arc<dyn Provider>>;

/// What all turns in a workspace share.
#[derive(Clone)]
pub struct Ground {
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// What the user configured.
    pub config: Arc<Config>,
    /// Where the program keeps its own.
    pub dirs: Dirs,
    /// The workspace, links resolved.
    pub workspace: PathBuf,
    /// The state database.
    pub store: Arc<Store>,
    /// Native commands.
    pub commands: Commands,
    client: egress::Client,
    /// One each, so that a key is looked up once.
    providers: Arc<Mutex<Providers>>,
}

/// A turn that cannot begin or be kept.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// There is no such model service, or no key for it.
    #[error("{0}")]
    Provider(String),
    /// The workspace cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Workspace {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Long results have no place.
    #[error("long results cannot be kept: {0}")]
    Results(std::io::Error),
    /// What is handed over belongs to another role.
    #[error(transparent)]
    Role(#[from] RoleMismatch),
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot be locked against other processes.
    #[error("the session cannot be locked: {0}")]
    Lock(std::io::Error),
}

/// Who is to call tools.
pub struct Calling<'a> {
    /// As which role or profile.
    pub profile: Profile,
    /// What this run leaves it.
    pub flags: Flags,
    /// What stands behind its interfaces.
    pub ports: Ports,
    /// In which session; its audit rows go there.
    pub key: &'a SessionKey,
    /// Whether the session is kept; its long results are, then.
    pub kept: bool,
}

impl Ground {
    /// Of these parts.
    pub fn new(
        (toolbox, config): (Arc<Toolbox>, Arc<Config>),
        (dirs, workspace): (Dirs, PathBuf),
        (store, commands): (Arc<Store>, Commands),
        client: egress::Client,
    ) -> Self {
        Self { toolbox, config, dirs, workspace, store, commands, client, providers: Arc::default() }
    }

    /// What stands behind the interfaces of every role.
    pub fn shared(&self) -> SharedPorts {
        SharedPorts { executor: Arc::new(Native::new(self.commands.clone(), self.workspace.clone())) }
    }

    /// Where the user's own skills are.
    pub fn own_skills(&self) -> PathBuf {
        self.dirs.config.join("skills")
    }

    /// The model service of that name and its model of that name; where absent, those of the configuration.
    ///
    /// # Errors
    ///
    /// When there is none, or its key cannot be had.
    pub fn provider(
        &self,
        name: Option<&str>,
        model: Option<&str>,
    ) -> Result<Arc<dyn Provider>, GroundError> {
        self.built(self.config.choose_provider(name, model))
    }

    /// The same for turns as a profile, which may have a model of its own.
    ///
    /// # Errors
    ///
    /// As [`Ground::provider`].
    pub fn provider_as(
        &self,
        profile: &str,
        name: Option<&str>,
        model: Option<&str>,
    ) -> Result<Arc<dyn Provider>, GroundError> {
        self.built(self.config.choose_provider_as(profile, name, model))
    }

    fn built(&self, chosen: Result<ProviderConfig, ConfigError>) -> Result<Arc<dyn Provider>, GroundError> {
        let problem = |error: &dyn std::error::Error| GroundError::Provider(error.to_string());
        let chosen = chosen.map_err(|error| problem(&error))?;
        let mut kept = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        let by = (chosen.name.clone(), chosen.model.clone());
        if let Some(known) = kept.get(&by) {
            return Ok(Arc::clone(known));
        }
        let built: Arc<dyn Provider> =
            provider::build(&chosen, &self.client).map_err(|error| problem(&error))?.into();
        kept.insert(by, Arc::clone(&built));
        Ok(built)
    }

    /// A caller of tools: its rows go to the store, and results that are too long to be shown where the tools of its session
    /// alone can read them.
    ///
    /// # Errors
    ///
    /// When the ports are another role's, or long results have no place.
    pub fn caller(&self, calling: Calling<'_>) -> Result<Caller, GroundError> {
        let Calling { profile, flags, ports, key, kept } = calling;
        let recorder = Recorder::new(Arc::clone(&self.store), key);
        let mut caller = Caller::new(key.to_string(), profile, &self.workspace, flags, ports)?
            .recording(Arc::new(recorder));
        let name = results_of(&self.workspace, key);
        let mut spill = Spill::open(&self.dirs.data.join(RESULTS), &name).map_err(GroundError::Results)?;
        if !kept {
            spill = spill.passing();
        }
        if key.is_task() {
            spill = spill.single();
        }
        caller = caller.spilling(Arc::new(spill));
        let skills = config::canonical(&self.own_skills()).ok().and_then(|dir| OwnReadOnly::open(&dir).ok());
        if let Some(skills) = skills {
            caller = caller.reading(Arc::new(skills));
        }
        Ok(caller)
    }
}
