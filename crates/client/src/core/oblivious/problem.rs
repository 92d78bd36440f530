//! Responses of a relay that are not sealed: media types, and problem details.

use papir_protocol::{header, media};
use serde_json::Value;

use crate::core::request::Response;

/// Problem details (RFC 9457), of which every member may be missing.
pub(super) struct ShownProblem {
    pub(super) kind: String,
    pub(super) code: String,
    pub(super) detail: String,
}

impl ShownProblem {
    /// The problem in a refusal; `None` for a success, and for a body of another type.
    pub(super) fn of(response: &Response) -> Option<Self> {
        if response.is_success() || media_type(response) != Some(media::PROBLEM) {
            return None;
        }

        let body = response.body.as_deref().ok()?;
        let members: Value = serde_json::from_slice(body).ok()?;
        let detail = member(&members, "detail").or_else(|| member(&members, "title"));
        Some(Self {
            kind: member(&members, "type").unwrap_or_default(),
            code: member(&members, "code").unwrap_or_else(|| "unknown".to_owned()),
            detail: detail.unwrap_or_default(),
        })
    }
}

/// The text of a member of problem details.
fn member(members: &Value, name: &str) -> Option<String> {
    Some(members.get(name)?.as_str()?.to_owned())
}

/// Returns true if a response succeeded with a body of this media type.
pub(super) fn is_of(response: &Response, media: &str) -> bool {
    response.status == 200 && media_type(response) == Some(media)
}

/// The media type of a response's body, without parameters.
pub(super) fn media_type(response: &Response) -> Option<&str> {
    let value = response.header(header::CONTENT_TYPE)?;
    value.split(';').next().map(str::trim)
}
