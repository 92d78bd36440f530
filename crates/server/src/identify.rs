//! Gives each request an id, which its log lines and its response carry.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::api::App;

/// Names the request, in both directions.
pub(crate) const REQUEST_ID_HEADER: &str = "x-request-id";
/// Longest id that a client may bring.
const LONGEST: usize = 64;

/// Makes ids that do not repeat, nor tell how many there were.
#[derive(Default)]
pub(crate) struct RequestIds {
    seed: RandomState,
    count: AtomicU64,
}

impl RequestIds {
    fn next(&self) -> String {
        format!("{:016x}", self.seed.hash_one(self.count.fetch_add(1, Ordering::Relaxed)))
    }
}

/// The id that the client brings, if it can stand in a log as it is.
fn brought(headers: &HeaderMap) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let text = headers.get(REQUEST_ID_HEADER)?.to_str().ok()?;
    (!text.is_empty() && text.len() <= LONGEST && text.chars().all(plain)).then(|| text.to_owned())
}

/// Around every route: a span with the request's id, the id in the response, and a count of it. Not
/// the client's address, nor the address asked for: only the route it belongs to.
pub(crate) async fn identify(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = brought(request.headers()).unwrap_or_else(|| app.request_ids.next());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);
    // Of the highest level, so that the id stands before errors whatever else is logged.
    let span = tracing::error_span!("request", %id);
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, milliseconds) = (response.status().as_u16(), start.elapsed().as_secs_f64() * 1e3);
    span.in_scope(|| tracing::debug!(route, status, milliseconds, "responded"));
    app.metrics.response(route, status);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, value);
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_are_taken() {
        let of = |value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            brought(&HeaderMap::from_iter([(REQUEST_ID_HEADER.parse().unwrap(), value)]))
        };
        let longest = "a".repeat(LONGEST);
        for good in ["7", "a-B_c.9", &longest] {
            assert_eq!(of(good.as_bytes()).as_deref(), Some(good));
        }
        for bad in [&b""[..], b"a b", b"a\"b", b"a{b}", b"\xff", "a".repeat(LONGEST + 1).as_bytes()] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
        assert_eq!(brought(&HeaderMap::new()), None);
    }

    #[test]
    fn ids_differ() {
        let (ids, others) = (RequestIds::default(), RequestIds::default());
        assert_ne!(ids.next(), ids.next());
        assert_ne!(RequestIds::default().next(), others.next());
        assert!(
            brought(&HeaderMap::from_iter([(
                REQUEST_ID_HEADER.parse().unwrap(),
                HeaderValue::from_str(&ids.next()).unwrap()
            )]))
            .is_some()
        );
    }
}
