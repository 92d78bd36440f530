//! A response body of slices of shared bytes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec::IntoIter;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

/// Slices that are sent one after another. They are not copied, and their length is known before.
pub(super) struct SlicedBody {
    slices: IntoIter<Bytes>,
    /// Bytes of the slices that are not passed on yet.
    left: u64,
}

impl SlicedBody {
    /// A body of these slices.
    pub(super) fn new(slices: Vec<Bytes>) -> Self {
        let left = slices.iter().map(|slice| slice.len() as u64).sum();
        Self {
            slices: slices.into_iter(),
            left,
        }
    }

    /// Bytes that are not passed on yet.
    pub(super) fn left(&self) -> u64 {
        self.left
    }
}

impl HttpBody for SlicedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(slice) = self.slices.next() else {
            return Poll::Ready(None);
        };
        self.left -= slice.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn slices_are_sent_in_order_with_their_length() {
        let whole = Bytes::from_static(b"0123456789");
        let slices = vec![whole.slice(0..2), whole.slice(5..6), whole.slice(8..10)];
        let body = Body::new(SlicedBody::new(slices));
        assert_eq!(body.size_hint().exact(), Some(5));

        let sent = body.collect().await.unwrap().to_bytes();
        assert_eq!(sent, "01589");
    }

    #[test]
    fn no_slices_are_an_empty_body() {
        let body = SlicedBody::new(Vec::new());
        assert!(body.is_end_stream());
        assert_eq!(body.size_hint().exact(), Some(0));
    }
}
