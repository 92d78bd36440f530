//! Errors of an issuer as HTTP status and problem details.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_privacy_pass::{
    BATCH_REQUEST_MEDIA_TYPE, PassError, REQUEST_MEDIA_TYPE, TOKENS_PER_BATCH,
};
use papir_protocol::code;

use crate::standalone::{BUSY_ADVICE, problem_response};

/// Reason why an issuer refuses a request, or cannot finish it. It contains nothing of the tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IssuerProblem {
    /// No route has this path.
    #[error("no such path: expected the directory of the issuer, or its request address")]
    UnknownRoute,
    /// The path does not support the method.
    #[error("the path does not support the method")]
    WrongMethod,
    /// The request has no bearer token, or an unknown or expired one.
    #[error("missing or invalid token: expected `authorization: Bearer …`")]
    Unauthorized,
    /// The bearer token does not allow fetching tokens.
    #[error("the token does not have the scope query")]
    Forbidden,
    /// The body has no content type of token requests.
    #[error(
        "expected content-type: {} or {}",
        REQUEST_MEDIA_TYPE,
        BATCH_REQUEST_MEDIA_TYPE
    )]
    WrongType,
    /// The body exceeds its limit.
    #[error("the body has more than {limit} bytes")]
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    TooSlow,
    /// The connection broke while the body was read.
    #[error("the connection broke while the body was read")]
    Interrupted,
    /// A token request that breaks its format, or is for another key.
    #[error("token request: {0}")]
    BadRequest(#[from] PassError),
    /// A batch of another size.
    #[error("a batch of {found} token requests: expected {}", TOKENS_PER_BATCH)]
    BatchSize {
        /// The number of requests.
        found: usize,
    },
    /// No key that signs has this truncated id.
    #[error("no key has an id that ends with {found:02x}: fetch the directory again")]
    UnknownKey {
        /// The truncated id.
        found: u8,
    },
    /// The client has received its tokens for today.
    #[error("{daily} tokens a day: the next ones in {} s", after.as_secs())]
    OverQuota {
        /// The number of tokens a day.
        daily: u32,
        /// The time until the next day.
        after: Duration,
    },
    /// The issuer is at capacity.
    #[error("the issuer is busy: retry in {} s", BUSY_ADVICE)]
    Busy,
    /// The issuer failed; the request was not at fault.
    #[error("the issuer failed; the request was not at fault")]
    Internal,
}

impl IssuerProblem {
    /// The code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownRoute => code::UNKNOWN_ROUTE,
            Self::WrongMethod => code::WRONG_METHOD,
            Self::Unauthorized => code::UNAUTHORIZED,
            Self::Forbidden => code::FORBIDDEN,

            Self::WrongType => code::WRONG_TYPE,
            Self::TooLong { .. } => code::TOO_LONG,
            Self::TooSlow => code::TOO_SLOW,
            Self::Interrupted => code::INTERRUPTED,
            Self::BadRequest(_) | Self::BatchSize { .. } | Self::UnknownKey { .. } => {
                code::TOKEN_REQUEST
            }

            Self::OverQuota { .. } => code::TOKEN_QUOTA,
            Self::Busy => code::BUSY,
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
            Self::OverQuota { after, .. } => Some(after.as_secs()),
            Self::Busy => Some(BUSY_ADVICE),
            _ => None,
        }
    }
}

impl IntoResponse for IssuerProblem {
    fn into_response(self) -> Response {
        let mut response = problem_response(self.code(), self.to_string(), self.retry_after());
        if response.status() == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
