//! The `find_files` tool: paths by words, glob and type.

mod hits;

use hits::Hits;
use ringfence_tool::files::{Filter, Found, Kind, Stat, Walk, Workspace};
use ringfence_tool::page::Page;
use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, ErrorKind, Output, Tool};

struct FindFiles;

#[derive(serde::Deserialize)]
struct Arguments {
    #[serde(default = "here")]
    path: String,
    #[serde(default)]
    query: String,
    glob: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    include_dirs: bool,
    #[serde(default)]
    sort: Sort,
    #[serde(default = "head_limit")]
    head_limit: usize,
    #[serde(default)]
    offset: usize,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Path,
    Modified,
}

fn here() -> String {
    ".".into()
}

fn head_limit() -> usize {
    200
}

impl Tool for FindFiles {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let place = workspace.locate(&arguments.path)?;
        if place.stat()?.kind != Kind::Directory {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{} is not a directory; name the directory to search in", place.shown()),
            ));
        }
        let filter = Filter::new(arguments.glob.as_deref(), arguments.kind.as_deref())?;
        let words: Vec<String> = arguments.query.split_whitespace().map(str::to_lowercase).collect();
        let mut walk = Walk::through(&place, true)?;
        let page = Page::new(arguments.offset, arguments.head_limit);
        let mut hits = Hits::new(page, arguments.sort == Sort::Modified);
        let mut unreadable = 0;
        while let Some(found) = walk.next() {
            let wanted = has_words(&found.place.shown(), &words)
                && filter.admits(&found.place, walk.relative(&found.place));
            if !wanted {
                continue;
            }
            match listed_as(&found, arguments.include_dirs && !filter.has_type(), hits.wants_times()) {
                Listed::Yes { stat, directory } => {
                    let mark = if directory { "/" } else { "" };
                    let path = format!("{}{mark}", one_line(&found.place.shown()));
                    hits.add(path, stat.map(|s| s.modified).unwrap_or_default());
                }
                Listed::No => {}
                Listed::Unreadable => unreadable += 1,
            }
        }
        let mut omitted = walk.omitted();
        omitted.unreadable += unreadable;
        Ok(Output::text(hits.finish(omitted)))
    }
}

/// Whether all words are in the path; `words` are in lower case.
fn has_words(path: &str, words: &[String]) -> bool {
    let path = path.to_lowercase();
    words.iter().all(|word| path.contains(word))
}

enum Listed {
    Yes { stat: Option<Stat>, directory: bool },
    No,
    Unreadable,
}

/// Whether something found goes into the result. Links count as the file they lead to; those that lead to a directory
/// are not gone through, so they are not offered either.
fn listed_as(found: &Found<'_>, directories: bool, times: bool) -> Listed {
    match found.kind {
        Kind::File if !times => Listed::Yes { stat: None, directory: false },
        Kind::File | Kind::Link => match found.place.stat() {
            Ok(stat) if stat.kind == Kind::File => Listed::Yes { stat: Some(stat), directory: false },
            Ok(_) => Listed::No,
            Err(_) => Listed::Unreadable,
        },
        Kind::Directory if !directories => Listed::No,
        Kind::Directory if !times => Listed::Yes { stat: None, directory: true },
        Kind::Directory => match found.place.stat() {
            Ok(stat) => Listed::Yes { stat: Some(stat), directory: true },
            Err(_) => Listed::Unreadable,
        },
        Kind::Special => Listed::No,
    }
}

ringfence_tool::export_tool!(FindFiles);
