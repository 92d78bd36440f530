//! Spans of requests and their stages, for distributed traces.
//!
//! A span holds no byte of a query, no address, no token and no id of a registered client. Its
//! attributes have few values, except the request's id and the length of time:
//!
//! | span | attributes |
//! |---|---|
//! | method and route | `http.request.method`, `http.route`, `http.response.status_code` |
//! | the same | `papir.code`, `papir.database`, `papir.request_id` |
//! | `read`, `wait`, `answer` | `papir.database` |
//!
//! Spans have the level `trace`, so that logs leave them out, and the target [`TARGET`].

use std::sync::Arc;

use tracing::Span;
use tracing::field::Empty;

use crate::metrics::Stage;

/// The target of all spans. A subscriber that exports them selects them by it.
pub const TARGET: &str = "papir_trace";

/// Called with a request's span and its header `traceparent` (W3C Trace Context), which names the
/// span of the caller. The header comes from the client: it can have any value.
pub type TraceObserver = Arc<dyn Fn(&Span, &str) + Send + Sync>;

/// Methods that are named in spans. A client can send any other word.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"];

/// The span of a request. `route` is the path pattern; `None` for unknown paths.
pub(crate) fn request(method: &str, route: Option<&str>, id: &str) -> Span {
    let method = if METHODS.contains(&method) {
        method
    } else {
        "_OTHER"
    };

    let span = tracing::trace_span!(
        target: TARGET,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        papir.code = Empty,
        papir.database = Empty,
        papir.request_id = id,
    );
    // Not above: the name is formatted only for a span that is recorded.
    if !span.is_disabled() {
        span.record(
            "otel.name",
            route.map_or(method.to_owned(), |route| format!("{method} {route}")),
        );
    }
    span
}

/// Adds the database to the span of the current request.
pub(crate) fn name_database(database: &str) {
    Span::current().record("papir.database", database);
}

/// Adds the outcome to the span of a request. `code` is the error code, or `ok`.
pub(crate) fn end(span: &Span, status: u16, code: &str) {
    span.record("http.response.status_code", status)
        .record("papir.code", code);

    if status >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a stage, which lasts until it is dropped.
pub(crate) fn stage(request: &Span, database: &str, stage: Stage) -> Span {
    let name = stage.name();
    tracing::trace_span!(target: TARGET, parent: request, "stage", otel.name = name, papir.database = database)
}
