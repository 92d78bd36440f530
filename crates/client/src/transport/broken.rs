//! Connections that break during a request.

use std::io;
use std::time::Instant;

use crate::core::{Failure, Response};
use crate::error::is_final;

/// The header with the length of a body.
const CONTENT_LENGTH: &str = "content-length";

/// A connection that broke after it was made: how far the request had come, and after which time.
/// Proxies end connections by their own limits of time and length, which these figures show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BrokenExchange {
    /// No head of a response arrived.
    #[error(
        "the connection broke after {seconds:.1} s without a response (the request has {sent} bytes): {source}"
    )]
    WithoutResponse {
        /// The length of the request's body in bytes.
        sent: usize,
        seconds: f64,
        source: Failure,
    },
    /// The body of the response ended early.
    #[error("the response broke off after {received}{} bytes and {seconds:.1} s: {source}", of(*stated))]
    InBody {
        /// The number of bytes of the body that arrived.
        received: usize,
        /// The length that the head of the response stated; `None` if it stated none.
        stated: Option<u64>,
        seconds: f64,
        source: Failure,
    },
}

/// The stated length, after the number of bytes that arrived.
fn of(stated: Option<u64>) -> String {
    stated.map_or_else(String::new, |length| format!(" of {length}"))
}

/// A request whose response has not arrived in full, to explain its failure.
pub(crate) struct SentRequest {
    begin: Instant,
    /// The length of the request's body in bytes.
    sent: usize,
}

impl SentRequest {
    /// A request with a body of `sent` bytes, which is sent now.
    pub(crate) fn now(sent: usize) -> Self {
        Self {
            begin: Instant::now(),
            sent,
        }
    }

    /// The failure of a request without a response. A failure to connect stays as it is.
    pub(crate) fn without_response(&self, source: Failure) -> Failure {
        if !is_broken(source.as_ref()) {
            return source;
        }
        BrokenExchange::WithoutResponse {
            sent: self.sent,
            seconds: self.begin.elapsed().as_secs_f64(),
            source,
        }
        .into()
    }

    /// The failure of a response whose body ended after `received` bytes.
    pub(crate) fn in_body(&self, head: &Response, received: usize, source: Failure) -> Failure {
        // A refusal stays one, which no retry resolves.
        if is_final(source.as_ref()) {
            return source;
        }

        let stated = head.header(CONTENT_LENGTH);
        BrokenExchange::InBody {
            received,
            stated: stated.and_then(|length| length.parse().ok()),
            seconds: self.begin.elapsed().as_secs_f64(),
            source,
        }
        .into()
    }
}

/// Returns true if the other side ended a connection that had been made.
fn is_broken(failure: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let kind = failure.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(length: Option<&str>) -> Response {
        let headers = length.map(|length| ("content-length", Some(length)));
        Response::of_head(200, headers.into_iter())
    }

    #[test]
    fn a_broken_connection_has_the_length_of_its_request() {
        let reset = io::Error::new(io::ErrorKind::ConnectionReset, "reset");
        let text = SentRequest::now(5)
            .without_response(reset.into())
            .to_string();
        assert!(text.starts_with("the connection broke after "), "{text}");
        let end = " s without a response (the request has 5 bytes): reset";
        assert!(text.ends_with(end), "{text}");

        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
        let failure = SentRequest::now(5).without_response(refused.into());
        assert_eq!(failure.to_string(), "refused");
    }

    #[test]
    fn a_broken_body_has_both_lengths() {
        for (stated, expected) in [
            (
                Some("90"),
                "the response broke off after 7 of 90 bytes and ",
            ),
            (Some("x"), "the response broke off after 7 bytes and "),
            (None, "the response broke off after 7 bytes and "),
        ] {
            let failure = SentRequest::now(5).in_body(&response(stated), 7, "it ended".into());
            let text = failure.to_string();
            assert!(text.starts_with(expected), "{text}");
            assert!(text.ends_with(" s: it ended"), "{text}");
        }
    }
}
