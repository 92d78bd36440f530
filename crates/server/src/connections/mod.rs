//! Accepts connections and serves them, each within its time, never more than a stated number.
//!
//! `axum::serve` sets no timer, so that a client that sends a header byte a second holds its
//! connection for ever; the connections are therefore served here, by hyper.

pub(crate) mod activity;
mod body;
mod places;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::listen::stream::{Stream, Watched};
use crate::listen::tls::Tls;
use crate::listen::{Listener, Peer};
use activity::Activity;
use body::Sending;
use places::Places;

/// How long a connection whose time is over may take to say so.
const FAREWELL: Duration = Duration::from_millis(500);
/// Wait after a failed accept, which mostly means that no file handles are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Most requests at a time of one HTTP/2 connection.
const STREAMS: u32 = 128;
/// Longest headers of a request together, in bytes.
const HEADER_BYTES: u32 = 32 << 10;

/// How long a connection may wait for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    /// For the headers of a request, TLS handshake included, and between two requests.
    pub(crate) idle: Duration,
    /// For the peer to take more of an answer; when places are short, for all of it.
    pub(crate) sending: Duration,
}

/// What all connections share.
struct House {
    router: Router,
    tls: Option<Arc<Tls>>,
    patience: Patience,
    places: Places,
}

/// Accepts until `stopped` changes, then lets all connections finish.
pub(crate) async fn serve(
    listener: Listener,
    tls: Option<Arc<Tls>>,
    router: Router,
    (patience, max_connections): (Patience, usize),
    mut stopped: watch::Receiver<()>,
) {
    let house =
        Arc::new(House { router, tls, patience, places: Places::new(max_connections, patience.sending) });
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // An error says that the sender was dropped, which is the signal.
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(Arc::clone(&house).welcome(stream, peer, stopped.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "accepting failed");
                    house.places.free_one();
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

impl House {
    /// Serves one connection, where there is a place for it.
    async fn welcome(self: Arc<Self>, stream: Stream, peer: Peer, stopped: watch::Receiver<()>) {
        let activity = Activity::new();
        let Some(_place) = self.places.take(&activity) else {
            tracing::warn!("a connection was turned away: all have requests running");
            return;
        };
        let stream = Watched::new(stream, Arc::clone(&activity));
        let Some(tls) = &self.tls else {
            return self.converse(stream, peer, activity, stopped).await;
        };
        let shaken = tokio::select! {
            shaken = tls.acceptor().accept(stream) => Some(shaken),
            () = activity.expired(&self.patience) => None,
            () = tokio::time::sleep(self.patience.idle) => None,
        };
        match shaken {
            Some(Ok(stream)) => self.converse(stream, peer, activity, stopped).await,
            Some(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            None => tracing::debug!("a TLS handshake took too long, or its place was needed"),
        }
    }

    /// Speaks HTTP/1.1 or HTTP/2 until either side ends it, or its time is over.
    async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        peer: Peer,
        activity: Arc<Activity>,
        mut stopped: watch::Receiver<()>,
    ) {
        let builder = self.builder();
        let service = service(self.router.clone(), peer, Arc::clone(&activity));
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let expired = activity.expired(&self.patience);
        tokio::pin!(expired);
        let mut stopping = false;
        loop {
            tokio::select! {
                ended = &mut connection => return note(ended),
                () = &mut expired => break,
                _ = stopped.changed(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
        tracing::debug!("a connection was ended that had no request or did not take its answer");
        connection.as_mut().graceful_shutdown();
        // Whoever does not end by itself is cut off.
        let _ = timeout(FAREWELL, connection).await;
    }

    fn builder(&self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        let idle = self.patience.idle;
        builder.http1().timer(TokioTimer::new()).header_read_timeout(idle);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEADER_BYTES);
        builder
    }
}

/// The routes for one connection: each request knows its peer and is counted.
fn service(
    router: Router,
    peer: Peer,
    activity: Arc<Activity>,
) -> impl Service<
    Request<Incoming>,
    Response = Response<Sending>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Sending>, Infallible>> + Send + 'static,
> {
    let routes = TowerToHyperService::new(router);
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let counted = activity.begin(request.version());
        let answering = routes.call(request);
        async move { Ok(answering.await?.map(|body| Sending::new(body, counted))) }
    })
}

fn note(ended: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
