//! Bodies of relayed requests and of their responses.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use papir_ohttp::BodySealer;

use super::tracked_body::{PIECE, ResponseMemory};
use crate::admission::HeldBytes;

/// The body of an opened request, in one piece.
///
/// Its memory is counted until its handler takes it, who counts it from then on. Counted twice, one
/// long body would be two of its client, and exceed the share of a client. A long body is passed on
/// without a copy.
pub(super) struct OpenedBody {
    bytes: Bytes,
    held: Option<HeldBytes>,
}

impl OpenedBody {
    pub(super) fn new(bytes: Vec<u8>, held: Option<HeldBytes>) -> Self {
        Self {
            bytes: bytes.into(),
            held,
        }
    }
}

impl HttpBody for OpenedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        drop(self.held.take());
        let bytes = std::mem::take(&mut self.bytes);
        let rest = (!bytes.is_empty()).then(|| Ok(Frame::data(bytes)));
        Poll::Ready(rest)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

/// The body of a response that is sealed in chunks while it is sent.
pub(super) struct SealedBody {
    body: Body,
    /// Data of the body that is not sealed yet.
    rest: Bytes,
    /// Bytes of the body that are still to come, if its length is known.
    left: Option<u64>,
    /// `None` once the body has ended or failed.
    sealer: Option<BodySealer>,
    /// The memory of the body.
    _held: Option<ResponseMemory>,
}

impl SealedBody {
    /// Seals a body with this sealer, which was started with the same length.
    pub(super) fn new(
        body: Body,
        length: Option<u64>,
        sealer: BodySealer,
        held: Option<ResponseMemory>,
    ) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            left: length,
            sealer: Some(sealer),
            _held: held,
        }
    }

    /// Takes the data of a frame. Trailers are left out.
    fn receive(&mut self, frame: Frame<Bytes>) -> Result<(), axum::Error> {
        let Ok(data) = frame.into_data() else {
            return Ok(());
        };

        if let Some(left) = &mut self.left {
            let length = data.len() as u64;
            *left = left.checked_sub(length).ok_or_else(wrong_length)?;
        }
        self.rest = data;
        Ok(())
    }

    /// Seals the next piece of the rest. Returns bytes to send, which may be none.
    fn seal_piece(&mut self) -> Result<Vec<u8>, axum::Error> {
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        match &mut self.sealer {
            Some(sealer) => sealer.part(&piece).map_err(axum::Error::new),
            None => Ok(Vec::new()),
        }
    }

    /// Seals the end of the message. Only a body that has arrived whole has one.
    fn seal_end(&mut self) -> Option<Result<Vec<u8>, axum::Error>> {
        let sealer = self.sealer.take()?;
        if self.left.is_some_and(|left| left > 0) {
            return Some(Err(wrong_length()));
        }
        Some(sealer.finish().map_err(axum::Error::new))
    }

    /// Passes sealed bytes on. After a failure nothing more is sealed.
    fn passed_on(
        &mut self,
        sealed: Result<Vec<u8>, axum::Error>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if sealed.is_err() {
            self.sealer = None;
            self.rest = Bytes::new();
        }
        Poll::Ready(Some(sealed.map(|bytes| Frame::data(bytes.into()))))
    }
}

fn wrong_length() -> axum::Error {
    axum::Error::new(std::io::Error::other("a body of another length"))
}

impl HttpBody for SealedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        while this.sealer.is_some() {
            if !this.rest.is_empty() {
                let sealed = this.seal_piece();
                // Less than a chunk waits for more.
                if sealed.as_ref().is_ok_and(Vec::is_empty) {
                    continue;
                }
                return this.passed_on(sealed);
            }

            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    if let Err(error) = this.receive(frame) {
                        return this.passed_on(Err(error));
                    }
                }
                Some(Err(error)) => return this.passed_on(Err(error)),
                None => {
                    if let Some(sealed) = this.seal_end() {
                        return this.passed_on(sealed);
                    }
                }
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.sealer.is_none()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http_body_util::BodyExt;
    use papir_ohttp::{
        Gateway, GatewayKey, InnerRequest, InnerResponse, Kem, Opener, ResponseHead,
        ResponseSealer, SealForm,
    };

    use super::*;
    use crate::admission::{ClientKey, Memory};

    /// Both ends of an exchange.
    fn exchange() -> (Opener, ResponseSealer) {
        let key = GatewayKey::derive(1, Kem::X25519, &[7; 32]).unwrap();
        let gateway = Gateway::new(vec![key]);
        let client = gateway.key_list().unwrap().choose().unwrap();
        let sealed = client.seal(&InnerRequest::default(), b"").unwrap();
        let opened = gateway.open(&sealed.body, SealForm::Chunked).unwrap();
        (sealed.opener, opened.sealer)
    }

    fn seal(body: Body, length: Option<u64>) -> (Opener, SealedBody) {
        let (opener, sealer) = exchange();
        let head = ResponseHead {
            status: 200,
            headers: Vec::new(),
        };
        let sealer = sealer.start(&head, length);
        (opener, SealedBody::new(body, length, sealer, None))
    }

    /// The frames up to the end or a failure, and whether it failed.
    async fn frames(body: &mut SealedBody) -> (Vec<Bytes>, bool) {
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => frames.push(frame.into_data().unwrap()),
                Err(_) => return (frames, true),
            }
        }
        (frames, false)
    }

    #[tokio::test]
    async fn a_long_body_is_sealed_in_pieces() {
        let all: Vec<u8> = (0..PIECE * 5 + 7).map(|i| i as u8).collect();
        for length in [Some(all.len() as u64), None] {
            let (opener, mut body) = seal(Body::from(all.clone()), length);
            let (frames, failed) = frames(&mut body).await;
            assert!(!failed && body.is_end_stream());
            assert!(frames.len() > 5);
            assert!(frames.iter().all(|frame| frame.len() < PIECE * 3 / 2));

            let InnerResponse { head, body } = opener.open(frames.concat()).unwrap();
            assert_eq!((head.status, body == all), (200, true));
        }
    }

    /// A body of some frames, of which the last may be a failure.
    struct Frames(Vec<Result<Bytes, axum::Error>>);

    impl HttpBody for Frames {
        type Data = Bytes;
        type Error = axum::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
            if self.0.is_empty() {
                return Poll::Ready(None);
            }
            Poll::Ready(Some(self.0.remove(0).map(Frame::data)))
        }
    }

    #[tokio::test]
    async fn an_interrupted_body_is_not_complete() {
        let data = || Ok(Bytes::from(vec![7; PIECE]));
        for (inner, length) in [
            (vec![data(), Err(wrong_length())], None),
            (vec![data(), Err(wrong_length())], Some(2 * PIECE as u64)),
            (vec![data()], Some(2 * PIECE as u64)),
            (vec![data(), data()], Some(PIECE as u64)),
        ] {
            let (opener, mut body) = seal(Body::new(Frames(inner)), length);
            let (frames, failed) = frames(&mut body).await;
            assert!(failed && body.is_end_stream(), "{length:?}");
            assert!(opener.open(frames.concat()).is_err(), "{length:?}");
        }
    }

    #[tokio::test]
    async fn an_opened_body_is_counted_until_it_is_taken() {
        let uploads = Memory::new(1000);
        let mut held = uploads.begin(ClientKey::Local);
        assert!(held.grow(900));
        let mut body = OpenedBody::new(vec![7; 900], Some(held));
        assert_eq!(
            (uploads.bytes(), body.size_hint().exact()),
            (900, Some(900))
        );

        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap().len(), 900);
        assert!(uploads.bytes() == 0 && body.is_end_stream());
        assert!(body.frame().await.is_none());
    }
}
