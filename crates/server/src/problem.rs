//! Everything that a request can be refused for, as a status and JSON.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_core::Version;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::VERSION_HEADER;
use crate::gate::JobError;
use crate::registry;

/// The JSON body of every refusal.
#[derive(Serialize, ToSchema)]
pub(crate) struct Refusal {
    error: RefusalBody,
}

/// Why a request is refused.
#[derive(Serialize, ToSchema)]
pub(crate) struct RefusalBody {
    /// A short stable code for machines.
    code: &'static str,
    /// The reason for people.
    message: String,
    /// With `wrong_version`: the newest version.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
}

/// Why a request is refused. The body is `{"error":{"code","message"[,"version"]}}`.
#[derive(Debug)]
pub(crate) enum Problem {
    /// No such address.
    UnknownRoute,
    /// The address exists, with other methods.
    WrongMethod,
    /// No database of this name.
    UnknownDatabase { known: String },
    /// The databases are being loaded.
    NotReady,
    /// The body is longer than the largest batch.
    TooLong { limit: usize },
    /// The body did not arrive in time.
    TooSlow { limit: Duration },
    /// The connection broke while the body was read.
    Interrupted,
    /// The body is no whole number of queries.
    WrongLength { found: usize, query: usize },
    /// The client's database version is not the one that is served.
    WrongVersion { current: Version },
    /// A header that does not parse.
    BadHeader { name: &'static str, expected: &'static str },
    /// A query that the scheme refuses.
    Refused { position: usize, count: usize, source: papir_core::Error },
    /// No token, or none that is known.
    Unauthorized,
    /// A token that does not allow it.
    Forbidden { what: String },
    /// More than one client may ask.
    TooMany { after: Duration },
    /// No place; come again after this long.
    Busy { after: Duration },
    /// The client registry refuses.
    Registry(registry::Refusal),
    /// The answer failed here, not at the client's side.
    Internal,
}

impl Problem {
    /// The problem of query number `position` (from 0) of `count`.
    pub(crate) fn of_query(
        source: papir_core::Error,
        (position, count): (usize, usize),
        current: Version,
    ) -> Self {
        use papir_core::Error as E;
        match source {
            E::WrongVersion { .. } => Self::WrongVersion { current },
            E::Length { .. }
            | E::Malformed { .. }
            | E::Checksum { .. }
            | E::WrongScheme { .. }
            | E::OutOfBounds { .. }
            | E::IndexOutOfRange { .. }
            | E::BatchSize { .. }
            | E::Session { .. } => Self::Refused { position, count, source },
            other => {
                tracing::error!(code = other.code(), "an answer failed");
                Self::Internal
            }
        }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::UnknownRoute | Self::UnknownDatabase { .. } => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotReady => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::Interrupted | Self::WrongLength { .. } | Self::BadHeader { .. } | Self::Refused { .. } => {
                StatusCode::BAD_REQUEST
            }
            Self::WrongVersion { .. } => StatusCode::CONFLICT,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::Busy { .. } | Self::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Registry(refusal) => refusal.status(),
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// A short stable code for machines.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::UnknownRoute => "unknown_route",
            Self::WrongMethod => "wrong_method",
            Self::UnknownDatabase { .. } => "unknown_database",
            Self::NotReady => "not_ready",
            Self::TooLong { .. } => "too_long",
            Self::TooSlow { .. } => "too_slow",
            Self::Interrupted => "interrupted",
            Self::WrongLength { .. } => "wrong_length",
            Self::WrongVersion { .. } => "wrong_version",
            Self::BadHeader { .. } => "malformed",
            Self::Refused { source, .. } => source.code(),
            Self::Unauthorized => "unauthorized",
            Self::Forbidden { .. } => "forbidden",
            Self::TooMany { .. } => "too_many",
            Self::Busy { .. } => "busy",
            Self::Registry(refusal) => refusal.code(),
            Self::Internal => "internal",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::UnknownRoute => "no such address: the interface starts at /v1/databases".into(),
            Self::WrongMethod => "the address does not take this method".into(),
            Self::UnknownDatabase { known } => format!("no such database: there are {known}"),
            Self::NotReady => "the databases are being loaded".into(),
            Self::TooLong { limit } => format!("the body is longer than the limit of {limit} bytes"),
            Self::TooSlow { limit } => format!("the body did not arrive within {} s", limit.as_secs_f64()),
            Self::Interrupted => "the body ended before its announced length".into(),
            Self::WrongLength { found, query } => {
                format!("the body has {found} bytes: expected queries of {query} bytes each, at least one")
            }
            Self::WrongVersion { current } => {
                format!("the database is at version {current}: fetch its public part again")
            }
            Self::BadHeader { name, expected } => format!("{name} is malformed: expected {expected}"),
            Self::Refused { position, count, source } => {
                format!("query {} of {count}: {source}", position + 1)
            }
            Self::Unauthorized => "a token is needed, and this is none or one that is not good".into(),
            Self::Forbidden { what } => format!("the token does not allow {what}"),
            Self::TooMany { after } => {
                format!("this client asks too much: come again in {} s", after.as_secs())
            }
            Self::Busy { after } => format!("too many requests: come again in {} s", after.as_secs()),
            Self::Registry(refusal) => refusal.message(),
            Self::Internal => "the answer failed; the query was not at fault".into(),
        }
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        // The panic's text stays in the panic hook's hands: it may speak of the query's bytes.
        let kind = if error == JobError::Stopped { "stopped" } else { "panicked" };
        tracing::error!(kind, "an answer did not end");
        Self::Internal
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let version = match &self {
            Self::WrongVersion { current } => Some(current.to_string()),
            _ => None,
        };
        let header = version.clone().and_then(|version| HeaderValue::try_from(version).ok());
        let error = RefusalBody { code: self.code(), message: self.message(), version };
        let mut response = (self.status(), Json(Refusal { error })).into_response();
        if let Some(version) = header {
            response.headers_mut().insert(VERSION_HEADER, version);
        }
        if let Self::Registry(refusal) = &self {
            response.headers_mut().extend(refusal.header());
        }
        let after = match &self {
            Self::Busy { after } | Self::TooMany { after } => Some(after.as_secs()),
            Self::NotReady => Some(1),
            _ => None,
        };
        if let Some(seconds) = after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Self::Unauthorized = &self {
            let scheme = HeaderValue::from_static("Bearer realm=\"papir\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
