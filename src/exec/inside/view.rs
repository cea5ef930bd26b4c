//! The root that a command sees: built from nothing, out of what it is given.

use super::{At as _, Step, devices, pins, sys, system, wrong};
use crate::exec::wire::{Mounted, Plan};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags,
};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Bytes of the root itself: directories, links, and a few small files.
const ROOT: &str = "16m";

/// What every mount is set to.
const PLAIN: u64 = sys::NOSUID | sys::NODEV;

/// A view that is being built.
pub(super) struct Root(OwnedFd);

/// Builds it, and makes it this process's root. Nothing of the host's own is left in sight but what was put there.
pub(super) fn build(plan: &Plan) -> Step {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).at("mounts-private")?;
    let root = Root::new()?;
    for path in ["run/empty", "var", "run/lock"] {
        root.directory(Path::new(path))?;
    }
    root.file(Path::new("run/nothing"), b"")?;
    root.link(Path::new("var/run"), Path::new("/run"))?;
    devices::build(&root, plan.terminal)?;
    system::build(&root, &plan.home)?;
    system::processes(&root, plan.most.processes)?;
    scratch(&root, plan)?;
    let mut places: Vec<&Mounted> = plan.places.iter().collect();
    // What lies within another place comes after it.
    places.sort_by_key(|place| place.path.components().count());
    for place in places {
        put(&root, place)?;
    }
    root.enter()
}

/// What is the command's own, in memory, and gone with it.
fn scratch(root: &Root, plan: &Plan) -> Step {
    let size = plan.most.temporary.to_string();
    let options = [("size", size.as_str()), ("mode", "1777")];
    for path in ["tmp", "var/tmp", "dev/shm"].map(Path::new) {
        root.mount_new("tmpfs", &options, path)?;
    }
    let home = system::below_root(&plan.home);
    // Below a directory that is the command's own already, there is nothing to make.
    if !home.starts_with("tmp") && !home.starts_with("var/tmp") {
        root.mount_new("tmpfs", &options, &home)?;
    } else {
        root.directory(&home)?;
    }
    Ok(())
}

/// A place at its own path.
fn put(root: &Root, place: &Mounted) -> Step {
    let named = || place.path.display().to_string();
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let there = rustix::fs::openat2(CWD, &place.path, how, Mode::empty(), plain).at_with("place", named)?;
    let about = rustix::fs::fstat(&there).at("place")?;
    if (about.st_dev, about.st_ino) != place.identity {
        return wrong("place-changed", named());
    }
    let inside = system::below_root(&place.path);
    root.directory(&inside)?;
    root.bind(&there, &inside, place.writable)?;
    pins::set(root, place)
}

impl Root {
    /// An empty one, over the root that there is. That one is still this process's, so that all its paths go on to work.
    fn new() -> Step<Self> {
        let mount =
            filesystem("tmpfs", &[("size", ROOT), ("mode", "0755")], MountAttrFlags::MOUNT_ATTR_NOSUID)?;
        attach(&mount, CWD.as_fd(), Path::new("/")).at("root")?;
        Ok(Self(mount))
    }

    /// What is there, without following a link.
    pub(super) fn open(&self, path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.0, path, how, Mode::empty(), within)
    }

    /// What is known of it, if it is there.
    pub(super) fn about(&self, path: &Path) -> Option<Stat> {
        rustix::fs::fstat(self.open(path).ok()?).ok()
    }

    /// A directory, with those above it.
    pub(super) fn directory(&self, path: &Path) -> Step {
        if self.open(path).is_ok() {
            return Ok(());
        }
        let mut above = PathBuf::new();
        for part in path.components() {
            let parent = self.open(&above).at_with("directory", || path.display().to_string())?;
            match rustix::fs::mkdirat(&parent, part.as_os_str(), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                // What is there already may lie in something that is read-only.
                Err(_)
                    if rustix::fs::statat(&parent, part.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok() => {}
                Err(error) => return Err(error).at_with("directory", || path.display().to_string()),
            }
            above.push(part);
        }
        Ok(())
    }

    fn parent(&self, path: &Path) -> Step<OwnedFd> {
        let parent = path.parent().unwrap_or(Path::new(""));
        self.directory(parent)?;
        self.open(parent).at_with("directory", || parent.display().to_string())
    }

    /// A file with that text.
    pub(super) fn file(&self, path: &Path, text: &[u8]) -> Step {
        let named = || path.display().to_string();
        let Some(name) = path.file_name() else { return wrong("file", named()) };
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let parent = self.parent(path)?;
        let file =
            rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o644)).at_with("file", named)?;
        let written = rustix::io::write(&file, text).at_with("file", named)?;
        if written == text.len() { Ok(()) } else { wrong("file", named()) }
    }

    /// A link.
    pub(super) fn link(&self, path: &Path, target: &Path) -> Step {
        let named = || path.display().to_string();
        let Some(name) = path.file_name() else { return wrong("link", named()) };
        rustix::fs::symlinkat(target, self.parent(path)?, name).at_with("link", named)
    }

    /// What is open as `there`, with everything mounted below it, at a path that is there.
    pub(super) fn bind(&self, there: &OwnedFd, path: &Path, writable: bool) -> Step {
        self.bind_as(there, path, PLAIN | if writable { 0 } else { sys::RDONLY })
    }

    /// A device.
    pub(super) fn bind_device(&self, there: &OwnedFd, path: &Path) -> Step {
        self.bind_as(there, path, sys::NOSUID | sys::NOEXEC | sys::RDONLY)
    }

    fn bind_as(&self, there: &OwnedFd, path: &Path, set: u64) -> Step {
        let named = || path.display().to_string();
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let tree = rustix::mount::open_tree(there, "", flags).at_with("bind", named)?;
        sys::set_mount(tree.as_fd(), set, true).at_with("read-only", named)?;
        let target = self.open(path).at_with("bind", named)?;
        attach_to(&tree, &target).at_with("bind", named)
    }

    /// Something of the view, at another place of it as well.
    pub(super) fn cover(&self, with: &Path, path: &Path) -> Step {
        let with = self.open(with).at_with("cover", || path.display().to_string())?;
        self.bind(&with, path, false)
    }

    /// A new file system at a directory that is made for it.
    pub(super) fn mount_new(&self, kind: &str, options: &[(&str, &str)], path: &Path) -> Step {
        let mut set = MountAttrFlags::MOUNT_ATTR_NOSUID;
        if kind != "devpts" {
            set |= MountAttrFlags::MOUNT_ATTR_NODEV;
        }
        let mount = filesystem(kind, options, set)?;
        self.directory(path)?;
        let target = self.open(path).at("mount")?;
        attach_to(&mount, &target).at_with("mount", || path.display().to_string())
    }

    /// A new `/proc`, in which nothing can be written to once the bound on processes stands in it.
    pub(super) fn mount_proc(&self, most: u32) -> Step {
        let plain = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = filesystem("proc", &[], plain)?;
        let path = Path::new("proc");
        self.directory(path)?;
        let target = self.open(path).at("proc")?;
        attach_to(&mount, &target).at("proc")?;
        bound_processes(&mount, most);
        sys::set_mount(mount.as_fd(), sys::RDONLY, false).at("proc")
    }

    /// Makes it this process's root, and lets go of the old one.
    fn enter(self) -> Step {
        rustix::process::fchdir(&self.0).at("pivot")?;
        rustix::process::pivot_root(".", ".").at("pivot")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).at("pivot")?;
        rustix::process::chdir("/").at("pivot")?;
        sys::set_mount(self.0.as_fd(), sys::RDONLY | PLAIN, false).at("root")
    }
}

/// Processes of this namespace, at most: the highest number that one can have. Older kernels have but one such bound for the
/// whole machine, which is not theirs to set from here.
pub(super) fn bound_processes(proc: &OwnedFd, most: u32) -> bool {
    // The kernel takes no fewer.
    const FEWEST: u32 = 301;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(proc, "sys/kernel/pid_max", flags, Mode::empty());
    file.and_then(|file| rustix::io::write(file, most.max(FEWEST).to_string().as_bytes())).is_ok()
}

/// A file system that is mounted nowhere yet.
pub(super) fn filesystem(kind: &str, options: &[(&str, &str)], set: MountAttrFlags) -> Step<OwnedFd> {
    let named = || kind.to_owned();
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).at_with("filesystem", named)?;
    for (key, value) in options {
        if value.is_empty() {
            rustix::mount::fsconfig_set_flag(context.as_fd(), *key).at_with("filesystem", named)?;
        } else {
            rustix::mount::fsconfig_set_string(context.as_fd(), *key, *value).at_with("filesystem", named)?;
        }
    }
    rustix::mount::fsconfig_create(context.as_fd()).at_with("filesystem", named)?;
    rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, set).at_with("filesystem", named)
}

fn attach(mount: &OwnedFd, to: std::os::fd::BorrowedFd<'_>, path: &Path) -> Result<(), rustix::io::Errno> {
    rustix::mount::move_mount(mount, "", to, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn attach_to(mount: &OwnedFd, target: &OwnedFd) -> Result<(), rustix::io::Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(mount, "", target, "", flags)
}
