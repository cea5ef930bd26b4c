//! The program in a real pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long to wait for something that never comes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that believes that a person sits before it.
pub struct Terminal {
    child: Child,
    master: File,
    slave: OwnedFd,
    output: Receiver<Vec<u8>>,
    raw: Vec<u8>,
    /// What was found already, in characters of what is seen.
    found: usize,
}

impl Terminal {
    pub fn start(mut command: Command) -> Self {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: both places are valid for a descriptor, and null asks for no name and default modes.
        let opened =
            unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the call above has just opened both, and nobody else has them.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let end = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only two system calls are made.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let (into, output) = channel();
        let (mut reading, mut answering) = (master.try_clone().unwrap(), master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read) = reading.read(&mut bytes) {
                // Whoever asks where the cursor is waits for an answer.
                if bytes[..read].windows(4).any(|w| w == b"\x1b[6n")
                    && answering.write_all(b"\x1b[1;1R").is_err()
                {
                    break;
                }
                if read == 0 || into.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, master, slave, output, raw: Vec::new(), found: 0 }
    }

    /// Presses keys.
    pub fn keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Everything that was printed, without colours and movements.
    pub fn seen(&self) -> String {
        anstream::adapter::strip_str(&String::from_utf8_lossy(&self.raw)).to_string()
    }

    /// Whether anything but text was printed.
    pub fn has_escapes(&self) -> bool {
        self.raw.contains(&0x1b)
    }

    /// Waits until this is printed, after what was waited for before.
    pub fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = self.seen();
            if let Some(at) = seen.get(self.found..).and_then(|rest| rest.find(text)) {
                self.found += at + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.raw.extend(bytes),
                Err(error) => panic!("{text:?} does not come ({error}); there is {seen:?}"),
            }
        }
    }

    /// Takes in what was printed meanwhile, without waiting. How many lines there are.
    pub fn look(&mut self) -> usize {
        self.output.try_iter().for_each(|bytes| self.raw.extend(bytes));
        self.raw.iter().filter(|byte| **byte == b'\n').count()
    }

    /// Whether this was printed after what was waited for before; then it counts as found.
    pub fn has(&mut self, text: &str) -> bool {
        self.look();
        let seen = self.seen();
        let at = seen.get(self.found..).and_then(|rest| rest.find(text));
        self.found += at.map_or(0, |at| at + text.len());
        at.is_some()
    }

    /// Whether it goes on.
    pub fn goes_on(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Everything that a program printed which is dead.
    pub fn last_words(&mut self) -> String {
        assert!(!self.goes_on());
        // Nothing comes after this.
        let mark = "[nothing more]";
        File::from(self.slave.try_clone().unwrap()).write_all(mark.as_bytes()).unwrap();
        self.expect(mark);
        self.seen()
    }

    /// Waits for the prompt of the line editor.
    pub fn prompt(&mut self) {
        self.expect("> ");
    }

    pub fn id(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Whether lines are put together and echoed by the system, as a shell wants it.
    pub fn is_as_a_shell_wants_it(&self) -> bool {
        // SAFETY: all zeroes are a valid value of this plain structure, and the descriptor is open.
        let modes = unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.slave.as_raw_fd(), &mut modes), 0);
            modes
        };
        let wanted = libc::ICANON | libc::ECHO | libc::ISIG;
        modes.c_lflag & wanted == wanted
    }

    /// Waits for its end.
    pub fn end(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "it does not end; there is {:?}", self.seen());
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
                self.raw.extend(bytes);
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
