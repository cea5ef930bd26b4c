//! The files of a patch as they would become.

use crate::edit::{self, Edit, Lines};
use ringfence_tool::{
    Error, ErrorKind,
    files::{Change, Identity, Place, Target, Workspace, fingerprint},
};

/// Bytes of the largest file that is patched.
const MAX_FILE: usize = 8 * 1024 * 1024;

/// Bytes of all files of a patch, before and after: they are in memory together, and a guest has 64 MiB.
const MAX_TOTAL: usize = 24 * 1024 * 1024;

/// All files of a patch, in the order in which it names them.
pub struct Drafts<'w> {
    workspace: &'w Workspace,
    files: Vec<Draft<'w>>,
}

/// One file of a patch.
pub struct Draft<'w> {
    target: Target<'w>,
    identity: Identity,
    /// The content; `None` for a file that does not exist.
    before: Option<String>,
    after: Option<String>,
    lines: Lines,
    /// The directories that writing it will make.
    missing: Vec<Place<'w>>,
}

impl<'w> Drafts<'w> {
    /// No files yet.
    pub fn new(workspace: &'w Workspace) -> Self {
        Self { workspace, files: Vec::new() }
    }

    /// Applies an edit to what the edits before it left; writes nothing.
    ///
    /// # Errors
    ///
    /// When the file or the edit is not usable.
    pub fn apply(&mut self, edit: &Edit) -> Result<(), Error> {
        let index = self.open(edit)?;
        let others: usize =
            self.files.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, f)| f.size()).sum();
        let Some(draft) = self.files.get_mut(index) else { return Ok(()) };
        let name = draft.name();
        let (after, lines) = edit::apply(draft.after.as_deref(), edit, &name)?;
        if after.len() > MAX_FILE {
            return Err(too_large(format!(
                "{name} would become larger than {MAX_FILE} bytes, the limit here"
            )));
        }
        draft.after = Some(after);
        draft.lines.add(lines);
        if others + draft.size() > MAX_TOTAL {
            return Err(over_total());
        }
        Ok(())
    }

    /// The files, in the order of writing.
    pub fn files(&self) -> &[Draft<'w>] {
        &self.files
    }

    /// One line a file.
    pub fn summary(&self) -> String {
        let lines: Vec<String> = self.files.iter().map(Draft::summary).collect();
        lines.join("\n")
    }

    /// Where the draft of the file that an edit names is; a new one where there is none.
    fn open(&mut self, edit: &Edit) -> Result<usize, Error> {
        let target = self.workspace.target(&edit.path)?;
        let identity = target.identity()?;
        // Two spellings of a path, or two links to a file, are one file.
        if let Some(index) = self.files.iter().position(|f| f.identity == identity) {
            return Ok(index);
        }
        let before = if target.exists() { Some(target.read_text(MAX_FILE as u64)?) } else { None };
        if before.is_none() && edit.action == "replace" {
            // Reading says so best, with the nearest name.
            target.read_text(MAX_FILE as u64)?;
        }
        let used: usize = self.files.iter().map(Draft::size).sum();
        // Once as it is, once as it will be.
        if used + 2 * before.as_ref().map_or(0, String::len) > MAX_TOTAL {
            return Err(over_total());
        }
        let missing = match target.place().parent() {
            Some(parent) => parent.missing_directories()?,
            None => Vec::new(),
        };
        let after = before.clone();
        self.files.push(Draft { target, identity, before, after, lines: Lines::default(), missing });
        Ok(self.files.len() - 1)
    }
}

impl Draft<'_> {
    /// The path as people and models write it.
    pub fn name(&self) -> String {
        self.target.shown()
    }

    /// Writes the file as it is to become.
    ///
    /// # Errors
    ///
    /// When that fails; the file is then as it was.
    pub fn write(&self) -> Result<Change, Error> {
        let after = self.after.as_deref().unwrap_or_default();
        self.target.write(self.before.as_ref().map(|b| fingerprint(b.as_bytes())), after.as_bytes())
    }

    /// Undoes [`Draft::write`].
    ///
    /// # Errors
    ///
    /// When that fails.
    pub fn restore(&self) -> Result<(), Error> {
        let place = self.target.place();
        match &self.before {
            Some(before) => place.write(before.as_bytes()),
            None => {
                place.remove()?;
                place.remove_directories(&self.missing);
                Ok(())
            }
        }
    }

    fn size(&self) -> usize {
        [&self.before, &self.after].into_iter().flatten().map(String::len).sum()
    }

    fn summary(&self) -> String {
        let done = if self.before.is_some() { "update" } else { "add" };
        format!("{done} file {} (+{} -{})", self.name(), self.lines.added, self.lines.removed)
    }
}

fn too_large(message: String) -> Error {
    Error::new(ErrorKind::TooLarge, message)
}

fn over_total() -> Error {
    too_large(format!(
        "the files of this patch are larger than {MAX_TOTAL} bytes together, before and after; make several smaller patches"
    ))
}
