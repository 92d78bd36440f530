//! Errors of a relay as HTTP status and problem details.

use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use papir_protocol::{code, media};

use crate::standalone::{BUSY_ADVICE, problem_response};

/// Reason why a relay refuses a request, or cannot finish it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RelayProblem {
    /// No route has this path.
    #[error("no such path: expected /HOST or /HOST:PORT of a gateway")]
    UnknownRoute,
    /// The relay does not forward to this gateway.
    #[error("this relay forwards to no such gateway")]
    UnknownGateway,
    /// The path does not support the method.
    #[error("the path does not support the method")]
    WrongMethod,
    /// The body is not a sealed request.
    #[error(
        "expected content-type: {} or {}",
        media::OHTTP_REQUEST,
        media::OHTTP_CHUNKED_REQUEST
    )]
    WrongType,
    /// The body exceeds its limit.
    #[error("the body has more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: u64,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    TooSlow,
    /// The connection broke while the body was read.
    #[error("the connection broke while the body was read")]
    Interrupted,
    /// The client exceeds its limits.
    #[error("too many requests from this address: retry in {} s", after.as_secs())]
    TooMany {
        /// The advised retry delay.
        after: Duration,
    },
    /// The relay is at capacity.
    #[error("the relay is busy: retry in {} s", BUSY_ADVICE)]
    Busy,
    /// The gateway's share of running requests is used up.
    #[error(
        "too many requests to the gateway {authority} are running: retry in {} s",
        BUSY_ADVICE
    )]
    GatewayBusy {
        /// The gateway's host and port.
        authority: Arc<str>,
    },
    /// The gateway cannot be reached, or the connection to it broke.
    #[error("the gateway {authority} cannot be reached")]
    Away {
        /// The gateway's host and port.
        authority: Arc<str>,
    },
    /// The gateway's response is not that of a gateway.
    #[error("the gateway {authority} does not answer as a gateway of Oblivious HTTP")]
    NoGateway {
        /// The gateway's host and port.
        authority: Arc<str>,
    },
    /// The gateway does not answer in time.
    #[error("the gateway {authority} does not answer in time")]
    TimedOut {
        /// The gateway's host and port.
        authority: Arc<str>,
    },
    /// The relay failed; the request was not at fault.
    #[error("the relay failed; the request was not at fault")]
    Internal,
}

impl RelayProblem {
    /// The code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownRoute => code::UNKNOWN_ROUTE,
            Self::UnknownGateway => code::UNKNOWN_GATEWAY,
            Self::WrongMethod => code::WRONG_METHOD,
            Self::WrongType => code::WRONG_TYPE,

            Self::TooLong { .. } => code::TOO_LONG,
            Self::TooSlow => code::TOO_SLOW,
            Self::Interrupted => code::INTERRUPTED,
            Self::TooMany { .. } => code::TOO_MANY,
            Self::Busy | Self::GatewayBusy { .. } => code::BUSY,

            Self::Away { .. } | Self::NoGateway { .. } => code::BAD_GATEWAY,
            Self::TimedOut { .. } => code::GATEWAY_TIMEOUT,
            Self::Internal => code::INTERNAL,
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        code::status(self.code())
    }

    /// The advised retry delay in seconds, if any.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooMany { after } => Some(after.as_secs()),
            Self::Busy | Self::GatewayBusy { .. } => Some(BUSY_ADVICE),
            _ => None,
        }
    }
}

impl IntoResponse for RelayProblem {
    fn into_response(self) -> Response {
        problem_response(self.code(), self.to_string(), self.retry_after())
    }
}
