//! Ctrl-C and the request to end.

use super::exit::Exit;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens from its making on; what comes before anybody waits is not lost.
pub(super) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Where the system gives no listener, the signal does what it always does.
    pub(super) fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: signal(SignalKind::hangup()).ok(),
        }
    }

    /// Waits for one; what the program ends with because of it.
    pub(super) async fn next(&mut self) -> Exit {
        tokio::select! {
            () = wait(&mut self.terminate) => Exit::Terminated,
            () = wait(&mut self.hang_up) => Exit::Terminated,
            () = wait(&mut self.interrupt) => Exit::Interrupted,
        }
    }
}

async fn wait(signal: &mut Option<Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await.is_some(),
        None => false,
    };
    if !heard {
        std::future::pending::<()>().await;
    }
}
