//! Bodies of responses on their way from a gateway.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::limits::RelayPlace;
use super::problem::RelayProblem;

/// Longest response in bytes: public parts have up to some gigabytes.
const MAX_RESPONSE: u64 = 16 << 30;

/// The body of a gateway's response. It is passed on as it arrives, and cut off if it is too long
/// or pauses for too long. It holds the place of its request until it is sent.
pub(super) struct RelayDownload {
    body: Body,
    authority: Arc<str>,
    /// Bytes that may still arrive.
    left: u64,
    /// Longest pause.
    pause: Duration,
    timer: Pin<Box<Sleep>>,
    /// Set while the timer runs. It does not run while the client reads what has arrived.
    is_waiting: bool,
    _place: RelayPlace,
}

impl RelayDownload {
    pub(super) fn new(body: Body, authority: Arc<str>, pause: Duration, place: RelayPlace) -> Self {
        Self {
            body,
            authority,
            left: MAX_RESPONSE,
            pause,
            timer: Box::pin(sleep(pause)),
            is_waiting: false,
            _place: place,
        }
    }

    /// Counts bytes that have arrived.
    fn count(&mut self, data: Bytes) -> Result<Frame<Bytes>, RelayProblem> {
        match self.left.checked_sub(data.len() as u64) {
            Some(left) => {
                self.left = left;
                Ok(Frame::data(data))
            }
            None => Err(self.cut(RelayProblem::NoGateway {
                authority: Arc::clone(&self.authority),
            })),
        }
    }

    /// Logs that the client receives a part of the response only.
    fn cut(&self, problem: RelayProblem) -> RelayProblem {
        tracing::info!(
            status = problem.status(),
            code = problem.code(),
            "response cut off"
        );
        problem
    }

    /// Waits for more, at most for the longest pause.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<RelayProblem> {
        if !self.is_waiting {
            self.timer.as_mut().reset(Instant::now() + self.pause);
            self.is_waiting = true;
        }

        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(self.cut(RelayProblem::TimedOut {
            authority: Arc::clone(&self.authority),
        }))
    }
}

impl HttpBody for RelayDownload {
    type Data = Bytes;
    type Error = RelayProblem;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RelayProblem>>> {
        let this = self.get_mut();
        loop {
            let arrived = match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Ready(arrived) => arrived,
                Poll::Pending => return this.wait(context).map(|problem| Some(Err(problem))),
            };
            this.is_waiting = false;

            let frame = match arrived {
                Some(Ok(frame)) => frame,
                Some(Err(_)) => {
                    let authority = Arc::clone(&this.authority);
                    let problem = this.cut(RelayProblem::Away { authority });
                    return Poll::Ready(Some(Err(problem)));
                }
                None => return Poll::Ready(None),
            };
            // Trailers are headers of the gateway: they are dropped.
            if let Ok(data) = frame.into_data() {
                return Poll::Ready(Some(this.count(data)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::BodyExt;

    use super::*;
    use crate::listen::Peer;
    use crate::relay::limits::{GatewayPlaces, RelayLimits};

    /// A body that never continues.
    struct Paused;

    impl HttpBody for Paused {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    const PAUSE: Duration = Duration::from_secs(2);

    fn download(body: Body) -> RelayDownload {
        let authority: Arc<str> = "gateway.example".into();
        let places = GatewayPlaces::new(Arc::clone(&authority), 1);
        let place = RelayLimits::new(None).admit(Peer::Local, &places).unwrap();
        RelayDownload::new(body, authority, PAUSE, place)
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_pauses_is_cut_off() {
        let begin = Instant::now();
        let ended = download(Body::new(Paused)).collect().await;

        let authority = "gateway.example".into();
        assert_eq!(ended.err(), Some(RelayProblem::TimedOut { authority }));
        assert!(begin.elapsed() >= PAUSE);
    }

    #[tokio::test]
    async fn a_response_is_passed_on_up_to_its_limit() {
        let whole = download(Body::from("answer")).collect().await.unwrap();
        assert_eq!(whole.to_bytes(), "answer");

        let mut long = download(Body::from("answer"));
        long.left = 5;
        let authority = "gateway.example".into();
        let expected = RelayProblem::NoGateway { authority };
        assert_eq!(long.collect().await.err(), Some(expected));
    }
}
