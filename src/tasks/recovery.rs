//! What processes that are gone have left: runs that are lost, and results that reached nobody.

use super::announce::source;
use super::origin::place_of;
use super::{Announcement, Inner, Place, Standing, Tasks};
use crate::config::Presence;
use crate::provider::Message;
use crate::session::{Session, SessionError};
use crate::store::{StoreError, TaskRow, Workspace};
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
            if owner == self.presence.id() || !Presence::is_gone(&self.dirs, &owner) {
                continue;
            }
            match self.store.bury(&owner, GONE) {
                Ok(buried) if buried.lost > 0 => {
                    tracing::info!("process {owner} is gone; {} of its tasks are lost", buried.lost);
                }
                Ok(_) => {}
                Err(error) => tracing::warn!("what process {owner} left cannot be taken over: {error}"),
            }
        }
    }
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

    /// Takes up runs that wait and are nobody's, as far as there is room for them.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn take_unowned(&self) -> Result<usize, StoreError> {
        let room = {
            let state = self.0.state();
            let used = state.running.len() as u64 + state.queue.len() as u64;
            self.0.config.running.saturating_sub(used)
        };
        if room == 0 {
            return Ok(0);
        }
        let rows = self.0.store.unowned_tasks(room)?;
        let taken = rows.len();
        if taken > 0 {
            let mut state = self.0.state();
            for row in rows {
                state.queue.push(place_of(&row), row.id);
            }
            drop(state);
            self.0.kick.notify_one();
        }
        Ok(taken)
    }

    /// Another handle.
    pub fn store(&self) -> &Arc<crate::store::Store> {
        &self.0.store
    }
}
