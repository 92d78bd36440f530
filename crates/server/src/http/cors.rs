//! Middleware: pages of other web origins (CORS).

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use papir_protocol::header as names;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::access::Origin;

/// Time for which a browser may keep the answer to a preflight request. Chrome keeps it no longer.
pub(crate) const PREFLIGHT_AGE: Duration = Duration::from_secs(7200);

/// Methods of the interface.
const METHODS: [Method; 5] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PATCH,
    Method::DELETE,
];

/// Headers that a client sends, besides those that every page may send.
const SENT: [HeaderName; 10] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    HeaderName::from_static(names::VERSION),
    HeaderName::from_static(names::CLIENT),
    HeaderName::from_static(names::TICKET),
    HeaderName::from_static(names::UPLOAD_LENGTH),
    HeaderName::from_static(names::UPLOAD_OFFSET),
    HeaderName::from_static(names::REQUEST_ID),
    HeaderName::from_static(names::TRACE_PARENT),
];

/// Headers that a client reads, besides those that every page may read.
const READ: [HeaderName; 7] = [
    header::ETAG,
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static(names::VERSION),
    HeaderName::from_static(names::UPLOAD_LENGTH),
    HeaderName::from_static(names::UPLOAD_OFFSET),
    HeaderName::from_static(names::REQUEST_ID),
];

/// Lets pages of these origins send requests and read responses; `None` for no origins.
///
/// Credentials mode stays off: a client sends its token itself, and a browser adds neither cookies
/// nor certificates that the user has for this service.
pub(super) fn layer(origins: &[Origin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }

    let allowed = match origins.iter().any(Origin::is_any) {
        true => AllowOrigin::any(),
        // The text of an origin is ASCII, so that none is left out.
        false => AllowOrigin::list(
            origins
                .iter()
                .filter_map(|origin| HeaderValue::from_str(origin.as_str()).ok()),
        ),
    };

    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods(METHODS)
        .allow_headers(SENT)
        .expose_headers(READ)
        .max_age(PREFLIGHT_AGE);
    Some(layer)
}
