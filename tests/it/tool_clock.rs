//! The clock of calls that wait for other agents or for a command: longer than the ordinary one for the built-in tools that do,
//! and for nothing else.

use crate::support::{self, World};
use crate::tool_tasks::summary;
use ringfence::authority::{Flags, Profile, Rights, Role};
use ringfence::sandbox::ports::{
    Accepted, Answer, Bearer, Command, Courier, Execution, Executor, Finished, Input, MainPorts,
    Outcome as Stands, Outgoing, Receipt, Request, Session, SharedPorts, Spawner, Stand, Summary,
};
use ringfence::sandbox::{CallError, LimitKind};
use ringfence::toolbox::{Agent, Outcome, Ports, text_of};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The ordinary time of a call here: longer than the machine needs for one that does not wait.
const ORDINARY: Duration = Duration::from_secs(1);

/// A spawner and an executor that do not answer until they are told to, and say when they are asked and when an answer is given
/// up; and a courier that never answers.
#[derive(Debug, Default, Clone)]
struct Slow(Arc<Signals>);

#[derive(Debug, Default)]
struct Signals {
    asked: Notify,
    release: Notify,
    dropped: Notify,
}

struct Says<'a>(&'a Notify);

impl Drop for Says<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Slow {
    fn later<'a, T: Send + 'a>(&'a self, value: T) -> Answer<'a, T> {
        Box::pin(async move {
            let _says = Says(&self.0.dropped);
            self.0.asked.notify_one();
            self.0.release.notified().await;
            Ok(value)
        })
    }
}

impl Courier for Slow {
    fn send(&self, _: Outgoing) -> Answer<'_, Receipt> {
        Box::pin(std::future::pending())
    }
}

impl Spawner for Slow {
    fn start(&self, _: Request) -> Answer<'_, Accepted> {
        self.later(Accepted { id: "12345678".into(), label: "slow".into() })
    }
    fn run(&self, _: Request, _: u32) -> Answer<'_, Finished> {
        let (id, label) = ("12345678".into(), "slow".into());
        self.later(Finished { id, label, execution: Execution::Succeeded, text: "at last".into() })
    }
    fn list(&self) -> Answer<'_, Vec<Summary>> {
        self.later(Vec::new())
    }
    fn status(&self, id: String) -> Answer<'_, Summary> {
        self.later(summary(&id, Execution::Running))
    }
    fn result(&self, _: String) -> Answer<'_, String> {
        self.later("at last".into())
    }
    fn cancel(&self, id: String) -> Answer<'_, Summary> {
        self.later(summary(&id, Execution::Cancelled))
    }
    fn wait(&self, ids: Vec<String>, _: u32) -> Answer<'_, Vec<Summary>> {
        self.later(ids.iter().map(|id| summary(id, Execution::Succeeded)).collect())
    }
}

impl Executor for Slow {
    fn run<'a>(&'a self, _: &'a Bearer, _: Command) -> Answer<'a, Stand> {
        self.later(ended().into())
    }
    fn interact<'a>(&'a self, _: &'a Bearer, _: Input) -> Answer<'a, Stand> {
        self.later(ended().into())
    }
    fn sessions<'a>(&'a self, _: &'a Bearer) -> Answer<'a, Vec<Session>> {
        self.later(Vec::new())
    }
}

fn ended() -> Stands {
    Stands {
        session: None,
        exit_code: Some(0),
        stdout: "at last".into(),
        stderr: String::new(),
        dropped: 0,
        elapsed_ms: 1,
        timed_out: false,
        sandbox_level: "full".into(),
    }
}

fn slow_agent(w: &World, slow: &Slow) -> Agent {
    let ports = MainPorts {
        shared: SharedPorts { executor: Arc::new(slow.clone()) },
        courier: Arc::new(slow.clone()),
        spawner: Arc::new(slow.clone()),
        ..w.ports().main_ports()
    };
    let flags = Flags(Rights::all());
    Agent::new("test", Profile::plain(Role::Main), w.root(), flags, Ports::Main(Arc::new(ports))).unwrap()
}

/// The calls that may wait, and what each gives in the end.
fn waiting_calls() -> [(&'static str, String, &'static str); 4] {
    [
        ("spawn", json!({ "task": "x", "wait": true }).to_string(), "at last"),
        ("tasks", json!({ "action": "wait", "id": "a1b2c3d4" }).to_string(), "succeeded"),
        ("exec", json!({ "command": "make" }).to_string(), "at last"),
        ("exec_session", json!({ "session_id": "0123456789ab" }).to_string(), "at last"),
    ]
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Nothing here is timed: while one call waits in its port, another one runs into the ordinary bound.
#[test]
fn a_wait_outlasts_the_ordinary_time_of_a_call_and_no_other_tool_does() {
    let w = World::new().with_timeout(ORDINARY);
    // Compiled before anything is waited for.
    for (tool, arguments) in [
        ("spawn", json!({ "task": "x" })),
        ("tasks", json!({ "action": "list" })),
        ("exec", json!({ "command": "x" })),
        ("exec_session", json!({ "session_id": "0123456789ab" })),
    ] {
        w.call(tool, arguments).text();
    }
    for (tool, arguments, said) in waiting_calls() {
        let slow = Slow::default();
        let agent = slow_agent(&w, &slow);
        let toolbox = w.toolbox().read().unwrap();
        block_on(async {
            let ordinary = async {
                slow.0.asked.notified().await;
                let ended = toolbox.call(&agent, "message", r#"{"content":"hello"}"#).await.outcome;
                let limit = matches!(ended, Outcome::Ended(CallError::Limit(LimitKind::Time)));
                assert!(limit, "{tool}: {ended:?}");
                slow.0.release.notify_one();
            };
            let (waited, ()) = tokio::join!(toolbox.call(&agent, tool, &arguments), ordinary);
            match waited.outcome {
                Outcome::Done(output) => assert!(text_of(&output.content).contains(said), "{tool}"),
                other => panic!("{tool}: {other:?}"),
            }
        });
    }
}

#[test]
fn a_wait_that_nobody_waits_for_leaves_its_port_at_once() {
    let w = World::new();
    for (tool, arguments, _) in waiting_calls() {
        let slow = Slow::default();
        let agent = slow_agent(&w, &slow);
        let toolbox = w.toolbox().read().unwrap();
        block_on(async {
            tokio::select! {
                biased;
                () = slow.0.asked.notified() => {}
                reply = toolbox.call(&agent, tool, &arguments) => panic!("{tool}: {reply:?}"),
            }
            // Without it the port would be held for minutes, and the test with it.
            slow.0.dropped.notified().await;
        });
    }
}

/// Only the built-in tools have the longer clock: another component at the same interface does not wait longer.
#[test]
fn a_component_that_comes_from_elsewhere_keeps_the_ordinary_time() {
    let w = World::new().with_timeout(ORDINARY);
    w.component(&support::hostile("role_spawn"), &["spawn"]);
    w.call("grab_spawn", json!({ "text": "x" })).text();
    let slow = Slow::default();
    let agent = slow_agent(&w, &slow);
    let toolbox = w.toolbox().read().unwrap();
    let ended = block_on(toolbox.call(&agent, "grab_spawn", r#"{"text":"x","wait_ms":300000}"#)).outcome;
    assert!(matches!(ended, Outcome::Ended(CallError::Limit(LimitKind::Time))), "{ended:?}");
    block_on(slow.0.dropped.notified());
}
