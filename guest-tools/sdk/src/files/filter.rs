//! Which files a search is about: by glob and by type.

use super::Place;
use crate::Error;
use globset::{GlobBuilder, GlobMatcher};
use ignore::types::{Types, TypesBuilder};

/// Characters of a glob.
const MAX_GLOB: usize = 1_000;

/// A glob and a type, each of which may be missing.
#[derive(Debug)]
pub struct Filter {
    glob: Option<Glob>,
    types: Option<Types>,
}

#[derive(Debug)]
struct Glob {
    matcher: GlobMatcher,
    /// With a slash in it, it is about the path; without, about the name.
    on_path: bool,
}

impl Filter {
    /// Reads a glob (`*.rs`, `src/**`) and the name of a type (`rust`, `py`).
    ///
    /// # Errors
    ///
    /// When the glob makes no sense, or there is no such type.
    pub fn new(glob: Option<&str>, kind: Option<&str>) -> Result<Self, Error> {
        let glob = glob.filter(|g| !g.is_empty()).map(Glob::new).transpose()?;
        let types = kind.filter(|k| !k.is_empty()).map(types).transpose()?;
        Ok(Self { glob, types })
    }

    /// Whether this is about files of a type, so that no directory can be meant.
    pub fn has_type(&self) -> bool {
        self.types.is_some()
    }

    /// Whether a place passes. `below` is its path relative to where the search started: a glob may be written from there
    /// or from the workspace.
    pub fn admits(&self, place: &Place<'_>, below: &str) -> bool {
        let by_glob = self.glob.as_ref().is_none_or(|glob| match glob.on_path {
            true => glob.matcher.is_match(place.shown()) || glob.matcher.is_match(below),
            false => glob.matcher.is_match(place.name()),
        });
        by_glob && self.types.as_ref().is_none_or(|t| t.matched(place.name(), false).is_whitelist())
    }
}

impl Glob {
    fn new(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_GLOB {
            return Err(Error::invalid(format!("glob is longer than {MAX_GLOB} characters")));
        }
        let on_path = text.contains('/');
        let mut pattern = text.trim_start_matches("./").trim_start_matches('/').to_owned();
        if pattern.ends_with('/') {
            pattern.push_str("**");
        }
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        let glob = glob.map_err(|e| Error::invalid(format!("glob `{text}`: {}", e.kind())))?;
        Ok(Self { matcher: glob.compile_matcher(), on_path })
    }
}

fn types(name: &str) -> Result<Types, Error> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|_| {
        let shown: String = name.chars().take(40).collect();
        Error::invalid(format!(
            "type `{shown}` is not known; use a name such as rust, py, ts, js, go, md, json, or a glob such as *.{shown}"
        ))
    })
}
