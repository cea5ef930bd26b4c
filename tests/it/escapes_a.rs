//! Section A of the escape corpus: paths, links and special files, by the seven file tools and by raw operations.

use crate::attack::{
    MARK, OUTSIDE, SECRET, assert_raw_refuses, assert_raw_works, assert_reading_refused, assert_refused,
    assert_tools_refuse, assert_writing_refused, raw, raw_world, said, secret, world,
};
use ringfence::authority::Access;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A directory beside the workspace whose name starts with the workspace's.
fn neighbour(workspace: &Path) -> String {
    let neighbour = format!("{}-evil", text(workspace));
    fs::create_dir(&neighbour).unwrap();
    fs::write(format!("{neighbour}/secret"), SECRET).unwrap();
    neighbour
}

#[test]
fn escape_001_a_neighbour_whose_name_starts_the_same_is_outside() {
    let w = world();
    let neighbour = neighbour(w.root());
    let name = Path::new(&neighbour).file_name().and_then(|n| n.to_str()).unwrap();
    let before = w.snapshot_outside();
    for path in
        [format!("{neighbour}/secret"), format!("../{name}/secret"), format!("sub/../../{name}/secret")]
    {
        assert_tools_refuse(&w, &path, OUTSIDE);
    }
    w.assert_outside_unchanged(&before);
    // It is the grant that is missing, not the spelling.
    let granted = world().with_directory(Path::new(&neighbour), Access::ReadWrite);
    let path = format!("{neighbour}/secret");
    assert!(granted.call("read_file", json!({ "path": path })).text().contains(SECRET));
    granted.call("write_file", json!({ "path": path, "content": MARK })).text();
    assert_eq!(fs::read_to_string(&path).unwrap(), MARK);
}

#[test]
fn escape_001_a_neighbour_is_outside_for_raw_operations() {
    let w = raw_world();
    let neighbour = neighbour(w.root());
    let name = Path::new(&neighbour).file_name().and_then(|n| n.to_str()).unwrap();
    for path in [
        format!("{neighbour}/secret"),
        format!("../{name}/secret"),
        format!("sub/../../{name}/secret"),
        format!("./../{name}"),
        "..".to_owned(),
        "../".to_owned(),
        "/".to_owned(),
        "/etc/passwd".to_owned(),
        "//etc/passwd".to_owned(),
    ] {
        assert_raw_refuses(&w, &path);
    }
    assert_raw_works(&w, "honest.txt");
}

#[test]
fn escape_002_links_lead_nowhere_outside() {
    let w = world();
    // Made after the workspace was opened, as an earlier command would.
    symlink(w.outside(), w.path("l")).unwrap();
    symlink(secret(&w), w.path("leaf")).unwrap();
    symlink("../outside", w.path("relative")).unwrap();
    symlink("l", w.path("second")).unwrap();
    let before = w.snapshot_outside();
    for path in ["leaf", "l/secret.txt", "relative/secret.txt", "second/secret.txt", "./l/../l/secret.txt"] {
        assert_tools_refuse(&w, path, OUTSIDE);
    }
    for path in ["l", "relative", "second"] {
        assert_reading_refused(&w, path, OUTSIDE);
        let new = format!("{path}/x");
        assert_refused(&new, &w.call("write_file", json!({ "path": new, "content": MARK })), OUTSIDE);
    }
    // Nor does a search walk through them.
    for (tool, arguments) in [
        ("grep", json!({ "pattern": SECRET, "output_mode": "content" })),
        ("find_files", json!({ "query": "secret.txt" })),
        ("list_dir", json!({ "path": ".", "recursive": true })),
    ] {
        let all = said(&w.call(tool, arguments));
        assert!(!all.contains("l/secret") && !all.contains(&format!("| {SECRET}")), "{tool}: {all}");
    }
    w.assert_outside_unchanged(&before);
    symlink("honest.txt", w.path("inside")).unwrap();
    assert!(w.call("read_file", json!({ "path": "inside" })).text().contains("honest"));
}

#[test]
fn escape_002_raw_operations_do_not_follow_links_outside() {
    let w = raw_world();
    symlink(w.outside(), w.path("l")).unwrap();
    symlink("../outside", w.path("sub-link")).unwrap();
    symlink("../../outside", w.path("sub/relative")).unwrap();
    symlink("sub/relative", w.path("second")).unwrap();
    symlink("/proc/self/root", w.path("proc")).unwrap();
    for path in [
        "l/secret.txt",
        "l/./secret.txt",
        "l/../outside/secret.txt",
        "sub-link/secret.txt",
        "sub/relative/secret.txt",
        "second/secret.txt",
        "proc/etc/passwd",
        "l/new.txt",
    ] {
        assert_raw_refuses(&w, path);
    }
    symlink("sub", w.path("inside")).unwrap();
    assert_raw_works(&w, "inside/honest.txt");
}

#[test]
fn escape_002_a_directory_handle_leads_no_further_than_its_directory() {
    let w = raw_world();
    symlink(w.outside(), w.path("sub/l")).unwrap();
    let before = w.snapshot_outside();
    for path in ["../../outside/secret.txt", "l/secret.txt", "../..", "../../outside", "/etc/passwd"] {
        let ways = raw(&w, "raw_open_all", json!({ "via": "sub", "path": path, "mark": MARK }));
        assert_eq!(ways["opened"], 0, "{path}: {ways}");
    }
    w.assert_outside_unchanged(&before);
    let inside = raw(&w, "raw_open", json!({ "via": "sub", "path": "honest.txt", "rights": ["read"] }));
    assert_eq!(inside["text"], "honest");
}

#[test]
fn escape_004_a_sibling_by_prefix_of_a_granted_directory_is_outside() {
    let w = world();
    let granted = w.outside().join("proj");
    let sibling = w.outside().join("proj_private");
    for dir in [&granted, &sibling] {
        fs::create_dir(dir).unwrap();
        fs::write(dir.join("x"), SECRET).unwrap();
    }
    let w = w.with_directory(&granted, Access::ReadWrite);
    let before = w.snapshot_outside();
    assert_tools_refuse(&w, text(&sibling.join("x")), OUTSIDE);
    assert_tools_refuse(&w, &format!("{}/../proj_private/x", text(&granted)), OUTSIDE);
    w.assert_outside_unchanged(&before);
    assert!(w.call("read_file", json!({ "path": text(&granted.join("x")) })).text().contains(SECRET));
}

#[test]
fn escape_005_the_resolved_object_counts_and_not_the_name_in_the_workspace() {
    let w = world();
    let read_only = w.outside().join("library");
    fs::create_dir(&read_only).unwrap();
    fs::write(read_only.join("x"), "as published").unwrap();
    symlink("/etc/passwd", w.path("ln")).unwrap();
    symlink(read_only.join("x"), w.path("library-link")).unwrap();
    let w = w.with_directory(&read_only, Access::ReadOnly);
    let before = w.snapshot_outside();
    assert_tools_refuse(&w, "ln", OUTSIDE);
    assert_writing_refused(&w, "library-link", &["outside-workspace", "denied", "read-only"]);
    assert_writing_refused(&w, text(&read_only.join("x")), &["read-only", "denied", "conflict", "not-found"]);
    w.assert_outside_unchanged(&before);
    assert!(
        w.call("read_file", json!({ "path": text(&read_only.join("x")) })).text().contains("as published")
    );
}

#[test]
fn escape_007_a_link_to_the_parent_is_outside() {
    let w = world();
    symlink("..", w.path("ln")).unwrap();
    let before = w.snapshot_outside();
    assert_tools_refuse(&w, "ln/outside/secret.txt", OUTSIDE);
    assert_refused(
        "ln/new.txt",
        &w.call("write_file", json!({ "path": "ln/new.txt", "content": MARK })),
        OUTSIDE,
    );
    w.assert_outside_unchanged(&before);

    let w = raw_world();
    symlink("..", w.path("ln")).unwrap();
    symlink("../..", w.path("sub/ln")).unwrap();
    for path in ["ln/new.txt", "ln/outside/secret.txt", "sub/ln/outside/secret.txt", "sub/ln/new.txt"] {
        assert_raw_refuses(&w, path);
    }
}

#[test]
fn escape_013_a_file_with_a_name_outside_is_refused() {
    let w = world();
    fs::hard_link(secret(&w), w.path("a")).unwrap();
    let before = w.snapshot_outside();
    assert_refused("read_file a", &w.call("read_file", json!({ "path": "a" })), &["hard-link", "denied"]);
    // An edit that would create the file may say first that there is one.
    assert_writing_refused(&w, "a", &["hard-link", "denied", "conflict"]);
    let found = said(&w.call("grep", json!({ "pattern": SECRET, "output_mode": "content" })));
    assert!(!found.contains(&format!("| {SECRET}")), "{found}");
    w.assert_outside_unchanged(&before);
    // With one name left it is a file of the workspace like any other.
    fs::remove_file(secret(&w)).unwrap();
    assert!(w.call("read_file", json!({ "path": "a" })).text().contains(SECRET));
}

#[test]
fn escape_013_raw_operations_do_not_open_a_file_with_a_name_outside() {
    let w = raw_world();
    fs::hard_link(secret(&w), w.path("a")).unwrap();
    let before = w.snapshot_outside();
    let ways = raw(&w, "raw_open_all", json!({ "path": "a", "mark": MARK }));
    assert_eq!(ways["opened"], 0, "{ways}");
    assert_eq!(ways["written"], 0, "{ways}");
    for (tool, arguments) in [
        ("raw_set_times", json!({ "path": "a" })),
        ("raw_link", json!({ "from": "a", "to": "b" })),
        ("raw_link", json!({ "from": "honest.txt", "to": "b" })),
    ] {
        let done = raw(&w, tool, arguments);
        assert_ne!(done["outcome"], "ok", "{tool}: {done}");
    }
    w.assert_outside_unchanged(&before);
    fs::remove_file(secret(&w)).unwrap();
    assert_raw_works(&w, "a");
}

#[test]
fn escape_014_a_dangling_link_creates_nothing_outside() {
    let w = world();
    symlink(w.outside().join("new"), w.path("n")).unwrap();
    symlink("../outside/new", w.path("r")).unwrap();
    let before = w.snapshot_outside();
    for path in ["n", "r"] {
        let kinds = &["outside-workspace", "denied", "not-found"];
        assert_writing_refused(&w, path, kinds);
        assert_refused(path, &w.call("write_file", json!({ "path": path, "content": MARK })), OUTSIDE);
    }
    w.assert_outside_unchanged(&before);

    let w = raw_world();
    symlink(w.outside().join("new"), w.path("n")).unwrap();
    symlink("../outside/new", w.path("r")).unwrap();
    for path in ["n", "r"] {
        assert_raw_refuses(&w, path);
    }
    // A dangling link that stays inside is a file that is not there yet.
    symlink("later.txt", w.path("inside")).unwrap();
    let made = raw(
        &w,
        "raw_open",
        json!({ "path": "inside", "follow": true, "flags": ["create"], "rights": ["write"], "write": MARK }),
    );
    assert_eq!(made["outcome"], "ok", "{made}");
    assert_eq!(w.read("later.txt"), MARK);
}

#[test]
fn escape_016_a_tilde_is_no_home() {
    let w = raw_world();
    for path in ["~", "~/.bashrc", "~root/.bashrc", "~/.config/ringfence/config.toml"] {
        let r = w.call("read_file", json!({ "path": path }));
        assert_refused(path, &r, &["outside-workspace", "denied", "not-found"]);
    }
    let r = w.call("write_file", json!({ "path": "~/x", "content": MARK }));
    assert_refused("~/x", &r, OUTSIDE);
    assert!(!w.exists("~"));
    // To the file system it is a name like any other.
    w.file("~/plain.txt", "inside");
    let opened = raw(&w, "raw_open", json!({ "path": "~/plain.txt", "rights": ["read"] }));
    assert_eq!(opened["text"], "inside");
}

#[test]
fn escape_025_pipes_sockets_and_devices_are_refused_at_once() {
    let w = raw_world();
    let fifo = w.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(w.path("socket")).unwrap();
    symlink("/dev/zero", w.path("zero")).unwrap();
    for path in ["fifo", "socket"] {
        let kinds = &["special-file", "unsupported", "denied"];
        assert_refused(path, &w.call("read_file", json!({ "path": path })), kinds);
        assert_refused(path, &w.call("write_file", json!({ "path": path, "content": MARK })), kinds);
        let ways = raw(&w, "raw_open_all", json!({ "path": path, "mark": MARK }));
        assert_eq!(ways["written"], 0, "{path}: {ways}");
        assert_eq!(ways["opened"], 0, "{path}: {ways}");
    }
    for path in ["zero", "/dev/zero", "/dev/random", "/proc/kmsg", "/proc/self/fd/0"] {
        assert_refused(path, &w.call("read_file", json!({ "path": path })), OUTSIDE);
        assert_raw_refuses(&w, path);
    }
    assert!(said(&w.call("grep", json!({ "pattern": "x" }))).len() < 16_000);
    // The pipe is still there and still a pipe.
    assert!(std::os::unix::fs::FileTypeExt::is_fifo(&fs::metadata(&fifo).unwrap().file_type()));
}

#[test]
fn escape_025_a_file_larger_than_any_memory_is_refused_at_once() {
    let w = world();
    w.file("huge", "");
    fs::OpenOptions::new().write(true).open(w.path("huge")).unwrap().set_len(1 << 40).unwrap();
    let kinds = &["too-large", "unsupported"];
    assert_refused("read_file", &w.call("read_file", json!({ "path": "huge" })), kinds);
    // A search may skip it instead.
    assert!(said(&w.call("grep", json!({ "path": "huge", "pattern": "x" }))).len() < 16_000);
    let edit = json!({ "path": "huge", "old_text": "a", "new_text": "b" });
    assert_refused("edit_file", &w.call("edit_file", edit), &["too-large", "unsupported"]);
}

#[test]
fn nothing_but_the_directories_is_handed_over() {
    let w = raw_world();
    let context = raw(&w, "raw_context", json!({}));
    assert_eq!(context["preopens"], json!([text(w.root())]), "{context}");
    for empty in ["environment", "arguments"] {
        assert_eq!(context[empty], json!([]), "{context}");
    }
    assert_eq!(context["stdin"], "", "{context}");
    assert_eq!(context["terminal"], false, "{context}");
    // Where relative paths begin: the name that the one directory has anyway.
    assert_eq!(context["cwd"].as_str(), w.root().to_str(), "{context}");
}
