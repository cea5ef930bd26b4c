//! The launcher: a process of one thread that makes the first process of each command. The host starts one with its first
//! command, since making processes is cheap only for one that is small.

use super::inside::{self, Outside, sys};
use super::wire::{self, Order, Report};
use rustix::process::DumpableBehavior;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

/// The hidden argument that makes a launcher of this program.
pub const LAUNCHER: &str = "exec-launcher";

/// Works off orders from the socket that is standard input, until the host is gone. What it ends with.
pub fn launcher() -> u8 {
    let Ok(orders) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { return 70 };
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if hidden.is_err() || sys::close_all_from(3, orders.as_fd()).is_err() || !occupy() {
        return 70;
    }
    // Who waits for the first process of a command is the host, by a handle.
    sys::ignore_children();
    let outside = Outside::here();
    // Nothing of the host's directories is held open.
    let _ = rustix::process::chdir("/");
    loop {
        match wire::receive::<Order>(&orders) {
            Ok(Some((order, with))) => work(order, with, &outside),
            Ok(None) => return 0,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {}
            Err(_) => return 70,
        }
    }
}

/// Keeps the first three numbers taken, so that none of a command's descriptors comes to be one of them.
fn occupy() -> bool {
    use rustix::fs::{Mode, OFlags};
    let nothing = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    nothing.is_ok_and(|nothing| (0..3).all(|number| sys::put(nothing.as_fd(), number).is_ok()))
}

fn work(order: Order, with: Vec<OwnedFd>, outside: &Outside) {
    match order {
        Order::Probe => {
            if let Some(socket) = with.first() {
                let _ = wire::send(socket, &Report::Machine(inside::probe()), &[]);
            }
        }
        Order::Run { namespaces, .. } => {
            let Some(handed) = inside::handed(order, with) else { return };
            let group = handed.group.as_ref().map(|group| group.as_fd());
            match sys::fork(inside::clone_flags(namespaces), group) {
                Ok(sys::Forked::Child) => inside::first_process(handed, outside),
                Ok(sys::Forked::Parent { pid, pidfd }) => {
                    let _ = wire::send(&handed.socket, &Report::Born { pid }, &[pidfd.as_fd()]);
                }
                Err(error) => tell(handed.socket.as_fd(), error),
            }
        }
    }
}

fn tell(socket: BorrowedFd<'_>, error: rustix::io::Errno) {
    let report =
        Report::Failed { step: "clone".to_owned(), errno: error.raw_os_error(), detail: String::new() };
    let _ = wire::send(socket, &report, &[]);
}
