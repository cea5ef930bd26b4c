//! The few devices that a command has, and a terminal of its own.

use super::view::Root;
use super::{At as _, Step, wrong};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::pty::OpenptFlags;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Devices by name, with the numbers that make them what they are.
const DEVICES: [(&str, u32, u32); 5] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9)];

/// Links within `/dev`.
const LINKS: [(&str, &str); 5] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
    ("dev/ptmx", "pts/ptmx"),
];

/// Puts them into a view that is being built.
pub(super) fn build(root: &Root, terminal: bool) -> Step {
    root.directory(Path::new("dev"))?;
    for (name, major, minor) in DEVICES {
        device(root, name, (major, minor))?;
    }
    for (name, target) in LINKS {
        root.link(Path::new(name), Path::new(target))?;
    }
    if terminal {
        // Its own numbering: none of the host's terminals has a name here.
        root.mount_new(
            "devpts",
            &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")],
            Path::new("dev/pts"),
        )?;
        device(root, "tty", (5, 0))?;
    }
    Ok(())
}

fn device(root: &Root, name: &str, numbers: (u32, u32)) -> Step {
    let host = Path::new("/dev").join(name);
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let there = rustix::fs::open(&host, flags, Mode::empty()).at_with("device", || name.to_owned())?;
    let about = rustix::fs::fstat(&there).at("device")?;
    let is = (rustix::fs::major(about.st_rdev), rustix::fs::minor(about.st_rdev));
    if FileType::from_raw_mode(about.st_mode) != FileType::CharacterDevice || is != numbers {
        return wrong("device", format!("/dev/{name} is something else"));
    }
    let inside = Path::new("dev").join(name);
    root.file(&inside, b"")?;
    root.bind_device(&there, &inside)
}

/// A terminal and who holds its other end.
pub(super) struct Terminal {
    pub(super) master: OwnedFd,
    pub(super) own: OwnedFd,
}

/// A new terminal within the view, or the host's where there is none.
pub(super) fn terminal() -> Step<Terminal> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags).at("terminal")?;
    rustix::pty::unlockpt(&master).at("terminal")?;
    let name = rustix::pty::ptsname(&master, Vec::new()).at("terminal")?;
    let own = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let own = rustix::fs::open(name.as_c_str(), own, Mode::empty()).at("terminal")?;
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&own, size).at("terminal")?;
    Ok(Terminal { master, own })
}
