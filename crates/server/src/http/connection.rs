//! HTTP/1.1 and HTTP/2 on one connection.
//!
//! `axum::serve` sets no timeouts: a client that sends one header byte a second could keep its
//! connection forever. Connections are therefore served by hyper directly.

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;

use super::tracked_body::TrackedBody;
use crate::admission::Ongoing;
use crate::listen::{Activity, Exchange, Peer, Protocol, Timeouts};

/// Time for an expired connection to shut down.
const SHUTDOWN_TIME: Duration = Duration::from_millis(500);
/// Most concurrent requests on one HTTP/2 connection.
const MAX_STREAMS: u32 = 32;
/// Longest request headers in total, in bytes. Unfinished ones are kept until the time for them is
/// over, so that they are bounded by this for each connection.
const HEADER_BYTES: u32 = 32 << 10;

/// Serves the routes over HTTP.
pub(crate) struct Http {
    router: Router,
    timeouts: Timeouts,
    /// Cloned into every request until its response is sent.
    requests: Arc<()>,
}

impl Http {
    pub(crate) fn new(router: Router, timeouts: Timeouts) -> Self {
        Self {
            router,
            timeouts,
            requests: Arc::default(),
        }
    }

    /// A handle that reports whether requests are running.
    pub(crate) fn ongoing(&self) -> Ongoing {
        Ongoing::of(&self.requests)
    }

    /// The limits of both protocols.
    fn builder(&self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.timeouts.idle)
            .max_buf_size(HEADER_BYTES as usize);

        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(HEADER_BYTES);
        builder
    }
}

impl Protocol for Http {
    async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        peer: Peer,
        activity: Arc<Activity>,
        mut stopped: watch::Receiver<()>,
    ) {
        let builder = self.builder();
        let service = service(
            self.router.clone(),
            peer,
            Arc::clone(&activity),
            Arc::downgrade(&self.requests),
        );
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let expired = activity.expired(&self.timeouts);
        tokio::pin!(expired);

        let mut stopping = false;
        loop {
            tokio::select! {
                ended = &mut connection => return log_failure(ended),
                () = &mut expired => break,
                // Once: a closed channel is always ready.
                _ = stopped.changed(), if !stopping => {
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }

        tracing::debug!("connection closed: idle, or the peer did not receive its response");
        connection.as_mut().graceful_shutdown();
        // A connection that has not shut down by then is cut off.
        let _ = timeout(SHUTDOWN_TIME, connection).await;
    }
}

/// The routes for one connection. Adds the peer to each request and tracks the request's activity.
fn service(
    router: Router,
    peer: Peer,
    activity: Arc<Activity>,
    requests: Weak<()>,
) -> impl Service<
    Request<Incoming>,
    Response = Response<TrackedBody>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<TrackedBody>, Infallible>> + Send + 'static,
> {
    let routes = TowerToHyperService::new(router);
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(&activity));

        let tracked = activity.begin(exchange(request.version()));
        let running = requests.upgrade();
        let answering = routes.call(request);
        async move { Ok(TrackedBody::of(answering.await?, tracked, running)) }
    })
}

/// The concurrency of requests in a version of HTTP.
fn exchange(version: Version) -> Exchange {
    if version < Version::HTTP_2 {
        Exchange::Serial
    } else {
        Exchange::Multiplexed
    }
}

fn log_failure(ended: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection failed");
    }
}
