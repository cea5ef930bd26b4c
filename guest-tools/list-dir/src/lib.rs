//! The `list_dir` tool: what is in a directory, one entry a line.

use ringfence_tool::files::{Kind, Omitted, Place, Walk, Workspace};
use ringfence_tool::page::Page;
use ringfence_tool::sheet::one_line;
use ringfence_tool::{Error, ErrorKind, Output, Tool};

struct ListDir;

#[derive(serde::Deserialize)]
struct Arguments {
    path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(default = "max_entries")]
    max_entries: usize,
}

fn max_entries() -> usize {
    200
}

impl Tool for ListDir {
    const DEFINITION: &'static str = include_str!("../definition.json");
    type Arguments = Arguments;

    fn call(arguments: Arguments) -> ringfence_tool::Result {
        let workspace = Workspace::open()?;
        let place = workspace.locate(&arguments.path)?;
        check_directory(&place)?;
        let mut walk = Walk::through(&place, arguments.recursive)?;
        let mut page = Page::new(0, arguments.max_entries);
        while let Some(found) = walk.next() {
            page.line(&entry(walk.relative(&found.place), found.kind));
        }
        let remarks = remarks(&page, walk.omitted(), &place);
        Ok(Output::text(page.finish(&remarks)))
    }
}

fn check_directory(place: &Place<'_>) -> Result<(), Error> {
    match place.stat()?.kind {
        Kind::Directory => Ok(()),
        Kind::File => Err(Error::new(
            ErrorKind::Unsupported,
            format!("{} is a file, not a directory; use read_file to read it", place.shown()),
        )),
        Kind::Link | Kind::Special => Err(place.not_regular()),
    }
}

/// An entry with a mark of its kind.
fn entry(path: &str, kind: Kind) -> String {
    let path = one_line(path);
    match kind {
        Kind::File => path.into_owned(),
        Kind::Directory => format!("{path}/"),
        Kind::Link => format!("{path} (link)"),
        Kind::Special => format!("{path} (device, pipe or socket)"),
    }
}

fn remarks(page: &Page, omitted: Omitted, place: &Place<'_>) -> Vec<String> {
    let mut remarks = Vec::new();
    if page.total() == 0 {
        let shown = place.shown();
        let shown = one_line(&shown);
        let bare = omitted == Omitted::default();
        remarks.push(if bare { format!("{shown} is empty") } else { format!("nothing to show in {shown}") });
    } else if page.shown() < page.total() {
        let least = if omitted.stopped { "at least " } else { "" };
        remarks.push(format!(
            "truncated: {} of {least}{} entries; raise max_entries or list a directory further down",
            page.shown(),
            page.total()
        ));
    }
    remarks.extend(omitted.remarks());
    remarks.extend(omitted.ignored_remark());
    remarks
}

ringfence_tool::export_tool!(ListDir);
