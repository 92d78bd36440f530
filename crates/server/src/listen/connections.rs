//! Accept loop: timeouts of connections, and their limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::activity::{Activity, Timeouts};
use super::address::Peer;
use super::listener::Listener;
use super::slots::ConnectionSlots;
use super::stream::{Stream, Watched};
use super::tls::Tls;

/// Time for a refused client to read the alert that says why.
const ALERT_TIME: Duration = Duration::from_millis(500);
/// Pause after a failed accept. Usually the process has run out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The protocol spoken on accepted connections.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Serves one connection until it ends, expires, or finishes its requests after `stopped`
    /// changes.
    fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        peer: Peer,
        activity: Arc<Activity>,
        stopped: watch::Receiver<()>,
    ) -> impl Future<Output = ()> + Send;
}

/// State shared by all connections.
struct ConnectionContext<P> {
    protocol: P,
    tls: Option<Arc<Tls>>,
    timeouts: Timeouts,
    slots: ConnectionSlots,
}

/// Accepts connections until `stopped` changes, then waits for the open ones to finish.
pub(crate) async fn serve(
    listener: Listener,
    tls: Option<Arc<Tls>>,
    protocol: impl Protocol,
    timeouts: Timeouts,
    max_connections: usize,
    mut stopped: watch::Receiver<()>,
) {
    let slots = ConnectionSlots::new(max_connections, timeouts.sending);
    let context = Arc::new(ConnectionContext {
        protocol,
        tls,
        timeouts,
        slots,
    });

    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Dropping the sender is the stop signal; it arrives as an error.
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(Arc::clone(&context).connect(stream, peer, stopped.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting failed");
                    // Usually no file descriptor is left, and a closed connection gives one back.
                    context.slots.evict_one();
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }

    // Closed before the wait: clients that connect meanwhile are refused at once.
    drop(listener);
    while connections.join_next().await.is_some() {}
}

impl<P: Protocol> ConnectionContext<P> {
    /// Serves one connection if a slot is available.
    async fn connect(self: Arc<Self>, stream: Stream, peer: Peer, stopped: watch::Receiver<()>) {
        let activity = Activity::new();
        let Some(_slot) = self.slots.take(&activity, peer) else {
            tracing::warn!("connection refused: all connections are busy");
            return;
        };

        let stream = Watched::new(stream, Arc::clone(&activity));
        let Some(tls) = &self.tls else {
            return self.protocol.serve(stream, peer, activity, stopped).await;
        };

        // A handshake holds a slot like a request, so it has no more time than headers have.
        let handshake = tokio::select! {
            handshake = tls.acceptor().accept(stream).into_fallible() => Some(handshake),
            () = activity.expired(&self.timeouts) => None,
            () = sleep(self.timeouts.idle) => None,
        };

        match handshake {
            Some(Ok(stream)) => self.protocol.serve(stream, peer, activity, stopped).await,
            Some(Err((error, stream))) => {
                tracing::debug!(%error, "TLS handshake failed");
                let _ = timeout(ALERT_TIME, close(stream)).await;
            }
            None => tracing::debug!("TLS handshake timed out or was evicted"),
        }
    }
}

/// Closes a stream and discards what still arrives. With TLS 1.3 a client without a certificate
/// sends its request before it learns of the refusal; a reset would then take the place of the
/// alert.
async fn close(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut bytes = [0; 1024];
    if stream.shutdown().await.is_ok() {
        while matches!(stream.read(&mut bytes).await, Ok(1..)) {}
    }
}
