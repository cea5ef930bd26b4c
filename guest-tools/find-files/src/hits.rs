//! What was found, in the order that was asked for.

use ringfence_tool::files::{Newest, Omitted};
use ringfence_tool::page::Page;

/// Collects hits as they are found: in order of their paths, or to be put in order of their last change.
pub(crate) struct Hits {
    page: Page,
    newest: Option<Newest>,
}

impl Hits {
    pub(crate) fn new(page: Page, newest_first: bool) -> Self {
        let newest = newest_first.then(|| Newest::keeping(page.end()));
        Self { page, newest }
    }

    /// Whether hits have to come with the time of their last change.
    pub(crate) fn wants_times(&self) -> bool {
        self.newest.is_some()
    }

    pub(crate) fn add(&mut self, path: String, modified: (u64, u32)) {
        match &mut self.newest {
            Some(newest) => newest.push(modified, path),
            None => self.page.line(&path),
        }
    }

    /// The page, with remarks on what it does not show.
    pub(crate) fn finish(mut self, omitted: Omitted) -> String {
        if let Some(newest) = self.newest {
            let seen = newest.seen();
            newest.into_paths().for_each(|path| self.page.line(&path));
            self.page.set_total(seen);
        }
        let mut remarks = Vec::new();
        if self.page.total() == 0 {
            remarks.push("no files found".to_owned());
            remarks.extend(omitted.ignored_remark());
        }
        remarks.extend(self.page.position(omitted.stopped));
        remarks.extend(omitted.remarks());
        self.page.finish(&remarks)
    }
}
