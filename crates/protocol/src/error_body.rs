//! Problem details, the body of error responses (RFC 9457).

use serde::{Deserialize, Serialize};
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::code;

/// Start of every problem type, before the code.
const TYPES: &str = "urn:papir:problem:";
/// The registered type of a request that is sealed under an unknown key (RFC 9458, section 5.3).
const OHTTP_KEY: &str = "https://iana.org/assignments/http-problem-types#ohttp-key";

/// The body of every error response, of media type [`PROBLEM`](crate::media::PROBLEM).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema), schema(as = Problem))]
pub struct ErrorBody {
    /// The problem type: `urn:papir:problem:` and the code. That of `ohttp_key` is registered:
    /// `https://iana.org/assignments/http-problem-types#ohttp-key`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A summary for people, which is the same for every response with this code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// A message about this request, for people.
    pub detail: String,
    /// A short, stable code for programs.
    pub code: String,
    /// True if the same request may succeed later. It is a hint: programs decide by the status.
    pub retryable: bool,
    /// The newest version, with the code `wrong_version`; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// True if the request has a private token that it did not spend: the same request can be sent
    /// again with it. Otherwise absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub token_unspent: bool,
}

impl ErrorBody {
    /// A problem with this HTTP status, code and message.
    pub fn new(status: u16, code: &str, detail: String) -> Self {
        let kind = match code {
            code::OHTTP_KEY => OHTTP_KEY.to_owned(),
            _ => format!("{TYPES}{code}"),
        };

        Self {
            kind,
            title: code::title(code).to_owned(),
            status,
            detail,
            code: code.to_owned(),
            retryable: matches!(status, 408 | 429 | 502..=504),
            version: None,
            token_unspent: false,
        }
    }

    /// Parses the body of an error response; `None` if it is not the body of a papir service.
    pub fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn golden_json() {
        let mut body = ErrorBody::new(429, code::BUSY, "later".into());
        for golden in [
            r#"{"type":"urn:papir:problem:busy","title":"The server is at capacity","status":429,"detail":"later","code":"busy","retryable":true}"#,
            r#"{"type":"urn:papir:problem:busy","title":"The server is at capacity","status":429,"detail":"later","code":"busy","retryable":true,"version":"07"}"#,
        ] {
            assert_eq!(serde_json::to_string(&body).unwrap(), golden);
            assert_eq!(ErrorBody::parse(golden.as_bytes()), Some(body.clone()));
            body.version = Some("07".into());
        }

        let unspent = ErrorBody {
            token_unspent: true,
            ..ErrorBody::new(429, code::BUSY, "later".into())
        };
        let golden = r#"{"type":"urn:papir:problem:busy","title":"The server is at capacity","status":429,"detail":"later","code":"busy","retryable":true,"token_unspent":true}"#;
        assert_eq!(serde_json::to_string(&unspent).unwrap(), golden);
        assert_eq!(ErrorBody::parse(golden.as_bytes()), Some(unspent));
    }

    #[test]
    fn an_unknown_key_of_a_gateway_has_the_registered_type() {
        let body = ErrorBody::new(400, code::OHTTP_KEY, "unknown".into());
        assert_eq!(
            body.kind,
            "https://iana.org/assignments/http-problem-types#ohttp-key"
        );
        assert_eq!(body.code, "ohttp_key");
    }

    #[test]
    fn other_bodies_are_not_of_papir() {
        for other in [
            "<html>",
            "{}",
            r#"{"error":"busy"}"#,
            r#"{"title":"Not found","status":404}"#,
        ] {
            assert_eq!(ErrorBody::parse(other.as_bytes()), None, "{other}");
        }
    }
}
