//! Middleware: request ids and spans.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use papir_protocol::{header, limit};
use tracing::{Instrument, Span};

use super::problem::Code;
use crate::service::App;
use crate::traces;

/// Generates unique ids that do not reveal the number of requests.
#[derive(Default)]
struct RequestIds {
    seed: RandomState,
    count: AtomicU64,
}

impl RequestIds {
    fn next(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}", self.seed.hash_one(number))
    }
}

/// The client's own id, if it is safe to log.
fn chosen_id(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::REQUEST_ID)?.to_str().ok()?;

    let is_safe = (1..=limit::REQUEST_ID_BYTES).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    is_safe.then(|| text.to_owned())
}

/// Makes the span a child of the one that the request names.
fn follow(app: &App, trace: &Span, headers: &HeaderMap) {
    let parent = headers
        .get(header::TRACE_PARENT)
        .and_then(|value| value.to_str().ok());

    if let Some(observer) = &app.on_trace
        && let Some(parent) = parent
    {
        observer(trace, parent);
    }
}

/// State of the middleware.
#[derive(Clone)]
pub(super) struct Identify {
    app: Arc<App>,
    ids: Arc<RequestIds>,
}

impl Identify {
    pub(super) fn new(app: &Arc<App>) -> Self {
        Self {
            app: Arc::clone(app),
            ids: Arc::default(),
        }
    }
}

/// Wraps every route: opens a span with the request's id, adds the id to the response, and counts
/// the response. Logs the route, but neither the client's address nor the full path.
pub(super) async fn identify(
    State(state): State<Identify>,
    request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let id = chosen_id(request.headers()).unwrap_or_else(|| state.ids.next());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map(MatchedPath::as_str);

    // An error span, so that the id is logged at every log level.
    let span = tracing::error_span!("request", %id);
    // Within the other span, so that log lines find the id, and stages this one.
    let trace = span.in_scope(|| traces::request(request.method().as_str(), route, &id));
    follow(&state.app, &trace, request.headers());

    let mut response = next
        .run(request)
        .instrument(trace.clone())
        .instrument(span.clone())
        .await;

    let status = response.status().as_u16();
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    span.in_scope(|| tracing::debug!(route, status, milliseconds, "responded"));
    state.app.metrics.response(route, status);
    traces::end(
        &trace,
        status,
        response.extensions().get().map_or("ok", |Code(code)| code),
    );

    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(header::REQUEST_ID, value);
    }
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_ids_are_accepted() {
        let of = |value: &[u8]| {
            let value = HeaderValue::from_bytes(value).unwrap();
            chosen_id(&HeaderMap::from_iter([(
                header::REQUEST_ID.parse().unwrap(),
                value,
            )]))
        };

        let longest = "a".repeat(limit::REQUEST_ID_BYTES);
        for good in ["7", "a-B_c.9", &longest] {
            assert_eq!(of(good.as_bytes()).as_deref(), Some(good));
        }
        for bad in [
            &b""[..],
            b"a b",
            b"a\"b",
            b"a{b}",
            b"\xff",
            "a".repeat(limit::REQUEST_ID_BYTES + 1).as_bytes(),
        ] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
        assert_eq!(chosen_id(&HeaderMap::new()), None);
    }

    #[test]
    fn ids_differ() {
        let ids = RequestIds::default();
        let others = RequestIds::default();

        assert_ne!(ids.next(), ids.next());
        assert_ne!(RequestIds::default().next(), others.next());
        assert!(
            chosen_id(&HeaderMap::from_iter([(
                header::REQUEST_ID.parse().unwrap(),
                HeaderValue::from_str(&ids.next()).unwrap()
            )]))
            .is_some()
        );
    }
}
