//! Control groups: limits on memory and processes of a whole tree, where this process may make groups of its own.

use super::spec::Most;
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the names of groups begin with; the number of this process and one of the command follow.
const PREFIX: &str = "ringfence-";

/// Counts the groups of this process, whoever makes them.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where groups can be made.
#[derive(Debug)]
pub(super) struct Groups {
    place: Place,
    /// Groups that were not empty yet when they were to go.
    left: Mutex<Vec<PathBuf>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// One hierarchy for all.
    Two(PathBuf),
    /// One each for memory and for processes.
    One { memory: PathBuf, processes: PathBuf },
}

/// The group of one command. When it is dropped it goes, at the latest when the next one is made.
#[derive(Debug)]
pub(super) struct Group {
    directories: Vec<PathBuf>,
    two: bool,
    groups: Arc<Groups>,
}

#[expect(clippy::disallowed_methods, reason = "control groups are directories of the kernel's")]
impl Groups {
    /// Where this process may make groups, or why it may not.
    ///
    /// # Errors
    ///
    /// The error of trying it.
    pub(super) fn find() -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo")?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let place = match one(&mounts, &own) {
            Some(place) => place,
            None => two(&mounts, &own)?,
        };
        let groups = Self { place, left: Mutex::default() };
        groups.sweep();
        // Only a group that was made shows that one can be.
        let trial = Arc::new(groups);
        let group = Self::make(&trial, &Most::default())?;
        drop(group);
        Arc::try_unwrap(trial).map_err(|_| io::Error::other("a group is still held"))
    }

    /// What kind there is, in a word or two.
    pub(super) fn kind(&self) -> &'static str {
        match self.place {
            Place::Two(_) => "cgroup v2",
            Place::One { .. } => "cgroup v1",
        }
    }

    /// A group with these limits.
    ///
    /// # Errors
    ///
    /// When the system makes none.
    pub(super) fn make(groups: &Arc<Self>, most: &Most) -> io::Result<Group> {
        groups.clear();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        // The first process of a command counts, and so does what it becomes the parent of for a moment.
        let processes = u64::from(most.processes).saturating_add(2).to_string();
        let memory = most.memory.to_string();
        let parents: Vec<&PathBuf> = match &groups.place {
            Place::Two(place) => vec![place],
            Place::One { memory, processes } => vec![memory, processes],
        };
        let mut group = Group {
            directories: Vec::new(),
            two: matches!(groups.place, Place::Two(_)),
            groups: Arc::clone(groups),
        };
        for parent in parents {
            let directory = parent.join(&name);
            fs::create_dir(&directory)?;
            group.directories.push(directory);
        }
        match (&groups.place, group.directories.as_slice()) {
            (Place::Two(_), [all]) => {
                fs::write(all.join("memory.max"), &memory)?;
                fs::write(all.join("pids.max"), &processes)?;
                // Not every kernel has these; what they add is comfort.
                let _ = fs::write(all.join("memory.swap.max"), "0");
                let _ = fs::write(all.join("memory.oom.group"), "1");
            }
            (Place::One { .. }, [of_memory, of_processes]) => {
                fs::write(of_memory.join("memory.limit_in_bytes"), &memory)?;
                let _ = fs::write(of_memory.join("memory.memsw.limit_in_bytes"), &memory);
                fs::write(of_processes.join("pids.max"), &processes)?;
            }
            _ => return Err(io::Error::other("no group was made")),
        }
        Ok(group)
    }

    /// Removes groups that processes of this program left which are gone.
    fn sweep(&self) {
        let parents: Vec<&PathBuf> = match &self.place {
            Place::Two(place) => vec![place],
            Place::One { memory, processes } => vec![memory, processes],
        };
        for parent in parents {
            for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let of = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
                let gone = of.is_some_and(|pid| !Path::new("/proc").join(pid).exists());
                if gone {
                    // One that still holds processes stays.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }

    /// Removes what was left.
    pub(super) fn clear(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|directory| match fs::remove_dir(directory) {
            Ok(()) => false,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "control groups are directories of the kernel's")]
impl Group {
    /// Files through which a process goes in by itself, where it cannot be born in: who goes in alone waits for nobody, while
    /// to be moved by another waits for all processors.
    ///
    /// # Errors
    ///
    /// When the system opens none.
    pub(super) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let open = |directory: &PathBuf| Ok(rustix::fs::open(directory.join("tasks"), flags, Mode::empty())?);
        if self.two { Ok(Vec::new()) } else { self.directories.iter().map(open).collect() }
    }

    /// For processes that are born in it, where that can be.
    pub(super) fn birthplace(&self) -> Option<OwnedFd> {
        let directory = self.directories.first().filter(|_| self.two)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(directory, flags, Mode::empty()).ok()
    }

    /// Whether something in it was ended because there was no memory left for it.
    pub(super) fn ran_out(&self) -> bool {
        let Some(directory) = self.directories.first() else { return false };
        let counts = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
        let text = if self.two { counts("memory.events") } else { counts("memory.oom_control") };
        text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for Groups {
    /// What was left a moment ago is empty now; a process that leaves takes a little longer.
    fn drop(&mut self) {
        for _ in 0..50 {
            self.clear();
            if self.left.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "control groups are directories of the kernel's")]
impl Drop for Group {
    fn drop(&mut self) {
        if self.two {
            // Whatever is still there goes at once.
            for directory in &self.directories {
                let _ = fs::write(directory.join("cgroup.kill"), "1");
            }
        }
        let mut left = self.groups.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.extend(self.directories.drain(..).filter(|directory| fs::remove_dir(directory).is_err()));
    }
}

/// Where a hierarchy of version 1 is mounted that has this controller, and this process's place in it.
fn one(mounts: &str, own: &str) -> Option<Place> {
    let place = |controller: &str| {
        let mounted = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let (kind, _, options) = (after.next()?, after.next()?, after.next()?);
            let fits = kind == "cgroup" && options.split(',').any(|option| option == controller);
            fits.then(|| unescaped(before.split(' ').nth(4)?)).flatten()
        })?;
        let below = own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            controllers.split(',').any(|one| one == controller).then_some(path)
        })?;
        Some(mounted.join(below.trim_start_matches('/')))
    };
    Some(Place::One { memory: place("memory")?, processes: place("pids")? })
}

/// Where version 2 is mounted, this process's place in it, and both controllers handed down from there.
#[expect(clippy::disallowed_methods, reason = "control groups are directories of the kernel's")]
fn two(mounts: &str, own: &str) -> io::Result<Place> {
    let none = || io::Error::from_raw_os_error(libc::ENOENT);
    let mounted = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        (after.split(' ').next()? == "cgroup2").then(|| unescaped(before.split(' ').nth(4)?)).flatten()
    });
    let below = own.lines().find_map(|line| line.strip_prefix("0::")).ok_or_else(none)?;
    let place = mounted.ok_or_else(none)?.join(below.trim_start_matches('/'));
    let has = |file: &str| {
        let text = fs::read_to_string(place.join(file)).unwrap_or_default();
        ["memory", "pids"].iter().all(|wanted| text.split_whitespace().any(|one| one == *wanted))
    };
    if !has("cgroup.controllers") {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    if !has("cgroup.subtree_control") {
        // A group that hands controllers down must hold no process itself.
        let leaf = place.join(format!("{PREFIX}host"));
        match fs::create_dir(&leaf) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        fs::write(leaf.join("cgroup.procs"), std::process::id().to_string())?;
        fs::write(place.join("cgroup.subtree_control"), "+memory +pids")?;
    }
    Ok(Place::Two(place))
}

/// A path of `mountinfo`, in which blanks are written as octal numbers.
fn unescaped(path: &str) -> Option<PathBuf> {
    (!path.contains('\\')).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_both_hierarchies_of_version_1() {
        let mounts = "30 29 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      31 29 0:27 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n";
        let own = "8:pids:/\n4:memory:/a/b\n0::/\n";
        let found = one(mounts, own);
        let memory = PathBuf::from("/sys/fs/cgroup/memory/a/b");
        assert_eq!(found, Some(Place::One { memory, processes: PathBuf::from("/sys/fs/cgroup/pids/") }));
        assert_eq!(one(mounts, "0::/\n"), None, "no place in them");
        assert_eq!(one("", own), None, "not mounted");
    }
}
