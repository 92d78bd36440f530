//! Tokens and the bytes that the issuer signs (RFC 9577, section 2.2).

use std::fmt;

use zeroize::Zeroize;

use crate::bytes::MessageReader;
use crate::challenge::{DIGEST_BYTES, TOKEN_TYPE};
use crate::error::PassError;
use crate::key::{KEY_ID_BYTES, MODULUS_BYTES};

/// Length of a nonce in bytes.
pub const NONCE_BYTES: usize = 32;
/// Length of the signed bytes of a token.
pub const INPUT_BYTES: usize = 2 + NONCE_BYTES + DIGEST_BYTES + KEY_ID_BYTES;
/// Length of a token in bytes.
pub const TOKEN_BYTES: usize = INPUT_BYTES + MODULUS_BYTES;

/// The signed fields of a token, besides its type. `Debug` does not show the nonce.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenInput {
    /// The client's random number. A service accepts each once.
    pub nonce: [u8; NONCE_BYTES],
    /// The digest of the challenge.
    pub challenge_digest: [u8; DIGEST_BYTES],
    /// The id of the issuer's public key.
    pub key_id: [u8; KEY_ID_BYTES],
}

impl TokenInput {
    /// The bytes that the issuer signs: type, nonce, digest, key id.
    pub fn encode(&self) -> [u8; INPUT_BYTES] {
        let mut bytes = [0; INPUT_BYTES];
        let (token_type, rest) = bytes.split_at_mut(2);
        let (nonce, rest) = rest.split_at_mut(NONCE_BYTES);
        let (digest, key_id) = rest.split_at_mut(DIGEST_BYTES);
        token_type.copy_from_slice(&TOKEN_TYPE.to_be_bytes());
        nonce.copy_from_slice(&self.nonce);
        digest.copy_from_slice(&self.challenge_digest);
        key_id.copy_from_slice(&self.key_id);
        bytes
    }

    /// Reads the fields.
    fn read(reader: &mut MessageReader<'_>) -> Result<Self, PassError> {
        let token_type = reader.u16()?;
        if token_type != TOKEN_TYPE {
            return Err(PassError::TokenType { found: token_type });
        }
        Ok(Self {
            nonce: reader.array()?,
            challenge_digest: reader.array()?,
            key_id: reader.array()?,
        })
    }
}

impl Zeroize for TokenInput {
    fn zeroize(&mut self) {
        self.nonce.zeroize();
        self.challenge_digest.zeroize();
        self.key_id.zeroize();
    }
}

impl fmt::Debug for TokenInput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TokenInput").finish_non_exhaustive()
    }
}

/// A token of type 2, which whoever holds it can redeem once. `Debug` does not show its fields.
#[derive(Clone, PartialEq, Eq)]
pub struct PassToken {
    /// The signed fields.
    pub input: TokenInput,
    /// The issuer's signature.
    pub authenticator: [u8; MODULUS_BYTES],
}

impl PassToken {
    /// Encodes the token.
    pub fn encode(&self) -> [u8; TOKEN_BYTES] {
        let mut bytes = [0; TOKEN_BYTES];
        let (input, authenticator) = bytes.split_at_mut(INPUT_BYTES);
        input.copy_from_slice(&self.input.encode());
        authenticator.copy_from_slice(&self.authenticator);
        bytes
    }

    /// Parses a token of [`TOKEN_BYTES`]. Its signature is not verified.
    ///
    /// # Errors
    /// [`PassError::TokenType`] for a token of another type, [`PassError::Length`] for another
    /// length.
    pub fn parse(bytes: &[u8]) -> Result<Self, PassError> {
        let mut reader = MessageReader::new("token", bytes);
        let input = TokenInput::read(&mut reader);
        // The type decides on the length, so that it is judged first.
        if let Err(error @ PassError::TokenType { .. }) = input {
            return Err(error);
        }
        if bytes.len() != TOKEN_BYTES {
            return Err(PassError::Length {
                what: "token",
                found: bytes.len(),
                expected: TOKEN_BYTES,
            });
        }

        let token = Self {
            input: input?,
            authenticator: reader.array()?,
        };
        reader.finish()?;
        Ok(token)
    }
}

impl fmt::Debug for PassToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PassToken").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_of_another_length_or_type_are_refused() {
        let mut bytes = [&[0, 2][..], &[7; TOKEN_BYTES - 2]].concat();
        for length in 0..TOKEN_BYTES {
            let error = PassToken::parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.code(), "malformed", "{length}");
        }
        bytes.push(7);
        assert_eq!(PassToken::parse(&bytes).unwrap_err().code(), "malformed");

        bytes.pop();
        assert!(PassToken::parse(&bytes).is_ok());
        bytes[1] = 1;
        let expected = PassError::TokenType { found: 1 };
        assert_eq!(PassToken::parse(&bytes).unwrap_err(), expected);
        assert_eq!(PassToken::parse(&[0, 1, 9]).unwrap_err(), expected);
    }

    #[test]
    fn debug_shows_no_field() {
        let bytes = [&[0, 2][..], &[123; TOKEN_BYTES - 2]].concat();
        let token = PassToken::parse(&bytes).unwrap();
        for text in [format!("{token:?}"), format!("{:?}", token.input)] {
            assert!(!text.contains("123") && !text.contains("7b"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn tokens_return(rest in prop::collection::vec(any::<u8>(), TOKEN_BYTES - 2)) {
            let bytes = [&[0, 2][..], &rest].concat();
            let token = PassToken::parse(&bytes).unwrap();
            prop_assert_eq!(&token.encode()[..], &bytes[..]);
            prop_assert_eq!(&token.input.encode()[..], &bytes[..INPUT_BYTES]);
        }
    }
}
