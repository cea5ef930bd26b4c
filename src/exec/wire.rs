//! What host, launcher and the first process of a command say to each other, and how: messages of one packet, with descriptors.

use super::probe::Found;
use super::spec::Most;
use rustix::fs::{MemfdFlags, SeekFrom};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::{fs::File, io};

/// Bytes of a message, at most. Plans are longer, and travel in a file of their own.
const MESSAGE: usize = 16 << 10;

/// Descriptors with a message, at most.
const DESCRIPTORS: usize = 8;

/// What the launcher is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Run a command. With it come: the command's own socket, its plan, its input, output and errors, and its control group if
    /// it is born into one.
    Run {
        /// Which namespaces.
        namespaces: Namespaces,
        /// Whether a control group comes along.
        group: bool,
        /// How many doors of control groups come along behind it.
        doors: usize,
    },
    /// Try out what there is. With it comes the socket for the answer.
    Probe,
}

/// Which namespaces a command has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Namespaces {
    /// All.
    All,
    /// All but that of users: made as root.
    AsRoot,
    /// None.
    None,
}

/// A place as the view has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mounted {
    /// Where: the same path outside and inside.
    pub(super) path: PathBuf,
    /// Device and inode: nothing else is mounted in its stead.
    pub(super) identity: (u64, u64),
    /// Whether it can be written to.
    pub(super) writable: bool,
    /// What of it cannot be changed, moved or removed.
    pub(super) pins: Vec<super::guard::Pin>,
}

/// Everything that is decided of a command, for the processes that carry it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) namespaces: Namespaces,
    /// Whether Landlock stands.
    pub(super) landlock: bool,
    /// Whether the filters of system calls stand; they are missing only where there is no sandbox at all.
    pub(super) filters: bool,
    /// Whether there is a control group; where there is none, memory is watched.
    pub(super) group: bool,
    /// The person's own home, as far as there is one.
    pub(super) home: PathBuf,
    pub(super) places: Vec<Mounted>,
    pub(super) argv: Vec<Vec<u8>>,
    pub(super) directory: PathBuf,
    pub(super) environment: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) most: Most,
    pub(super) terminal: bool,
    /// User and group of this program.
    pub(super) outside: (u32, u32),
    /// Whose the workspace is, for the level at which a command takes on an identity: user and group.
    pub(super) owner: (u32, u32),
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// The command's first process is there; a handle on it comes along.
    Born {
        /// Its number, as the launcher sees it.
        pid: i32,
    },
    /// Its terminal; the master comes along.
    Terminal,
    /// Everything stands and was checked: the command runs now, unless a failure of the exec itself follows.
    Ready,
    /// Something failed. Nothing of the command has run.
    Failed {
        /// A stable code of the step.
        step: String,
        /// The system's error.
        errno: i32,
        /// More, where there is more to say.
        detail: String,
    },
    /// It ended.
    Ended(Ending),
    /// What a machine can do.
    Machine(Vec<Found>),
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Exited(i32),
    Signalled(i32),
    /// Its processes had more memory than they may.
    Memory,
}

/// What a command's first process is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Word {
    /// The host has a handle on it; go on.
    Go,
    /// Ask everything to end.
    Terminate,
}

/// A connected pair of sockets that keep messages apart.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends one message with descriptors.
pub(super) fn send<T: Serialize>(socket: impl AsFd, message: &T, with: &[BorrowedFd<'_>]) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !with.is_empty() && !control.push(SendAncillaryMessage::ScmRights(with)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&text)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == text.len() { Ok(()) } else { Err(io::Error::other("a message was cut")) }
}

/// The next message with its descriptors; `None` when the other side is gone.
pub(super) fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut text)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut with = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            with.extend(descriptors);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let text = text.get(..received.bytes).unwrap_or_default();
    Ok(Some((serde_json::from_slice(text)?, with)))
}

/// A plan in a file that lies nowhere.
pub(super) fn write_plan(plan: &Plan) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("plan", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(&serde_json::to_vec(plan)?)?;
    let file = OwnedFd::from(file);
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file)
}

/// The plan in such a file.
pub(super) fn read_plan(file: OwnedFd) -> io::Result<Plan> {
    let mut text = Vec::new();
    File::from(file).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
