//! The first process of a command: it waits for the command, ends what the command leaves, tells how it ended, and ends
//! everything when the host goes away.

use super::{At as _, Step, filters, sys};
use crate::exec::wire::{self, Ending, Namespaces, Plan, Report, Word};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};

/// Nanoseconds between two looks at the memory of all processes, where no control group does that.
const LOOK: i64 = 100_000_000;

/// Looks after the process `command` until it has ended, and everything with it.
pub(super) fn look_after(plan: &Plan, socket: &OwnedFd, command: i32) -> Step<i32> {
    sys::close_all_from(3, socket.as_fd()).at("descriptors")?;
    let signals = sys::child_signals().at("signals")?;
    let tree = Tree { alone: plan.namespaces != Namespaces::None };
    if !tree.alone {
        // What loses its parent becomes a child of this process, and so can be found.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).at("subreaper")?;
    } else if plan.filters {
        filters::stand(plan)?;
    }
    let pause = (!plan.group).then_some(Timespec { tv_sec: 0, tv_nsec: LOOK });
    let ending = loop {
        if let Some(ending) = reap(command) {
            break Some(ending);
        }
        let mut ready = [PollFd::new(socket, PollFlags::IN), PollFd::new(&signals, PollFlags::IN)];
        match rustix::event::poll(&mut ready, pause.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
        if !ready[0].revents().is_empty() {
            match wire::receive::<Word>(socket) {
                Ok(Some((Word::Terminate, _))) => tree.signal(Signal::TERM),
                Ok(Some((Word::Go, _))) => {}
                // The host is gone, or has let go of this command.
                Ok(None) | Err(_) => break None,
            }
        }
        if !ready[1].revents().is_empty() {
            let mut drained = [0_u8; 1024];
            let _ = rustix::io::read(&signals, &mut drained);
        }
        if pause.is_some() && tree.memory() > plan.most.memory {
            break Some(Ending::Memory);
        }
    };
    tree.end();
    if let Some(ending) = ending {
        // Where nobody listens any more, nobody needs to know.
        let _ = wire::send(socket, &Report::Ended(ending), &[]);
    }
    Ok(0)
}

/// Takes away children that have ended; how the command did, if it is among them.
fn reap(command: i32) -> Option<Ending> {
    let mut ending = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid.as_raw_nonzero().get() == command {
            ending = ended(status);
        }
    }
    ending
}

fn ended(status: WaitStatus) -> Option<Ending> {
    let exited = status.exit_status().map(Ending::Exited);
    exited.or_else(|| status.terminating_signal().map(Ending::Signalled))
}

/// Everything that a command has started.
struct Tree {
    /// Whether there is nothing else in this namespace of processes.
    alone: bool,
}

impl Tree {
    fn signal(&self, signal: Signal) {
        if self.alone {
            sys::signal_all(signal.as_raw());
            return;
        }
        for pid in descendants() {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Ends all of it, and waits until it has.
    fn end(&self) {
        loop {
            self.signal(Signal::KILL);
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    /// Bytes of memory that it has.
    #[expect(
        clippy::disallowed_methods,
        reason = "the kernel's own files, in a process that does nothing else"
    )]
    fn memory(&self) -> u64 {
        let page = rustix::param::page_size() as u64;
        let mut pages = 0_u64;
        let own = rustix::process::getpid();
        let pids: Vec<Pid> = if self.alone {
            let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
            entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
        } else {
            descendants()
        };
        for pid in pids.into_iter().filter(|pid| *pid != own) {
            let path = format!("/proc/{}/statm", pid.as_raw_nonzero());
            let resident = fs::read_to_string(path).ok();
            // Resident pages without those of files, which are not the tree's own.
            let fields: Vec<u64> = resident
                .iter()
                .flat_map(|text| text.split_whitespace())
                .filter_map(|field| field.parse().ok())
                .collect();
            if let [_, resident, shared, ..] = fields.as_slice() {
                pages = pages.saturating_add(resident.saturating_sub(*shared));
            }
        }
        pages.saturating_mul(page)
    }
}

/// Every process below this one, as far as the kernel tells.
#[expect(clippy::disallowed_methods, reason = "the kernel's own files, in a process that does nothing else")]
fn descendants() -> Vec<Pid> {
    let mut found = Vec::new();
    let mut ahead = vec![rustix::process::getpid()];
    while let Some(pid) = ahead.pop() {
        let number = pid.as_raw_nonzero();
        let Ok(threads) = fs::read_dir(format!("/proc/{number}/task")) else { continue };
        for thread in threads.flatten() {
            let Ok(children) = fs::read_to_string(thread.path().join("children")) else { continue };
            for child in children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)) {
                found.push(child);
                ahead.push(child);
            }
        }
    }
    found
}
