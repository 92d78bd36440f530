//! Bodies of requests on their way to a gateway.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::problem::RelayProblem;

/// Time after which a body must have arrived at [`MIN_RATE`] or faster.
const GRACE: Duration = Duration::from_secs(5);
/// Slowest accepted rate of a body, in bytes a second.
const MIN_RATE: u64 = 4096;

/// Limits of one body.
#[derive(Clone, Copy)]
pub(super) struct UploadLimits {
    /// Most bytes.
    pub(super) bytes: u64,
    /// Time for all of it.
    pub(super) time: Duration,
}

/// Why a body was cut off, and what was not read of it. The HTTP library only reports that the
/// exchange failed.
#[derive(Clone, Default)]
pub(super) struct UploadFault(Arc<CutUpload>);

#[derive(Default)]
struct CutUpload {
    problem: OnceLock<RelayProblem>,
    rest: Mutex<Body>,
}

impl UploadFault {
    /// The problem; `None` if the body was not cut off.
    pub(super) fn found(&self) -> Option<RelayProblem> {
        self.0.problem.get().cloned()
    }

    /// Takes the rest of a body that was too long. A client that is still sending it would not
    /// receive the response.
    pub(super) fn rest(&self) -> Body {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Body> {
        self.0.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a request to a gateway. It is passed on as it arrives, and cut off beyond its
/// limits.
pub struct RelayUpload {
    /// Bodies of axum are not `Sync`, and those of HTTP clients must be. Never contended.
    body: Mutex<Body>,
    limits: UploadLimits,
    begin: Instant,
    received: u64,
    timer: Pin<Box<Sleep>>,
    fault: UploadFault,
}

impl RelayUpload {
    pub(super) fn new(body: Body, limits: UploadLimits, fault: UploadFault) -> Self {
        Self {
            body: Mutex::new(body),
            limits,
            begin: Instant::now(),
            received: 0,
            timer: Box::pin(sleep(limits.time)),
            fault,
        }
    }

    /// A body without bytes.
    pub(super) fn empty() -> Self {
        let limits = UploadLimits {
            bytes: 0,
            time: Duration::ZERO,
        };
        Self::new(Body::empty(), limits, UploadFault::default())
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts bytes that have arrived.
    fn count(&mut self, data: Bytes) -> Result<Frame<Bytes>, RelayProblem> {
        let limit = self.limits.bytes;
        self.received = self.received.saturating_add(data.len() as u64);
        if self.received > limit {
            *self.fault.lock() = std::mem::take(&mut *self.body());
            return Err(self.cut(RelayProblem::TooLong { limit }));
        }
        Ok(Frame::data(data))
    }

    /// Records why the body ends here.
    fn cut(&self, problem: RelayProblem) -> RelayProblem {
        self.fault.0.problem.get_or_init(|| problem).clone()
    }

    /// Waits for more until the time is over. What has arrived buys time for the rest.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<RelayProblem> {
        let paced = GRACE + Duration::from_secs(self.received / MIN_RATE);
        self.timer
            .as_mut()
            .reset(self.begin + paced.min(self.limits.time));

        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(self.cut(RelayProblem::TooSlow))
    }
}

impl HttpBody for RelayUpload {
    type Data = Bytes;
    type Error = RelayProblem;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RelayProblem>>> {
        let this = self.get_mut();
        loop {
            let body = this.body.get_mut().unwrap_or_else(PoisonError::into_inner);
            let frame = match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Some(Err(this.cut(RelayProblem::Interrupted))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return this.wait(context).map(|problem| Some(Err(problem))),
            };

            // Trailers are headers of the client: they are dropped.
            if let Ok(data) = frame.into_data() {
                return Poll::Ready(Some(this.count(data)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;

    use axum::http::HeaderMap;
    use http_body_util::{BodyExt, Full};

    use super::*;

    const LIMITS: UploadLimits = UploadLimits {
        bytes: 10,
        time: Duration::from_secs(2),
    };

    /// A body that never continues.
    struct Stalled;

    impl HttpBody for Stalled {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_body_within_its_limits_is_passed_on_without_trailers() {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-client", "secret".parse().unwrap());
        let given = Full::new(Bytes::from_static(b"0123456789"))
            .with_trailers(async { Some(Ok(trailers)) });

        let fault = UploadFault::default();
        let upload = RelayUpload::new(Body::new(given), LIMITS, fault.clone());
        let collected = upload.collect().await.unwrap();

        assert!(collected.trailers().is_none());
        assert_eq!(collected.to_bytes(), "0123456789");
        assert_eq!(fault.found(), None);
    }

    #[tokio::test]
    async fn a_body_beyond_its_limit_is_cut_off() {
        let fault = UploadFault::default();
        let upload = RelayUpload::new(Body::from(vec![7; 11]), LIMITS, fault.clone());

        let expected = RelayProblem::TooLong { limit: 10 };
        assert_eq!(upload.collect().await.err(), Some(expected.clone()));
        assert_eq!(fault.found(), Some(expected));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_cut_off() {
        let fault = UploadFault::default();
        let upload = RelayUpload::new(Body::new(Stalled), LIMITS, fault.clone());

        let begin = Instant::now();
        assert_eq!(upload.collect().await.err(), Some(RelayProblem::TooSlow));
        assert_eq!(fault.found(), Some(RelayProblem::TooSlow));
        assert!(begin.elapsed() >= LIMITS.time);
    }
}
