//! Errors of tokens.

/// Errors of Privacy Pass. They do not contain secrets, and of input only numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PassError {
    /// Bytes or a text that break their format.
    #[error("malformed {what}: found {found}: expected {expected}")]
    Malformed {
        /// The name of the format.
        what: &'static str,
        /// A description of the input.
        found: String,
        /// The form that is accepted.
        expected: &'static str,
    },
    /// A message of another length than its format has.
    #[error("malformed {what}: found {found} bytes: expected {expected}")]
    Length {
        /// The name of the message.
        what: &'static str,
        /// Its length in bytes.
        found: usize,
        /// The length of the format in bytes.
        expected: usize,
    },
    /// A message or a list above its bound.
    #[error("{what}: found {found}: expected at most {max}")]
    TooLarge {
        /// The name of the message, with its unit.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The bound.
        max: usize,
    },
    /// A token type that this crate does not implement. Clients ignore such challenges.
    #[error("the token type is {found}: expected 2")]
    TokenType {
        /// The token type.
        found: u16,
    },
    /// A key that is not of an issuer of tokens of type 2.
    #[error("the issuer's key is not accepted: expected {expected}")]
    Key {
        /// The form that is accepted.
        expected: &'static str,
    },
    /// A request or a token for another key of the issuer.
    #[error("the token is for the issuer's key {found}: expected {expected}")]
    OtherKey {
        /// The key id, or its last byte in requests, in hexadecimal digits.
        found: String,
        /// The expected one.
        expected: String,
    },
    /// A token for another challenge.
    #[error("the token answers another challenge")]
    OtherChallenge,
    /// A signature that does not verify, of a token or in a response.
    #[error("the issuer's signature does not verify")]
    Signature,
    /// A private or public operation that failed, such as for a blinded message that is not below
    /// the modulus.
    #[error("{operation} failed")]
    Operation {
        /// The name of the operation.
        operation: &'static str,
    },
}

impl PassError {
    /// A short, stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } | Self::Length { .. } => "malformed",
            Self::TooLarge { .. } => "too_large",
            Self::TokenType { .. } => "token_type",
            Self::Key { .. } => "issuer_key",
            Self::OtherKey { .. } => "other_issuer_key",
            Self::OtherChallenge => "other_challenge",
            Self::Signature => "token_signature",
            Self::Operation { .. } => "token_operation",
        }
    }

    /// Makes the error for input that breaks its format.
    pub(crate) fn malformed(
        what: &'static str,
        found: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        Self::Malformed {
            what,
            found: found.into(),
            expected,
        }
    }

    /// Checks the bound of a length.
    pub(crate) fn check_bound(what: &'static str, found: usize, max: usize) -> Result<(), Self> {
        if found > max {
            return Err(Self::TooLarge { what, found, max });
        }
        Ok(())
    }
}
