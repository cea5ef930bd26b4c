//! The `grep` tool: lines of files by a regular expression, in time linear in their length.

mod answer;
mod arguments;
mod lines;
mod omitted;
mod pattern;
mod search;

use answer::Answer;
use arguments::Arguments;
use ringfence_tool::files::{Filter, Kind, Walk, Workspace};
use ringfence_tool::{Output, Tool};
use search::Search;

struct Grep;

impl Tool for Grep {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let place = workspace.locate(&arguments.path)?;
        let kind = place.stat()?.kind;
        let matcher = pattern::compile(&arguments)?;
        let mut search = Search::new(&matcher, &arguments, Answer::new(&arguments));
        match kind {
            // Opening anything else fails, and the host sees for itself what was tried.
            Kind::File | Kind::Link | Kind::Special => search.only_file(&place)?,
            Kind::Directory => {
                let filter = Filter::new(arguments.glob.as_deref(), arguments.kind.as_deref())?;
                search.directory(Walk::through(&place, true)?, &filter);
            }
        }
        Ok(Output::text(search.finish()))
    }
}

ringfence_tool::export_tool!(Grep);
