//! Why the registry refuses, as a status and a code.

use axum::http::{HeaderName, HeaderValue, StatusCode};

/// Why a request about a client, or of one, is refused.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The database's scheme has no client keys.
    NoRegistry,
    /// The list of clients is the operator's.
    NotAllowed,
    /// The query names no client.
    NoClient,
    /// A header that does not parse.
    BadHeader { name: &'static str, expected: &'static str },
    /// Unknown, expired or evicted: the keys must be uploaded again.
    ClientGone,
    /// The keys have another length than the scheme's.
    WrongKeysLength { found: u64, expected: u64 },
    /// The keys are too long for one request.
    NotInOneRequest { limit: usize },
    /// The keys alone are beyond the quota.
    OverQuota { keys: u64, quota: u64 },
    /// The keys are not whole yet.
    Incomplete { offset: u64, length: u64 },
    /// The keys are whole already.
    AlreadyRegistered,
    /// A part that does not follow on what is there.
    WrongOffset { offset: u64 },
    /// Keys that the scheme refuses.
    BadKeys { source: papir_core::Error },
    /// Another number of tickets than of queries.
    TicketCount { found: usize, queries: usize },
    /// The ticket was used by another query, or lies behind.
    TicketUsed { number: u64 },
    /// The ticket is not prepared yet; come again after this many seconds.
    NoTicket { number: u64, after: u64 },
}

impl Refusal {
    /// For numbers of tickets far from those used last: whoever asks for any would have one prepared for each.
    pub(super) fn far() -> Self {
        Self::BadHeader { name: super::TICKET_HEADER, expected: "numbers near those used last" }
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::NoRegistry => StatusCode::NOT_FOUND,
            Self::NotAllowed => StatusCode::FORBIDDEN,
            Self::ClientGone | Self::TicketUsed { .. } => StatusCode::GONE,
            Self::NotInOneRequest { .. } | Self::OverQuota { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Incomplete { .. } | Self::AlreadyRegistered | Self::WrongOffset { .. } => {
                StatusCode::CONFLICT
            }
            Self::NoTicket { .. } => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// A short stable code for machines.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NoRegistry => "no_registry",
            Self::NotAllowed => "not_allowed",
            Self::NoClient => "no_client",
            Self::BadHeader { .. } => "malformed",
            Self::ClientGone => "client_gone",
            Self::WrongKeysLength { .. } => "wrong_length",
            Self::NotInOneRequest { .. } => "too_long",
            Self::OverQuota { .. } => "over_quota",
            Self::Incomplete { .. } => "upload_incomplete",
            Self::AlreadyRegistered => "already_registered",
            Self::WrongOffset { .. } => "wrong_offset",
            Self::BadKeys { source } => source.code(),
            Self::TicketCount { .. } => "ticket_count",
            Self::TicketUsed { .. } => "ticket_used",
            Self::NoTicket { .. } => "no_ticket",
        }
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::NoRegistry => "the database takes no registrations: its scheme has no client keys".into(),
            Self::NotAllowed => "the list of clients is for the operator: it is not allowed here".into(),
            Self::NoClient => "papir-client is missing: register at …/clients first".into(),
            Self::BadHeader { name, expected } => format!("{name} is malformed: expected {expected}"),
            Self::ClientGone => "no such client: it expired, was evicted or never was; register again".into(),
            Self::WrongKeysLength { found, expected } => {
                format!("client keys have {found} bytes: expected {expected}")
            }
            Self::NotInOneRequest { limit } => {
                format!("client keys of more than {limit} bytes are uploaded in parts")
            }
            Self::OverQuota { keys, quota } => {
                format!("client keys of {keys} bytes are beyond the database's quota of {quota} bytes")
            }
            Self::Incomplete { offset, length } => {
                format!("the client's keys are not whole: {offset} of {length} bytes are there")
            }
            Self::AlreadyRegistered => "the client's keys are whole already".into(),
            Self::WrongOffset { offset } => format!("the next byte of the upload is number {offset}"),
            Self::BadKeys { source } => format!("client keys: {source}"),
            Self::TicketCount { found, queries } => {
                format!("papir-ticket has {found} numbers: expected {queries}, one for each query")
            }
            Self::TicketUsed { number } => {
                format!("ticket {number} was used by another query, or lies too far behind")
            }
            Self::NoTicket { number, after } => {
                format!("ticket {number} is not prepared yet: come again in {after} s")
            }
        }
    }

    /// A header that says the refusal in a number.
    pub(crate) fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::NoTicket { after, .. } => {
                Some((axum::http::header::RETRY_AFTER, HeaderValue::from(*after)))
            }
            Self::WrongOffset { offset } | Self::Incomplete { offset, .. } => {
                Some((HeaderName::from_static(super::OFFSET_HEADER), HeaderValue::from(*offset)))
            }
            _ => None,
        }
    }
}
