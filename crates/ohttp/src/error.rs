//! Errors of sealed messages.

use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a message or a list of keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The list of key configurations is damaged.
    #[error("not a list of key configurations: {0}")]
    BadKeys(&'static str),
    /// No key configuration can be used.
    #[error(
        "no usable key configuration: expected X25519 or X-Wing with HKDF-SHA256 and AES-128-GCM"
    )]
    NoKey,
    /// The message is sealed under a key that the gateway does not have.
    #[error("sealed under key {found}, which this gateway does not have")]
    UnknownKey {
        /// The identifier in the message.
        found: u8,
    },
    /// The beginning of the message does not open under the key that it names: it is sealed for
    /// another key with the same identifier, or it is damaged.
    #[error("the beginning of a sealed message does not open under key {found}")]
    WrongKey {
        /// The identifier in the message.
        found: u8,
    },
    /// The message cannot be opened: it is damaged, cut off, or sealed for somebody else.
    #[error("a sealed message cannot be opened: {0}")]
    Sealed(String),
    /// The opened message is no message of binary HTTP.
    #[error("not a message of binary HTTP: {0}")]
    Message(String),
    /// The head of a message is too long.
    #[error("the head of a message has more than {limit} bytes")]
    LongHead {
        /// Longest accepted head in bytes.
        limit: u64,
    },
}

impl From<ohttp::Error> for Error {
    fn from(error: ohttp::Error) -> Self {
        Self::Sealed(error.to_string())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(other) => Self::Sealed(other.to_string()),
        }
    }
}
