//! Bad input never panics and never loses a file: each refusal is one clear message, and every byte is where it was.

use crate::support::{Reply, World};
use ringfence::toolbox::ErrorKind;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What temporary files of a write are called.
const TEMPORARY: &str = ".ringfence-tmp-";

fn write(w: &World, path: &str, content: &str) -> Reply {
    w.call("write_file", json!({ "path": path, "content": content }))
}

fn edit(w: &World, path: &str, old: &str, new: &str) -> Reply {
    w.call("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
}

fn patch(w: &World, path: &str, old: &str, new: &str) -> Reply {
    let edits = json!([{ "path": path, "action": "replace", "old_text": old, "new_text": new }]);
    w.call("apply_patch", json!({ "edits": edits }))
}

/// Appends or creates by a patch.
fn add(w: &World, path: &str, new: &str) -> Reply {
    let edits = json!([{ "path": path, "action": "add", "new_text": new }]);
    w.call("apply_patch", json!({ "edits": edits }))
}

/// A file of one word, written to by all three tools.
fn all_three(w: &World, path: &str) -> [Reply; 3] {
    [write(w, path, "other\n"), edit(w, path, "word", "other"), patch(w, path, "word", "other")]
}

/// Asserts a refusal that begins with one clear line on the path, and that no temporary file stays.
#[track_caller]
fn refused(w: &World, reply: &Reply, path: &str) -> String {
    let message = reply.refused();
    let first = message.lines().next().unwrap_or_default();
    assert!(first.contains(path), "{path:?} is not in the first line of {message:?}");
    assert!(!message.contains("panicked"), "{message}");
    assert_no_leftovers(w);
    message
}

#[track_caller]
fn assert_no_leftovers(w: &World) {
    let mut directories = vec![w.root().to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            assert!(!name.as_bytes().starts_with(TEMPORARY.as_bytes()), "{:?} was left", entry.path());
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            }
        }
    }
}

fn set_mode(w: &World, path: &str, mode: u32) {
    fs::set_permissions(w.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(w: &World, path: &str) -> u32 {
    fs::metadata(w.path(path)).unwrap().permissions().mode() & 0o7777
}

/// A small file system over a workspace, for as long as this lives.
struct Tiny(PathBuf);

impl Tiny {
    /// Mounts it; to be called before anything is in the workspace, and before the first call.
    fn over(w: &World) -> Self {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k,mode=0755", "tmpfs"])
            .arg(w.root())
            .status()
            .expect("`mount` is needed for this test");
        assert!(mounted.success(), "this test mounts a tmpfs: run the tests as root, or under `unshare -rm`");
        Self(w.root().to_path_buf())
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(
            std::thread::panicking() || unmounted.is_ok_and(|status| status.success()),
            "{} stays mounted",
            self.0.display()
        );
    }
}

#[test]
fn a_failing_edit_changes_nothing() {
    let w = World::new();
    w.file("a.txt", "word\r\nword\r\n");
    for (old, new) in [("word", "x"), ("absent", "x"), ("word", "word"), ("", "x")] {
        refused(&w, &edit(&w, "a.txt", old, new), "");
        refused(&w, &patch(&w, "a.txt", old, new), "");
    }
    assert_eq!(w.read("a.txt"), "word\r\nword\r\n");
}

#[test]
fn a_file_that_is_not_text_is_not_edited() {
    let w = World::new();
    let bytes = b"word \xff\xfe\x00 word";
    w.file("a.bin", bytes);
    for reply in [edit(&w, "a.bin", "word", "x"), patch(&w, "a.bin", "word", "x"), add(&w, "a.bin", "x")] {
        let (kind, message) = reply.error();
        assert_eq!(kind, ErrorKind::Unsupported, "{message}");
        refused(&w, &reply, "a.bin");
    }
    assert_eq!(w.bytes("a.bin"), bytes);
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let w = World::new();
    let tiny = Tiny::over(&w);
    let old = format!("word\n{}", "x".repeat(40 * 1024));
    w.file("a.txt", &old);
    w.file("small.txt", "word\n");
    let more = "y".repeat(60 * 1024);
    let message = refused(&w, &write(&w, "a.txt", &more), "a.txt");
    assert!(message.contains("no space"), "{message}");
    refused(&w, &edit(&w, "a.txt", "word", &more), "a.txt");
    refused(&w, &patch(&w, "a.txt", "word", &more), "a.txt");
    refused(&w, &write(&w, "new/b.txt", &more), "new/b.txt");
    refused(&w, &edit(&w, "new/b.txt", "", &more), "new/b.txt");
    assert_eq!(w.read("a.txt"), old);
    assert!(!w.exists("new"), "a directory made for a file that could not be written stays");
    // What still fits works.
    edit(&w, "small.txt", "word", "other").text();
    assert_eq!(w.read("small.txt"), "other\n");
    drop(tiny);
}

#[test]
fn a_disk_that_fills_up_within_a_patch_takes_all_of_it_back() {
    let w = World::new();
    let tiny = Tiny::over(&w);
    w.file("a.txt", "word\n");
    let edits = json!([
        { "path": "a.txt", "action": "replace", "old_text": "word", "new_text": "other" },
        { "path": "new/b.txt", "action": "add", "new_text": "made" },
        { "path": "new/c.txt", "action": "add", "new_text": "y".repeat(80 * 1024) },
    ]);
    let message = refused(&w, &w.call("apply_patch", json!({ "edits": edits })), "new/c.txt");
    assert!(message.contains("restored") && message.contains("a.txt"), "{message}");
    assert_eq!(w.read("a.txt"), "word\n");
    assert!(!w.exists("new"));
    drop(tiny);
}

#[test]
fn a_read_only_file_is_not_written() {
    let w = World::new();
    w.file("a.txt", "word\n");
    set_mode(&w, "a.txt", 0o444);
    for reply in all_three(&w, "a.txt") {
        refused(&w, &reply, "a.txt");
    }
    assert_eq!(w.read("a.txt"), "word\n");
    assert_eq!(mode(&w, "a.txt"), 0o444);
    // It is the mark that refuses.
    set_mode(&w, "a.txt", 0o644);
    edit(&w, "a.txt", "word", "other").text();
    assert_eq!(w.read("a.txt"), "other\n");
}

#[test]
fn a_directory_is_not_a_file() {
    let w = World::new();
    w.file("dir/a.txt", "word\n");
    for path in ["dir", "dir/", ".", "dir/a.txt/x"] {
        for reply in all_three(&w, path) {
            refused(&w, &reply, path);
        }
        edit(&w, path, "", "x").refused();
        add(&w, path, "x").refused();
    }
    assert_eq!(w.read("dir/a.txt"), "word\n");
    write(&w, "absent/", "x").refused();
    assert!(!w.exists("absent"));
}

#[test]
fn a_file_of_ten_gibibytes_is_refused_by_its_size() {
    let w = World::new();
    let size = 10 << 30;
    fs::File::create(w.path("big.txt")).unwrap().set_len(size).unwrap();
    for reply in
        [edit(&w, "big.txt", "word", "x"), patch(&w, "big.txt", "word", "x"), add(&w, "big.txt", "x")]
    {
        let (kind, message) = reply.error();
        assert_eq!(kind, ErrorKind::TooLarge, "{message}");
        refused(&w, &reply, "big.txt");
    }
    assert_eq!(fs::metadata(w.path("big.txt")).unwrap().len(), size);
    // Replacing it needs none of its content.
    write(&w, "big.txt", "small\n").text();
    assert_eq!(w.read("big.txt"), "small\n");
}

#[test]
fn the_largest_files_that_are_edited_fit_into_the_memory_of_a_tool() {
    let w = World::new();
    let mebibyte = 1 << 20;
    w.file("a.txt", "x".repeat(16 * mebibyte));
    let all = json!({ "path": "a.txt", "old_text": "x", "new_text": "y", "replace_all": true });
    w.call("edit_file", all).text();
    assert!(w.bytes("a.txt").iter().all(|b| *b == b'y'));
    assert_eq!(w.bytes("a.txt").len(), 16 * mebibyte);
    w.file("a.txt", "x".repeat(16 * mebibyte + 1));
    assert_eq!(edit(&w, "a.txt", "x", "y").error().0, ErrorKind::TooLarge);
    let names = ["b0.txt", "b1.txt", "b2.txt", "b3.txt"];
    names.iter().for_each(|name| {
        w.file(name, format!("{}end", "x".repeat(3 * mebibyte - 3)));
    });
    let edits: Value = names
        .iter()
        .map(|name| json!({ "path": name, "action": "replace", "old_text": "end", "new_text": "END" }))
        .collect();
    w.call("apply_patch", json!({ "edits": edits })).text();
    assert!(names.iter().all(|name| w.read(name).ends_with("xEND")));
}

#[test]
fn a_name_that_is_not_utf8_stays_out_of_the_way() {
    let w = World::new();
    let odd = w.root().join(Path::new(OsStr::from_bytes(b"caf\xe9.txt")));
    fs::write(&odd, "word\n").unwrap();
    for path in ["caf\u{fffd}.txt", "caf\\xe9.txt"] {
        edit(&w, path, "word", "x").refused();
        patch(&w, path, "word", "x").refused();
    }
    // Its neighbours are not disturbed by it.
    write(&w, "cafe.txt", "word\n").text();
    edit(&w, "cafe.txt", "word", "other").text();
    refused(&w, &edit(&w, "cafes.txt", "word", "x"), "cafes.txt");
    assert_eq!(fs::read(&odd).unwrap(), b"word\n");
    assert_eq!(w.read("cafe.txt"), "other\n");
}

#[test]
fn a_name_that_is_too_long_is_refused_and_makes_no_directory() {
    let w = World::new();
    let name = "n".repeat(300);
    let path = format!("new/{name}");
    for long in [&name, &path] {
        let message = refused(&w, &write(&w, long, "x"), "nnn");
        assert!(message.contains("too long"), "{message}");
        edit(&w, long, "", "x").refused();
        add(&w, long, "x").refused();
    }
    let deep = format!("{}x", "d/".repeat(2_100));
    write(&w, &deep, "x").refused();
    add(&w, &deep, "x").refused();
    assert_eq!(fs::read_dir(w.root()).unwrap().count(), 0, "something was made");
}

#[test]
fn a_path_with_nul_or_no_path_is_refused() {
    let w = World::new();
    w.file("a", "word\n");
    for path in ["a\0", "a\0b", "\0", ""] {
        for reply in all_three(&w, path) {
            reply.refused();
        }
        edit(&w, path, "", "x").refused();
        add(&w, path, "x").refused();
    }
    assert_eq!(w.read("a"), "word\n");
    assert_eq!(fs::read_dir(w.root()).unwrap().count(), 1, "something was made");
}

#[test]
fn permissions_are_kept() {
    let w = World::new();
    for (path, bits) in [("run.sh", 0o755), ("secret.txt", 0o640), ("mine.txt", 0o600)] {
        w.file(path, "word\n");
        set_mode(&w, path, bits);
        edit(&w, path, "word", "more words").text();
        assert_eq!(mode(&w, path), bits, "{path} after edit_file");
        patch(&w, path, "more", "many").text();
        assert_eq!(mode(&w, path), bits, "{path} after apply_patch");
        write(&w, path, "whole\n").text();
        assert_eq!(mode(&w, path), bits, "{path} after write_file");
        assert_eq!(w.read(path), "whole\n");
    }
    assert_no_leftovers(&w);
}

#[test]
fn a_link_within_the_workspace_is_written_through_and_stays_a_link() {
    let w = World::new();
    w.file("real/a.txt", "word\n");
    fs::create_dir(w.path("sub")).unwrap();
    symlink("real/a.txt", w.path("file")).unwrap();
    symlink("../file", w.path("sub/again")).unwrap();
    symlink("real", w.path("dir")).unwrap();
    edit(&w, "file", "word", "edited").text();
    assert_eq!(w.read("real/a.txt"), "edited\n");
    patch(&w, "sub/again", "edited", "patched").text();
    assert_eq!(w.read("real/a.txt"), "patched\n");
    write(&w, "dir/a.txt", "written\n").text();
    assert_eq!(w.read("real/a.txt"), "written\n");
    write(&w, "dir/new.txt", "made\n").text();
    assert_eq!(w.read("real/new.txt"), "made\n");
    for link in ["file", "sub/again", "dir"] {
        assert!(fs::symlink_metadata(w.path(link)).unwrap().is_symlink(), "{link} is no link any more");
    }
    assert_no_leftovers(&w);
}

#[test]
fn links_in_circles_are_refused() {
    let w = World::new();
    symlink("b", w.path("a")).unwrap();
    symlink("a", w.path("b")).unwrap();
    for reply in all_three(&w, "a") {
        reply.refused();
    }
    edit(&w, "a", "", "x").refused();
    add(&w, "a", "x").refused();
    assert_eq!(fs::read_link(w.path("a")).unwrap(), Path::new("b"));
    assert_no_leftovers(&w);
}
