//! From what was typed to a toolbox and a caller.

use super::exit::Exit;
use super::native::Native;
use super::person::Person;
use super::printer::Printer;
use crate::agent::{Ground, GroundError};
use crate::authority::{
    Access, Capability, CapabilitySet, Directories, Flags, Grant, Hosts, Profile, Rights, Role,
};
use crate::config::{self, Config, Dirs};
use crate::egress;
use crate::exec::Commands;
use crate::sandbox::ports::SharedPorts;
use crate::sandbox::ports::{MainPorts, Unavailable};
use crate::sandbox::{CompileBounds, Limits, Native as Executor, Opened};
use crate::store::{self, Store};
use crate::toolbox::{Agent, Ports, Toolbox};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a command works with.
pub(super) struct Setting {
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) config: Arc<Config>,
    pub(super) workspace: PathBuf,
    pub(super) dirs: Dirs,
    /// What native commands see and may take. Always with the sandbox.
    pub(super) native: Native,
    /// Native commands, with the sandbox.
    pub(super) commands: Commands,
    directories: Vec<(PathBuf, Access)>,
    state: Vec<PathBuf>,
}

/// Something that ends the command before it began.
pub(super) struct Stop(pub(super) String, pub(super) Exit);

impl Stop {
    pub(super) fn tell(self, printer: &Printer) -> Exit {
        printer.error(&self.0, self.1)
    }
}

impl Setting {
    /// Reads the configuration, opens the directories and starts the engine.
    pub(super) fn open(
        workspace: Option<&Path>,
        others: &[(PathBuf, Access)],
        limits: Limits,
    ) -> Result<Self, Stop> {
        let (dirs, config) = configured()?;
        let place = |path: &Path| {
            config::canonical(path)
                .map_err(|error| Stop(format!("{}: {error}", path.display()), Exit::Config))
        };
        let workspace = place(workspace.unwrap_or(Path::new(".")))?;
        let mut directories = Vec::new();
        for (path, access) in others {
            directories.push((place(path)?, *access));
        }
        let paths: Vec<PathBuf> = directories.iter().map(|(path, _)| path.clone()).collect();
        let state = dirs.places();
        let opened =
            Opened::open(&workspace, &paths, &state).map_err(|e| Stop(e.to_string(), Exit::Config))?;
        let native = Native::of(&config, &dirs)?;
        let commands = super::native::commands(&native.settings, false)?;
        let (toolbox, config) = (Arc::new(toolbox(opened, &dirs, limits)?), Arc::new(config));
        Ok(Self { toolbox, config, workspace, dirs, native, commands, directories, state })
    }

    /// The same for looking at tools, which works anywhere: no directory is opened.
    pub(super) fn for_looking() -> Result<Self, Stop> {
        let (dirs, config) = configured()?;
        let toolbox = Arc::new(toolbox(Opened::default(), &dirs, Limits::default())?);
        let native = Native::of(&config, &dirs)?;
        let commands = super::native::commands(&native.settings, false)?;
        let config = Arc::new(config);
        let (workspace, directories, state) = (PathBuf::new(), Vec::new(), dirs.places());
        Ok(Self { toolbox, config, workspace, dirs, native, commands, directories, state })
    }

    /// A place with its links resolved, and the directory to hand over for it: one that was named already, itself, or the
    /// one that holds it. What is to be written may need directories that are not there yet, so that one further up has to
    /// do.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(super) fn directory_for(&self, place: &Path, access: Access) -> Result<(PathBuf, PathBuf), String> {
        let place = config::absolute(place).unwrap_or_else(|_| place.to_owned());
        if let Some((named, _)) = self.directories.iter().find(|(named, _)| place.starts_with(named)) {
            let named = named.clone();
            return Ok((place, named));
        }
        let most = if access == Access::ReadWrite { usize::MAX } else { 2 };
        let mut problem = String::new();
        for directory in place.ancestors().take(most) {
            match Opened::open(directory, &[], &self.state) {
                Ok(_) => return Ok((place.clone(), directory.to_owned())),
                Err(error) => problem = error.to_string(),
            }
        }
        Err(problem)
    }

    /// The role or profile of that name.
    pub(super) fn profile(&self, name: &str) -> Result<Profile, Stop> {
        self.config.profile(name).ok_or_else(|| {
            let known: Vec<&str> = self.config.profile_names().collect();
            let hint = match crate::toolbox::nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", known.join(", ")),
            };
            Stop(format!("there is no role or profile `{name}`; {hint}"), Exit::Usage)
        })
    }

    /// A caller for the person at the terminal, whom a message reaches on stderr.
    pub(super) fn agent(
        &self,
        profile: Profile,
        read_only: bool,
        deny: &[Capability],
    ) -> Result<Agent, Stop> {
        let executor = Arc::new(Executor::new(self.commands.clone(), self.workspace.clone()));
        let ports = ports(profile.role, SharedPorts { executor }, |shared| MainPorts {
            shared,
            courier: Arc::new(Person::new(&self.workspace)),
            ..Unavailable::main()
        });
        Agent::new("cli:direct", profile, &self.workspace, self.flags(read_only, deny), ports)
            .map_err(|error| Stop(error.to_string(), Exit::Failed))
    }

    /// What flags leave of everything: the workspace, the directories that were named, and all capabilities but those that
    /// were taken away.
    pub(super) fn flags(&self, read_only: bool, deny: &[Capability]) -> Flags {
        let most = if read_only { Access::ReadOnly } else { Access::ReadWrite };
        let named = self.directories.iter().map(|(path, access)| (path.clone(), *access.min(&most)));
        Flags(Rights {
            capabilities: deny.iter().fold(CapabilitySet::ALL, |left, taken| left.without(*taken)),
            directories: Directories::of(named).with(self.workspace.clone(), most),
            hosts: Hosts::none(),
        })
    }

    /// What all turns in the workspace share.
    pub(super) fn ground(&self, store: Arc<Store>) -> Ground {
        let parts = (Arc::clone(&self.toolbox), Arc::clone(&self.config));
        let places = (self.dirs.clone(), self.workspace.clone());
        Ground::new(parts, places, (store, self.commands.clone()), egress::Client::new())
    }
}

/// The state database.
pub(super) fn store(dirs: &Dirs) -> Result<Arc<Store>, Stop> {
    Store::open(&dirs.data.join(store::FILE)).map_err(|error| Stop(error.to_string(), Exit::Config))
}

/// What stands behind the interfaces of a role: of every one, and main's, where it is main.
pub(super) fn ports(role: Role, shared: SharedPorts, main: impl FnOnce(SharedPorts) -> MainPorts) -> Ports {
    match role {
        Role::Main => Ports::Main(Arc::new(main(shared))),
        Role::Subagent => Ports::Subagent(Arc::new(shared)),
    }
}

impl From<GroundError> for Stop {
    fn from(error: GroundError) -> Self {
        let exit = match &error {
            GroundError::Provider(_) | GroundError::Workspace { .. } | GroundError::Results(_) => {
                Exit::Config
            }
            GroundError::Role(_) | GroundError::Session(_) | GroundError::Lock(_) => Exit::Failed,
        };
        Self(error.to_string(), exit)
    }
}

/// Where this program keeps its own.
pub(super) fn dirs() -> Result<Dirs, Stop> {
    Dirs::of_user().ok_or_else(|| {
        let problem = "there is no home directory; set RINGFENCE_HOME to a directory of yours";
        Stop(problem.to_owned(), Exit::Config)
    })
}

/// Where this program keeps its own, and what the user configured.
pub(super) fn configured() -> Result<(Dirs, Config), Stop> {
    let dirs = dirs()?;
    let config = Config::load(&dirs).map_err(|error| Stop(error.to_string(), Exit::Config))?;
    Ok((dirs, config))
}

fn toolbox(opened: Opened, dirs: &Dirs, limits: Limits) -> Result<Toolbox, Stop> {
    let cache = dirs.cache.join("code");
    let mut toolbox =
        Toolbox::new(opened, Some(&cache), limits).map_err(|error| Stop(whole(&error), Exit::Load))?;
    // Without a name for its own binary a program compiles in its own process.
    if let Some(program) = config::own_program() {
        toolbox.compile_with(program, CompileBounds::default());
    }
    Ok(toolbox)
}

/// What a component file is granted on the command line.
pub(super) fn grant(allowed: &[Capability]) -> Grant {
    Grant(Rights {
        capabilities: allowed.iter().copied().collect(),
        directories: Directories::everywhere(Access::ReadWrite),
        hosts: Hosts::none(),
    })
}

/// An error with everything behind it, in one line.
pub(super) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut behind = error.source();
    while let Some(error) = behind {
        let more = error.to_string();
        // Some say what is behind them themselves.
        if !text.ends_with(&more) {
            text.push_str(&format!(": {more}"));
        }
        behind = error.source();
    }
    text
}
