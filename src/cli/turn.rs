//! One conversation and everything that its turns work with: the one place where provider, toolbox, caller, session, system
//! prompt and budget come together.

use super::ask::{AskArguments, SessionArguments};
use super::exit::Exit;
use super::house::{Home, Town, at_work};
use super::open::{Setting, Stop, ports};
use crate::agent::{Budget, Calling, Ground, Purse, Round, Said, TurnEnd, What, Work};
use crate::authority::{Profile, Role};
use crate::bus::{Bus as _, Local, Outbound, Post, Sender};
use crate::config;
use crate::exec::Commands;
use crate::provider::{Provider, Usage};
use crate::sandbox::ports::{MainPorts, SharedPorts, Unavailable};
use crate::sandbox::{Limits, Native};
use crate::schedule::{self, Schedule};
use crate::session::{self, Session, SessionKey};
use crate::store::Store;
use crate::tasks::{Announcement, Hands, Most, Origin, Place, Standing, Tasks, TurnOf};
use crate::toolbox::{Agent as Caller, Ports};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// A conversation.
pub(super) struct Talk {
    pub(super) setting: Setting,
    pub(super) ground: Ground,
    pub(super) profile: Profile,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) key: SessionKey,
    pub(super) budget: Budget,
    pub(super) caller: Caller,
    typed: AskArguments,
    /// The background runs of this process.
    pub(super) tasks: Tasks,
    /// Native commands: those of the workspace, or, where the person took the sandbox away from this conversation, others.
    pub(super) commands: Commands,
    /// What fires here while this conversation is open.
    schedule: Option<Schedule>,
    /// What all turns together may take, where it is not each turn for itself.
    purse: Option<Purse>,
    /// The conversation itself, where it is not kept.
    memory: Option<Session>,
    bus: Arc<Local>,
    /// What the person was told of the prompt already.
    noticed: Vec<String>,
}

/// What a turn is told and tells while it runs.
#[derive(Clone, Copy)]
pub(super) struct Hooks<'a> {
    /// Hears everything that happens.
    pub(super) listen: &'a (dyn Fn(What) + Send + Sync),
    /// Is handed messages that an agent sends to the person.
    pub(super) message: &'a dyn Fn(&str),
    /// Messages that came in meanwhile.
    pub(super) follow_ups: &'a (dyn Fn() -> Vec<Said> + Send + Sync),
    /// Is told of background runs that have ended, when the agent is.
    pub(super) arrived: &'a (dyn Fn(&Announcement) + Send + Sync),
}

impl Talk {
    /// Brings everything together. Nothing is asked yet.
    pub(super) fn open(
        typed: &AskArguments,
        which: &SessionArguments,
        (kind, hands): (&str, Hands),
    ) -> Result<Self, Stop> {
        let rights = &typed.rights;
        let setting = Setting::open(rights.workspace.as_deref(), &rights.directories, Limits::default())?;
        let profile = setting.profile(rights.role())?;
        let ground = setting.ground(super::open::store(&setting.dirs)?);
        let provider =
            ground.provider_as(&profile.name, typed.provider.as_deref(), typed.model.as_deref())?;
        let budget = budget(&setting, typed, &profile);
        if budget.cost.is_some() && provider.cost(Usage { input: 1, cached: 0, output: 1 }).is_none() {
            let problem = format!(
                "the cost cannot be limited, since the prices of {} are not known; write them into the configuration",
                provider.model()
            );
            return Err(Stop(problem, Exit::Config));
        }
        let key = which_session(&ground.store, &setting, which)?;
        let memory = which.ephemeral.then(|| Session::ephemeral(key.clone()));
        let bus = Arc::new(Local::new());
        let caller = caller((&setting, &ground), &profile, typed, (&key, which.ephemeral))?;
        let tasks = tasks(&ground, kind, hands)?;
        let commands = if typed.sandbox.none {
            super::native::commands(&setting.native.settings, true)?
        } else {
            ground.commands.clone()
        };
        Ok(Self {
            setting,
            ground,
            profile,
            provider,
            key,
            budget,
            caller,
            typed: typed.clone(),
            commands,
            tasks,
            schedule: None,
            purse: None,
            memory,
            bus,
            noticed: Vec::new(),
        })
    }

    /// Whether the person took the sandbox away from the commands of this conversation.
    pub(super) fn unsandboxed(&self) -> bool {
        self.typed.sandbox.none
    }

    /// Ends the commands of this conversation that still run: how many.
    pub(super) fn end_commands(&self) -> usize {
        self.commands.end_of(&self.caller.id)
    }

    /// Ends every command of this process.
    pub(super) async fn close_commands(&self) {
        self.commands.shut_down().await;
        self.ground.commands.shut_down().await;
    }

    /// The session as it stands now.
    pub(super) fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> Result<T, Stop> {
        match &self.memory {
            Some(session) => Ok(look(session)),
            None => Ok(look(&self.load()?)),
        }
    }

    fn load(&self) -> Result<Session, Stop> {
        Session::open_in(&self.ground.store, &self.setting.workspace, self.key.clone())
            .map_err(|error| Stop(error.to_string(), Exit::Failed))
    }

    /// The first event of a stream.
    pub(super) fn started(&self) -> Result<What, Stop> {
        let messages = self.with_session(|session| session.messages().len())?;
        Ok(What::SessionStarted {
            provider: self.provider.name().to_owned(),
            model: self.provider.model().to_owned(),
            role: self.profile.name.clone(),
            workspace: self.setting.workspace.display().to_string(),
            messages,
        })
    }

    /// Another conversation, with nothing said in it.
    pub(super) fn begin_anew(&mut self) -> Result<(), Stop> {
        self.key = SessionKey::fresh();
        if self.memory.is_some() {
            self.memory = Some(Session::ephemeral(self.key.clone()));
        }
        let ephemeral = (&self.key, self.memory.is_some());
        self.caller = caller((&self.setting, &self.ground), &self.profile, &self.typed, ephemeral)?;
        Ok(())
    }

    /// Another model for the turns to come.
    pub(super) fn take_model(&mut self, model: &str) -> Result<(), Stop> {
        let typed = AskArguments { model: Some(model.to_owned()), ..self.typed.clone() };
        self.provider = self.ground.provider(typed.provider.as_deref(), Some(model))?;
        self.typed = typed;
        Ok(())
    }

    /// Sums up older messages now. Says what came of it.
    pub(super) async fn compact(
        &mut self,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        self.work(Work::Compact, hooks, stop).await
    }

    /// One turn, to its end or until `stop` is ready. Whatever ends it, what was said until then is in the session.
    pub(super) async fn turn(
        &mut self,
        said: Vec<Said>,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        self.work(Work::Say(said), hooks, stop).await
    }

    /// A turn about background runs that have ended. Of those that the agent need not be asked about, it is only told. `None`
    /// when it was not asked at all.
    pub(super) async fn hear(
        &mut self,
        arrived: Vec<Announcement>,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<Option<TurnEnd>, Stop> {
        arrived.iter().for_each(|announcement| (hooks.arrived)(announcement));
        let (quiet, aloud): (Vec<_>, Vec<_>) = arrived
            .into_iter()
            .partition(|arrived| arrived.quiet() || arrived.standing == Standing::Answered);
        quiet.iter().for_each(|announcement| self.tell(announcement));
        if aloud.is_empty() {
            return Ok(None);
        }
        let said = aloud.iter().map(Announcement::said).collect();
        let end = self.work(Work::Say(said), hooks, stop).await?;
        // Whatever came of it, the person was told.
        aloud.iter().for_each(|announcement| self.delivered(announcement));
        Ok(Some(end))
    }

    /// Tells the agent of a run that has ended, without asking it. The person was told.
    pub(super) fn tell(&mut self, announcement: &Announcement) {
        let told = match &mut self.memory {
            Some(session) => {
                let message = crate::provider::Message::user(announcement.text.as_str());
                session.append_from(message, &announcement.source()).map(|_| ())
            }
            None => self.tasks.tell_quietly(announcement),
        };
        match told {
            Ok(()) => self.delivered(announcement),
            Err(error) => {
                tracing::warn!("task {} cannot be announced in its conversation: {error}", announcement.id);
            }
        }
    }

    fn delivered(&self, announcement: &Announcement) {
        if let Err(error) = self.tasks.delivered(&announcement.id) {
            tracing::warn!(
                "that the result of task {} was delivered cannot be noted: {error}",
                announcement.id
            );
        }
    }

    /// Which session, in which workspace.
    pub(super) fn place(&self) -> Place {
        (self.ground.workspace.clone(), self.key.clone())
    }

    /// Whether the conversation is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.memory.is_none()
    }

    /// Lets the scheduled jobs of the workspace run here from now on, until `stop` says otherwise.
    pub(super) fn keep_schedule(&mut self, stop: watch::Receiver<bool>) {
        let schedule = Schedule::open(
            self.tasks.clone(),
            Arc::new(Town::new(Arc::clone(&self.ground.store))),
            Arc::clone(&self.ground.store),
            self.ground.config.cron.clone(),
            Some(self.ground.workspace.clone()),
        );
        self.schedule = Some(schedule.clone());
        tokio::spawn(async move { schedule.run(stop).await });
    }

    /// Waits until no scheduled job runs here.
    pub(super) async fn schedule_idle(&self) {
        if let Some(schedule) = &self.schedule {
            schedule.idle().await;
        }
    }

    fn sender(&self) -> Sender {
        Sender { key: self.key.clone(), workspace: self.ground.workspace.clone() }
    }

    /// Lets all turns from here on take from one purse.
    pub(super) fn share_purse(&mut self) {
        self.purse = Some(Purse::of(&self.budget));
    }

    /// What stands behind the interfaces of a turn. It is bound to the turn: no component can name another.
    fn ports(&self, turn: &str, purse: &Purse) -> Ports {
        let origin = || Origin {
            ground: self.ground.clone(),
            key: self.key.clone(),
            turn: turn.to_owned(),
            rights: self.caller.holds().rights().clone(),
            purse: purse.clone(),
            of: TurnOf {
                profile: self.profile.name.clone(),
                tools: self.profile.tools.clone(),
                provider: self.provider.name().to_owned(),
                model: self.provider.model().to_owned(),
                most: Most::of(&self.budget),
            },
            kept: self.memory.is_none(),
        };
        let shared = SharedPorts {
            executor: Arc::new(Native::new(self.commands.clone(), self.ground.workspace.clone())),
        };
        ports(self.profile.role, shared, |shared| MainPorts {
            shared,
            courier: Arc::new(Post::new(Arc::clone(&self.bus) as _, self.sender())),
            spawner: self.tasks.spawner(origin()),
            scheduler: match &self.schedule {
                Some(schedule) => schedule.scheduler(origin()),
                // It is kept, and fires where a chat is open or `ringfence serve` runs.
                None => schedule::scheduler(
                    Arc::clone(&self.ground.store),
                    self.ground.config.cron.clone(),
                    origin(),
                ),
            },
        })
    }

    async fn work(
        &mut self,
        work: Work,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        let (turn, place) = (config::fresh_id(), self.place());
        let purse = self.purse.clone().unwrap_or_else(|| Purse::of(&self.budget));
        let bound = self.ports(&turn, &purse);
        self.caller.rebind(bound).map_err(|error| Stop(error.to_string(), Exit::Failed))?;
        let noticed = Mutex::new(std::mem::take(&mut self.noticed));
        let notice = |text: String| {
            let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
            if !noticed.contains(&text) {
                noticed.push(text.clone());
                (hooks.listen)(What::Notice { text });
            }
        };
        let heard: Mutex<Vec<Announcement>> = Mutex::default();
        let (tasks, person) = (self.tasks.clone(), hooks.follow_ups);
        let follow_ups = || {
            // The results of all calls until now stand in the conversation.
            tasks.given_is_kept(&turn);
            let mut said = person();
            let arrived = tasks.arrived(&place);
            arrived.iter().for_each(|announcement| (hooks.arrived)(announcement));
            said.extend(arrived.iter().map(Announcement::said));
            heard.lock().unwrap_or_else(PoisonError::into_inner).extend(arrived);
            said
        };
        let round = Round {
            ground: &self.ground,
            provider: self.provider.as_ref(),
            caller: &self.caller,
            key: &self.key,
            memory: self.memory.as_mut(),
            budget: &self.budget,
            purse: &purse,
            temperature: None,
            shared: true,
        };
        let hears = crate::agent::Hooks { listen: hooks.listen, follow_ups: &follow_ups, notice: &notice };
        let end = attend(round.go(work, hears, stop), &self.bus, hooks.message).await;
        self.noticed = noticed.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.tasks.given_is_kept(&turn);
        // They stand in the conversation, and the person was told.
        for announcement in heard.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.delivered(&announcement);
        }
        Ok(end?)
    }
}

/// The background runs of this process.
fn tasks(ground: &Ground, kind: &str, hands: Hands) -> Result<Tasks, Stop> {
    let (house, config) = (Arc::new(Home(ground.clone())), ground.config.tasks.clone());
    at_work(&ground.store, house, ground.dirs.clone(), kind, (config, hands))
}

/// A message as a person reads it.
pub(super) fn shown(out: &Outbound) -> String {
    match out.attachments.as_slice() {
        [] => out.content.clone(),
        files => format!("{}\nattached: {}", out.content.trim_end(), files.join(", ")),
    }
}

/// Waits for a turn, and hands over meanwhile what agents send.
async fn attend<T>(turn: impl Future<Output = T>, bus: &Local, message: &dyn Fn(&str)) -> T {
    let mut turn = std::pin::pin!(turn);
    let ended = loop {
        tokio::select! {
            biased;
            Ok(Some(out)) = bus.next_outbound() => message(&shown(&out)),
            end = &mut turn => break end,
        }
    };
    while let Some(Ok(Some(out))) = futures_util::FutureExt::now_or_never(bus.next_outbound()) {
        message(&shown(&out));
    }
    ended
}

fn budget(setting: &Setting, typed: &AskArguments, profile: &Profile) -> Budget {
    let configured = &setting.config.agent;
    let iterations = match profile.role {
        Role::Main => configured.main_iterations,
        Role::Subagent => configured.subagent_iterations,
    };
    let most = setting.config.profile_limits(&profile.name);
    Budget {
        iterations: most.iterations(typed.max_turns.unwrap_or(iterations)),
        tokens: most.tokens(typed.max_tokens.or(configured.max_tokens)),
        cost: typed.max_cost.or(configured.max_cost),
        time: most.time(typed.timeout.or(configured.timeout)),
        reply_tokens: configured.reply_tokens,
    }
}

/// The session of a name that somebody typed: one that can be talked in.
pub(super) fn session_named(name: &str) -> Result<SessionKey, Stop> {
    let key = SessionKey::parse(name.trim());
    if key.is_task() {
        let problem = format!(
            "{key} holds what was said in a background task, and is not gone on with; to look at it: ringfence sessions show {key}"
        );
        return Err(Stop(problem, Exit::Usage));
    }
    if key.is_host() {
        let problem = format!("{key} is the host's own, and no conversation; choose another name");
        return Err(Stop(problem, Exit::Usage));
    }
    let strange = name.chars().count() > 120 || name.chars().any(char::is_control);
    if strange || key.chat().is_empty() || key.channel().is_empty() {
        let problem = "a session's name has 1 to 120 characters, none of them a control character";
        return Err(Stop(problem.to_owned(), Exit::Usage));
    }
    Ok(key)
}

fn which_session(store: &Store, setting: &Setting, which: &SessionArguments) -> Result<SessionKey, Stop> {
    if let Some(name) = &which.session {
        return session_named(name);
    }
    if which.continued {
        let newest = session::newest(store, &setting.workspace)
            .map_err(|error| Stop(error.to_string(), Exit::Failed))?;
        return newest.ok_or_else(|| {
            let problem = "there is no earlier conversation in this workspace; leave out --continue";
            Stop(problem.to_owned(), Exit::Usage)
        });
    }
    Ok(SessionKey::fresh())
}

fn caller(
    (setting, ground): (&Setting, &Ground),
    profile: &Profile,
    typed: &AskArguments,
    (key, ephemeral): (&SessionKey, bool),
) -> Result<Caller, Stop> {
    let calling = Calling {
        profile: profile.clone(),
        flags: setting.flags(typed.rights.read_only, &typed.rights.deny),
        // Each turn binds its own.
        ports: ports(profile.role, Unavailable::shared(), |_| Unavailable::main()),
        key,
        kept: !ephemeral,
    };
    Ok(ground.caller(calling)?)
}
