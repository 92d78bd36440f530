//! Reads request bodies within limits on size and time.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout, timeout_at};

use super::problem::Problem;
use crate::admission::HeldBytes;

/// Bytes of a refused body that are read and discarded, so that a client that is still sending can
/// receive the response. The connection of a longer body is closed.
const DRAINED: usize = 16 << 20;
/// Time for which the body of a refused request is read, so that the client can receive the
/// response without holding its connection for long.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Time after which a body must have arrived at [`MIN_RATE`] or faster.
const GRACE: Duration = Duration::from_secs(5);
/// Slowest accepted rate of a body, in bytes a second.
const MIN_RATE: f64 = 4096.0;
/// The memory of a body of unknown length grows by one part in this number.
const GROWTH_PARTS: usize = 4;
/// A first part of this length in bytes is taken and not copied. Connections read shorter parts. An
/// opened request has its whole body in one, of which a copy would take as much memory again.
const TAKEN_PART: usize = 1 << 20;
/// Advised retry delay while bodies or answers fill the memory.
pub(super) const FULL_ADVICE: Duration = Duration::from_secs(1);

/// A whole body, and the memory that it holds.
pub(super) struct Whole {
    pub(super) bytes: Vec<u8>,
    pub(super) held: HeldBytes,
}

/// Reads a body of at most `limit` bytes within `time`, and counts in `held` the memory that it
/// takes: its bytes and, while it arrives, up to a quarter more.
pub(super) async fn read(
    mut body: Body,
    limit: usize,
    time: Duration,
    held: HeldBytes,
) -> Result<Whole, Problem> {
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        drain(body, time).await;
        return Err(Problem::TooLong { limit });
    }

    let mut whole = Whole {
        bytes: Vec::new(),
        held,
    };
    let outcome = whole.receive(&mut body, limit, time).await;
    if let Err(Problem::TooLong { .. } | Problem::Busy { .. }) = &outcome {
        // Freed before the rest is drained, which may take long.
        whole.bytes = Vec::new();
        drain(body, time).await;
    }
    outcome.map(|()| whole)
}

impl Whole {
    /// Reads the rest of a body.
    async fn receive(
        &mut self,
        body: &mut Body,
        limit: usize,
        time: Duration,
    ) -> Result<(), Problem> {
        let begin = Instant::now();
        let announced = body.size_hint().exact();
        let most = announced.and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.unwrap_or(limit);

        loop {
            // What has arrived buys time for the rest: a large body has enough, and a trickle has
            // not.
            let paced = GRACE + Duration::from_secs_f64(self.bytes.len() as f64 / MIN_RATE);
            let deadline = begin + paced.min(time);
            let arrived = match timeout_at(deadline, next(body)).await {
                Ok(arrived) => arrived?,
                Err(_) if paced < time => return Err(Problem::Trickled { rate: MIN_RATE }),
                Err(_) => return Err(Problem::TooSlow { limit: time }),
            };
            let Some(part) = arrived else {
                return Ok(());
            };

            if part.len() > limit - self.bytes.len() {
                return Err(Problem::TooLong { limit });
            }
            self.append(part, most)?;
        }
    }

    /// Appends a part of a body that has at most `most` bytes. Fails if there is no memory for it.
    fn append(&mut self, part: Bytes, most: usize) -> Result<(), Problem> {
        if self.bytes.is_empty() && part.len() >= TAKEN_PART {
            return self.take(part);
        }

        let reserved = self.bytes.capacity();
        let needed = self.bytes.len() + part.len();
        if needed > reserved {
            // A vector that grows by itself doubles its memory, of which its bytes may be half.
            let grown = reserved.saturating_add(reserved / GROWTH_PARTS);
            let grown = grown.min(most).max(needed);
            if !self.held.grow(grown - reserved) {
                return Err(Problem::Busy { after: FULL_ADVICE });
            }
            self.bytes.reserve_exact(grown - self.bytes.len());
        }

        self.bytes.extend_from_slice(&part);
        Ok(())
    }

    /// Takes the memory of the first part. Only if it has other owners, it is copied.
    fn take(&mut self, part: Bytes) -> Result<(), Problem> {
        let bytes = Vec::from(part);
        if !self.held.grow(bytes.capacity()) {
            return Err(Problem::Busy { after: FULL_ADVICE });
        }

        self.bytes = bytes;
        Ok(())
    }
}

/// Drains the body of a request that is refused for `problem`, and returns the problem: a client
/// that is still sending could not receive the response.
pub(super) async fn refused(body: Body, time: Duration, problem: Problem) -> Problem {
    drain(body, time).await;
    problem
}

/// Drains the body of a refused request of which nothing has been read.
pub(crate) async fn drain_unread(request: Request, time: Duration) {
    // A client that sent `Expect: 100-continue` will not send its body.
    if !request.headers().contains_key(header::EXPECT) {
        drain(request.into_body(), time).await;
    }
}

/// Reads and discards a body.
pub(crate) async fn drain(mut body: Body, time: Duration) {
    // A client too slow even for this does not receive the response.
    let _ = timeout(time, discard(&mut body)).await;
}

/// Reads and discards at most [`DRAINED`] bytes of a body.
async fn discard(body: &mut Body) {
    let mut left = DRAINED;
    while let Ok(Some(part)) = next(body).await {
        left = left.saturating_sub(part.len());
        if left == 0 {
            break;
        }
    }
}

/// The next bytes of a body; `None` at its end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|_| Problem::Interrupted)?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, ready};

    use hyper::body::Frame;
    use tokio::time::{Sleep, sleep};

    use super::*;
    use crate::admission::{ClientKey, Memory};

    async fn read_into(
        uploads: &Arc<Memory>,
        body: Body,
        limit: usize,
    ) -> Result<Vec<u8>, Problem> {
        let held = uploads.begin(ClientKey::Local);
        read(body, limit, Duration::from_secs(60), held)
            .await
            .map(|whole| whole.bytes)
    }

    #[tokio::test]
    async fn bodies_up_to_the_limit_are_accepted() {
        let uploads = Memory::new(8);
        assert_eq!(
            read_into(&uploads, Body::from(vec![7; 8]), 8)
                .await
                .unwrap(),
            vec![7; 8]
        );

        let long = read_into(&uploads, Body::from(vec![7; 9]), 8).await;
        assert!(matches!(long, Err(Problem::TooLong { limit: 8 })));

        assert_eq!(
            read_into(&uploads, Body::empty(), 8).await.unwrap(),
            Vec::<u8>::new()
        );
    }

    #[test]
    fn the_memory_of_a_body_is_counted_and_not_only_its_bytes() {
        const PARTS: usize = 50;
        for is_length_known in [true, false] {
            let uploads = Memory::new(1 << 20);
            let mut whole = Whole {
                bytes: Vec::new(),
                held: uploads.begin(ClientKey::Local),
            };
            let most = if is_length_known {
                PARTS * 100
            } else {
                1 << 20
            };

            for part in 1..=PARTS {
                whole.append(Bytes::from_static(&[7; 100]), most).unwrap();
                let counted = uploads.bytes();
                assert_eq!(counted, whole.bytes.capacity());
                assert!(counted <= part * 125, "{part}: {counted}");
            }
            assert_eq!(whole.bytes, [7; PARTS * 100]);
            assert!(!is_length_known || uploads.bytes() == PARTS * 100);
        }
    }

    #[test]
    fn a_long_first_part_is_not_copied() {
        let uploads = Memory::new(2 * TAKEN_PART);
        let mut whole = Whole {
            bytes: Vec::new(),
            held: uploads.begin(ClientKey::Local),
        };
        let part = vec![7; TAKEN_PART];
        let place = part.as_ptr();

        whole.append(part.into(), TAKEN_PART + 1).unwrap();
        assert_eq!(whole.bytes.as_ptr(), place);
        assert_eq!(uploads.bytes(), TAKEN_PART);
        whole
            .append(Bytes::from_static(&[7]), TAKEN_PART + 1)
            .unwrap();
        assert_eq!(uploads.bytes(), TAKEN_PART + 1);

        let refused = whole.append(vec![7; TAKEN_PART].into(), usize::MAX);
        assert!(matches!(refused, Err(Problem::Busy { .. })));
        assert_eq!(uploads.bytes(), TAKEN_PART + 1);
    }

    #[tokio::test]
    async fn a_body_beyond_the_memory_is_refused() {
        let uploads = Memory::new(8);
        let refused = read_into(&uploads, Body::from(vec![7; 9]), 100).await;
        assert!(matches!(refused, Err(Problem::Busy { .. })));
        assert_eq!(uploads.bytes(), 0);
    }

    /// A body that sends `bytes` bytes a second, `parts` times.
    struct Trickle {
        bytes: usize,
        parts: usize,
        wait: Pin<Box<Sleep>>,
    }

    impl HttpBody for Trickle {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.parts == 0 {
                return Poll::Ready(None);
            }
            ready!(self.wait.as_mut().poll(context));
            self.parts -= 1;
            self.wait = Box::pin(sleep(Duration::from_secs(1)));
            Poll::Ready(Some(Ok(Frame::data(vec![7; self.bytes].into()))))
        }
    }

    /// A body of one byte a second is cut off after 5 s, a faster one is not.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_trickles_is_refused() {
        for (bytes, accepted) in [(1, false), (8192, true)] {
            let uploads = Memory::new(1 << 20);
            let begin = tokio::time::Instant::now();
            let body = Body::new(Trickle {
                bytes,
                parts: 20,
                wait: Box::pin(sleep(Duration::ZERO)),
            });

            let outcome = read_into(&uploads, body, 1 << 20).await;
            let seconds = begin.elapsed().as_secs();

            match outcome {
                Ok(received) => {
                    assert_eq!((accepted, received.len(), seconds), (true, 20 * bytes, 19))
                }
                Err(problem) => {
                    assert!(
                        !accepted && matches!(problem, Problem::Trickled { .. }),
                        "{problem:?}"
                    );
                    assert_eq!(seconds, 5);
                }
            }
        }
    }
}
