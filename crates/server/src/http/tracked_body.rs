//! Response bodies that report their progress.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use crate::admission::HeldAnswer;
use crate::listen::RequestActivity;

/// Largest piece passed on at once. The next one is requested only when the peer has made room,
/// which shows that it is receiving the response.
pub(super) const PIECE: usize = 64 << 10;

/// Memory that a response holds until it is sent, as an extension of it.
#[derive(Clone)]
pub(super) struct ResponseMemory {
    _bytes: Arc<HeldAnswer>,
}

impl From<HeldAnswer> for ResponseMemory {
    fn from(bytes: HeldAnswer) -> Self {
        Self {
            _bytes: Arc::new(bytes),
        }
    }
}

/// A response body that keeps its request active, and its memory counted, until it is sent.
pub(crate) struct TrackedBody {
    body: Body,
    /// Data of the body that is not passed on yet.
    rest: Bytes,
    response: Arc<Unsent>,
}

/// A response of which the connection may still hold pieces.
struct Unsent {
    request: RequestActivity,
    _running: Option<Arc<()>>,
    _held: Option<ResponseMemory>,
}

/// A piece of a response until the connection has sent it. It is a part of the whole answer, whose
/// memory stays as long as any of its pieces.
struct BodyPiece {
    bytes: Bytes,
    response: Arc<Unsent>,
}

impl AsRef<[u8]> for BodyPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for BodyPiece {
    fn drop(&mut self) {
        self.response.request.moved();
    }
}

impl TrackedBody {
    /// Tracks the body of a response. Holds `running` until the response is sent.
    pub(super) fn of(
        mut response: Response,
        mut request: RequestActivity,
        running: Option<Arc<()>>,
    ) -> axum::http::Response<Self> {
        // From now on the connection waits for its peer, which has a deadline. A computation has
        // none.
        request.send();
        let held = response.extensions_mut().remove();
        let unsent = Arc::new(Unsent {
            request,
            _running: running,
            _held: held,
        });

        response.map(|body| Self {
            body,
            rest: Bytes::new(),
            response: unsent,
        })
    }

    /// The next piece of the rest.
    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE));
        self.response.request.passed(bytes.len());

        Frame::data(Bytes::from_owner(BodyPiece {
            bytes,
            response: Arc::clone(&self.response),
        }))
    }
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // A connection asks for more only when its peer has made room.
        self.response.request.moved();
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }

        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let passed_on = match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                self.piece()
            }
            Err(trailers) => trailers,
        };
        Poll::Ready(Some(Ok(passed_on)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let body = self.body.size_hint();
        let rest = self.rest.len() as u64;

        let mut hint = SizeHint::new();
        hint.set_lower(body.lower().saturating_add(rest));
        if let Some(upper) = body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::listen::{Activity, Exchange};

    #[tokio::test]
    async fn a_body_is_passed_on_in_pieces() {
        let all: Vec<u8> = (0..PIECE * 2 + 7).map(|i| i as u8).collect();
        let response = Response::new(Body::from(all.clone()));
        let activity = Activity::new();
        let mut body =
            TrackedBody::of(response, activity.begin(Exchange::Multiplexed), None).into_body();

        let mut sizes = Vec::new();
        let mut taken = Vec::new();
        while !body.is_end_stream() {
            assert_eq!(
                body.size_hint().exact(),
                Some((all.len() - taken.len()) as u64)
            );
            let next =
                std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            let piece = next.unwrap().unwrap().into_data().unwrap();
            sizes.push(piece.len());
            taken.extend_from_slice(&piece);
        }

        assert_eq!((sizes, taken), (vec![PIECE, PIECE, 7], all));
        drop(body);
        assert!(activity.idle_since().is_some());
    }

    /// The connection may hold a piece for as long as its peer takes nothing.
    #[tokio::test]
    async fn a_response_is_sent_once_its_last_piece_is() {
        let activity = Activity::new();
        let running = Arc::new(());
        let response = Response::new(Body::from(vec![7; PIECE]));
        let request = activity.begin(Exchange::Multiplexed);
        let mut body = TrackedBody::of(response, request, Some(Arc::clone(&running))).into_body();

        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let piece = next.unwrap().unwrap().into_data().unwrap();
        assert!(body.is_end_stream());
        drop(body);
        assert!(activity.idle_since().is_none() && Arc::strong_count(&running) == 2);

        drop(piece);
        assert!(activity.idle_since().is_some() && Arc::strong_count(&running) == 1);
    }
}
