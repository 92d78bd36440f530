//! Responses, and scripted refusals.

use papir_client::core::{Request, Response};
use papir_protocol::{ErrorBody, header};

use super::Offer;

/// A scripted refusal.
pub struct Reply {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<&'static str>,
    /// A version that replaces the database before the refusal.
    pub next: Option<Offer>,
}

impl Reply {
    pub fn refusal(status: u16, code: &'static str) -> Self {
        Self {
            status,
            code,
            retry_after: None,
            next: None,
        }
    }
}

/// Returns the part of a response that the request accepts.
pub(super) fn read(request: &Request, mut response: Response) -> Response {
    match (
        request.body_limit(response.status, response.header(header::VERSION)),
        &mut response.body,
    ) {
        (Some(limit), Ok(body)) => body.truncate(usize::try_from(limit).unwrap()),
        (Some(_), Err(_)) => {}
        (None, body) => *body = Ok(Vec::new()),
    }
    response
}

pub fn json(status: u16, body: &impl serde::Serialize) -> Response {
    Response {
        status,
        headers: Vec::new(),
        body: Ok(serde_json::to_vec(body).unwrap()),
    }
}

/// Returns a refusal with a code of `papir_protocol::code`.
pub fn refusal(status: u16, code: &str) -> Response {
    json(status, &ErrorBody::new(status, code, "scripted".into()))
}
