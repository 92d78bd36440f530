//! Sealed bytes on their way out.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::io::AsyncWrite;

/// Bytes that a cipher has written and nobody has taken yet. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Outbox(Arc<Mutex<Vec<u8>>>);

impl Outbox {
    /// Takes what was written since the last call.
    pub(crate) fn take(&self) -> Vec<u8> {
        mem::take(&mut self.bytes())
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncWrite for Outbox {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.bytes().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
