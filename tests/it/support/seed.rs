//! Background work that is on record before the program starts.

use super::{Program, Ran};
use ringfence::authority::{Access, CapabilitySet, Directories, Hosts, Rights};
use ringfence::config::{Dirs, Presence};
use ringfence::session::{Session, SessionKey};
use ringfence::store::{NewProcess, NewTask, Recorded, Store, TaskRow, Workspace};
use ringfence::tasks::TurnOf;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for something that never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until something is there.
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The store of a program, and its workspace.
pub struct Seed {
    pub store: Arc<Store>,
    pub workspace: PathBuf,
    dirs: Dirs,
}

impl Seed {
    pub fn of(program: &Program) -> Self {
        let home = program.home();
        let dirs = Dirs { config: home.join("config"), data: home.join("data"), cache: home.join("cache") };
        Self { store: Store::open(&program.state()).unwrap(), workspace: program.workspace(), dirs }
    }

    /// A run of the session `cli:CHAT` that waits and is nobody's.
    pub fn task(&self, id: &str, chat: &str, task: &str) -> TaskRow {
        self.task_in(&self.workspace, id, chat, task)
    }

    pub fn task_in(&self, workspace: &Path, id: &str, chat: &str, task: &str) -> TaskRow {
        let rights = Rights {
            capabilities: CapabilitySet::ALL,
            directories: Directories::none().with(workspace.to_owned(), Access::ReadWrite),
            hosts: Hosts::none(),
        };
        let model = || "scripted".to_owned();
        let of = TurnOf {
            profile: "main".to_owned(),
            tools: None,
            provider: "fake".to_owned(),
            model: model(),
            most: Default::default(),
        };
        let new = NewTask {
            id,
            workspace: &Workspace::at(workspace),
            channel: "cli",
            chat,
            turn: id,
            digest: id,
            label: task,
            task,
            profile: "subagent",
            provider: "fake",
            model: &model(),
            rights: &rights.to_text(),
            max_iterations: 15,
            max_tokens: Some(200_000),
            max_cost: None,
            temperature: None,
            time_ms: 900_000,
            retry_of: None,
            owner: None,
            kept: true,
            origin: &serde_json::to_string(&of).unwrap(),
        };
        match self.store.record_task(&new, 1_000).unwrap() {
            Recorded::New(row) => row,
            other => panic!("{other:?}"),
        }
    }

    pub fn row(&self, id: &str) -> TaskRow {
        self.store.task(id).unwrap().unwrap()
    }

    /// Another process of this program, as others see it.
    pub fn process(&self, kind: &str) -> Presence {
        let presence = Presence::announce(&self.dirs).unwrap();
        let process = NewProcess { id: presence.id(), kind, pid: std::process::id() };
        self.store.register_process(&process).unwrap();
        presence
    }

    /// The texts of a session that the host put in from this source, and all texts behind the first of them.
    pub fn told(&self, chat: &str, source: &str) -> (usize, Vec<String>) {
        let session = Session::open_in(&self.store, &self.workspace, SessionKey::new("cli", chat)).unwrap();
        let rows = session.history_rows().unwrap();
        let of = |at: usize| rows[at].source.as_deref() == Some(source);
        let count = (0..rows.len()).filter(|at| of(*at)).count();
        let behind = (0..rows.len()).find(|at| of(*at)).map_or(rows.len(), |at| at + 1);
        (count, rows[behind..].iter().map(|kept| kept.message.text()).collect())
    }
}

/// The program at work. A test that fails leaves none behind.
pub struct Going(Option<Child>);

impl Going {
    pub fn start(program: &Program, arguments: &[&str]) -> Self {
        Self(Some(program.command().args(arguments).spawn().unwrap()))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    pub fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(self.child()), signal).unwrap();
    }

    pub fn stdout(&mut self) -> ChildStdout {
        self.child().stdout.take().unwrap()
    }

    /// What it ended with, without reading what it says.
    pub fn code(&mut self) -> i32 {
        let status = until("the end", || self.child().try_wait().unwrap());
        status.code().unwrap_or(-1)
    }

    /// What it came to, when it has ended.
    pub fn end(mut self) -> Ran {
        Ran::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
