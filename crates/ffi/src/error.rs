//! Errors, with a kind and a code.

use papir_client::{Error, ErrorGroup};

/// Kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ErrorKind {
    /// The service cannot be reached, or refuses a request.
    Network,
    /// An answer, a root or a checkpoint does not verify.
    Verification,
    /// The scheme is not private. No query was sent.
    NotPrivate,
    /// The client does not support the database.
    Unsupported,
    /// Any other error, such as an invalid option.
    Other,
}

/// An error of a connection.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum PapirError {
    /// A call failed.
    #[error("{text}")]
    Failed {
        /// A sentence for people.
        text: String,
        /// The kind of the error.
        kind: ErrorKind,
        /// A short stable name.
        code: String,
        /// Set if the same call may succeed later.
        retryable: bool,
        /// The HTTP status of a refusal.
        status: Option<u16>,
    },
}

impl From<Error> for PapirError {
    fn from(error: Error) -> Self {
        let kind = match error.group() {
            ErrorGroup::Network => ErrorKind::Network,
            ErrorGroup::Verification => ErrorKind::Verification,
            ErrorGroup::NotPrivate => ErrorKind::NotPrivate,
            ErrorGroup::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        };

        let status = if let Error::Http { status, .. } = error.unshared() {
            Some(*status)
        } else {
            None
        };
        let code = error.code().to_owned();
        let retryable = error.is_retryable();

        Self::Failed {
            text: error.to_string(),
            kind,
            code,
            retryable,
            status,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_error_of_a_scheduled_request_is_as_the_error_itself() {
        let busy = Error::Http {
            url: "http://h".to_owned(),
            status: 429,
            code: "busy".to_owned(),
            message: "the queue is full".to_owned(),
            current: None,
        };

        let PapirError::Failed {
            kind,
            code,
            retryable,
            status,
            ..
        } = Error::Shared(Arc::new(busy)).into();
        assert_eq!((kind, code.as_str()), (ErrorKind::Network, "busy"));
        assert_eq!((retryable, status), (true, Some(429)));
    }
}
