//! Reads request bodies within limits on size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use tokio::time::timeout;

use super::problem::Problem;

/// Bytes of a refused body that are read and discarded, so that a client that is still sending can
/// receive the response. The connection of a longer body is closed.
const DRAINED: usize = 16 << 20;

/// Reads a body of at most `limit` bytes within `time`.
pub(super) async fn read(mut body: Body, limit: usize, time: Duration) -> Result<Vec<u8>, Problem> {
    let too_long = || Problem::TooLong { limit };
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        drain(body, time).await;
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(announced as usize);
    let reading = async {
        while let Some(part) = next(&mut body).await? {
            if part.len() > limit - bytes.len() {
                return Err(too_long());
            }
            bytes.extend_from_slice(&part);
        }
        Ok(())
    };
    let outcome = timeout(time, reading).await.map_err(|_| Problem::TooSlow { limit: time })?;
    if let Err(Problem::TooLong { .. }) = &outcome {
        drain(body, time).await;
    }
    outcome.map(|()| bytes)
}

/// Reads and discards a body.
pub(super) async fn drain(mut body: Body, time: Duration) {
    let reading = async {
        let mut left = DRAINED;
        while let Ok(Some(part)) = next(&mut body).await {
            left = left.saturating_sub(part.len());
            if left == 0 {
                break;
            }
        }
    };
    // A client too slow even for this does not receive the response.
    let _ = timeout(time, reading).await;
}

async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await {
            None => return Ok(None),
            Some(Err(_)) => return Err(Problem::Interrupted),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn bodies_up_to_the_limit_are_accepted() {
        assert_eq!(read(Body::from(vec![7; 8]), 8, TIME).await.unwrap(), vec![7; 8]);
        let long = read(Body::from(vec![7; 9]), 8, TIME).await;
        assert!(matches!(long, Err(Problem::TooLong { limit: 8 })));
        assert_eq!(read(Body::empty(), 8, TIME).await.unwrap(), Vec::<u8>::new());
    }
}
