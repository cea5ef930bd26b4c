//! What a search did not look into.

use ringfence_tool::files;
use ringfence_tool::sheet::count;

/// Files and directories that were not searched.
#[derive(Default)]
pub(crate) struct Omitted {
    pub(crate) binary: usize,
    pub(crate) large: usize,
    /// Files that are refused or have lines longer than can be held.
    pub(crate) unreadable: usize,
    /// Whether the search ran out of time.
    pub(crate) late: bool,
    pub(crate) walk: files::Omitted,
}

impl Omitted {
    /// Whether there may be more than was found.
    pub(crate) fn is_partial(&self) -> bool {
        self.late || self.walk.stopped
    }

    /// What a reader of the result has to know.
    pub(crate) fn remarks(&self, nothing_found: bool) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.binary > 0 {
            remarks.push(format!("{} skipped", count(self.binary, "binary file", "binary files")));
        }
        if self.large > 0 {
            remarks.push(format!(
                "{} over 2 MB skipped; name one as path to search it",
                count(self.large, "file", "files")
            ));
        }
        let mut walk = self.walk;
        walk.unreadable += self.unreadable;
        remarks.extend(walk.remarks());
        if self.late {
            remarks.push("stopped for lack of time, so there may be more; narrow path, glob or type".into());
        }
        if nothing_found {
            remarks.extend(walk.ignored_remark());
        }
        remarks
    }
}
