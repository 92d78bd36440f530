//! Errors before a connection.

/// The result of every fallible function of this crate that does not connect.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A login that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// The message of the server or of the connection.
pub(crate) fn reason(error: &postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(error), _) => error.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
