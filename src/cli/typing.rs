//! Lines that are typed while a turn runs. The terminal is then as a shell has it: whole lines come in, and Ctrl-C is a
//! signal.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd as _;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes of one line.
const MOST: usize = 64 * 1024;

/// Waits for a line. Never ready when nothing can be read.
pub(super) async fn line() -> String {
    match read().await {
        Some(line) => line,
        None => std::future::pending().await,
    }
}

/// What is readable is looked at anew each time, since several lines may wait.
async fn read() -> Option<String> {
    let file = File::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    // SAFETY: the file stays open and is the same one until the `AsyncFd`, which owns it, is dropped.
    let stdin = unsafe { AsyncFd::register_with_interest(file, Interest::READABLE) }.ok()?;
    let _ready = stdin.readable().await.ok()?;
    let mut bytes = vec![0; MOST];
    let read = stdin.get_ref().read(&mut bytes).ok().filter(|read| *read > 0)?;
    bytes.truncate(read);
    Some(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned())
}
