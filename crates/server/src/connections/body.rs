//! The body of an answer, which keeps its request open until it is sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

use super::activity::Request;

/// Longest piece that is given away at a time: the next one is asked for when the peer has made room,
/// which tells that it takes the answer.
const PIECE: usize = 64 << 10;

/// A body with its request.
pub(crate) struct Sending {
    body: Body,
    /// What has come of the body and is not given away.
    rest: Bytes,
    request: Request,
}

impl Sending {
    pub(crate) fn new(body: Body, mut request: Request) -> Self {
        request.send();
        Self { body, rest: Bytes::new(), request }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        Frame::data(self.rest.split_to(self.rest.len().min(PIECE)))
    }
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.request.moved();
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                self.piece()
            }
            Err(trailers) => trailers,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
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
    use axum::http::Version;

    use super::*;
    use crate::connections::activity::Activity;

    #[tokio::test]
    async fn a_body_is_given_away_in_pieces() {
        let all: Vec<u8> = (0..PIECE * 2 + 7).map(|i| i as u8).collect();
        let mut sending = Sending::new(Body::from(all.clone()), Activity::new().begin(Version::HTTP_2));
        let (mut sizes, mut taken) = (Vec::new(), Vec::new());
        while !sending.is_end_stream() {
            assert_eq!(sending.size_hint().exact(), Some((all.len() - taken.len()) as u64));
            let next = std::future::poll_fn(|context| Pin::new(&mut sending).poll_frame(context)).await;
            let piece = next.unwrap().unwrap().into_data().unwrap();
            sizes.push(piece.len());
            taken.extend_from_slice(&piece);
        }
        assert_eq!((sizes, taken), (vec![PIECE, PIECE, 7], all));
    }
}
