//! Errors of requests as HTTP status and problem details.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use papir_protocol::{ErrorBody, code, header as names, media};

use crate::admission::JobError;
use crate::catalog::{DatabaseError, QueryError};
use crate::clients::ClientError;
use crate::gateway::UnsealError;
use crate::privacy_pass::TokenRefusal;
use crate::psi::PsiError;
use crate::service::AnswerError;

/// Content type of errors.
const PROBLEM: HeaderValue = HeaderValue::from_static(media::PROBLEM);
/// Retry delay while databases are loading or the registry fails, in seconds.
const LATER_ADVICE: u64 = 1;
/// Retry delay while another request writes to the same upload.
const UPLOAD_ADVICE: Duration = Duration::from_secs(1);

/// The code of an error response, among the response's extensions.
#[derive(Clone, Copy)]
pub(super) struct Code(pub(super) &'static str);

/// Reason why a request fails. The body is an [`ErrorBody`].
#[derive(Debug)]
pub(super) enum Problem {
    /// No route has this path.
    UnknownRoute,
    /// The route does not support this method.
    WrongMethod,
    /// The body exceeds its limit.
    TooLong { limit: usize },
    /// The body did not arrive in time.
    TooSlow { limit: Duration },
    /// The body arrived slower than the rate, in bytes a second.
    Trickled { rate: f64 },
    /// The connection broke while the body was read.
    Interrupted,
    /// A header does not parse.
    BadHeader {
        name: &'static str,
        expected: &'static str,
    },
    /// Missing or invalid token.
    Unauthorized,
    /// The request costs a private token, and has none that is accepted.
    PrivateToken {
        refusal: TokenRefusal,
        /// The value of `WWW-Authenticate`.
        challenges: HeaderValue,
    },
    /// No key of the issuer of private tokens is known.
    NoIssuerKey,
    /// The token does not allow the request.
    Forbidden { what: String },
    /// The client exceeds its limits.
    TooMany { after: Duration },
    /// The server is at capacity.
    Busy { after: Duration },
    /// The database is unknown or not loaded.
    Database(DatabaseError),
    /// The queries are invalid or for another version.
    Query(QueryError),
    /// The client registry refuses the request.
    Client(ClientError),
    /// A sealed request is not opened.
    Unseal(UnsealError),
    /// A response is too long to be sealed as a whole.
    TooLongToSeal { limit: u64 },
    /// The service is about to stop.
    Stopping,
    /// The client registry cannot be read or changed.
    RegistryFailed,
    /// The server failed; the request was not at fault.
    Internal,
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::TooLong { limit } => Self::TooLong { limit },
            QueryError::Failed { source } => {
                tracing::error!(code = source.code(), "an answer failed");
                Self::Internal
            }
            QueryError::Missing => Self::Internal,
            QueryError::Unavailable { reason } => {
                // The machines are the operator's business, not the client's.
                tracing::error!(reason, "a part of a database is unavailable");
                Self::Query(QueryError::Unavailable { reason })
            }
            other => Self::Query(other),
        }
    }
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Query(error) => error.into(),
            ClientError::PartTooLong { limit } => Self::TooLong { limit },
            ClientError::UploadBusy => Self::Busy {
                after: UPLOAD_ADVICE,
            },
            ClientError::Storage(error) => {
                // The cause is for the operator, not for the client.
                tracing::error!(%error, "the client registry failed");
                Self::RegistryFailed
            }
            ClientError::Internal => Self::Internal,
            other => Self::Client(other),
        }
    }
}

impl From<AnswerError> for Problem {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::Query(error) => error.into(),
            AnswerError::Client(error) => error.into(),
            AnswerError::Job(error) => error.into(),
            AnswerError::Shed { retry_after } => Self::Busy { after: retry_after },
            AnswerError::Aborted => Self::Internal,
        }
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        // Not the panic's message, which may contain bytes of the query.
        let kind = if error == JobError::Stopped {
            "stopped"
        } else {
            "panicked"
        };

        tracing::error!(kind, "an answer was not completed");
        Self::Internal
    }
}

impl From<PsiError> for Problem {
    fn from(error: PsiError) -> Self {
        match error {
            PsiError::Busy { retry_after } => Self::Busy { after: retry_after },
            PsiError::Query(error) => error.into(),
            PsiError::Aborted => Self::Internal,
        }
    }
}

impl From<UnsealError> for Problem {
    fn from(error: UnsealError) -> Self {
        Self::Unseal(error)
    }
}

impl Problem {
    /// The HTTP status, which follows from the code.
    pub(super) fn status(&self) -> StatusCode {
        // A scheme's own code may be equal to one of the server's, which has another status.
        if let Self::Query(QueryError::Rejected { .. })
        | Self::Client(ClientError::BadKeys { .. }) = self
        {
            return StatusCode::BAD_REQUEST;
        }

        let status = code::status(self.code());
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// A short, stable code for programs.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::UnknownRoute => code::UNKNOWN_ROUTE,
            Self::WrongMethod => code::WRONG_METHOD,
            Self::Database(DatabaseError::Unknown { .. }) => code::UNKNOWN_DATABASE,
            Self::Database(DatabaseError::Unsigned) => code::NO_CHECKPOINT,
            Self::Database(DatabaseError::NoPrefilter) => code::NO_PREFILTER,
            Self::Database(DatabaseError::NotLoaded) => code::NOT_READY,

            Self::TooLong { .. } | Self::TooLongToSeal { .. } => code::TOO_LONG,
            Self::TooSlow { .. } | Self::Trickled { .. } => code::TOO_SLOW,
            Self::Interrupted => code::INTERRUPTED,
            Self::BadHeader { .. } => code::MALFORMED,

            Self::Unauthorized => code::UNAUTHORIZED,
            Self::PrivateToken { refusal, .. } => token_code(refusal),
            Self::NoIssuerKey => code::NO_ISSUER_KEY,
            Self::Forbidden { .. } => code::FORBIDDEN,
            Self::TooMany { .. } => code::TOO_MANY,
            Self::Busy { .. } | Self::Unseal(UnsealError::Busy { .. }) => code::BUSY,

            Self::Query(error) => query_code(error),
            Self::Client(error) => client_code(error),
            Self::Unseal(UnsealError::UnknownKey) => code::OHTTP_KEY,
            Self::Unseal(UnsealError::Damaged) => code::MALFORMED,
            Self::Unseal(UnsealError::Replayed) => code::REPLAYED,
            Self::Stopping => code::STOPPING,
            Self::RegistryFailed => code::REGISTRY_FAILED,
            Self::Internal => code::INTERNAL,
        }
    }

    /// A description for people.
    fn message(&self) -> String {
        match self {
            Self::UnknownRoute => "no such path: the interface starts at /v1/databases".into(),
            Self::WrongMethod => "the path does not support this method".into(),

            Self::TooLong { limit } => {
                format!("the body is longer than the limit of {limit} bytes")
            }
            Self::TooSlow { limit } => {
                format!("the body did not arrive within {} s", limit.as_secs_f64())
            }
            Self::Trickled { rate } => {
                format!("the body arrived at less than {rate} bytes a second")
            }
            Self::Interrupted => "the body ended before its announced length".into(),
            Self::BadHeader { name, expected } => {
                format!("{name} is malformed: expected {expected}")
            }

            Self::Unauthorized => "missing or invalid token".into(),
            Self::PrivateToken { refusal, .. } => refusal.to_string(),
            Self::NoIssuerKey => {
                "no key of the issuer of private tokens is known: no token can be verified".into()
            }
            Self::Forbidden { what } => format!("the token does not allow {what}"),
            Self::TooMany { after } => {
                format!(
                    "too many requests from this client: retry in {} s",
                    after.as_secs()
                )
            }
            Self::Busy { after } | Self::Unseal(UnsealError::Busy { after }) => {
                format!("the server is busy: retry in {} s", after.as_secs())
            }

            Self::Database(error) => error.to_string(),
            Self::Query(error) => error.to_string(),
            Self::Client(ClientError::NoClient) => {
                format!("{} is missing: register at …/clients first", names::CLIENT)
            }
            Self::Client(error @ ClientError::TicketCount { .. }) => {
                format!("{}: {error}", names::TICKET)
            }
            Self::Client(error) => error.to_string(),

            Self::Unseal(UnsealError::UnknownKey) => {
                "sealed under a key that this gateway does not have, or damaged: fetch its keys again"
                    .into()
            }
            Self::Unseal(UnsealError::Damaged) => "the sealed request cannot be opened".into(),
            Self::Unseal(UnsealError::Replayed) => {
                "the sealed request has arrived before: seal it again".into()
            }
            Self::TooLongToSeal { limit } => format!(
                "the response is longer than {limit} bytes: seal the request as {}",
                media::OHTTP_CHUNKED_REQUEST
            ),
            Self::Stopping => "the service is about to stop".into(),
            Self::RegistryFailed => {
                "the client registry cannot be read or changed: retry with the same bytes".into()
            }
            Self::Internal => "the server failed; the request was not at fault".into(),
        }
    }

    /// The newest version, with `wrong_version`.
    fn version(&self) -> Option<String> {
        match self {
            Self::Query(QueryError::WrongVersion { current }) => Some(current.to_string()),
            _ => None,
        }
    }

    /// The header that goes with the problem.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Query(QueryError::WrongVersion { current }) => {
                let value = HeaderValue::try_from(current.to_string()).ok()?;
                Some((HeaderName::from_static(names::VERSION), value))
            }

            Self::Busy { after }
            | Self::Unseal(UnsealError::Busy { after })
            | Self::TooMany { after }
            | Self::Client(ClientError::Full { retry_after: after }) => {
                Some((header::RETRY_AFTER, HeaderValue::from(after.as_secs())))
            }
            Self::Database(DatabaseError::NotLoaded)
            | Self::Query(QueryError::Unavailable { .. })
            | Self::Stopping
            | Self::NoIssuerKey
            | Self::RegistryFailed => Some((header::RETRY_AFTER, HeaderValue::from(LATER_ADVICE))),
            Self::Client(ClientError::TicketNotReady { retry_after, .. }) => {
                Some((header::RETRY_AFTER, HeaderValue::from(*retry_after)))
            }

            Self::Client(
                ClientError::WrongOffset { offset } | ClientError::Incomplete { offset, .. },
            ) => Some((
                HeaderName::from_static(names::UPLOAD_OFFSET),
                HeaderValue::from(*offset),
            )),
            Self::Unauthorized => Some((
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"papir\""),
            )),
            Self::PrivateToken { challenges, .. } => {
                Some((header::WWW_AUTHENTICATE, challenges.clone()))
            }
            _ => None,
        }
    }
}

/// The code of a refused private token.
fn token_code(refusal: &TokenRefusal) -> &'static str {
    match refusal {
        TokenRefusal::Missing => code::TOKEN_NEEDED,
        TokenRefusal::Invalid(_) | TokenRefusal::UnknownKey => code::TOKEN_INVALID,
        TokenRefusal::Spent => code::TOKEN_SPENT,
    }
}

/// The code of a query error.
fn query_code(error: &QueryError) -> &'static str {
    match error {
        QueryError::TooLong { .. } => code::TOO_LONG,
        QueryError::WrongLength { .. } => code::WRONG_LENGTH,
        QueryError::WrongVersion { .. } => code::WRONG_VERSION,
        QueryError::Unavailable { .. } => code::UNAVAILABLE,
        QueryError::Rejected { source, .. } => source.code(),
        QueryError::Failed { .. } | QueryError::Missing => code::INTERNAL,
    }
}

/// The code of an error of the registry.
fn client_code(error: &ClientError) -> &'static str {
    use ClientError as E;

    match error {
        E::NoRegistry => code::NO_REGISTRY,
        E::ListForbidden => code::NOT_ALLOWED,
        E::NoClient => code::NO_CLIENT,
        E::Gone => code::CLIENT_GONE,
        E::WrongKeysLength { .. } => code::WRONG_LENGTH,
        E::TooLongForOneRequest { .. } | E::PartTooLong { .. } => code::TOO_LONG,
        E::OverQuota { .. } => code::OVER_QUOTA,
        E::Full { .. } => code::REGISTRY_FULL,
        E::Incomplete { .. } => code::UPLOAD_INCOMPLETE,
        E::AlreadyRegistered => code::ALREADY_REGISTERED,
        E::WrongOffset { .. } => code::WRONG_OFFSET,
        E::BadKeys { source } => source.code(),
        E::KeysRepeated => code::KEYS_REPEATED,
        E::TicketCount { .. } => code::TICKET_COUNT,
        E::TicketUsed { .. } => code::TICKET_USED,
        E::TicketNotReady { .. } => code::NO_TICKET,
        // Converted to other problems before.
        E::UploadBusy | E::Query(_) | E::Storage(_) | E::Internal => code::INTERNAL,
    }
}

impl Problem {
    /// The response. `token_unspent` is true if the request has a private token that it did not
    /// spend.
    pub(super) fn response(self, token_unspent: bool) -> Response {
        let body = ErrorBody {
            version: self.version(),
            token_unspent,
            ..ErrorBody::new(self.status().as_u16(), self.code(), self.message())
        };

        let mut response = problem_details(body);
        response.headers_mut().extend(self.header());
        // Read by the middleware, which names the code in the request's span.
        response.extensions_mut().insert(Code(self.code()));
        response
    }
}

/// The response with problem details.
pub(crate) fn problem_details(body: ErrorBody) -> Response {
    let status = StatusCode::from_u16(body.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(body)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM);
    response
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.response(false)
    }
}
