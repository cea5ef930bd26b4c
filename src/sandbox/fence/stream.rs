//! Streams into files, held to what they say they take.

use crate::sandbox::limits::LimitKind;
use bytes::Bytes;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::pipe::SinkOutputStream;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Bytes that a stream into a file says it takes at once.
const MOST: usize = 64 << 10;

/// A stream that takes no more at once than it says. The library takes whatever it is given and writes it in the background,
/// so that megabytes on each of hundreds of streams would pile up in the host.
struct Bounded(DynOutputStream);

/// Holds a stream to what it says.
pub(super) fn bound(
    table: &mut ResourceTable,
    stream: Resource<DynOutputStream>,
) -> Result<Resource<DynOutputStream>, ResourceTableError> {
    let slot = table.get_mut(&stream)?;
    let inner = std::mem::replace(slot, Box::new(SinkOutputStream));
    *slot = Box::new(Bounded(inner));
    Ok(stream)
}

#[async_trait]
impl OutputStream for Bounded {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > MOST {
            return Err(StreamError::Trap(LimitKind::HostCopies.into()));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.0.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.0.check_write()?.min(MOST))
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        self.0.cancel().await;
    }
}

#[async_trait]
impl Pollable for Bounded {
    async fn ready(&mut self) {
        self.0.ready().await;
    }
}
