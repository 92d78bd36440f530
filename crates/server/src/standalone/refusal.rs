//! Responses to requests that a relay or an issuer refuses.

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{ErrorBody, code};

use crate::http::{DRAIN_TIME, drain_unread, problem_details};

/// Retry delay while a server is at capacity, in seconds.
pub(crate) const BUSY_ADVICE: u64 = 1;

/// The response with a problem's code and message, and the advised retry delay in seconds. Logs the
/// status and the code, and nothing of the request.
pub(crate) fn problem_response(
    name: &'static str,
    detail: String,
    retry_after: Option<u64>,
) -> Response {
    let status = code::status(name);
    tracing::info!(status, code = name, "refused");

    let mut response = problem_details(ErrorBody::new(status, name, detail));
    if let Some(seconds) = retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Refuses a request whose body has not been read.
pub(crate) async fn refuse(request: Request, problem: impl IntoResponse) -> Response {
    drain_unread(request, DRAIN_TIME).await;
    problem.into_response()
}
