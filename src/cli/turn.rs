//! One conversation and everything that its turns work with: the one place where provider, toolbox, caller, session, system
//! prompt and budget come together.

use super::ask::{AskArguments, SessionArguments};
use super::exit::Exit;
use super::open::{Setting, Stop};
use super::outcome::Failure;
use super::prompt::{Prompt, own_skills};
use super::record::{Ledger, Recorder};
use crate::agent::{Budget, Incomplete, Turn, TurnEnd, TurnOutcome, What};
use crate::authority::{Profile, Role};
use crate::bus::{Bus as _, Local, Post};
use crate::config::{self, Lock};
use crate::egress;
use crate::provider::{self, Message, Provider, Usage};
use crate::sandbox::{Limits, OwnReadOnly};
use crate::session::{self, Session, SessionKey};
use crate::store::Store;
use crate::toolbox::{Agent as Caller, Spill};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A conversation.
pub(super) struct Talk {
    pub(super) setting: Setting,
    pub(super) profile: Profile,
    pub(super) provider: Box<dyn Provider>,
    pub(super) key: SessionKey,
    pub(super) budget: Budget,
    pub(super) caller: Caller,
    typed: AskArguments,
    client: egress::Client,
    store: Arc<Store>,
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
    pub(super) follow_ups: &'a (dyn Fn() -> Vec<String> + Send + Sync),
}

impl Talk {
    /// Brings everything together. Nothing is asked yet.
    pub(super) fn open(typed: &AskArguments, which: &SessionArguments) -> Result<Self, Stop> {
        let rights = &typed.rights;
        let setting = Setting::open(rights.workspace.as_deref(), &rights.directories, Limits::default())?;
        let profile = setting.profile(rights.role())?;
        let client = egress::Client::new();
        let provider = choose(&setting, typed, &client)?;
        let budget = budget(&setting, typed, &profile);
        if budget.cost.is_some() && provider.cost(Usage { input: 1, cached: 0, output: 1 }).is_none() {
            let problem = format!(
                "the cost cannot be limited, since the prices of {} are not known; write them into the configuration",
                provider.model()
            );
            return Err(Stop(problem, Exit::Config));
        }
        let store = Store::open(&setting.dirs.data.join(crate::store::FILE))
            .map_err(|error| Stop(error.to_string(), Exit::Config))?;
        let key = which_session(&store, &setting, which)?;
        let memory = which.ephemeral.then(|| Session::ephemeral(key.clone()));
        let bus = Arc::new(Local::new());
        let caller = caller(&setting, &profile, typed, (&key, which.ephemeral), &bus)?;
        let mut talk = Self {
            setting,
            profile,
            provider,
            key,
            budget,
            caller,
            typed: typed.clone(),
            client,
            store,
            memory,
            bus,
            noticed: Vec::new(),
        };
        talk.record();
        Ok(talk)
    }

    /// The session as it stands now.
    pub(super) fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> Result<T, Stop> {
        match &self.memory {
            Some(session) => Ok(look(session)),
            None => Ok(look(&self.load()?)),
        }
    }

    fn load(&self) -> Result<Session, Stop> {
        Session::open_in(&self.store, &self.setting.workspace, self.key.clone())
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
        self.caller =
            caller(&self.setting, &self.profile, &self.typed, (&self.key, self.memory.is_some()), &self.bus)?;
        self.record();
        Ok(())
    }

    /// Another model for the turns to come.
    pub(super) fn take_model(&mut self, model: &str) -> Result<(), Stop> {
        let typed = AskArguments { model: Some(model.to_owned()), ..self.typed.clone() };
        self.provider = choose(&self.setting, &typed, &self.client)?;
        self.typed = typed;
        Ok(())
    }

    /// Sums up older messages now. Says what came of it.
    pub(super) async fn compact(
        &mut self,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        self.work(None, hooks, stop).await
    }

    /// One turn, to its end or until `stop` is ready. Whatever ends it, what was said until then is in the session.
    pub(super) async fn turn(
        &mut self,
        said: String,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        self.work(Some(said), hooks, stop).await
    }

    /// Every call of a tool from here on leaves a row under this session.
    fn record(&mut self) {
        let recorder = Recorder::new(Arc::clone(&self.store), &self.key);
        self.setting.toolbox.set_audit(Arc::new(recorder));
    }

    async fn work(
        &mut self,
        said: Option<String>,
        hooks: Hooks<'_>,
        stop: impl Future<Output = ()>,
    ) -> Result<TurnEnd, Stop> {
        let mut stop = std::pin::pin!(stop);
        let notice = |text: String| (hooks.listen)(What::Notice { text });
        let busy = || notice("another process has a turn of this session; waiting for its end".to_owned());
        let name = format!("{}\0{}", self.setting.workspace.display(), self.key);
        let time = self.budget.time.unwrap_or(Duration::MAX);
        let lock = tokio::select! {
            biased;
            () = &mut stop => Err(TurnOutcome::Cancelled),
            lock = tokio::time::timeout(time, Lock::take(&self.setting.dirs, &name, busy)) => {
                lock.map_err(|_| TurnOutcome::Incomplete(Incomplete::Time))
            }
        };
        let _lock = match lock {
            Ok(lock) => {
                lock.map_err(|error| Stop(format!("the session cannot be locked: {error}"), Exit::Failed))?
            }
            Err(outcome) => {
                let end = TurnEnd { outcome, ..cancelled(Progress::default()) };
                (hooks.listen)(finished_event(&end));
                return Ok(end);
            }
        };
        let mut opened = match self.memory {
            Some(_) => None,
            None => Some(self.load()?),
        };
        let session = match (&mut self.memory, &mut opened) {
            (Some(session), _) | (None, Some(session)) => session,
            (None, None) => return Err(Stop("there is no session".to_owned(), Exit::Failed)),
        };
        let prompt = Prompt::read(&self.setting, &self.caller)?;
        for text in prompt.notices.iter().filter(|text| !self.noticed.contains(*text)) {
            notice(text.clone());
        }
        self.noticed.clone_from(&prompt.notices);
        let progress = Mutex::new(Progress::default());
        let ledger = Ledger { store: &self.store, session: &self.key, provider: self.provider.as_ref() };
        let listen = |what: What| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).hear(&what);
            if let What::Usage { usage } = &what {
                ledger.row(*usage);
            }
            (hooks.listen)(what);
        };
        let turn = Turn {
            provider: self.provider.as_ref(),
            toolbox: &self.setting.toolbox,
            caller: &self.caller,
            session: &mut *session,
            system: &prompt.text,
            budget: &self.budget,
            follow_ups: hooks.follow_ups,
            listen: &listen,
        };
        let running = async {
            match &said {
                Some(said) => turn.run(prompt.with_skills(said)).await,
                None => turn.compact().await,
            }
        };
        let ended = attend(running, &mut stop, &self.bus, hooks.message).await;
        let progress = std::mem::take(&mut *progress.lock().unwrap_or_else(PoisonError::into_inner));
        let (open, failed) = (progress.open.clone(), progress.error);
        let end = ended.unwrap_or_else(|| cancelled(progress));
        if said.is_none() {
            return Ok(end);
        }
        // A reply that was cut off is nowhere yet but on the screen.
        let cut = matches!(end.outcome, TurnOutcome::Cancelled | TurnOutcome::Incomplete(Incomplete::Time));
        if cut && !open.trim().is_empty() {
            let said = Message::assistant(format!("{open}\n[interrupted]"));
            session.append(said).map_err(|error| Stop(error.to_string(), Exit::Failed))?;
        }
        if matches!(end.outcome, TurnOutcome::Failed(_) | TurnOutcome::Unrecorded(_))
            && !failed
            && let Some(failure) = Failure::of_turn(&end)
        {
            (hooks.listen)(failure.as_event());
        }
        (hooks.listen)(finished_event(&end));
        Ok(end)
    }
}

/// Waits for a turn, and hands over meanwhile what agents send. `None` when it was stopped.
async fn attend<T>(
    turn: impl Future<Output = T>,
    stop: &mut (impl Future<Output = ()> + Unpin),
    bus: &Local,
    message: &dyn Fn(&str),
) -> Option<T> {
    let mut turn = std::pin::pin!(turn);
    let ended = loop {
        tokio::select! {
            biased;
            () = &mut *stop => break None,
            Ok(Some(out)) = bus.next_outbound() => message(&out.content),
            end = &mut turn => break Some(end),
        }
    };
    while let Some(Ok(Some(out))) = futures_util::FutureExt::now_or_never(bus.next_outbound()) {
        message(&out.content);
    }
    ended
}

/// How far a turn has come, for the case that it is stopped.
#[derive(Debug, Default)]
struct Progress {
    /// The text of the reply that is coming in.
    open: String,
    text: String,
    iterations: u32,
    usage: Usage,
    denied: Vec<String>,
    /// Whether the stream has been told of the error.
    error: bool,
}

impl Progress {
    fn hear(&mut self, what: &What) {
        match what {
            What::TextDelta { text } => {
                self.open.push_str(text);
                self.text.push_str(text);
            }
            What::TextRestart {} => {
                self.text.truncate(self.text.len().saturating_sub(self.open.len()));
                self.open.clear();
            }
            What::ToolStarted { .. } => {
                self.open.clear();
                self.text.clear();
            }
            What::ToolFinished { outcome, summary, .. } if outcome == "denied" => {
                self.denied.push(summary.clone());
            }
            What::Usage { usage } => {
                self.iterations += 1;
                self.usage += *usage;
                self.open.clear();
            }
            What::Error { .. } => self.error = true,
            _ => {}
        }
    }
}

fn cancelled(progress: Progress) -> TurnEnd {
    TurnEnd {
        outcome: TurnOutcome::Cancelled,
        text: progress.text,
        iterations: progress.iterations,
        usage: progress.usage,
        denied: progress.denied,
    }
}

fn finished_event(end: &TurnEnd) -> What {
    What::TurnFinished {
        outcome: super::outcome::name(&end.outcome).to_owned(),
        text: end.text.clone(),
        iterations: end.iterations,
        usage: end.usage,
        denied: end.denied.clone(),
    }
}

fn choose(
    setting: &Setting,
    typed: &AskArguments,
    client: &egress::Client,
) -> Result<Box<dyn Provider>, Stop> {
    let config = setting
        .config
        .choose_provider_as(typed.rights.role(), typed.provider.as_deref(), typed.model.as_deref())
        .map_err(|error| Stop(error.to_string(), Exit::Config))?;
    provider::build(&config, client).map_err(|error| Stop(error.to_string(), Exit::Config))
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

/// Where long results are kept, in the data directory.
pub(super) const RESULTS: &str = "results";

/// The name of those of a session.
pub(super) fn results_of(workspace: &str, key: &SessionKey) -> String {
    format!("{workspace}\0{key}")
}

fn caller(
    setting: &Setting,
    profile: &Profile,
    typed: &AskArguments,
    (key, ephemeral): (&SessionKey, bool),
    bus: &Arc<Local>,
) -> Result<Caller, Stop> {
    let post = Arc::new(Post::new(Arc::clone(bus) as _, key.clone()));
    let rights = &typed.rights;
    let mut caller =
        setting.caller(&key.to_string(), profile.clone(), post, rights.read_only, &rights.deny)?;
    // Results that are too long to be shown, where the tools of this session alone can read them.
    let name = results_of(&setting.workspace.display().to_string(), key);
    let mut spill = Spill::open(&setting.dirs.data.join(RESULTS), &name)
        .map_err(|error| Stop(format!("long results cannot be kept: {error}"), Exit::Config))?;
    if ephemeral {
        spill = spill.passing();
    }
    caller = caller.spilling(Arc::new(spill));
    if let Some(skills) =
        config::canonical(&own_skills(setting)).ok().and_then(|dir| OwnReadOnly::open(&dir).ok())
    {
        caller = caller.reading(Arc::new(skills));
    }
    Ok(caller)
}
