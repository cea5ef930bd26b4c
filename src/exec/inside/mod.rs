//! What happens between the order to run a command and the command itself, in the processes below the launcher. Every step has
//! a code; whatever fails before the last one, the command never runs.

mod bounds;
mod check;
mod devices;
mod filters;
mod identity;
mod landlock;
mod pins;
mod probing;
mod reaper;
pub(super) mod sys;
mod system;
mod view;

pub(super) use check::Outside;
pub(super) use probing::{clone_flags, probe};

/// Directories of the system that every command sees, read-only, where they are there.
pub fn system() -> Vec<std::path::PathBuf> {
    system::visible().collect()
}

use super::wire::{self, Namespaces, Order, Plan, Report, Word};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// A step that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) step: &'static str,
    pub(super) errno: Errno,
    pub(super) detail: String,
}

/// What the steps before the command give.
type Step<T = ()> = Result<T, Failure>;

/// Names the step that an error happened in.
trait At<T> {
    fn at(self, step: &'static str) -> Step<T>;
    fn at_with(self, step: &'static str, detail: impl FnOnce() -> String) -> Step<T>;
}

impl<T, E: Into<std::io::Error>> At<T> for Result<T, E> {
    fn at(self, step: &'static str) -> Step<T> {
        self.at_with(step, String::new)
    }

    fn at_with(self, step: &'static str, detail: impl FnOnce() -> String) -> Step<T> {
        self.map_err(|error| {
            let error: std::io::Error = error.into();
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            Failure { step, errno, detail: detail() }
        })
    }
}

/// A step that found something that must not be.
fn wrong<T>(step: &'static str, detail: impl Into<String>) -> Step<T> {
    Err(Failure { step, errno: Errno::PERM, detail: detail.into() })
}

/// What came with the order to run a command.
pub(super) struct Handed {
    /// The command's own socket.
    pub(super) socket: OwnedFd,
    pub(super) plan: OwnedFd,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) group: Option<OwnedFd>,
    /// Doors of control groups to go in by.
    pub(super) doors: Vec<OwnedFd>,
}

/// The first process of a command. It never returns.
pub(super) fn first_process(handed: Handed, outside: &Outside) -> ! {
    let Handed { socket, plan, stdin, stdout, stderr, group, doors } = handed;
    drop(group);
    let tell = |failure: Failure| -> ! {
        let Failure { step, errno, detail } = failure;
        let report = Report::Failed { step: step.to_owned(), errno: errno.raw_os_error(), detail };
        // Where nobody listens any more, nobody needs to know.
        let _ = wire::send(&socket, &report, &[]);
        sys::leave(70)
    };
    let plan = match wire::read_plan(plan).at("plan") {
        Ok(plan) => plan,
        Err(failure) => tell(failure),
    };
    match go_in(doors)
        .and_then(|()| prepare(&plan, socket.as_fd()))
        .and_then(|()| part(&plan, &socket, [&stdin, &stdout, &stderr], outside))
    {
        Ok(code) => sys::leave(code),
        Err(failure) => tell(failure),
    }
}

/// Goes into the control groups that the host has made. Zero is who writes it.
fn go_in(doors: Vec<OwnedFd>) -> Step {
    doors.iter().try_for_each(|door| rustix::io::write(door, b"0").map(drop).at("group"))
}

/// Everything that the command and its first process share.
fn prepare(plan: &Plan, socket: BorrowedFd<'_>) -> Step {
    sys::default_signals();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .at("death-signal")?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if plan.namespaces == Namespaces::All {
        identity::map(plan)?;
    }
    if plan.namespaces != Namespaces::None {
        rustix::system::sethostname(b"ringfence").at("host-name")?;
        view::build(plan)?;
    }
    if plan.filters {
        // Only a system without keyrings has none to give.
        match sys::new_keyring() {
            Ok(()) | Err(Errno::NOSYS | Errno::PERM | Errno::ACCESS | Errno::DQUOT) => {}
            Err(error) => return Err(error).at("keyring"),
        }
    }
    if plan.filters {
        identity::give_up(plan)?;
        // Another identity forgets it.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
            .at("death-signal")?;
    }
    // The host has a handle on this process by now.
    match wire::receive::<Word>(socket).at("go")? {
        Some((Word::Go, _)) => Ok(()),
        _ => wrong("go", "the host went away"),
    }
}

/// Parts into the command and the process that looks after it.
fn part(plan: &Plan, socket: &OwnedFd, streams: [&OwnedFd; 3], outside: &Outside) -> Step<i32> {
    let terminal = if plan.terminal { Some(devices::terminal()?) } else { None };
    if let Some(terminal) = &terminal {
        wire::send(socket, &Report::Terminal, &[terminal.master.as_fd()]).at("terminal")?;
    }
    match sys::fork(0, None).at("fork")? {
        sys::Forked::Parent { pid, pidfd } => {
            drop(pidfd);
            reaper::look_after(plan, socket, pid)
        }
        sys::Forked::Child => {
            let result = command(plan, socket, (streams, terminal), outside);
            let Err(Failure { step, errno, detail }) = result else { sys::leave(70) };
            let report = Report::Failed { step: step.to_owned(), errno: errno.raw_os_error(), detail };
            let _ = wire::send(socket, &report, &[]);
            sys::leave(71)
        }
    }
}

/// The command's own process, up to where it becomes the command.
fn command(
    plan: &Plan,
    socket: &OwnedFd,
    (streams, terminal): ([&OwnedFd; 3], Option<devices::Terminal>),
    outside: &Outside,
) -> Step {
    rustix::process::setsid().at("session")?;
    if let Some(terminal) = terminal {
        rustix::process::ioctl_tiocsctty(&terminal.own).at("terminal")?;
        for to in 0..3 {
            sys::put(terminal.own.as_fd(), to).at("streams")?;
        }
    } else {
        for (from, to) in streams.into_iter().zip(0..) {
            sys::put(from.as_fd(), to).at("streams")?;
        }
    }
    rustix::process::chdir(&plan.directory).at_with("directory", || plan.directory.display().to_string())?;
    bounds::set(plan)?;
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| Errno::INVAL).at("arguments");
    let argv = plan.argv.iter().map(|part| text(part)).collect::<Step<Vec<_>>>()?;
    let environment = plan.environment.iter();
    let environment = environment.map(|(name, value)| text(&[name.as_slice(), b"=", value].concat()));
    let environment = environment.collect::<Step<Vec<_>>>()?;
    let Some(program) = argv.first() else { return wrong("arguments", "no program") };
    if plan.filters {
        if plan.landlock {
            landlock::stand(plan)?;
        }
        sys::close_on_exec_from(3).at("descriptors")?;
        filters::stand(plan)?;
        check::all(plan, outside)?;
    } else {
        sys::close_on_exec_from(3).at("descriptors")?;
    }
    wire::send(socket, &Report::Ready, &[]).at("ready")?;
    Err(sys::execute(program, &argv, &environment))
        .at_with("execute", || program.to_string_lossy().into_owned())
}

/// The order that starts a command, taken apart.
pub(super) fn handed(order: Order, with: Vec<OwnedFd>) -> Option<Handed> {
    let mut with = with.into_iter();
    let mut next = || with.next();
    let (socket, plan, stdin, stdout, stderr) = (next()?, next()?, next()?, next()?, next()?);
    let group = match order {
        Order::Run { group: true, .. } => Some(next()?),
        _ => None,
    };
    let doors: Vec<OwnedFd> = with.collect();
    // A group that was not gone into would bound nothing.
    let Order::Run { doors: wanted, .. } = order else { return None };
    if doors.len() != wanted {
        return None;
    }
    Some(Handed { socket, plan, stdin, stdout, stderr, group, doors })
}
