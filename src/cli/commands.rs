//! What the slash commands of the chat do.

use super::chat::Chat;
use super::exit::Exit;
use super::open::Stop;
use super::slash::{Slash, help};
use super::status::Status;
use crate::authority::Level;
use crate::provider::Speaker;
use crate::session::Kept;

/// Characters of a message in `/history`.
const SHOWN: usize = 200;

impl Chat {
    /// Does what a command says. Only called while no turn runs.
    pub(super) async fn command(&mut self, command: Slash) -> Result<(), Stop> {
        match command {
            Slash::Help => self.printer.note(&help()),
            Slash::Stop => {
                let ended = self.talk.tasks.cancel_by_session(&self.talk.place(), "the person stopped it");
                self.commands_ended(self.talk.end_commands());
                self.printer.note(&match ended {
                    0 => "no turn is running".to_owned(),
                    ended => format!("no turn is running; ending {ended} background tasks"),
                });
            }
            Slash::Tasks => {
                self.printer.note(&super::background::list(&self.talk.ground.store, &self.talk.place()));
            }
            Slash::New => self.new_session()?,
            Slash::Status => {
                let status = self.status()?.lines();
                self.printer.note(&status);
            }
            Slash::History(most) => self.history(most)?,
            Slash::Model(None) => {
                let provider = &self.talk.provider;
                self.printer.note(&format!("{} ({})", provider.model(), provider.name()));
            }
            Slash::Model(Some(name)) => {
                self.talk.take_model(&name)?;
                let provider = &self.talk.provider;
                self.printer.note(&format!("from here on: {} ({})", provider.model(), provider.name()));
            }
            Slash::Tools => {
                let toolbox = &self.talk.setting.toolbox;
                let lines: Vec<String> = toolbox
                    .view(&self.talk.caller)
                    .map(|tool| format!("{:14}{}", tool.name, super::list::first_sentence(&tool.description)))
                    .collect();
                self.printer.note(&lines.join("\n"));
            }
            Slash::Compact => self.compact().await?,
            // The chat leaves by itself.
            Slash::Exit => {}
        }
        Ok(())
    }

    /// Tells of commands that were ended.
    fn commands_ended(&self, ended: usize) {
        if ended > 0 {
            self.printer.note(&format!("ended {ended} running commands"));
        }
    }

    fn new_session(&mut self) -> Result<(), Stop> {
        let old = self.talk.key.clone();
        let ended = self.talk.tasks.cancel_by_session(&self.talk.place(), "another session was begun");
        if ended > 0 {
            self.printer.note(&format!("ending {ended} background tasks of {old}"));
        }
        self.commands_ended(self.talk.end_commands());
        self.talk.begin_anew()?;
        super::background::attend(&self.talk)?;
        self.context = 0;
        self.printer.note(&format!("a new session: {}; the one until now is {old}", self.talk.key));
        Ok(())
    }

    fn status(&self) -> Result<Status, Stop> {
        let talk = &self.talk;
        Ok(Status {
            model: format!("{} ({})", talk.provider.model(), talk.provider.name()),
            session: talk.key.to_string(),
            role: talk.profile.name.clone(),
            workspace: talk.setting.workspace.display().to_string(),
            sandbox: if talk.unsandboxed() {
                Level::Unsandboxed.meaning().to_owned()
            } else {
                format!("commands run at level {} or higher", talk.setting.native.settings.least)
            },
            messages: talk.with_session(|session| session.messages().len())?,
            context: self.context,
            window: talk.provider.context_window(),
            reply: u64::from(talk.budget.reply_tokens),
            used: self.used,
            cost: self.cost,
            turns: self.desk.busy(),
            waiting: self.desk.waiting(&talk.key),
            tasks: self.talk.tasks.running() + self.talk.tasks.waiting(),
            uptime: self.started.elapsed(),
        })
    }

    fn history(&self, most: usize) -> Result<(), Stop> {
        let history = self
            .talk
            .with_session(crate::session::Session::history_rows)?
            .map_err(|error| Stop(error.to_string(), Exit::Failed))?;
        let shown: Vec<String> = history.iter().filter_map(line).collect();
        let skip = shown.len().saturating_sub(most);
        if shown.is_empty() {
            self.printer.note("nothing was said yet");
        }
        for line in shown.iter().skip(skip) {
            self.printer.note(line);
        }
        Ok(())
    }
}

/// One line of the history; nothing for messages that only carry results. What the host put in is named, since nobody said it.
fn line(kept: &Kept) -> Option<String> {
    if let Some(source) = &kept.source {
        return Some(format!("host: [{}]", source.replacen(':', " ", 1)));
    }
    let message = &kept.message;
    let text = message.text();
    let text = text.trim();
    if text.is_empty() {
        let calls: Vec<&str> = message.calls().map(|call| call.name.as_str()).collect();
        return (!calls.is_empty()).then(|| format!("agent: [calls {}]", calls.join(", ")));
    }
    let who = if message.speaker == Speaker::User { "you" } else { "agent" };
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = flat.char_indices().nth(SHOWN).and_then(|(at, _)| flat.get(..at));
    Some(match cut {
        Some(head) => format!("{who}: {head}..."),
        None => format!("{who}: {flat}"),
    })
}
