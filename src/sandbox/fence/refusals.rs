//! What the fence refused in one call.

use crate::authority::DenialKind;

/// Refusals of one call that are kept; more are counted.
const KEPT: usize = 32;

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub kind: DenialKind,
    /// The path, as the guest wrote it.
    pub path: String,
}

/// The refusals of one call.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The first ones.
    pub kept: Vec<Refusal>,
    /// All of them.
    pub count: u64,
}

impl Refusals {
    pub(super) fn note(&mut self, kind: DenialKind, path: &str) {
        self.count += 1;
        if self.kept.len() < KEPT {
            let end = path.floor_char_boundary(1024);
            self.kept.push(Refusal { kind, path: path.get(..end).unwrap_or_default().to_owned() });
        }
    }
}
