//! The bus within one process.

use super::{Answer, Bus, BusError, Inbound, Outbound};
use tokio::sync::{Mutex, mpsc};

/// Messages that may wait in one direction; a publisher waits for room beyond that.
const ROOM: usize = 1_000;

/// Two queues in memory.
#[derive(Debug)]
pub struct Local {
    inbound: Line<Inbound>,
    outbound: Line<Outbound>,
}

#[derive(Debug)]
struct Line<T> {
    into: mpsc::Sender<T>,
    out: Mutex<mpsc::Receiver<T>>,
}

impl<T: Send> Line<T> {
    fn new() -> Self {
        let (into, out) = mpsc::channel(ROOM);
        Self { into, out: Mutex::new(out) }
    }

    async fn put(&self, message: T) -> Result<(), BusError> {
        self.into.send(message).await.map_err(|_| BusError("it is closed".to_owned()))
    }

    async fn take(&self) -> Result<Option<T>, BusError> {
        Ok(self.out.lock().await.recv().await)
    }

    /// No more goes in; what is in comes out.
    async fn close(&self) {
        self.out.lock().await.close();
    }
}

impl Local {
    /// An empty one.
    pub fn new() -> Self {
        Self { inbound: Line::new(), outbound: Line::new() }
    }

    /// Takes no further messages for people. Those that wait are still handed out, then readers hear `None`.
    pub async fn close_outbound(&self) {
        self.outbound.close().await;
    }
}

impl Default for Local {
    fn default() -> Self {
        Self::new()
    }
}

impl Bus for Local {
    fn publish_inbound(&self, message: Inbound) -> Answer<'_, ()> {
        Box::pin(self.inbound.put(message))
    }
    fn next_inbound(&self) -> Answer<'_, Option<Inbound>> {
        Box::pin(self.inbound.take())
    }
    fn publish_outbound(&self, message: Outbound) -> Answer<'_, ()> {
        Box::pin(self.outbound.put(message))
    }
    fn next_outbound(&self) -> Answer<'_, Option<Outbound>> {
        Box::pin(self.outbound.take())
    }
}
