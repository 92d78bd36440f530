//! Heads of relayed requests and of their responses.

use axum::http::response::Parts;
use axum::http::{HeaderName, HeaderValue, Method, Request, Uri};
use papir_ohttp::{InnerHeader, InnerRequest, ResponseHead};
use papir_protocol::{header as names, path as paths};

use super::problem::Problem;

/// Start of the paths that a sealed request may name, besides that of readiness.
const INNER_PATHS: &str = "/v1/";

/// Headers about one connection, which say nothing about the message (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers of sealed requests that are left out. Those that name a client or a trace are the
/// relay's or a proxy's to set, and the others belong to the connection.
const LEFT_OUT_OF_REQUESTS: [&str; 7] = [
    "host",
    "forwarded",
    "x-forwarded-for",
    names::REQUEST_ID,
    names::TRACE_PARENT,
    "content-length",
    "expect",
];
/// Headers of responses that are left out.
const LEFT_OUT_OF_RESPONSES: [&str; 2] = [names::REQUEST_ID, "date"];

/// The head of a request as it was sealed, without headers that are left out.
pub(super) fn request_head(request: &InnerRequest) -> Result<Request<()>, Problem> {
    let mut head = Request::new(());
    *head.method_mut() =
        Method::from_bytes(request.method.as_bytes()).map_err(|_| Problem::WrongMethod)?;
    *head.uri_mut() = inner_path(&request.path).ok_or(Problem::UnknownRoute)?;

    for (name, value) in &request.headers {
        let header = parsed(name, value).ok_or(Problem::BadHeader {
            name: "a sealed header",
            expected: "a name and a value of HTTP",
        })?;
        let Some(kept) = header.unless_among(&LEFT_OUT_OF_REQUESTS) else {
            continue;
        };
        head.headers_mut().append(kept.name, kept.value);
    }
    Ok(head)
}

/// The path of a sealed request, if it may name it.
fn inner_path(path: &str) -> Option<Uri> {
    // Of the text: an address with a scheme and a host has a path, too.
    let is_named = path == paths::READY || path.starts_with(INNER_PATHS);
    if !is_named {
        return None;
    }
    path.parse().ok()
}

/// A header of a sealed request.
struct SealedHeader {
    name: HeaderName,
    value: HeaderValue,
}

impl SealedHeader {
    /// The header, unless it is left out.
    fn unless_among(self, left_out: &[&str]) -> Option<Self> {
        let is_left_out = is_among(&self.name, left_out);
        (!is_left_out).then_some(self)
    }
}

/// A header; `None` if HTTP does not allow its name or its value.
fn parsed(name: &str, value: &str) -> Option<SealedHeader> {
    Some(SealedHeader {
        name: HeaderName::from_bytes(name.as_bytes()).ok()?,
        value: HeaderValue::from_str(value).ok()?,
    })
}

/// Returns whether a header is about one connection, or one of these.
fn is_among(name: &HeaderName, left_out: &[&str]) -> bool {
    HOP_BY_HOP.contains(&name.as_str()) || left_out.contains(&name.as_str())
}

/// The head of a response as it is sealed.
pub(super) fn response_head(parts: &Parts) -> ResponseHead {
    let kept = parts
        .headers
        .iter()
        .filter(|(name, _)| !is_among(name, &LEFT_OUT_OF_RESPONSES));
    let headers: Vec<InnerHeader> = kept
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();

    ResponseHead {
        status: parts.status.as_u16(),
        headers,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::response::Response;

    use super::*;

    #[test]
    fn only_paths_of_the_interface_are_relayed() {
        let good = inner_path("/v1/databases/words?version=7").unwrap();
        assert_eq!(good, "/v1/databases/words?version=7");
        assert_eq!(inner_path("/readyz").unwrap(), "/readyz");
        for other in [
            "",
            "/metrics",
            "/readyz/",
            "/v1",
            "//v1/databases",
            "http://other.example/v1/databases",
            "/v1/a b",
        ] {
            assert_eq!(inner_path(other), None, "{other}");
        }
    }

    #[test]
    fn responses_are_sealed_without_what_belongs_to_the_connection() {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_FOUND;
        for (name, value) in [
            ("etag", "a"),
            ("date", "now"),
            ("x-request-id", "7"),
            ("transfer-encoding", "chunked"),
        ] {
            let value = HeaderValue::from_static(value);
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }

        let head = response_head(&response.into_parts().0);
        assert_eq!(head.status, 404);
        assert_eq!(head.headers, [("etag".to_owned(), "a".to_owned())]);
    }
}
