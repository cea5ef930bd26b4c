//! The chat: lines in, turns out, until the person leaves.

use super::args::Voice;
use super::ask::ChatArguments;
use super::background;
use super::editor::{Editor, Typed};
use super::exit::Exit;
use super::ladder::{During, Ladder, Step};
use super::native;
use super::open::Stop;
use super::outcome::Failure;
use super::paint::{Painter, Text};
use super::printer::Printer;
use super::signals::Signals;
use super::slash::{Line, Slash, help, understand};
use super::turn::{Hooks, Talk};
use super::typing;
use crate::agent::{Said, What};
use crate::bus::{Admission, Desk, Inbound, Metadata, Sitting};
use crate::exec::Commands;
use crate::provider::Usage;
use crate::store::{Delivery, LetterRow};
use crate::tasks::{Announcement, Hands, Place, Tasks};
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked for letters while nobody speaks.
const POST: Duration = Duration::from_secs(2);

/// A chat that goes on.
pub(super) struct Chat {
    pub(super) printer: Printer,
    pub(super) talk: Talk,
    pub(super) desk: Desk,
    pub(super) started: Instant,
    pub(super) used: Usage,
    pub(super) cost: Option<u64>,
    /// Tokens of the last request and its reply.
    pub(super) context: u64,
    painter: Painter,
    ladder: Ladder,
    signals: Signals,
}

/// With what a turn begins.
enum Opening {
    /// What a person said.
    Said(Vec<Said>),
    /// Background tasks that have ended.
    Heard(Vec<Announcement>),
}

/// What came in from elsewhere.
enum News {
    Arrived(Announcement),
    Letters(Vec<LetterRow>),
}

/// What was heard while a line was read.
struct Heard {
    typed: Typed,
    news: Option<News>,
    /// Whether somebody asked the program to end.
    leave: bool,
}

/// What comes next.
pub(super) enum Next {
    Prompt,
    Leave(Exit),
}

pub(super) async fn run(printer: &Printer, voice: Voice, typed: &ChatArguments) -> Exit {
    if !std::io::stdin().is_terminal() {
        printer.note("error: a chat needs a terminal; for one task, type: ringfence run \"what to do\"");
        printer.hint("to read the task from a pipe: ringfence run -");
        return Exit::Usage;
    }
    let exit = match Chat::open(*printer, voice, typed) {
        Ok(chat) => chat.go_on().await,
        Err(stop) => stop.tell(printer),
    };
    // Whatever happened, the shell gets its terminal as it was.
    let _ = termimad::crossterm::terminal::disable_raw_mode();
    exit
}

impl Chat {
    fn open(printer: Printer, voice: Voice, typed: &ChatArguments) -> Result<Self, Stop> {
        let talk = Talk::open(&typed.ask, &typed.session, ("chat", Hands::Own))?;
        Ok(Self {
            printer,
            painter: Painter::new(printer, Text::Live, voice, true),
            talk,
            desk: Desk::default(),
            started: Instant::now(),
            used: Usage::default(),
            cost: None,
            context: 0,
            ladder: Ladder::default(),
            signals: Signals::listen(),
        })
    }

    async fn go_on(mut self) -> Exit {
        let history = crate::config::private_file(&self.talk.setting.dirs.data.join("history")).ok();
        let color = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
        let mark = if self.talk.unsandboxed() { native::MARK } else { "" };
        let mut editor = Editor::new(history, color, mark);
        self.greet();
        let (end_jobs, jobs) = tokio::sync::watch::channel(false);
        self.talk.keep_schedule(jobs);
        let exit = loop {
            let heard = match self.read(editor).await {
                Ok((back, heard)) => {
                    editor = back;
                    heard
                }
                Err(exit) => break exit,
            };
            if let Some(exit) = self.news(heard.news).await {
                break exit;
            }
            let next = match heard.typed {
                Typed::End => Next::Leave(Exit::Done),
                Typed::Broken if heard.leave => Next::Leave(Exit::Terminated),
                Typed::Broken => Next::Prompt,
                Typed::Interrupt(empty) => self.interrupted(empty),
                Typed::Line(line) => self.line(&line).await,
            };
            if let Next::Leave(exit) = next {
                break exit;
            }
        };
        end_jobs.send_replace(true);
        let printer = self.printer;
        let tell = |announcement: &Announcement| printer.note(&background::line(announcement));
        self.talk.schedule_idle().await;
        background::close(&mut self.talk, &tell, "the chat was left").await;
        exit
    }

    /// What came in from elsewhere while nobody spoke. Says with what to leave, where that was asked for.
    async fn news(&mut self, news: Option<News>) -> Option<Exit> {
        match news? {
            News::Letters(letters) => {
                for letter in letters {
                    self.printer.note(&background::letter_text(&letter, &self.talk));
                    let (store, process) = (&self.talk.ground.store, self.talk.tasks.process());
                    if let Err(error) = store.letter_done(letter.id, process, Delivery::Delivered) {
                        self.printer.note(&format!("note: {error}"));
                    }
                }
                None
            }
            News::Arrived(first) => {
                let mut all = vec![first];
                all.extend(self.talk.tasks.arrived(&self.talk.place()));
                let inbound = all.first().map(Announcement::inbound)?;
                match self.desk.admit(inbound) {
                    Ok(Admission::Begin(sitting, _)) => self.sit(sitting, Opening::Heard(all)).await,
                    // The desk is idle: nobody but this chat sits at it.
                    Ok(Admission::Queued(_)) => None,
                    Err(refused) => {
                        self.printer.note(&refused.to_string());
                        None
                    }
                }
            }
        }
    }

    fn greet(&self) {
        let talk = &self.talk;
        if talk.unsandboxed() {
            self.printer.note(native::UNSANDBOXED);
        }
        self.printer.note(&format!(
            "{} ({}) as {} in {}; session {}",
            talk.provider.model(),
            talk.provider.name(),
            talk.profile.name,
            talk.setting.workspace.display(),
            talk.key
        ));
        self.printer.note("/help shows what there is to type; Ctrl-D leaves");
        let printer = self.printer;
        if let Err(Stop(problem, _)) = background::greet(talk, &|line| printer.note(line)) {
            printer.note(&format!("note: {problem}"));
        }
    }

    /// Reads a line on another thread, so that the request to end, and what comes in from elsewhere, is heard meanwhile.
    async fn read(&mut self, mut editor: Editor) -> Result<(Editor, Heard), Exit> {
        let breaker = editor.breaker();
        let printer = self.printer;
        let mut reading = tokio::task::spawn_blocking(move || {
            let typed = editor.read(printer);
            (editor, typed)
        });
        let (talk, place) = (&self.talk, self.talk.place());
        let (mut news, mut leave) = (None, false);
        let read = loop {
            tokio::select! {
                biased;
                exit = self.signals.next() => match &breaker {
                    // Ctrl-C comes as a key while a line is edited. The thread ends as soon as it hears of it.
                    Some(breaker) if exit == Exit::Terminated => {
                        leave = true;
                        breaker.store(true, Ordering::Relaxed);
                    }
                    Some(_) => {}
                    None => return Err(if exit == Exit::Interrupted { Exit::Done } else { exit }),
                },
                come = come_in(talk, &place), if news.is_none() => {
                    news = Some(come);
                    match &breaker {
                        Some(breaker) => breaker.store(true, Ordering::Relaxed),
                        None => printer.note("something came in from a background task; type a line to see it"),
                    }
                }
                read = &mut reading => break read,
            }
        };
        match read {
            Ok((editor, Ok(typed))) => Ok((editor, Heard { typed, news, leave })),
            Ok((_, Err(error))) => Err(self.printer.error(&format!("the terminal: {error}"), Exit::Failed)),
            Err(error) => Err(self.printer.error(&format!("the line editor ended: {error}"), Exit::Failed)),
        }
    }

    fn interrupted(&mut self, empty: bool) -> Next {
        let during = if empty { During::Idle } else { During::Typing };
        match self.ladder.press(during, Instant::now()) {
            Step::Leave => Next::Leave(Exit::Done),
            Step::ClearLine | Step::EndTurn => Next::Prompt,
        }
    }

    async fn line(&mut self, line: &str) -> Next {
        match understand(line) {
            Line::Empty => {}
            Line::Wrong(problem) => self.printer.note(&problem),
            Line::Say(text) => return self.say(text).await,
            Line::Command(Slash::Exit) => return Next::Leave(Exit::Done),
            Line::Command(command) => {
                if let Err(stop) = self.command(command).await {
                    stop.tell(&self.printer);
                }
            }
        }
        Next::Prompt
    }

    /// Says something, and has turns until nothing waits any more.
    async fn say(&mut self, text: String) -> Next {
        match self.desk.admit(inbound(&self.talk, text)) {
            Ok(Admission::Begin(sitting, message)) => {
                let opening = Opening::Said(vec![Said::by_person(message.content)]);
                if let Some(exit) = self.sit(sitting, opening).await {
                    return Next::Leave(exit);
                }
            }
            Ok(Admission::Queued(_)) => {}
            Err(refused) => self.printer.note(&refused.to_string()),
        }
        Next::Prompt
    }

    /// Has turns until nothing waits any more. Says with what to leave, where that was asked for.
    async fn sit(&mut self, sitting: Sitting, opening: Opening) -> Option<Exit> {
        let mut next = Some((sitting, opening));
        while let Some((seat, opening)) = next {
            if let Some(exit) = self.turn(&seat, opening).await {
                return Some(exit);
            }
            next = seat
                .next()
                .map(|(seat, message)| (seat, Opening::Said(vec![Said::by_person(message.content)])));
        }
        match self.talk.tasks.unended(&self.talk.place()) {
            0 => {}
            1 => self.printer.note("1 background task is on its way; /tasks shows it"),
            many => {
                self.printer.note(&format!("{many} background tasks are on their way; /tasks shows them"))
            }
        }
        None
    }

    /// Sums up older messages.
    pub(super) async fn compact(&mut self) -> Result<(), Stop> {
        let Self { printer, painter, talk, signals, .. } = self;
        let done = AtomicBool::new(false);
        let listen = |what: What| {
            if matches!(what, What::Compaction { .. }) {
                done.store(true, Ordering::Relaxed);
            }
            painter.hear(&what);
        };
        let hooks = Hooks {
            listen: &listen,
            message: &|text| painter.message(text),
            follow_ups: &Vec::new,
            arrived: &|announcement| painter.tell(&background::line(announcement)),
        };
        let stop = async {
            signals.next().await;
        };
        let end = talk.compact(hooks, stop).await;
        painter.end();
        match Failure::of_turn(&end?) {
            Some(failure) => printer.note(&failure.lines().0),
            None if !done.load(Ordering::Relaxed) => printer.note("there is nothing to sum up yet"),
            None => {}
        }
        Ok(())
    }

    /// One turn. Says with what to leave, where that was asked for.
    async fn turn(&mut self, sitting: &Sitting, opening: Opening) -> Option<Exit> {
        let _permit = sitting.permit().await;
        let Self { printer, painter, talk, desk, ladder, signals, .. } = self;
        let (printer, painter, desk) = (*printer, &*painter, &*desk);
        let (used, context) = (Mutex::new(Usage::default()), Mutex::new(0));
        let listen = |what: What| {
            if let What::Usage { usage } = &what
                && let (Ok(mut used), Ok(mut context)) = (used.lock(), context.lock())
            {
                *used += *usage;
                *context = usage.total();
            }
            painter.hear(&what);
        };
        let follow_ups =
            || sitting.follow_ups().into_iter().map(|message| Said::by_person(message.content)).collect();
        let said = |text: &str| painter.message(text);
        let arrived = |announcement: &Announcement| painter.between(&background::line(announcement));
        let hooks = Hooks { listen: &listen, message: &said, follow_ups: &follow_ups, arrived: &arrived };
        let (tasks, place) = (talk.tasks.clone(), talk.place());
        let (commands, owner) = (talk.commands.clone(), talk.caller.id.clone());
        let commands = (&commands, owner.as_str());
        let tasks = (&tasks, &place);
        let stop = meanwhile(Meanwhile { painter, desk, ladder, signals, sitting, tasks, commands });
        let (leave, ended) = {
            let leave = Mutex::new(None);
            let stop = async {
                let exit = stop.await;
                if let Ok(mut leave) = leave.lock() {
                    *leave = exit;
                }
            };
            let ended = match opening {
                Opening::Said(said) => talk.turn(said, hooks, stop).await.map(Some),
                Opening::Heard(arrived) => talk.hear(arrived, hooks, stop).await,
            };
            (leave.into_inner().unwrap_or_default(), ended)
        };
        painter.end();
        match &ended {
            Err(Stop(problem, exit)) => {
                printer.error(problem, *exit);
            }
            Ok(None) => {}
            Ok(Some(end)) => {
                if let Some(failure) = Failure::of_turn(end) {
                    let (line, _) = failure.lines();
                    printer.note(&line);
                }
                if let Some(cost) = talk.provider.cost(end.usage) {
                    self.cost = Some(self.cost.unwrap_or(0).saturating_add(cost));
                }
            }
        }
        self.used += used.into_inner().unwrap_or_default();
        match context.into_inner() {
            Ok(0) | Err(_) => {}
            Ok(context) => self.context = context,
        }
        leave
    }
}

/// Waits for what comes from elsewhere.
async fn come_in(talk: &Talk, place: &Place) -> News {
    tokio::select! {
        biased;
        first = talk.tasks.arrival(place) => News::Arrived(first),
        letters = letters(talk) => News::Letters(letters),
    }
}

/// Waits for letters of this session, which other processes write.
async fn letters(talk: &Talk) -> Vec<LetterRow> {
    loop {
        tokio::time::sleep(POST).await;
        match background::waiting_letters(talk, true) {
            Ok(letters) if letters.is_empty() => {}
            Ok(letters) => return letters,
            Err(error) => tracing::warn!("letters cannot be read: {error}"),
        }
    }
}

fn inbound(talk: &Talk, content: String) -> Inbound {
    Inbound {
        channel: talk.key.channel().to_owned(),
        sender: "user".to_owned(),
        chat: talk.key.chat().to_owned(),
        content,
        metadata: Metadata::new(),
    }
}

/// What is looked after while a turn runs.
struct Meanwhile<'a> {
    painter: &'a Painter,
    desk: &'a Desk,
    ladder: &'a mut Ladder,
    signals: &'a mut Signals,
    sitting: &'a Sitting,
    /// The background tasks, and whose.
    tasks: (&'a Tasks, &'a Place),
    /// The commands of the conversation, and whose.
    commands: (&'a Commands, &'a str),
}

/// Ready when the turn is to end; says with what to leave after it, where that was asked for.
async fn meanwhile(with: Meanwhile<'_>) -> Option<Exit> {
    let Meanwhile { painter, desk, ladder, signals, sitting, tasks: (tasks, place), commands } = with;
    loop {
        tokio::select! {
            biased;
            exit = signals.next() => {
                stop(painter, desk, sitting);
                if exit == Exit::Terminated {
                    return Some(exit);
                }
                return match ladder.press(During::Turn, Instant::now()) {
                    Step::Leave => Some(Exit::Done),
                    Step::EndTurn | Step::ClearLine => None,
                };
            }
            line = typing::line() => match understand(&line) {
                Line::Empty => {}
                Line::Wrong(problem) => painter.tell(&problem),
                Line::Say(text) => queue(painter, desk, sitting, text),
                Line::Command(Slash::Help) => painter.tell(&help()),
                Line::Command(Slash::Stop) => {
                    stop(painter, desk, sitting);
                    let ended = tasks.cancel_by_session(place, "the person stopped it");
                    if ended > 0 {
                        painter.tell(&format!("ending {ended} background tasks"));
                    }
                    let ended = commands.0.end_of(commands.1);
                    if ended > 0 {
                        painter.tell(&format!("ended {ended} running commands"));
                    }
                    return None;
                }
                Line::Command(Slash::Exit) => {
                    stop(painter, desk, sitting);
                    return Some(Exit::Done);
                }
                Line::Command(Slash::Tasks) => painter.tell(&background::list(tasks.store(), place)),
                Line::Command(_) => painter.tell("not while a turn runs; /stop ends it"),
            },
            () = sitting.stopped() => return None,
        }
    }
}

/// Ends what waits. Nothing that was typed is lost: it is shown once more.
fn stop(painter: &Painter, desk: &Desk, sitting: &Sitting) {
    for message in desk.stop(sitting.key()).drained {
        painter.tell(&format!("not said: {}", message.content));
    }
}

fn queue(painter: &Painter, desk: &Desk, sitting: &Sitting, text: String) {
    let message = Inbound {
        channel: sitting.key().channel().to_owned(),
        sender: "user".to_owned(),
        chat: sitting.key().chat().to_owned(),
        content: text,
        metadata: Metadata::new(),
    };
    match desk.admit(message) {
        Ok(Admission::Queued(waiting)) => {
            painter.tell(&format!("waits for the agent's next step ({waiting} waiting)"));
        }
        // The sitting is held by whoever calls this, so the session is busy.
        Ok(Admission::Begin(..)) => {}
        Err(refused) => painter.tell(&refused.to_string()),
    }
}
