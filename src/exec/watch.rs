//! Descriptors that the runtime waits for.

use std::io;
use std::os::fd::OwnedFd;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits for a descriptor to be readable.
///
/// # Errors
///
/// When the runtime cannot.
pub(super) fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    wait_for(fd, Interest::READABLE)
}

/// Waits for a descriptor to be writable.
///
/// # Errors
///
/// When the runtime cannot.
pub(super) fn writable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    wait_for(fd, Interest::WRITABLE)
}

fn wait_for(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor is the same one for as long as it lives, and nobody else closes it.
    unsafe { AsyncFd::register_with_interest(fd, interest) }.map_err(io::Error::from)
}
