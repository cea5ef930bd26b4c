//! A workspace, an outside beside it, and a toolbox on them.

use super::{Recorder, Reply, Snapshot};
use ringfence::authority::{
    Access, Capability, CapabilitySet, Denial, Directories, Flags, Grant, Hosts, Profile, Rights, Role,
};
use ringfence::config;
use ringfence::sandbox::{Limits, MAX_COMPONENT, Opened};
use ringfence::toolbox::{Agent, AuditSink, PackageError, Ports, Toolbox};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Native code of all test runs, so that each component is compiled once.
pub fn code_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("code")
}

/// A workspace with the real tools.
pub struct World {
    temp: tempfile::TempDir,
    workspace: PathBuf,
    outside: PathBuf,
    directories: Vec<(PathBuf, Access)>,
    read_only: bool,
    limits: Limits,
    profile: Option<Profile>,
    cache: PathBuf,
    recorder: Recorder,
    runtime: Runtime,
    toolbox: OnceLock<RwLock<Toolbox>>,
    main: OnceLock<Agent>,
    sink: OnceLock<Arc<dyn AuditSink>>,
}

/// Somebody hears every event from the first one on. Without that, an event that is first written by a test which does not
/// look is switched off for good, also for a test that starts to look at the same moment.
fn listen_from_the_start() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
    });
}

/// A caller of its own in a world.
pub struct Conversation<'w> {
    world: &'w World,
    agent: Agent,
}

impl World {
    pub fn new() -> Self {
        Self::below("ws")
    }

    /// With the workspace at this path below the temporary directory.
    pub fn below(name: &str) -> Self {
        listen_from_the_start();
        let temp = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temp.path()).unwrap();
        fs::create_dir_all(root.join(name)).unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        Self {
            workspace: root.join(name),
            outside: root.join("outside"),
            temp,
            directories: Vec::new(),
            read_only: false,
            limits: Limits::default(),
            profile: None,
            cache: code_cache(),
            recorder: Recorder::default(),
            runtime: tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_time()
                .build()
                .unwrap(),
            toolbox: OnceLock::new(),
            main: OnceLock::new(),
            sink: OnceLock::new(),
        }
    }

    pub fn with_directory(mut self, path: impl AsRef<Path>, access: Access) -> Self {
        self.directories.push((fs::canonicalize(path).unwrap(), access));
        self
    }

    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    pub fn with_timeout(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// With native code kept here, and not where all tests keep it.
    pub fn with_cache(mut self, dir: PathBuf) -> Self {
        self.cache = dir;
        self
    }

    /// Every call as this profile.
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    pub fn toolbox(&self) -> &RwLock<Toolbox> {
        self.toolbox.get_or_init(|| {
            let others: Vec<PathBuf> = self.directories.iter().map(|(path, _)| path.clone()).collect();
            let opened = Opened::open(&self.workspace, &others, &[]).unwrap();
            RwLock::new(Toolbox::new(opened, Some(&self.cache), self.limits.clone()).unwrap())
        })
    }

    pub fn agent(&self, profile: Profile) -> Agent {
        let most = if self.read_only { Access::ReadOnly } else { Access::ReadWrite };
        let others = self.directories.iter().map(|(path, access)| (path.clone(), *access.min(&most)));
        let flags = Flags(Rights {
            capabilities: CapabilitySet::ALL,
            directories: Directories::of(others).with(self.workspace.clone(), most),
            hosts: Hosts::none(),
        });
        let ports = match profile.role {
            Role::Main => Ports::Main(Arc::new(self.recorder.main_ports())),
            Role::Subagent => Ports::Subagent(Arc::new(self.recorder.shared_ports())),
        };
        let agent = Agent::new("test", profile, &self.workspace, flags, ports).unwrap();
        match self.sink.get() {
            Some(sink) => agent.recording(Arc::clone(sink)),
            None => agent,
        }
    }

    /// Hands the rows of agents that are made from here on to `sink`.
    pub fn record(&self, sink: Arc<dyn AuditSink>) {
        assert!(self.sink.set(sink).is_ok(), "there is a sink already");
    }

    pub fn conversation(&self, role: Role) -> Conversation<'_> {
        Conversation { world: self, agent: self.agent(Profile::plain(role)) }
    }

    pub fn conversation_as(&self, profile: Profile) -> Conversation<'_> {
        Conversation { world: self, agent: self.agent(profile) }
    }

    pub fn call(&self, tool: &str, arguments: serde_json::Value) -> Reply {
        self.call_text(tool, &arguments.to_string())
    }

    /// With the arguments as the text that came over a wire.
    pub fn call_text(&self, tool: &str, arguments: &str) -> Reply {
        let main = || self.agent(self.profile.clone().unwrap_or_else(|| Profile::plain(Role::Main)));
        self.call_by(self.main.get_or_init(main), tool, arguments)
    }

    pub fn call_as(&self, role: Role, tool: &str, arguments: serde_json::Value) -> Reply {
        self.conversation(role).call(tool, arguments)
    }

    pub fn call_by(&self, agent: &Agent, tool: &str, arguments: &str) -> Reply {
        let toolbox = self.toolbox().read().unwrap();
        let reply = self.runtime.block_on(toolbox.call(agent, tool, arguments));
        for note in &reply.notes {
            self.recorder.note(&note.message);
        }
        Reply(reply)
    }

    /// Adds a component's tools, granted by name: `files`, `files:read`, `message` and so on.
    pub fn try_component(&self, path: &Path, grants: &[&str]) -> Result<(), String> {
        self.add(path, grants).map_err(|e| e.to_string())
    }

    /// The denial that keeps a component from being added.
    pub fn component_denied(&self, path: &Path, grants: &[&str]) -> Denial {
        match self.add(path, grants) {
            Err(PackageError::Denied(denial)) => *denial,
            other => panic!("{}: not denied: {other:?}", path.display()),
        }
    }

    fn add(&self, path: &Path, grants: &[&str]) -> Result<(), PackageError> {
        let access = if grants.contains(&"files:read") { Access::ReadOnly } else { Access::ReadWrite };
        let capability = |name: &&str| Capability::from_name(name.split(':').next().unwrap()).unwrap();
        let grant = Grant(Rights {
            capabilities: grants.iter().map(capability).collect(),
            directories: Directories::everywhere(access),
            hosts: Hosts::none(),
        });
        // A file that cannot be read is an empty one here: the command line has tests of its own.
        let bytes = config::read_component(path, MAX_COMPONENT).unwrap_or_default();
        let mut toolbox = self.toolbox().write().unwrap();
        self.runtime.block_on(toolbox.add(path.to_owned(), bytes, grant))
    }

    pub fn component(&self, path: &Path, grants: &[&str]) {
        self.try_component(path, grants).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }

    pub fn ports(&self) -> &Recorder {
        &self.recorder
    }

    pub fn root(&self) -> &Path {
        &self.workspace
    }

    pub fn outside(&self) -> &Path {
        &self.outside
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.join(name)
    }

    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn bytes(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub fn exists(&self, name: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.path(name)).is_ok()
    }

    pub fn snapshot_outside(&self) -> Snapshot {
        Snapshot::of(&fs::canonicalize(self.temp.path()).unwrap(), &self.workspace)
    }

    pub fn assert_outside_unchanged(&self, before: &Snapshot) {
        assert_eq!(&self.snapshot_outside(), before, "something outside changed");
    }
}

impl Conversation<'_> {
    pub fn call(&self, tool: &str, arguments: serde_json::Value) -> Reply {
        self.world.call_by(&self.agent, tool, &arguments.to_string())
    }
}
