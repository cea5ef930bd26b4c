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
    // SAFETY: an owned descriptor is the same one for as long as it lives, and nobody else closes it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(io::Error::from)
}
