//! Errors, grouped as exceptions.

use papir_client::{Error, ErrorGroup};

/// Details of an error.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ErrorDetail {
    /// A short stable name.
    pub code: String,
    /// A sentence for people.
    pub text: String,
    /// Set if the same call may succeed later.
    pub retryable: bool,
    /// The HTTP status of a refusal.
    pub status: Option<u16>,
}

/// An error of a connection.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum PapirError {
    /// The service cannot be reached, or refuses a request.
    #[error("{}", detail.text)]
    Network {
        /// The details.
        detail: ErrorDetail,
    },
    /// An answer, a root or a checkpoint does not verify.
    #[error("{}", detail.text)]
    Verification {
        /// The details.
        detail: ErrorDetail,
    },
    /// The scheme hides nothing. No query was sent.
    #[error("{}", detail.text)]
    NotPrivate {
        /// The details.
        detail: ErrorDetail,
    },
    /// The client does not support the database.
    #[error("{}", detail.text)]
    Unsupported {
        /// The details.
        detail: ErrorDetail,
    },
    /// Any other error, such as an invalid option.
    #[error("{}", detail.text)]
    Other {
        /// The details.
        detail: ErrorDetail,
    },
}

impl From<Error> for PapirError {
    fn from(error: Error) -> Self {
        let status = if let Error::Http { status, .. } = &error { Some(*status) } else { None };
        let detail = ErrorDetail {
            code: error.code().to_owned(),
            text: error.to_string(),
            retryable: error.is_retryable(),
            status,
        };
        match error.group() {
            ErrorGroup::Network => Self::Network { detail },
            ErrorGroup::Verification => Self::Verification { detail },
            ErrorGroup::NotPrivate => Self::NotPrivate { detail },
            ErrorGroup::Unsupported => Self::Unsupported { detail },
            _ => Self::Other { detail },
        }
    }
}

impl PapirError {
    /// The details of the error.
    pub fn detail(&self) -> &ErrorDetail {
        match self {
            Self::Network { detail }
            | Self::Verification { detail }
            | Self::NotPrivate { detail }
            | Self::Unsupported { detail }
            | Self::Other { detail } => detail,
        }
    }
}
