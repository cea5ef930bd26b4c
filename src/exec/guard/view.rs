//! What a walk found: values that two looks are compared by.

use super::files::Stamp;
use super::names::What;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct View {
    /// What has a protected name, by its path.
    pub(super) places: BTreeMap<PathBuf, Place>,
    /// What runs later, and every file within a protected directory.
    pub(super) listed: BTreeMap<PathBuf, Listed>,
    /// Links that decide what is at a protected place, with what they say.
    pub(super) links: BTreeMap<PathBuf, (PathBuf, What)>,
    /// Directories that could not be looked into.
    pub(super) unreadable: BTreeSet<PathBuf>,
    /// Whether there was more than is looked at.
    pub(super) partial: bool,
}

/// Something with a protected name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) what: What,
    pub(super) sort: Sort,
    pub(super) stamp: Stamp,
    /// Whether it is where that name is protected.
    pub(super) guarded: bool,
}

/// How a protected place that is new is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// By what it says.
    Configuration,
    /// By what is in it.
    Hooks,
    /// It must not be there.
    Other,
}

/// A file that runs later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) what: What,
    pub(super) stamp: Stamp,
    /// Whether it lies in a protected directory.
    pub(super) inner: bool,
}
