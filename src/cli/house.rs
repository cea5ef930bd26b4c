//! Workspaces, opened for turns that run by themselves.

use super::exit::Exit;
use super::open::{Setting, Stop};
use crate::agent::Ground;
use crate::authority::{Access, Directories};
use crate::config::{self, Dirs, Presence, TasksConfig};
use crate::sandbox::Limits;
use crate::store::Store;
use crate::tasks::{Hands, House, Tasks};
use crate::toolbox::one_line;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Workspaces that are kept open. Each holds an engine and what it has compiled.
const OPEN: usize = 8;

/// The one workspace of a chat or a run.
pub(super) struct Home(pub(super) Ground);

impl House for Home {
    fn ground(&self, workspace: &Path, _: &Directories) -> Result<Ground, String> {
        if workspace == self.0.workspace {
            return Ok(self.0.clone());
        }
        Err(format!("this process works in {} alone", self.0.workspace.display()))
    }
}

/// Every workspace that there is work in, each opened when it is needed.
pub(super) struct Town {
    store: Arc<Store>,
    open: Mutex<VecDeque<(PathBuf, Others, Ground)>>,
}

/// What was recorded for a directory is for that one. Where a link stands by now, it would be done in another workspace, and
/// told in another's sessions.
fn itself(workspace: &Path) -> Result<(), String> {
    let shown = one_line(&workspace.display().to_string());
    match config::canonical(workspace) {
        Ok(found) if found == workspace => Ok(()),
        Ok(_) => Err(format!("its workspace {shown} is a link to another by now")),
        Err(error) => Err(format!("its workspace {shown}: {error}")),
    }
}

/// Directories beside a workspace.
type Others = Vec<(PathBuf, Access)>;

impl Town {
    pub(super) fn new(store: Arc<Store>) -> Self {
        Self { store, open: Mutex::default() }
    }
}

impl House for Town {
    fn ground(&self, workspace: &Path, directories: &Directories) -> Result<Ground, String> {
        itself(workspace)?;
        let others: Others = directories
            .iter()
            .filter(|(path, _)| !path.starts_with(workspace))
            .map(|(path, access)| (path.to_owned(), access))
            .collect();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |(path, with, _): &(PathBuf, Others, Ground)| path == workspace && *with == others;
        if let Some(at) = open.iter().position(known)
            && let Some(entry) = open.remove(at)
        {
            let ground = entry.2.clone();
            open.push_front(entry);
            return Ok(ground);
        }
        let setting =
            Setting::open(Some(workspace), &others, Limits::default()).map_err(|Stop(problem, _)| problem)?;
        let ground = setting.ground(Arc::clone(&self.store));
        open.push_front((workspace.to_owned(), others, ground.clone()));
        open.truncate(OPEN);
        Ok(ground)
    }
}

/// Makes this process known to others as `kind`, and has it look after background runs from now on.
pub(super) fn at_work(
    store: &Arc<Store>,
    house: Arc<dyn House>,
    dirs: Dirs,
    kind: &str,
    (config, hands): (TasksConfig, Hands),
) -> Result<Tasks, Stop> {
    let presence = Presence::announce(&dirs).map_err(|error| {
        Stop(
            format!("{}: other processes cannot be told of this one: {error}", dirs.data.display()),
            Exit::Config,
        )
    })?;
    Tasks::open(store, house, (dirs, presence, kind), (config, hands))
        .map_err(|error| Stop(error.to_string(), Exit::Failed))
}
