//! One conversation and everything that its turns work with: the one place where provider, toolbox, caller, session, system
//! prompt and budget come together.

use super::ask::{AskArguments, SessionArguments};
use super::exit::Exit;
use super::open::{Setting, Stop, ports};
use crate::agent::{Budget, Calling, Ground, Purse, Round, Said, TurnEnd, What, Work};
use crate::authority::{Profile, Role};
use crate::bus::{Bus as _, Local, Post};
use crate::provider::{Provider, Usage};
use crate::sandbox::Limits;
use crate::sandbox::ports::{MainPorts, Unavailable};
use crate::session::{self, Session, SessionKey};
use crate::store::Store;
use crate::toolbox::Agent as Caller;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

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
}

impl Talk {
    /// Brings everything together. Nothing is asked yet.
    pub(super) fn open(typed: &AskArguments, which: &SessionArguments) -> Result<Self, Stop> {
        let rights = &typed.rights;
        let setting = Setting::open(rights.workspace.as_deref(), &rights.directories, Limits::default())?;
        let profile = setting.profile(rights.role())?;
        let ground = setting.ground(super::open::store(&setting.dirs)?);
        let provider = ground.provider(typed.provider.as_deref(), model(&ground, typed).as_deref())?;
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
        let caller = caller((&setting, &ground), &profile, typed, (&key, which.ephemeral), &bus)?;
        Ok(Self {
            setting,
            ground,
            profile,
            provider,
            key,
            budget,
            caller,
            typed: typed.clone(),
            memory,
            bus,
            noticed: Vec::new(),
        })
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
        self.caller =
            caller((&self.setting, &self.ground), &self.profile, &self.typed, ephemeral, &self.bus)?;
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

    async fn work(
        &mut self,
        work: Work,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        let noticed = Mutex::new(std::mem::take(&mut self.noticed));
        let notice = |text: String| {
            let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
            if !noticed.contains(&text) {
                noticed.push(text.clone());
                (hooks.listen)(What::Notice { text });
            }
        };
        let round = Round {
            ground: &self.ground,
            provider: self.provider.as_ref(),
            caller: &self.caller,
            key: &self.key,
            memory: self.memory.as_mut(),
            budget: &self.budget,
            purse: &Purse::of(&self.budget),
            temperature: None,
            shared: true,
        };
        let hears =
            crate::agent::Hooks { listen: hooks.listen, follow_ups: hooks.follow_ups, notice: &notice };
        let end = attend(round.go(work, hears, stop), &self.bus, hooks.message).await;
        self.noticed = noticed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(end?)
    }
}

/// Waits for a turn, and hands over meanwhile what agents send.
async fn attend<T>(turn: impl Future<Output = T>, bus: &Local, message: &dyn Fn(&str)) -> T {
    let mut turn = std::pin::pin!(turn);
    let ended = loop {
        tokio::select! {
            biased;
            Ok(Some(out)) = bus.next_outbound() => message(&out.content),
            end = &mut turn => break end,
        }
    };
    while let Some(Ok(Some(out))) = futures_util::FutureExt::now_or_never(bus.next_outbound()) {
        message(&out.content);
    }
    ended
}

/// The model that was asked for, or else the profile's.
fn model(ground: &Ground, typed: &AskArguments) -> Option<String> {
    typed.model.clone().or_else(|| ground.config.profile_limits(typed.rights.role()).model)
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

fn which_session(store: &Store, setting: &Setting, which: &SessionArguments) -> Result<SessionKey, Stop> {
    if let Some(name) = &which.session {
        let key = SessionKey::parse(name.trim());
        let strange = name.chars().count() > 120 || name.chars().any(char::is_control);
        if strange || key.chat().is_empty() || key.channel().is_empty() {
            let problem = "a session's name has 1 to 120 characters, none of them a control character";
            return Err(Stop(problem.to_owned(), Exit::Usage));
        }
        return Ok(key);
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
    bus: &Arc<Local>,
) -> Result<Caller, Stop> {
    let courier = Arc::new(Post::new(Arc::clone(bus) as _, key.clone()));
    let calling = Calling {
        profile: profile.clone(),
        flags: setting.flags(typed.rights.read_only, &typed.rights.deny),
        ports: ports(profile.role, || MainPorts { courier, ..Unavailable::main() }),
        key,
        kept: !ephemeral,
    };
    Ok(ground.caller(calling)?)
}
