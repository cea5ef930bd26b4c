//! What of the system a command sees, always read-only.

use super::view::Root;
use super::{At as _, Step};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs;
use std::path::{Path, PathBuf};

/// Where programs and libraries are. Where the system has a link, the view has the same one.
const TREES: [&str; 11] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.conf.d",
];

/// Certificates: public, and wanted by every client.
const CERTIFICATES: [&str; 3] = ["/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"];

/// Files that say where libraries and zones are.
const FILES: [&str; 3] = ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/localtime"];

/// What stands in files of the view's own.
const WRITTEN: [(&str, &str); 7] = [
    ("etc/passwd", "agent:x:1000:1000:agent:HOME:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"),
    ("etc/group", "agent:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/resolv.conf", "# There is no network here.\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("etc/host.conf", "multi on\n"),
    ("etc/shells", "/bin/sh\n/bin/bash\n"),
];

/// Directories of the system that a command sees.
pub(in crate::exec) fn visible() -> impl Iterator<Item = PathBuf> {
    TREES.into_iter().chain(CERTIFICATES).map(PathBuf::from)
}

/// Puts the system into a view that is being built.
#[expect(clippy::disallowed_methods, reason = "the system's own links, in a process that does nothing else")]
pub(super) fn build(root: &Root, home: &Path) -> Step {
    root.directory(Path::new("etc"))?;
    for path in TREES.into_iter().chain(CERTIFICATES).chain(FILES).map(Path::new) {
        let Ok(about) = fs::symlink_metadata(path) else { continue };
        let inside = below_root(path);
        if about.file_type().is_symlink() {
            let target = fs::read_link(path).at("system")?;
            root.link(&inside, &target)?;
        } else if about.is_dir() {
            root.directory(&inside)?;
            bind(root, path, &inside)?;
        } else if about.is_file() {
            root.file(&inside, b"")?;
            bind(root, path, &inside)?;
        }
    }
    for (name, text) in WRITTEN {
        root.file(Path::new(name), text.replace("HOME", &home.to_string_lossy()).as_bytes())?;
    }
    Ok(())
}

fn bind(root: &Root, path: &Path, inside: &Path) -> Step {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there =
        rustix::fs::open(path, flags, Mode::empty()).at_with("system", || path.display().to_string())?;
    root.bind(&there, inside, false)
}

/// A path from the root of a view.
pub(super) fn below_root(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

/// What of `/proc` says more of the machine than a command needs: directories, which are empty in the view, and files.
const MASKED: [&str; 18] = [
    "proc/acpi",
    "proc/asound",
    "proc/bus",
    "proc/driver",
    "proc/fs",
    "proc/irq",
    "proc/scsi",
    "proc/config.gz",
    "proc/kallsyms",
    "proc/kcore",
    "proc/keys",
    "proc/key-users",
    "proc/kmsg",
    "proc/kpagecount",
    "proc/kpageflags",
    "proc/slabinfo",
    "proc/timer_list",
    "proc/vmallocinfo",
];

/// A fresh `/proc`: the command's own processes alone, and nothing in it can be written to.
pub(super) fn processes(root: &Root, most: u32) -> Step {
    root.mount_proc(most)?;
    for name in MASKED.map(Path::new) {
        let Some(about) = root.about(name) else { continue };
        let empty = match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => Path::new("run/empty"),
            _ => Path::new("run/nothing"),
        };
        root.cover(empty, name)?;
    }
    Ok(())
}
