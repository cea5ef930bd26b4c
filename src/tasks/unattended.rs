//! Turns that nobody watches: of scheduled jobs, and of results whose conversation nobody has open. What they say becomes
//! letters. They hold no `cron`: nobody would see what they schedule.

use super::awaited::Awaited;
use super::{Announcement, Origin, Place, Standing, Tasks, TurnOf};
use crate::agent::{Budget, Calling, Ground, Hooks, Purse, Round, Said, TurnEnd, TurnOutcome, What, Work};
use crate::authority::{Capability, Flags, Profile, Rights, Role};
use crate::bus::{Letterbox, Sender};
use crate::config;
use crate::sandbox::ports::{MainPorts, Unavailable};
use crate::session::SessionKey;
use crate::store::NewLetter;
use crate::store::Workspace;
use crate::toolbox::Ports;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch as signal;

/// A session that nobody looks at, and what its turns are held to.
pub struct Unattended {
    /// The runs of this process; what a turn starts is among them.
    pub tasks: Tasks,
    /// What the workspace has.
    pub ground: Ground,
    /// The session.
    pub key: SessionKey,
    /// As what and with which model its turns run.
    pub of: TurnOf,
    /// The most that they hold.
    pub rights: Rights,
    /// Time of a turn.
    pub time: Option<Duration>,
    /// Tokens of a turn and everything that it starts.
    pub tokens: Option<u64>,
    /// Whether nothing is sent to the person.
    pub silent: bool,
}

impl Unattended {
    /// One turn, and a further one for whatever it started and that ends. `source` names what it is about; the answer is kept
    /// as a letter under that name, once. Ends when `stop` says so.
    ///
    /// # Errors
    ///
    /// Why it cannot begin, or what was said cannot be kept, in words.
    pub async fn go(
        &self,
        said: Vec<Said>,
        source: &str,
        stop: signal::Receiver<bool>,
    ) -> Result<TurnEnd, String> {
        let place: Place = (self.ground.workspace.clone(), self.key.clone());
        let _claim = self.tasks.claim(&place);
        let awaited = self.tasks.awaiting(&place);
        let budget = self.budget();
        let purse = Purse::of(&budget);
        let mut end = self.turn(said, source, (&purse, Some(&awaited)), &stop).await?;
        while matches!(end.outcome, TurnOutcome::Completed) {
            let arrived = tokio::select! {
                arrived = awaited.arrival_or_none(&self.tasks) => arrived,
                () = stopped(stop.clone()) => break,
            };
            let Some(arrived) = arrived else { break };
            end = self.hear_of(arrived, (&purse, Some(&awaited)), &stop).await?.unwrap_or(end);
        }
        for left in awaited.arrived() {
            self.quietly(&left);
        }
        Ok(end)
    }

    /// A turn about what has ended. `None` when there was nothing to ask the agent about.
    ///
    /// # Errors
    ///
    /// As [`Unattended::go`].
    pub async fn hear(
        &self,
        arrived: Vec<Announcement>,
        purse: &Purse,
        stop: &signal::Receiver<bool>,
    ) -> Result<Option<TurnEnd>, String> {
        self.hear_of(arrived, (purse, None), stop).await
    }

    async fn hear_of(
        &self,
        arrived: Vec<Announcement>,
        with: (&Purse, Option<&Awaited>),
        stop: &signal::Receiver<bool>,
    ) -> Result<Option<TurnEnd>, String> {
        let (quiet, aloud): (Vec<_>, Vec<_>) = arrived
            .into_iter()
            .partition(|arrived| arrived.quiet() || arrived.standing == Standing::Answered);
        for announcement in &quiet {
            self.quietly(announcement);
        }
        let Some(first) = aloud.first() else { return Ok(None) };
        let source = first.source();
        let said = aloud.iter().map(Announcement::said).collect();
        let end = match self.turn(said, &source, with, stop).await {
            Ok(end) => end,
            Err(problem) => {
                aloud.iter().for_each(|announcement| self.quietly(announcement));
                return Err(problem);
            }
        };
        for announcement in &aloud {
            match end.outcome {
                TurnOutcome::Completed => self.noted(announcement),
                // The model could not be asked: the person is told all the same, by the host.
                _ => self.quietly(announcement),
            }
        }
        Ok(Some(end))
    }

    /// What a turn may take.
    pub fn budget(&self) -> Budget {
        let agent = &self.ground.config.agent;
        // Its profile as it is configured now.
        let most = self.ground.config.profile_limits(&self.of.profile);
        self.of.most.within(Budget {
            iterations: most.iterations(agent.main_iterations),
            tokens: most.tokens(self.tokens.or(agent.max_tokens)),
            cost: agent.max_cost,
            time: most.time(self.time.or(agent.timeout)),
            reply_tokens: agent.reply_tokens,
        })
    }

    fn noted(&self, announcement: &Announcement) {
        if let Err(error) = self.tasks.delivered(&announcement.id) {
            tracing::warn!(
                "that the result of task {} was delivered cannot be noted: {error}",
                announcement.id
            );
        }
    }

    /// The host tells the person, and the conversation without asking the model.
    fn quietly(&self, announcement: &Announcement) {
        self.tasks.tell_by_letter(announcement);
    }

    /// Puts a letter into the outbox, once under this name.
    fn letter(&self, kind: &str, content: &str, source: &str) {
        let workspace = Workspace::at(&self.ground.workspace);
        let letter = NewLetter {
            workspace: &workspace,
            channel: self.key.channel(),
            chat: self.key.chat(),
            source: Some(source),
            kind,
            content,
            attachments: &[],
        };
        if let Err(error) = self.ground.store.put_letter(&letter) {
            tracing::error!("a letter to {} cannot be kept: {error}", self.key);
        }
    }

    async fn turn(
        &self,
        said: Vec<Said>,
        source: &str,
        (purse, awaited): (&Purse, Option<&Awaited>),
        stop: &signal::Receiver<bool>,
    ) -> Result<TurnEnd, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let place: Place = (self.ground.workspace.clone(), self.key.clone());
        let provider = self
            .ground
            .provider(Some(&self.of.provider), Some(&self.of.model))
            .map_err(|error| text(&error))?;
        let mut rights = self.rights.clone();
        rights.capabilities = rights.capabilities.without(Capability::Cron);
        let nothing = || Ports::Main(Arc::new(Unavailable::main()));
        let calling = Calling {
            profile: self.of.profile(Profile::plain(Role::Main)),
            flags: Flags(rights),
            ports: nothing(),
            key: &self.key,
            kept: true,
        };
        let mut caller = self.ground.caller(calling).map_err(|error| text(&error))?;
        let turn = config::fresh_id();
        if let Some(awaited) = awaited {
            awaited.add(&turn);
        }
        let origin = Origin {
            ground: self.ground.clone(),
            key: self.key.clone(),
            turn: turn.clone(),
            rights: caller.holds().rights().clone(),
            purse: purse.clone(),
            of: self.of.clone(),
            kept: true,
        };
        let letters = Arc::new(Letterbox::new(
            Arc::clone(&self.ground.store),
            Sender { key: self.key.clone(), workspace: self.ground.workspace.clone() },
            self.silent,
        ));
        let ports = MainPorts {
            courier: Arc::clone(&letters) as _,
            spawner: self.tasks.spawner(origin),
            shared: self.ground.shared(),
            ..Unavailable::main()
        };
        caller.rebind(Ports::Main(Arc::new(ports))).map_err(|error| text(&error))?;
        let budget = self.budget();
        let heard: Mutex<Vec<Announcement>> = Mutex::default();
        let held = caller.holds().rights().clone();
        let follow_ups = || {
            // The results of all calls until now stand in the conversation.
            self.tasks.given_is_kept(&turn);
            let mut arrived = awaited.map(Awaited::arrived).unwrap_or_default();
            arrived.extend(self.tasks.arrived_for(&place, &held));
            let said = arrived.iter().map(Announcement::said).collect();
            heard.lock().unwrap_or_else(PoisonError::into_inner).extend(arrived);
            said
        };
        let round = Round {
            ground: &self.ground,
            provider: provider.as_ref(),
            caller: &caller,
            key: &self.key,
            memory: None,
            budget: &budget,
            purse,
            temperature: None,
            shared: true,
        };
        let hooks = Hooks { listen: &|_: What| {}, follow_ups: &follow_ups, notice: &|_| {} };
        let end = round.go(Work::Say(said), hooks, stopped(stop.clone())).await.map_err(|error| text(&error));
        // What it left running has nobody any more.
        self.ground.commands.end_of(&caller.id);
        self.tasks.given_is_kept(&turn);
        let heard = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        let end = match end {
            Ok(end) => end,
            Err(problem) => {
                heard.iter().for_each(|announcement| self.quietly(announcement));
                return Err(problem);
            }
        };
        // Who wrote to the person has answered already.
        if !self.silent && !letters.sent() && !end.text.trim().is_empty() {
            self.letter("answer", &end.text, &format!("answer:{source}"));
        }
        for announcement in &heard {
            match end.outcome {
                TurnOutcome::Completed => self.noted(announcement),
                _ => self.quietly(announcement),
            }
        }
        Ok(end)
    }
}

/// Ready when it says so; never when nobody can say so any more.
async fn stopped(mut stop: signal::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
