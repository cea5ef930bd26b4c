//! Turns of a scripted model with the real tools, and everything that was seen of them.

use super::World;
use ringfence::agent::{Budget, Purse, Said, Turn, TurnEnd, What};
use ringfence::provider::scripted::{Script, Scripted};
use ringfence::provider::{Answer, Delta, Message, ModelRequest, Provider, Usage};
use ringfence::session::{Session, SessionKey};
use ringfence::toolbox::Agent;
use std::sync::Mutex;
use tokio::runtime::Runtime;

/// One request as it reached the model.
#[derive(Debug, Clone)]
pub struct Asked {
    pub messages: Vec<Message>,
    pub tools: Vec<String>,
    pub max_tokens: u32,
}

/// A scripted model that remembers what it was asked.
pub struct Watched {
    inner: Scripted,
    asked: Mutex<Vec<Asked>>,
}

impl Provider for Watched {
    fn model(&self) -> &str {
        self.inner.model()
    }
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn context_window(&self) -> u64 {
        self.inner.context_window()
    }
    fn cost(&self, usage: Usage) -> Option<u64> {
        self.inner.cost(usage)
    }
    fn ask<'a>(&'a self, request: ModelRequest<'a>, deltas: &'a (dyn Fn(Delta) + Send + Sync)) -> Answer<'a> {
        self.asked.lock().unwrap().push(Asked {
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            max_tokens: request.max_tokens,
        });
        self.inner.ask(request, deltas)
    }
}

/// A conversation with a scripted model.
pub struct Stage {
    model: Watched,
    pub session: Session,
    pub budget: Budget,
    pub system: String,
    events: Mutex<Vec<What>>,
    follow_ups: Mutex<Vec<Vec<String>>>,
    runtime: Runtime,
}

impl Stage {
    pub fn new(script: &str) -> Self {
        let inner = Scripted::new(Script::parse(script).unwrap());
        Self {
            model: Watched { inner, asked: Mutex::default() },
            session: Session::ephemeral(SessionKey::new("test", "1")),
            budget: Budget { iterations: 40, tokens: None, cost: None, time: None, reply_tokens: 8192 },
            system: "You are tested.".to_owned(),
            events: Mutex::default(),
            follow_ups: Mutex::default(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap(),
        }
    }

    /// Messages that come in meanwhile: one batch each time the turn asks.
    pub fn meanwhile(self, batches: &[&[&str]]) -> Self {
        let owned = |batch: &&[&str]| batch.iter().map(|text| (*text).to_owned()).collect();
        *self.follow_ups.lock().unwrap() = batches.iter().map(owned).collect();
        self
    }

    pub fn play(&mut self, world: &World, agent: &Agent, prompt: &str) -> TurnEnd {
        let toolbox = world.toolbox().read().unwrap();
        let follow_ups = || {
            let mut waiting = self.follow_ups.lock().unwrap();
            let batch = if waiting.is_empty() { Vec::new() } else { waiting.remove(0) };
            batch.into_iter().map(Said::by_person).collect()
        };
        let listen = |what| self.events.lock().unwrap().push(what);
        let turn = Turn {
            provider: &self.model,
            toolbox: &toolbox,
            caller: agent,
            session: &mut self.session,
            system: &self.system,
            budget: &self.budget,
            purse: &Purse::of(&self.budget),
            temperature: None,
            follow_ups: &follow_ups,
            listen: &listen,
        };
        self.runtime.block_on(turn.run(vec![Said::by_person(prompt)]))
    }

    /// Begins a turn and drops it as soon as that has happened.
    pub fn abandon(
        &mut self,
        world: &World,
        agent: &Agent,
        prompt: &str,
        until: impl Fn(&What) -> bool + Send + Sync,
    ) {
        let toolbox = world.toolbox().read().unwrap();
        let now = tokio::sync::Notify::new();
        let listen = |what: What| {
            if until(&what) {
                now.notify_one();
            }
            self.events.lock().unwrap().push(what);
        };
        let turn = Turn {
            provider: &self.model,
            toolbox: &toolbox,
            caller: agent,
            session: &mut self.session,
            system: &self.system,
            budget: &self.budget,
            purse: &Purse::of(&self.budget),
            temperature: None,
            follow_ups: &Vec::new,
            listen: &listen,
        };
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = now.notified() => {}
                end = turn.run(vec![Said::by_person(prompt)]) => panic!("it came to its end: {end:?}"),
            }
        });
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.model.asked.lock().unwrap().clone()
    }

    pub fn events(&self) -> Vec<What> {
        self.events.lock().unwrap().clone()
    }

    /// Everything of the script was played.
    pub fn finish(&self) {
        self.model.inner.finish().unwrap();
    }

    /// The texts of all results in the conversation, in order, with whether each is an error.
    pub fn results(&self) -> Vec<(String, bool)> {
        let messages = self.session.messages().iter();
        messages.flat_map(|m| m.results().map(|r| (r.text.clone(), r.is_error)).collect::<Vec<_>>()).collect()
    }

    /// `name outcome` of every call, in the order in which they were over.
    pub fn outcomes(&self) -> Vec<String> {
        let finished = self.events().into_iter().filter_map(|what| match what {
            What::ToolFinished { name, outcome, kind, .. } => Some(match kind {
                Some(kind) => format!("{name} {outcome} {kind}"),
                None => format!("{name} {outcome}"),
            }),
            _ => None,
        });
        finished.collect()
    }
}
