//! What processes that are gone have left: runs that are lost, and results that reached nobody.

use super::announce::source;
use super::origin::place_of;
use super::{Announcement, Inner, Place, Standing, Tasks};
use crate::config::{Dirs, Presence};
use crate::provider::Message;
use crate::session::{Session, SessionError};
use crate::store::{JobState, NewLetter, RunRow, Store, StoreError, TaskRow, Workspace};
use crate::toolbox::one_line;
use std::path::Path;
use std::sync::Arc;

/// Why a run is lost.
const GONE: &str = "the process that ran it ended before it did";

impl Inner {
    /// Lets go of what processes had in their hands that are gone.
    pub(super) fn bury_the_gone(&self) {
        let owners = match self.store.owners() {
            Ok(owners) => owners,
            Err(error) => return tracing::warn!("which processes there are cannot be read: {error}"),
        };
        for owner in owners {
            if owner == self.presence.id() {
                continue;
            }
            if let Err(error) = bury_if_gone(&self.store, &self.dirs, &owner) {
                tracing::warn!("what process {owner} left cannot be taken over: {error}");
            }
        }
        // A process that ended between its lock file and its row has no name that would be asked for.
        if let Err(error) = Presence::clear_away(&self.dirs) {
            tracing::warn!("what processes that are gone have left cannot be cleared away: {error}");
        }
    }
}

/// Lets go of what a process had in its hands, if it is gone. Whether it is.
///
/// # Errors
///
/// When that cannot be written.
pub fn bury_if_gone(store: &Store, dirs: &Dirs, owner: &str) -> Result<bool, StoreError> {
    if !Presence::is_gone(dirs, owner) {
        return Ok(false);
    }
    // Before the runs are over: who dies in between leaves them to the next, and a letter of one source is kept once.
    for run in store.runs_of(owner)? {
        tell_of_job(store, &run)?;
    }
    let buried = store.bury(owner, GONE)?;
    if buried.lost > 0 {
        tracing::info!("process {owner} is gone; {} of its tasks are lost", buried.lost);
    }
    Ok(true)
}

/// Tells the person of a scheduled job whose run ends with its process, where nobody else will: it is not due again, or it
/// fails for the second time in a row.
fn tell_of_job(store: &Store, run: &RunRow) -> Result<(), StoreError> {
    let Some(job) = store.job(&run.job)? else { return Ok(()) };
    let how = match job.state {
        JobState::Done => "failed, and is not due again",
        JobState::Active if job.failures == 1 => "failed 2 times in a row",
        _ => return Ok(()),
    };
    if job.channel.is_empty() || job.chat.is_empty() {
        return Ok(());
    }
    let (id, name) = (&job.id, one_line(&job.name));
    let content =
        format!("scheduled job {id} ({name}) {how}: {GONE}; to see its runs: ringfence cron history {id}");
    let letter = NewLetter {
        workspace: &Workspace::at(&job.workspace_path),
        channel: &job.channel,
        chat: &job.chat,
        source: Some(&format!("job:{id}:failed:{}", run.id)),
        kind: "notice",
        content: &content,
        attachments: &[],
    };
    store.put_letter(&letter).map(|_| ())
}

impl Tasks {
    /// Takes over what processes that are gone have left: of a workspace, or of all. What belongs to the session that is
    /// attended here arrives as if it had ended now; the rest is returned.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written.
    pub fn recover(
        &self,
        workspace: Option<&Path>,
        attended: Option<&Place>,
    ) -> Result<Vec<Announcement>, StoreError> {
        self.0.bury_the_gone();
        let workspace = workspace.map(Workspace::at);
        let rows = self.0.store.take_results(self.process(), workspace.as_ref(), None)?;
        let mut elsewhere = Vec::new();
        for row in rows {
            let announcement = Announcement::of(&row, self.standing(&row));
            let place = place_of(&row);
            if attended == Some(&place) {
                self.0.state().arrived.entry(place).or_default().push_back(announcement);
            } else {
                elsewhere.push(announcement);
            }
        }
        self.0.ended.notify_waiters();
        Ok(elsewhere)
    }

    /// How far the telling of a run came. A conversation that cannot be read was told nothing.
    fn standing(&self, row: &TaskRow) -> Standing {
        if !row.kept {
            return Standing::New;
        }
        let (workspace, key) = place_of(row);
        let answered = Session::open_in(&self.0.store, &workspace, key)
            .and_then(|session| session.answered(&source(&row.id)));
        match answered {
            Ok(Some(true)) => Standing::Answered,
            Ok(Some(false)) => Standing::Told,
            Ok(None) | Err(_) => Standing::New,
        }
    }

    /// Puts an announcement into its conversation without asking the model, which reads it with the next turn.
    ///
    /// # Errors
    ///
    /// When the conversation cannot be read or written.
    pub fn tell_quietly(&self, announcement: &Announcement) -> Result<(), SessionError> {
        if !announcement.kept {
            return Ok(());
        }
        let (workspace, key) = place_of(&announcement.row);
        let mut session = Session::open_in(&self.0.store, &workspace, key)?;
        session.append_from(Message::user(&announcement.text), &announcement.source()).map(|_| ())
    }

    /// Notices processes that are gone: what they ran is lost or failed from now on, and what they had is nobody's.
    pub fn bury_the_gone(&self) {
        self.0.bury_the_gone();
    }

    /// Tells the person by a letter and the conversation without asking the model; with both, the result is delivered.
    pub fn tell_by_letter(&self, announcement: &Announcement) {
        if let Err(error) = self.tell_quietly(announcement) {
            tracing::warn!("task {} cannot be announced in its conversation: {error}", announcement.id);
        }
        let (workspace, key) = place_of(&announcement.row);
        // Who was answered has the answer as a letter, unless the process ended between the two: one of them is there.
        let (source, line) = match announcement.standing {
            Standing::Answered => (
                format!("answer:{}", announcement.source()),
                format!("{}; it was answered in session {key}", announcement.line),
            ),
            Standing::New | Standing::Told => {
                (format!("notice:{}", announcement.source()), announcement.line.clone())
            }
        };
        let letter = NewLetter {
            workspace: &Workspace::at(&workspace),
            channel: key.channel(),
            chat: key.chat(),
            source: Some(&source),
            kind: "notice",
            content: &line,
            attachments: &[],
        };
        let done = self.0.store.put_letter(&letter).and_then(|_| self.delivered(&announcement.id));
        if let Err(error) = done {
            tracing::error!("what came of task {} cannot be kept for the person: {error}", announcement.id);
        }
    }

    /// What was found of the gone arrives like what ends here, each in its session.
    pub fn take_in(&self, announcements: Vec<Announcement>) {
        for announcement in &announcements {
            if let Some(listener) = self.0.listener.get() {
                listener(announcement);
            }
        }
        let mut state = self.0.state();
        for announcement in announcements {
            let place = place_of(&announcement.row);
            state.arrived.entry(place).or_default().push_back(announcement);
        }
        drop(state);
        self.0.ended.notify_waiters();
    }

    /// Takes up runs that wait and are nobody's, as far as there is room for them. They stay nobody's until they begin.
    /// How many were not taken up before.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn take_unowned(&self) -> Result<usize, StoreError> {
        let (room, waiting) = {
            let state = self.0.state();
            let waiting = state.queue.len() as u64;
            let used = state.running.len() as u64 + waiting;
            (if state.closed { 0 } else { self.0.config.running.saturating_sub(used) }, waiting)
        };
        if room == 0 {
            return Ok(0);
        }
        let rows = self.0.store.unowned_tasks(room.saturating_add(waiting))?;
        let mut taken = 0;
        let mut state = self.0.state();
        for row in rows {
            let place = place_of(&row);
            let known = state.running.contains_key(&row.id) || state.queue.has(&place, &row.id);
            if !known && (taken as u64) < room {
                state.queue.push(place, row.id);
                taken += 1;
            }
        }
        drop(state);
        if taken > 0 {
            self.0.kick.notify_one();
        }
        Ok(taken)
    }

    /// Takes up one run that is this process's own.
    pub fn take_up(&self, row: &TaskRow) {
        self.0.state().queue.push(place_of(row), row.id.clone());
        self.0.kick.notify_one();
    }

    /// Leaves to others what was taken up, has not begun, and is not this process's.
    pub(super) fn put_down(&self) {
        let mut waiting = self.0.state().queue.drain(|_| true);
        waiting.retain(|(id, _)| match self.0.store.task(id) {
            Ok(row) => row.is_some_and(|row| row.owner.as_deref() == Some(self.process())),
            // It stays on record as it is.
            Err(_) => false,
        });
        let mut state = self.0.state();
        for (id, place) in waiting {
            state.queue.push(place, id);
        }
    }

    /// Another handle.
    pub fn store(&self) -> &Arc<Store> {
        &self.0.store
    }
}
