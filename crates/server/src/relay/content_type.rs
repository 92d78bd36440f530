//! Content types of sealed requests, responses and keys.

use axum::http::{HeaderMap, HeaderValue, header};
use papir_protocol::media;

/// Content types of requests.
pub(super) const REQUESTS: [&str; 2] = [media::OHTTP_REQUEST, media::OHTTP_CHUNKED_REQUEST];
/// Content types of responses. A page of a proxy before the gateway has none of them.
pub(super) const RESPONSES: [&str; 3] = [
    media::OHTTP_RESPONSE,
    media::OHTTP_CHUNKED_RESPONSE,
    media::PROBLEM,
];

/// Sets the content type.
pub(super) fn set(headers: &mut HeaderMap, media: &'static str) {
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
}

/// The one of these content types that the headers have; `None` for any other.
pub(super) fn one_of(headers: &HeaderMap, types: &[&'static str]) -> Option<&'static str> {
    types.iter().copied().find(|media| is(headers, media))
}

/// Returns whether the headers have this content type, with or without parameters.
pub(super) fn is(headers: &HeaderMap, media: &str) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let found = value.and_then(|text| text.split(';').next());
    found.is_some_and(|found| found.trim().eq_ignore_ascii_case(media))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_may_have_parameters() {
        let known = |value: &'static str| {
            let mut headers = HeaderMap::new();
            set(&mut headers, value);
            one_of(&headers, &REQUESTS)
        };

        assert_eq!(known("message/ohttp-req"), Some(media::OHTTP_REQUEST));
        assert_eq!(known("Message/OHTTP-req; a=b"), Some(media::OHTTP_REQUEST));
        assert_eq!(known("message/ohttp-reqs"), None);
        assert_eq!(known("text/html"), None);
        assert_eq!(one_of(&HeaderMap::new(), &REQUESTS), None);
    }
}
