//! Background runs in a workspace with the real tools and a scripted model, the sessions that they come from, and processes
//! that can die.

use super::{Reply, code_cache};
use ringfence::agent::{Budget, Calling, Ground, Hooks, Purse, Round, Said, TurnEnd, What, Work};
use ringfence::authority::{Access, CapabilitySet, Directories, Flags, Grant, Hosts, Profile, Rights, Role};
use ringfence::bus::{Letterbox, Sender};
use ringfence::config::{Config, Dirs, Presence};
use ringfence::egress::Client;
use ringfence::sandbox::ports::{Error, MainPorts, Request, Spawner};
use ringfence::sandbox::{Limits, MAX_COMPONENT, Opened};
use ringfence::schedule;
use ringfence::session::{Kept, Session, SessionKey};
use ringfence::store::{AuditFilter, Execution, JobFilter, Store, TaskFilter, TaskRow};
use ringfence::tasks::{Announcement, Hands, House, Origin, Place, Tasks, TurnOf, Unattended};
use ringfence::toolbox::{Agent, Ports, Toolbox};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender as Into, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long to wait for something that never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A reply that does not come, to whoever is asked to hang.
pub const HANGS: &str = "[[reply]]\nuser = \"hang\"\ndelay_ms = 3600000\ntext = \"never\"\nrepeat = true\n";

/// The one workspace. Says of each run that it has begun, and can fail the worst way there is.
struct Gate {
    ground: Ground,
    begun: Mutex<Into<()>>,
    panics: Arc<AtomicU32>,
}

impl House for Gate {
    fn ground(&self, workspace: &Path, _: &Directories) -> Result<Ground, String> {
        let _ = self.begun.lock().unwrap().send(());
        let panic = self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(panic.is_err(), "the house burns");
        if workspace == self.ground.workspace { Ok(self.ground.clone()) } else { Err("elsewhere".to_owned()) }
    }
}

/// A workspace and a store.
pub struct Yard {
    _temp: tempfile::TempDir,
    pub store: Arc<Store>,
    pub ground: Ground,
}

/// A process with background runs.
pub struct Process {
    runtime: Runtime,
    pub tasks: Tasks,
    begun: Receiver<()>,
    /// How many of the next runs meet a panic.
    pub panics: Arc<AtomicU32>,
}

/// One turn of a session.
pub struct At {
    pub origin: Origin,
    pub place: Place,
    pub spawner: Arc<dyn Spawner>,
}

/// Everything in the store that a tool could have put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effects {
    /// Every run, and whether somebody ended it.
    pub tasks: Vec<String>,
    pub jobs: Vec<String>,
    pub letters: Vec<String>,
}

/// A run that is asked nothing but this.
pub fn request(task: &str) -> Request {
    Request {
        task: task.to_owned(),
        label: None,
        profile: None,
        model: None,
        temperature: None,
        max_iterations: None,
        max_tokens: None,
        max_cost_micros: None,
        timeout_ms: None,
    }
}

/// A task whose words stand where an announcement leaves a long task out: a reply to them is a reply to the run alone.
pub fn buried(words: &str) -> String {
    format!("{} {words} {}", "so ".repeat(150), "on ".repeat(150))
}

impl Yard {
    pub fn new(script: &str) -> Self {
        Self::with(script, "", &[])
    }

    /// With more of a configuration, and components beside the built-in tools, each granted everything.
    pub fn with(script: &str, config: &str, components: &[PathBuf]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let workspace = root.join("ws");
        std::fs::create_dir(&workspace).unwrap();
        let path = root.join("script.toml");
        std::fs::write(&path, script).unwrap();
        let text = format!("{config}\n[providers.fake]\nwire = \"scripted\"\nscript = {path:?}\n");
        let config = Config::parse(&text).unwrap();
        let dirs = Dirs { config: root.join("config"), data: root.join("data"), cache: root.join("cache") };
        let store = Store::open(&dirs.data.join("state.db")).unwrap();
        let opened = Opened::open(&workspace, &[], &dirs.places()).unwrap();
        let mut toolbox = Toolbox::new(opened, Some(&code_cache()), Limits::default()).unwrap();
        for path in components {
            let bytes = ringfence::config::read_component(path, MAX_COMPONENT).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(toolbox.add(path.clone(), bytes, Grant(Rights::all()))).unwrap();
        }
        let parts = (Arc::new(toolbox), Arc::new(config));
        let commands = crate::support::commands(&dirs);
        let ground = Ground::new(parts, (dirs, workspace), (Arc::clone(&store), commands), Client::new());
        Self { _temp: temp, store, ground }
    }

    /// A process that runs what is started in it.
    pub fn process(&self) -> Process {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (into, begun) = channel();
        let panics = Arc::new(AtomicU32::new(0));
        let gate = Gate { ground: self.ground.clone(), begun: Mutex::new(into), panics: Arc::clone(&panics) };
        let dirs = self.ground.dirs.clone();
        let presence = Presence::announce(&dirs).unwrap();
        let tasks = {
            let _inside = runtime.enter();
            let how = (self.ground.config.tasks.clone(), Hands::Own);
            Tasks::open(&self.store, Arc::new(gate), (dirs, presence, "run"), how).unwrap()
        };
        Process { runtime, tasks, begun, panics }
    }

    pub fn workspace(&self) -> &Path {
        &self.ground.workspace
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// What main holds that nothing was taken from.
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

    pub fn place(&self, session: &str) -> Place {
        (self.workspace().to_owned(), SessionKey::parse(session))
    }

    /// As what and with which model main's turns run.
    pub fn turn_of(&self, profile: &Profile) -> TurnOf {
        let provider = self.ground.provider(None, None).unwrap();
        TurnOf {
            profile: profile.name.clone(),
            tools: profile.tools.clone(),
            provider: provider.name().to_owned(),
            model: provider.model().to_owned(),
            most: Default::default(),
        }
    }

    pub fn row(&self, id: &str) -> TaskRow {
        self.store.task(id).unwrap().unwrap()
    }

    /// All runs, oldest first.
    pub fn rows(&self) -> Vec<TaskRow> {
        let mut rows = self.store.tasks(&TaskFilter::default()).unwrap();
        rows.reverse();
        rows
    }

    pub fn effects(&self) -> Effects {
        let tasks = self.rows().into_iter().map(|row| match row.execution {
            Execution::Cancelled => format!("{} cancelled", row.id),
            _ => row.id,
        });
        let all = JobFilter { all_states: true, ..JobFilter::default() };
        let jobs = self.store.jobs(&all).unwrap().into_iter().map(|job| job.message);
        let letters = self.store.letters(None).unwrap().into_iter().map(|letter| letter.content);
        Effects { tasks: tasks.collect(), jobs: jobs.collect(), letters: letters.collect() }
    }

    pub fn session(&self, name: &str) -> Session {
        Session::open_in(&self.store, self.workspace(), SessionKey::parse(name)).unwrap()
    }

    pub fn history(&self, name: &str) -> Vec<Kept> {
        self.session(name).history_rows().unwrap()
    }

    /// `tool outcome kind` of every call in a session, in order.
    pub fn calls(&self, session: &str) -> Vec<(String, String)> {
        let filter =
            AuditFilter { session: Some(SessionKey::parse(session).to_string()), ..AuditFilter::default() };
        let rows = self.store.audit(&filter).unwrap().into_iter();
        rows.map(|row| match row.kind {
            Some(kind) => (row.tool, format!("{} {kind}", row.outcome)),
            None => (row.tool, row.outcome),
        })
        .collect()
    }
}

impl Process {
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
    }

    /// Goes on beside what else happens.
    pub fn beside<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime.spawn(work)
    }

    /// A turn of main, held to nothing.
    pub fn at(&self, yard: &Yard, session: &str) -> At {
        self.at_with(yard, session, &yard.rights(), Purse::of(&budget(None)))
    }

    pub fn at_with(&self, yard: &Yard, session: &str, rights: &Rights, purse: Purse) -> At {
        let origin = Origin {
            ground: yard.ground.clone(),
            key: SessionKey::parse(session),
            turn: ringfence::config::fresh_id(),
            rights: rights.clone(),
            purse,
            of: yard.turn_of(&Profile::plain(Role::Main)),
            kept: true,
        };
        let spawner = self.tasks.spawner(origin.clone());
        At { origin, place: yard.place(session), spawner }
    }

    /// Starts a run; its id.
    pub fn start(&self, at: &At, request: Request) -> Result<String, Error> {
        self.block_on(at.spawner.start(request)).map(|accepted| accepted.id)
    }

    /// Starts a run that hangs, and waits until it runs.
    pub fn start_hanging(&self, at: &At, name: &str) -> String {
        let id = self.start(at, request(&format!("hang {name}"))).unwrap();
        self.until_begun(1);
        id
    }

    /// Waits until so many more runs have begun.
    pub fn until_begun(&self, count: usize) {
        for _ in 0..count {
            self.begun.recv_timeout(PATIENCE).unwrap();
        }
    }

    /// Starts a run and waits for its end.
    pub fn run(&self, at: &At, request: Request) -> Announcement {
        let id = self.start(at, request).unwrap();
        let announcement = self.arrival(&at.place);
        assert_eq!(announcement.id, id);
        announcement
    }

    pub fn arrival(&self, place: &Place) -> Announcement {
        self.block_on(self.tasks.arrival(place))
    }

    /// A caller with what stands behind its role in earnest: all that it does is in the store.
    pub fn caller(&self, yard: &Yard, profile: Profile, at: &At) -> Agent {
        let (store, key) = (&yard.store, at.origin.key.clone());
        let ports = match profile.role {
            Role::Subagent => Ports::Subagent(Arc::new(yard.ground.shared())),
            Role::Main => {
                let sender = Sender { key: key.clone(), workspace: yard.workspace().to_owned() };
                let cron = yard.ground.config.cron.clone();
                Ports::Main(Arc::new(MainPorts {
                    courier: Arc::new(Letterbox::new(Arc::clone(store), sender, false)),
                    spawner: Arc::clone(&at.spawner),
                    scheduler: schedule::scheduler(Arc::clone(store), cron, at.origin.clone()),
                    shared: yard.ground.shared(),
                }))
            }
        };
        let flags = Flags(at.origin.rights.clone());
        let calling = Calling { profile, flags, ports, key: &key, kept: true };
        yard.ground.caller(calling).unwrap()
    }

    /// Calls a tool as somebody.
    pub fn call(
        &self,
        yard: &Yard,
        profile: &Profile,
        at: &At,
        tool: &str,
        arguments: &serde_json::Value,
    ) -> Reply {
        let caller = self.caller(yard, profile.clone(), at);
        Reply(self.block_on(yard.ground.toolbox.call(&caller, tool, &arguments.to_string())))
    }

    /// A turn in a session, with what comes in meanwhile.
    pub fn turn(
        &self,
        yard: &Yard,
        at: &At,
        said: Vec<Said>,
        follow_ups: &(dyn Fn() -> Vec<Said> + Send + Sync),
    ) -> TurnEnd {
        let never = std::future::pending();
        self.turn_until(yard, at, (said, follow_ups), &|_| {}, never)
    }

    /// Begins a turn and drops it as soon as what was said is kept.
    pub fn abandon(&self, yard: &Yard, at: &At, said: Vec<Said>) {
        let kept = tokio::sync::Notify::new();
        let listen = |what: What| {
            if matches!(what, What::TurnStarted { .. }) {
                kept.notify_one();
            }
        };
        let caller = self.caller(yard, Profile::plain(Role::Main), at);
        let (budget, provider) = (budget(None), yard.ground.provider(None, None).unwrap());
        let round = round(yard, at, &caller, &budget, provider.as_ref());
        let hooks = Hooks { listen: &listen, follow_ups: &Vec::new, notice: &|_| {} };
        self.block_on(async {
            tokio::select! {
                biased;
                () = kept.notified() => {}
                end = round.go(Work::Say(said), hooks, std::future::pending()) => panic!("{end:?}"),
            }
        });
    }

    fn turn_until(
        &self,
        yard: &Yard,
        at: &At,
        (said, follow_ups): (Vec<Said>, &(dyn Fn() -> Vec<Said> + Send + Sync)),
        listen: &(dyn Fn(What) + Send + Sync),
        stop: impl Future<Output = ()>,
    ) -> TurnEnd {
        let caller = self.caller(yard, Profile::plain(Role::Main), at);
        let (budget, provider) = (budget(None), yard.ground.provider(None, None).unwrap());
        let round = round(yard, at, &caller, &budget, provider.as_ref());
        let hooks = Hooks { listen, follow_ups, notice: &|_| {} };
        let end = self.block_on(round.go(Work::Say(said), hooks, stop)).unwrap();
        self.tasks.given_is_kept(&at.origin.turn);
        end
    }

    /// A turn that nobody watches, and everything that it starts.
    pub fn unattended(
        &self,
        yard: &Yard,
        session: &str,
        (profile, rights): (&Profile, &Rights),
        said: &str,
    ) -> TurnEnd {
        let unattended = self.nobody(yard, session, profile, rights);
        let stop = tokio::sync::watch::Sender::new(false);
        let said = vec![Said::by_host(format!("[host] {said}"), "job:test")];
        self.block_on(unattended.go(said, "job:test", stop.subscribe())).unwrap()
    }

    fn nobody(&self, yard: &Yard, session: &str, profile: &Profile, rights: &Rights) -> Unattended {
        Unattended {
            tasks: self.tasks.clone(),
            ground: yard.ground.clone(),
            key: SessionKey::parse(session),
            of: yard.turn_of(profile),
            rights: rights.clone(),
            time: None,
            tokens: None,
            silent: false,
        }
    }

    /// A turn that nobody watches, about runs that have ended.
    pub fn hear(&self, yard: &Yard, session: &str, arrived: Vec<Announcement>) -> TurnEnd {
        let unattended = self.nobody(yard, session, &Profile::plain(Role::Main), &yard.rights());
        let (stop, purse) = (tokio::sync::watch::Sender::new(false), Purse::of(&budget(None)));
        self.block_on(unattended.hear(arrived, &purse, &stop.subscribe())).unwrap().unwrap()
    }

    /// Ends in order.
    pub fn close(self) {
        self.block_on(self.tasks.close("the test is over"));
        self.tasks.leave();
    }

    /// Ends as a process does that is killed: nothing is written any more, and its lock is free.
    pub fn die(self) {
        let Self { runtime, tasks, .. } = self;
        drop(tasks);
        runtime.shutdown_timeout(PATIENCE);
    }

    /// Ends one run, as the session that it belongs to.
    pub fn end(&self, yard: &Yard, id: &str) {
        let row = yard.row(id);
        let at = self.at(yard, &format!("{}:{}", row.channel, row.chat));
        self.block_on(at.spawner.cancel(id.to_owned())).unwrap();
    }

    /// Ends whatever runs of a session, and waits for it.
    pub fn end_all(&self, place: &Place) {
        self.tasks.cancel_by_session(place, "the test is over");
        while self.block_on(self.tasks.arrival_or_none(place)).is_some() {}
    }
}

/// Forty model calls, and so many tokens.
pub fn budget(tokens: Option<u64>) -> Budget {
    Budget { iterations: 40, tokens, cost: None, time: None, reply_tokens: 8192 }
}

fn round<'a>(
    yard: &'a Yard,
    at: &'a At,
    caller: &'a Agent,
    budget: &'a Budget,
    provider: &'a dyn ringfence::provider::Provider,
) -> Round<'a> {
    Round {
        ground: &yard.ground,
        provider,
        caller,
        key: &at.origin.key,
        memory: None,
        budget,
        purse: &at.origin.purse,
        temperature: None,
        shared: true,
    }
}
