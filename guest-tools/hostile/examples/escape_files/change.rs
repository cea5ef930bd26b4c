//! Changing things.

use hostile::{
    answer,
    raw::{following, outcome, preopen},
    tool,
};
use serde::{Deserialize, Serialize};
use wasip2::{
    clocks::wall_clock::Datetime,
    filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags},
};

tool!(Link, "raw_link", "Makes a hard link.", Pair, |pair| done(
    pair.with(|from, to| { from.link_at(following(pair.follow), &pair.from, &to, &pair.to) })
));
tool!(Rename, "raw_rename", "Renames.", Pair, |pair| done(
    pair.with(|from, to| { from.rename_at(&pair.from, &to, &pair.to) })
));
tool!(Symlink, "raw_symlink", "Makes a symbolic link.", NewLink, |link| done(
    preopen(link.preopen).and_then(|dir| dir.symlink_at(&link.target, &link.path))
));
tool!(MakeDirectory, "raw_make_directory", "Makes a directory.", Named, |named| done(
    preopen(named.preopen).and_then(|dir| dir.create_directory_at(&named.path))
));
tool!(Remove, "raw_remove", "Removes a file or a directory.", Named, |named| answer(&remove(&named)));
tool!(SetTimes, "raw_set_times", "Sets the times of a path.", Named, |named| done(set_times(&named)));
tool!(
    ThroughReadHandle,
    "raw_through_read_handle",
    "Changes a file through a handle for reading.",
    Named,
    |named| answer(&through_read_handle(&named))
);

/// The outcome of the one operation that was asked for.
#[derive(Serialize)]
struct Done {
    outcome: String,
}

fn done<T>(result: Result<T, ErrorCode>) -> ringfence_tool::Result {
    answer(&Done { outcome: outcome(&result) })
}

#[derive(Deserialize)]
pub(crate) struct Pair {
    #[serde(default)]
    from_preopen: usize,
    from: String,
    #[serde(default)]
    to_preopen: usize,
    to: String,
    #[serde(default)]
    follow: bool,
}

impl Pair {
    fn with(
        &self,
        change: impl FnOnce(Descriptor, Descriptor) -> Result<(), ErrorCode>,
    ) -> Result<(), ErrorCode> {
        change(preopen(self.from_preopen)?, preopen(self.to_preopen)?)
    }
}

#[derive(Deserialize)]
pub(crate) struct NewLink {
    #[serde(default)]
    preopen: usize,
    target: String,
    path: String,
}

#[derive(Deserialize)]
pub(crate) struct Named {
    #[serde(default)]
    preopen: usize,
    path: String,
    #[serde(default)]
    follow: bool,
}

#[derive(Serialize)]
struct Removed {
    file: String,
    directory: String,
}

fn remove(named: &Named) -> Result<Removed, String> {
    let dir = preopen(named.preopen).map_err(|code| code.name().to_owned())?;
    Ok(Removed {
        file: outcome(&dir.unlink_file_at(&named.path)),
        directory: outcome(&dir.remove_directory_at(&named.path)),
    })
}

fn long_ago() -> NewTimestamp {
    NewTimestamp::Timestamp(Datetime { seconds: 1, nanoseconds: 0 })
}

fn set_times(named: &Named) -> Result<(), ErrorCode> {
    preopen(named.preopen)?.set_times_at(following(named.follow), &named.path, long_ago(), long_ago())
}

/// How each way of changing a file went.
#[derive(Serialize)]
struct Changes {
    open: String,
    write: String,
    set_size: String,
    set_times: String,
    write_stream: String,
    append_stream: String,
    /// Opening it again for writing, with the file's own handle as the directory.
    reopen: String,
}

fn through_read_handle(named: &Named) -> Result<Changes, String> {
    let opened = preopen(named.preopen).and_then(|dir| {
        dir.open_at(following(named.follow), &named.path, OpenFlags::empty(), DescriptorFlags::READ)
    });
    let file = opened.map_err(|code| code.name().to_owned())?;
    Ok(Changes {
        open: "ok".to_owned(),
        write: outcome(&file.write(b"changed", 0)),
        set_size: outcome(&file.set_size(0)),
        set_times: outcome(&file.set_times(long_ago(), long_ago())),
        write_stream: streamed(file.write_via_stream(0)),
        append_stream: streamed(file.append_via_stream()),
        reopen: outcome(&file.open_at(PathFlags::empty(), ".", OpenFlags::empty(), DescriptorFlags::WRITE)),
    })
}

fn streamed(stream: Result<wasip2::io::streams::OutputStream, ErrorCode>) -> String {
    match stream.map(|stream| stream.blocking_write_and_flush(b"changed")) {
        Ok(Ok(())) => "ok".to_owned(),
        // A stream that was handed out but takes nothing has changed nothing.
        Ok(Err(_)) => "closed".to_owned(),
        Err(code) => code.name().to_owned(),
    }
}
