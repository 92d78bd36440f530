//! Parsing of paths and headers.

use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use papir_core::{Version, decimal};
use papir_protocol::{header, limit, media};

use super::problem::Problem;
use crate::clients::Credentials;

/// Content type of queries, answers and other binary bodies.
pub(super) const BINARY: HeaderValue = HeaderValue::from_static(media::BINARY);

/// Content type of short messages of registered clients.
pub(super) const SHORT: HeaderValue = HeaderValue::from_static(media::SHORT);

/// The database's name in a path.
pub(super) type NamePath = Result<Path<String>, PathRejection>;

/// The name in a path. A name that is not UTF-8 becomes the empty name, which no database has.
pub(super) fn database_name(path: NamePath) -> String {
    path.map(|Path(name)| name).unwrap_or_default()
}

/// A header's parsed value; `None` if the header is missing.
pub(super) fn parse_header<T>(
    headers: &HeaderMap,
    name: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Problem> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };

    match value.to_str().ok().and_then(parse) {
        Some(parsed) => Ok(Some(parsed)),
        None => Err(Problem::BadHeader { name, expected }),
    }
}

/// A header that holds a number of bytes.
pub(super) fn byte_count(headers: &HeaderMap, name: &'static str) -> Result<Option<u64>, Problem> {
    parse_header(headers, name, "a number of bytes", decimal)
}

/// Returns whether the body of a request is a short message.
pub(super) fn is_short(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes() == media::SHORT.as_bytes())
}

/// The length of the body that a request announces. The HTTP library has checked its digits, which
/// may start with zeros.
pub(super) fn announced_length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// The database version that a request is for, if it names one.
pub(super) fn named_version(headers: &HeaderMap) -> Result<Option<Version>, Problem> {
    parse_header(headers, header::VERSION, "16 hexadecimal digits", |text| {
        text.parse().ok()
    })
}

/// Returns whether the client's copy has this `ETag`.
pub(super) fn has_tag(headers: &HeaderMap, tag: &str) -> bool {
    headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|value| contains_tag(value, tag))
}

/// Returns whether an `If-None-Match` value contains `tag`.
fn contains_tag(value: &HeaderValue, tag: &str) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };

    text.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag)
}

/// The header that names the version of a response.
pub(super) fn version_header(version: Version) -> (HeaderName, String) {
    (
        HeaderName::from_static(header::VERSION),
        version.to_string(),
    )
}

/// The client and tickets that a query request names.
pub(super) fn credentials(headers: &HeaderMap) -> Result<Credentials, Problem> {
    let client = parse_header(headers, header::CLIENT, "32 hexadecimal digits", |text| {
        text.parse().ok()
    })?;
    let tickets = parse_header(
        headers,
        header::TICKET,
        "numbers separated by commas",
        ticket_numbers,
    )?;

    Ok(Credentials {
        client,
        tickets: tickets.unwrap_or_default(),
    })
}

/// Parses ticket numbers, with spaces around commas; `None` if one does not parse, or if they are
/// too many.
fn ticket_numbers(text: &str) -> Option<Vec<u64>> {
    // Reads one number more than allowed, to detect a longer list without parsing all of it.
    let numbers: Option<Vec<u64>> = text
        .split(',')
        .take(limit::TICKETS + 1)
        .map(|number| decimal(number.trim_matches(' ')))
        .collect();

    numbers.filter(|numbers| numbers.len() <= limit::TICKETS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ticket_numbers_have_one_text() {
        assert_eq!(ticket_numbers("7"), Some(vec![7]));
        assert_eq!(
            ticket_numbers("7, 0 ,18446744073709551615").unwrap().len(),
            3
        );

        for other in ["", "+7", "-7", "07", "7,+8", "7,", "7;8", "7\t", "7 8"] {
            assert_eq!(ticket_numbers(other), None, "{other:?}");
        }
        let many = ["7"; limit::TICKETS + 1];
        assert_eq!(ticket_numbers(&many.join(",")), None);
    }

    #[test]
    fn numbers_of_bytes_have_one_text() {
        let name = "papir-upload-offset";
        let count = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            byte_count(&headers, name).ok().flatten()
        };

        assert_eq!(count("4096"), Some(4096));
        for other in ["+4096", "-1", "04096", "4 096", ""] {
            assert_eq!(count(other), None, "{other:?}");
        }
    }
}
