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
