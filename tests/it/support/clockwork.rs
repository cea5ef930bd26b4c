//! The schedule at work in a workspace with the real tools, under a clock that a test sets, with a scripted model.

use super::code_cache;
use ringfence::agent::{Budget, Calling, Ground, Purse};
use ringfence::authority::{
    Access, Capability, CapabilitySet, Directories, Flags, Grant, Hosts, Profile, Rights, Role,
};
use ringfence::config::{Config, CronConfig, Dirs, Lock, Presence, TasksConfig};
use ringfence::egress::Client;
use ringfence::sandbox::ports::{MainPorts, Unavailable};
use ringfence::sandbox::{Limits, MAX_COMPONENT, Opened};
use ringfence::schedule::{self, Draft, Owner, Plan, Schedule};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{JobRow, JobState, LetterRow, RunOutcome, RunRow, Store, Workspace};
use ringfence::tasks::{Hands, House, Origin, Tasks, TurnOf};
use ringfence::toolbox::{Agent, Ports, Reply, Toolbox};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Where the clock stands first: the beginning of a day.
pub const START: i64 = 1_780_272_000_000;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;

/// A workspace, a store and a clock.
pub struct Clockwork {
    temp: tempfile::TempDir,
    pub store: Arc<Store>,
    pub config: CronConfig,
    ground: Ground,
    clock: Arc<AtomicI64>,
    pub runtime: Runtime,
    /// Says that everything is to end.
    pub stop: watch::Sender<bool>,
}

struct One(Ground);

impl House for One {
    fn ground(&self, workspace: &Path, _: &Directories) -> Result<Ground, String> {
        if workspace == self.0.workspace { Ok(self.0.clone()) } else { Err("another workspace".to_owned()) }
    }
}

impl Clockwork {
    pub fn new(script: &str) -> Self {
        Self::with(script, "", &[])
    }

    /// With more of a configuration, and components beside the built-in tools, each granted everything.
    pub fn with(script: &str, config: &str, components: &[PathBuf]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let workspace = root.join("ws");
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(root.join("script.toml"), script).unwrap();
        let text = format!(
            "{config}\n[providers.fake]\nwire = \"scripted\"\nscript = {:?}\n",
            root.join("script.toml")
        );
        let config = Config::parse(&text).unwrap();
        let dirs = Dirs { config: root.join("config"), data: root.join("data"), cache: root.join("cache") };
        let store = Store::open(&dirs.data.join("state.db")).unwrap();
        let opened = Opened::open(&workspace, &[], &dirs.places()).unwrap();
        let mut toolbox = Toolbox::new(opened, Some(&code_cache()), Limits::default()).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        for path in components {
            let bytes = ringfence::config::read_component(path, MAX_COMPONENT).unwrap();
            runtime.block_on(toolbox.add(path.clone(), bytes, Grant(Rights::all()))).unwrap();
        }
        let cron = config.cron.clone();
        let commands = crate::support::commands(&dirs);
        let ground = Ground::new(
            (Arc::new(toolbox), Arc::new(config)),
            (dirs, workspace),
            (Arc::clone(&store), commands),
            Client::new(),
        );
        let clock = Arc::new(AtomicI64::new(START));
        Self { temp, store, config: cron, ground, clock, runtime, stop: watch::Sender::new(false) }
    }

    pub fn workspace(&self) -> &Path {
        &self.ground.workspace
    }

    pub fn exists(&self, name: &str) -> bool {
        self.workspace().join(name).exists()
    }

    pub fn now(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    pub fn set(&self, at: i64) {
        self.clock.store(at, Ordering::SeqCst);
    }

    pub fn later(&self, by: i64) {
        self.set(self.now() + by);
    }

    /// A process that runs jobs.
    pub fn service(&self) -> Schedule {
        self.service_on(&self.store, None)
    }

    pub fn service_on(&self, store: &Arc<Store>, workspace: Option<PathBuf>) -> Schedule {
        let _inside = self.runtime.enter();
        let dirs = self.ground.dirs.clone();
        let presence = Presence::announce(&dirs).unwrap();
        let house: Arc<dyn House> = Arc::new(One(self.ground.clone()));
        let tasks = Tasks::open(
            store,
            Arc::clone(&house),
            (dirs, presence, "serve"),
            (TasksConfig::default(), Hands::Own),
        )
        .unwrap();
        let clock = Arc::clone(&self.clock);
        let now = Arc::new(move || clock.load(Ordering::SeqCst));
        Schedule::with_clock((tasks, house), Arc::clone(store), self.config.clone(), workspace, now)
    }

    /// One look, without waiting for what it starts.
    pub fn tick(&self, schedule: &Schedule) -> Option<i64> {
        let _inside = self.runtime.enter();
        schedule.tick(&self.stop.subscribe())
    }

    /// One look, and the end of everything that it starts.
    pub fn turn(&self, schedule: &Schedule) {
        self.tick(schedule);
        self.runtime.block_on(schedule.idle());
    }

    /// What a main agent holds that nothing was taken from.
    pub fn rights(&self) -> Rights {
        Rights {
            capabilities: CapabilitySet::ALL,
            directories: Directories::of([(self.workspace().to_owned(), Access::ReadWrite)]),
            hosts: Hosts::none(),
        }
    }

    pub fn read_only(&self) -> Rights {
        let directories = Directories::of([(self.workspace().to_owned(), Access::ReadOnly)]);
        Rights { directories, ..self.rights() }
    }

    pub fn without(&self, capability: Capability) -> Rights {
        Rights { capabilities: CapabilitySet::ALL.without(capability), ..self.rights() }
    }

    /// The turn of somebody in a session with these rights.
    pub fn origin(&self, session: &str, rights: &Rights, tools: Option<&[&str]>) -> Origin {
        let provider = self.ground.provider(None, None).unwrap();
        let budget = Budget { iterations: 1, tokens: None, cost: None, time: None, reply_tokens: 1 };
        Origin {
            ground: self.ground.clone(),
            key: SessionKey::parse(session),
            turn: ringfence::config::fresh_id(),
            rights: rights.clone(),
            purse: Purse::of(&budget),
            of: TurnOf {
                profile: "main".to_owned(),
                tools: tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect()),
                provider: provider.name().to_owned(),
                model: provider.model().to_owned(),
                most: Default::default(),
            },
            kept: true,
        }
    }

    /// Calls a tool as somebody in that session, who has `cron`.
    pub fn call(
        &self,
        schedule: &Schedule,
        origin: Origin,
        tool: &str,
        arguments: serde_json::Value,
    ) -> Reply {
        let key = origin.key.clone();
        let flags = Flags(origin.rights.clone());
        let ports = MainPorts { scheduler: schedule.scheduler(origin), ..Unavailable::main() };
        let calling = Calling {
            profile: Profile::plain(Role::Main),
            flags,
            ports: Ports::Main(Arc::new(ports)),
            key: &key,
            kept: true,
        };
        let caller: Agent = self.ground.caller(calling).unwrap();
        self.runtime.block_on(self.ground.toolbox.call(&caller, tool, &arguments.to_string()))
    }

    /// Adds a job of a session.
    pub fn add(&self, session: &str, plan: Plan, message: &str) -> JobRow {
        self.add_as(&self.origin(session, &self.rights(), None), plan, message)
    }

    pub fn add_as(&self, origin: &Origin, plan: Plan, message: &str) -> JobRow {
        let draft = Draft { name: None, message: message.to_owned(), plan, missed: None };
        schedule::add(&self.store, &self.config, &owner(origin), &draft, self.now()).unwrap()
    }

    pub fn job(&self, id: &str) -> JobRow {
        self.store.job(id).unwrap().unwrap()
    }

    pub fn state(&self, id: &str) -> JobState {
        self.job(id).state
    }

    /// What became of its due times, oldest first.
    pub fn runs(&self, id: &str) -> Vec<RunRow> {
        let mut runs = self.store.job_runs(id, 1_000).unwrap();
        runs.reverse();
        runs
    }

    /// `due outcome`, in minutes since the clock began.
    pub fn outcomes(&self, id: &str) -> Vec<(i64, RunOutcome)> {
        self.runs(id).iter().map(|run| ((run.due - START) / MINUTE, run.outcome)).collect()
    }

    pub fn letters(&self) -> Vec<LetterRow> {
        self.store.letters(Some(&Workspace::at(self.workspace()))).unwrap()
    }

    pub fn session(&self, name: &str) -> Session {
        Session::open_in(&self.store, self.workspace(), SessionKey::parse(name)).unwrap()
    }

    /// Everything that was said in a session, as one text.
    pub fn said(&self, name: &str) -> String {
        format!("{:?}", self.session(name).messages())
    }

    /// Somebody has a turn of a session, for as long as the value stands.
    pub fn busy(&self, session: &str) -> Lock {
        let name = format!("{}\0{}", self.workspace().display(), SessionKey::parse(session));
        Lock::try_take(&self.ground.dirs, &name).unwrap().unwrap()
    }

    /// The database, bare.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.store.path()).unwrap()
    }

    pub fn root(&self) -> &Path {
        self.temp.path()
    }

    pub fn dirs(&self) -> &Dirs {
        &self.ground.dirs
    }
}

pub fn owner(origin: &Origin) -> Owner<'_> {
    Owner {
        workspace: &origin.ground.workspace,
        key: &origin.key,
        of: &origin.of,
        rights: &origin.rights,
        tokens: None,
        time: None,
        silent: false,
        by: "agent",
    }
}

pub fn every(seconds: u64) -> Plan {
    Plan::every(seconds).unwrap()
}

/// A model that says this whatever it is asked.
pub fn always(text: &str) -> String {
    format!("[[reply]]\ntext = {text:?}\nrepeat = true\n")
}
