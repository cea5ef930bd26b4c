//! Who asks for a background run: bound by the host with every turn, and no parameter of any tool.

use super::Place;
use crate::agent::{Budget, Ground, Means, Purse};
use crate::authority::{Profile, Rights};
use crate::session::SessionKey;
use crate::store::TaskRow;
use serde::{Deserialize, Serialize};

/// The turn that a run is started from.
#[derive(Clone)]
pub struct Origin {
    /// What its workspace has.
    pub ground: Ground,
    /// Its session.
    pub key: SessionKey,
    /// Its name, which no other turn has.
    pub turn: String,
    /// The most that it holds: what it starts holds no more.
    pub rights: Rights,
    /// What it may still take; what it starts takes of the same.
    pub purse: Purse,
    /// As what and with which model it runs.
    pub of: TurnOf,
    /// Whether its session is kept.
    pub kept: bool,
}

/// As what and with which model the turns of a session run. It stands beside a run, so that the turn which tells of its
/// result is no more than the one that started it, in whichever process it happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnOf {
    /// The role or profile.
    pub profile: String,
    /// The only tools that the profile left, where it named any.
    pub tools: Option<Vec<String>>,
    /// The model service.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What one of its turns may take at most.
    #[serde(default)]
    pub most: Most,
}

/// What a turn may take at most, where that was said when it was started. `None` is what the configuration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Most {
    /// Model calls.
    pub iterations: Option<u32>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

impl Most {
    /// What that budget gives.
    pub fn of(budget: &Budget) -> Self {
        Self { iterations: Some(budget.iterations), tokens: budget.tokens, cost: budget.cost }
    }

    /// A budget that is within both.
    pub(super) fn within(self, budget: Budget) -> Budget {
        let mine = Means { tokens: self.tokens, cost: self.cost };
        let means = mine.within(Means { tokens: budget.tokens, cost: budget.cost });
        Budget {
            iterations: self.iterations.map_or(budget.iterations, |most| most.min(budget.iterations)),
            tokens: means.tokens,
            cost: means.cost,
            ..budget
        }
    }
}

impl TurnOf {
    /// The profile as it was then: what it is called, and the tools that it left. Its rights stand in the rights of the run.
    pub(super) fn profile(&self, plain: Profile) -> Profile {
        Profile { name: self.profile.clone(), tools: self.tools.clone(), ..plain }
    }
}

/// The session that a run belongs to.
pub(super) fn place_of(row: &TaskRow) -> Place {
    (row.workspace_path.clone(), SessionKey::new(&row.channel, &row.chat))
}

/// The session that holds what is said in a run.
pub fn transcript(id: &str) -> SessionKey {
    SessionKey::of_task(id)
}
