//! What a search is told.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Arguments {
    pub(crate) pattern: String,
    #[serde(default = "here")]
    pub(crate) path: String,
    pub(crate) glob: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) case_insensitive: bool,
    #[serde(default)]
    pub(crate) fixed_strings: bool,
    #[serde(default)]
    pub(crate) output_mode: Mode,
    #[serde(default)]
    pub(crate) context_before: usize,
    #[serde(default)]
    pub(crate) context_after: usize,
    #[serde(default)]
    pub(crate) offset: usize,
    head_limit: Option<usize>,
    max_matches: Option<usize>,
    max_results: Option<usize>,
}

/// What is shown of the matches.
#[derive(Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Content,
    #[default]
    FilesWithMatches,
    Count,
}

impl Arguments {
    /// Matches or files to show; 0 for all.
    pub(crate) fn limit(&self) -> usize {
        self.head_limit.or(self.max_matches).or(self.max_results).unwrap_or(250)
    }

    /// Whether lines around a match are shown.
    pub(crate) fn has_context(&self) -> bool {
        self.context_before > 0 || self.context_after > 0
    }
}

fn here() -> String {
    ".".into()
}
