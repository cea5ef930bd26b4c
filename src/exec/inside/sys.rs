//! The system calls that have no safe form elsewhere: all `unsafe` of the exec sandbox.
//!
//! Everything here runs in the launcher or below it, in processes of one thread, so that what is allocated, locked or
//! buffered before a fork is whole after it.

use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

/// What a mount is set to: the bits of `mount_setattr(2)`.
pub(in crate::exec) const RDONLY: u64 = 0x1;
pub(in crate::exec) const NOSUID: u64 = 0x2;
pub(in crate::exec) const NODEV: u64 = 0x4;
pub(in crate::exec) const NOEXEC: u64 = 0x8;

const AT_EMPTY_PATH: libc::c_int = 0x1000;
const AT_RECURSIVE: libc::c_int = 0x8000;
const CLONE_PIDFD: u64 = 0x1000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// `struct mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

/// `struct clone_args`.
#[repr(C, align(8))]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Which of the two a fork has become.
pub(in crate::exec) enum Forked {
    /// The new process.
    Child,
    /// The old one.
    Parent {
        /// The new process, as the old one sees it.
        pid: i32,
        /// A handle on it.
        pidfd: OwnedFd,
    },
}

fn last() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Forks into new namespaces (the bits of `CLONE_NEW…`), and into a control group where one is given.
pub(in crate::exec) fn fork(namespaces: u64, group: Option<BorrowedFd<'_>>) -> Result<Forked, Errno> {
    let mut pidfd: RawFd = -1;
    let mut arguments = CloneArguments {
        flags: namespaces | CLONE_PIDFD,
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArguments::default()
    };
    if let Some(group) = group {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::try_from(group.as_raw_fd()).map_err(|_| Errno::BADF)?;
    }
    // SAFETY: without a stack and without CLONE_VM the child goes on here with a copy of this process, which has one thread; the
    // kernel writes no further than the given size and the descriptor's place, both of which live here.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<CloneArguments>() as libc::size_t)
    };
    match pid {
        0 => Ok(Forked::Child),
        pid if pid > 0 => {
            // SAFETY: the kernel has just opened this descriptor for the parent, and nobody else knows of it.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Forked::Parent { pid: i32::try_from(pid).map_err(|_| Errno::OVERFLOW)?, pidfd })
        }
        _ => Err(last()),
    }
}

/// Sets attributes of a mount, with all below it if `recursive`.
pub(in crate::exec) fn set_mount(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> Result<(), Errno> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, userns: 0 };
    let flags = AT_EMPTY_PATH | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is an empty C string, the structure lives here and has the size that is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(last()) }
}

/// Becomes another program. It returns only when that fails.
pub(in crate::exec) fn execute(program: &CStr, arguments: &[CString], environment: &[CString]) -> Errno {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null, and they and their texts live until the call returns, which it does only on failure.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last()
}

/// Ends this process without running anything else.
pub(in crate::exec) fn leave(code: i32) -> ! {
    // SAFETY: nothing of this process is used afterwards.
    unsafe { libc::_exit(code) }
}

/// Makes `from` the descriptor `to`, open across an exec.
pub(in crate::exec) fn put(from: BorrowedFd<'_>, to: RawFd) -> Result<(), Errno> {
    if from.as_raw_fd() == to {
        // SAFETY: a flag of a descriptor that is borrowed and so open.
        let result = unsafe { libc::fcntl(to, libc::F_SETFD, 0) };
        return if result >= 0 { Ok(()) } else { Err(last()) };
    }
    // SAFETY: what was open as `to` is one of the first three descriptors of a process that is about to become another.
    let result = unsafe { libc::dup2(from.as_raw_fd(), to) };
    if result >= 0 { Ok(()) } else { Err(last()) }
}

/// Lets every descriptor from `first` on be closed by an exec.
pub(in crate::exec) fn close_on_exec_from(first: u32) -> Result<(), Errno> {
    const CLOEXEC: libc::c_uint = 1 << 2;
    // SAFETY: it sets a flag and closes nothing.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(last()) }
}

/// Closes every descriptor from `first` on but the one to keep.
pub(in crate::exec) fn close_all_from(first: u32, keep: BorrowedFd<'_>) -> Result<(), Errno> {
    let keep = u32::try_from(keep.as_raw_fd()).map_err(|_| Errno::BADF)?;
    let below = (first < keep).then(|| (first, keep - 1));
    for (from, to) in below.into_iter().chain([(first.max(keep + 1), libc::c_uint::MAX)]) {
        // SAFETY: only called by a process that from here on uses no other descriptor than the one that is kept.
        let result = unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        if result != 0 {
            return Err(last());
        }
    }
    Ok(())
}

/// A keyring of its own, empty, instead of the one of who started this.
pub(in crate::exec) fn new_keyring() -> Result<(), Errno> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: a null name asks for a new anonymous keyring; no memory is touched.
    let result =
        unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
    if result >= 0 { Ok(()) } else { Err(last()) }
}

/// Gives every signal its default handling and blocks none.
pub(in crate::exec) fn default_signals() {
    for signal in 1..=64 {
        if signal != libc::SIGKILL && signal != libc::SIGSTOP {
            // SAFETY: the default handling runs no code of this process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
    // SAFETY: the set lives here and is initialised by the first call.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Lets the kernel take away children that have ended.
pub(in crate::exec) fn ignore_children() {
    // SAFETY: ignoring runs no code of this process.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
}

/// A descriptor that is readable when a child has ended. The signal is blocked from here on.
pub(in crate::exec) fn child_signals() -> Result<OwnedFd, Errno> {
    // SAFETY: the set lives here and is initialised by the first call; the descriptor is new and nobody else's.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(last());
        }
        let fd = libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if fd < 0 { Err(last()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Sends a signal to every process of this process's namespace but itself. Never called but by the first process of one.
pub(in crate::exec) fn signal_all(signal: libc::c_int) {
    // SAFETY: it touches no memory; the caller is the first process of a namespace of its own.
    unsafe { libc::kill(-1, signal) };
}

/// Bounds a resource of this process and its children, soft and hard.
pub(in crate::exec) fn bound(resource: libc::__rlimit_resource_t, most: u64) -> Result<(), Errno> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the structure lives here.
    let result = unsafe { libc::setrlimit(resource, &raw const limit) };
    if result == 0 { Ok(()) } else { Err(last()) }
}

/// The version of Landlock that the kernel has.
pub(in crate::exec) fn landlock_version() -> Result<i32, Errno> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no attributes, of which none are given.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION)
    };
    if version > 0 { i32::try_from(version).map_err(|_| Errno::OVERFLOW) } else { Err(last()) }
}
