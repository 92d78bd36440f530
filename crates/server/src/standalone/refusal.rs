//! Responses to requests that a relay or an issuer refuses.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{ErrorBody, code};

use crate::http::{drain, problem_details};

/// Time for which the body of a refused request is read, so that the client can receive the
/// response.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);
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
    // A client that sent `Expect: 100-continue` will not send its body.
    if !request.headers().contains_key(header::EXPECT) {
        drain(request.into_body(), DRAIN_TIME).await;
    }
    problem.into_response()
}
