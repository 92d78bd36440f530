//! Errors of reqwest as failures of the protocol core.

use std::error::Error;
use std::io;
use std::iter::successors;

use crate::core::Failure;
use crate::transport::failures::{of_no_http, of_tls};

/// Converts reqwest's error of a request to the service at `base`.
pub(super) fn failure(error: reqwest::Error, base: &str) -> Failure {
    if error.is_timeout() {
        return timed_out(if error.is_connect() {
            "connect"
        } else {
            "response"
        });
    }

    let mut deepest = None;
    for cause in successors(error.source(), |cause: &&(dyn Error + 'static)| {
        (*cause).source()
    }) {
        if let Some(failure) = tls_error(cause).and_then(|error| of_tls(error, base)) {
            return failure.into();
        }
        if let Some(failure) = not_http(cause).and_then(|()| of_no_http(base)) {
            return failure.into();
        }
        deepest = Some(cause);
    }

    // The outer errors only say that a request failed.
    match deepest {
        Some(cause) => match kind(cause) {
            Some(kind) => io::Error::new(kind, cause.to_string()).into(),
            None => cause.to_string().into(),
        },
        None => error.without_url().into(),
    }
}

/// The kind of an error of the connection; `None` for another error.
fn kind(cause: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let is_incomplete = cause
        .downcast_ref::<hyper::Error>()
        .is_some_and(hyper::Error::is_incomplete_message);
    if is_incomplete {
        return Some(io::ErrorKind::UnexpectedEof);
    }
    cause.downcast_ref::<io::Error>().map(io::Error::kind)
}

/// The failure for a timeout. `part` names the part of the request that took too long.
pub(super) fn timed_out(part: &str) -> Failure {
    io::Error::new(io::ErrorKind::TimedOut, format!("timeout: {part}")).into()
}

fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        // The source of such an error is the source of what it contains.
        Some(error) => tls_error(error.get_ref()?),
        None => cause.downcast_ref(),
    }
}

fn not_http(cause: &(dyn Error + 'static)) -> Option<()> {
    cause
        .downcast_ref::<hyper::Error>()
        .filter(|error| error.is_parse())
        .map(drop)
}
