//! Responses with parts of a database that clients keep: public parts, their blocks, filters.

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_core::Version;

use super::headers::{BINARY, has_tag, version_header};

/// Headers of a response about a part: `ETag`, version and, for some parts, `Cache-Control`.
type PartHeaders = (
    [(HeaderName, String); 2],
    Option<[(HeaderName, &'static str); 1]>,
);

/// A part of a database, whose version is its `ETag`.
pub(super) struct KeptPart {
    version: Version,
    /// `Cache-Control`; `None` for a part whose address does not name its version.
    cache_control: Option<&'static str>,
}

impl KeptPart {
    /// A part of this version, without `Cache-Control`.
    pub(super) fn of(version: Version) -> Self {
        Self {
            version,
            cache_control: None,
        }
    }

    /// The same part with this `Cache-Control`.
    pub(super) fn cached(self, cache_control: &'static str) -> Self {
        Self {
            cache_control: Some(cache_control),
            ..self
        }
    }

    /// The response to a client that has this version already.
    pub(super) fn unchanged(&self, headers: &HeaderMap) -> Option<Response> {
        let response = (StatusCode::NOT_MODIFIED, self.about(), ());
        has_tag(headers, &self.tag()).then(|| response.into_response())
    }

    /// The response with the part as its body.
    pub(super) fn response(&self, body: impl IntoResponse) -> Response {
        let content_type = [(header::CONTENT_TYPE, BINARY)];
        (self.about(), content_type, body).into_response()
    }

    fn about(&self) -> PartHeaders {
        let cache_control = self
            .cache_control
            .map(|value| [(header::CACHE_CONTROL, value)]);
        let version = [(header::ETAG, self.tag()), version_header(self.version)];
        (version, cache_control)
    }

    fn tag(&self) -> String {
        format!("\"{}\"", self.version)
    }
}
