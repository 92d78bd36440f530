//! Issuance and verification of tokens (RFC 9578, section 6).

use std::fmt;

use blind_rsa_signatures::{BlindSignature, BlindingResult, Signature};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::bytes::MessageReader;
use crate::challenge::{TOKEN_TYPE, TokenChallenge};
use crate::error::PassError;
use crate::key::{IssuerKey, IssuerPublicKey, MODULUS_BYTES, hex};
use crate::token::{NONCE_BYTES, PassToken, TokenInput};

/// Length of a request in bytes.
pub const REQUEST_BYTES: usize = 2 + 1 + MODULUS_BYTES;
/// Length of a response in bytes.
pub const RESPONSE_BYTES: usize = MODULUS_BYTES;

/// A client's request for one token (RFC 9578, section 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// The last byte of the id of the issuer's key.
    pub truncated_key_id: u8,
    /// The blinded token, as a big-endian number.
    pub blinded: [u8; MODULUS_BYTES],
}

impl TokenRequest {
    /// Encodes the request: type, truncated key id, blinded token.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        let (token_type, rest) = bytes.split_at_mut(2);
        let (truncated_key_id, blinded) = rest.split_at_mut(1);
        token_type.copy_from_slice(&TOKEN_TYPE.to_be_bytes());
        truncated_key_id.copy_from_slice(&[self.truncated_key_id]);
        blinded.copy_from_slice(&self.blinded);
        bytes
    }

    /// Parses a request of [`REQUEST_BYTES`].
    ///
    /// # Errors
    /// [`PassError::TokenType`] for a request for another type of tokens,
    /// [`PassError::Malformed`] for another length. An issuer answers both with status 422.
    pub fn parse(bytes: &[u8]) -> Result<Self, PassError> {
        let mut reader = MessageReader::new("token request", bytes);
        let request = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(request)
    }

    /// Reads a request at the front of a message.
    pub(crate) fn read(reader: &mut MessageReader<'_>) -> Result<Self, PassError> {
        let token_type = reader.u16()?;
        if token_type != TOKEN_TYPE {
            return Err(PassError::TokenType { found: token_type });
        }
        Ok(Self {
            truncated_key_id: reader.byte()?,
            blinded: reader.array()?,
        })
    }
}

/// The issuer's response to one request (RFC 9578, section 6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenResponse {
    /// The signature of the blinded token, as a big-endian number.
    pub blind_signature: [u8; MODULUS_BYTES],
}

impl TokenResponse {
    /// Encodes the response.
    pub fn encode(&self) -> [u8; RESPONSE_BYTES] {
        self.blind_signature
    }

    /// Parses a response of [`RESPONSE_BYTES`].
    ///
    /// # Errors
    /// [`PassError::Length`] for another length.
    pub fn parse(bytes: &[u8]) -> Result<Self, PassError> {
        match bytes.try_into() {
            Ok(blind_signature) => Ok(Self { blind_signature }),
            Err(_) => Err(PassError::Length {
                what: "token response",
                found: bytes.len(),
                expected: RESPONSE_BYTES,
            }),
        }
    }
}

/// The secret factor that removes the blinding. It is erased on drop.
struct BlindingFactor(BlindingResult);

impl Drop for BlindingFactor {
    fn drop(&mut self) {
        self.0.secret.0.zeroize();
    }
}

/// A client's secrets between a request and its response: the token's nonce and the blinding
/// factor. They are erased on drop, and `Debug` does not show them.
pub struct TokenBlinding {
    input: Zeroizing<TokenInput>,
    factor: BlindingFactor,
}

impl TokenBlinding {
    /// Makes a token with a fresh nonce for a challenge, and blinds it. Returns the secrets and the
    /// request to send to the issuer.
    ///
    /// All randomness is from `rng`: nonce, salt and blinding factor, in this order. With a
    /// generator that repeats itself, tokens and requests can be linked.
    ///
    /// # Errors
    /// [`PassError::Operation`] if the key's modulus has a small factor.
    pub fn new(
        challenge: &TokenChallenge,
        key: &IssuerPublicKey,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self, TokenRequest), PassError> {
        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);
        let input = Zeroizing::new(TokenInput {
            nonce,
            challenge_digest: challenge.digest(),
            key_id: *key.id(),
        });
        nonce.zeroize();

        let failed = PassError::Operation {
            operation: "blinding a token",
        };
        let blinded = key.blind_rsa().blind(rng, input.encode());
        let Ok(mut blinded) = blinded else {
            return Err(failed);
        };
        let message = std::mem::take(&mut blinded.blind_message.0);
        let factor = BlindingFactor(blinded);

        let request = TokenRequest {
            truncated_key_id: key.truncated_id(),
            blinded: message.try_into().map_err(|_| failed)?,
        };
        Ok((Self { input, factor }, request))
    }

    /// Removes the blinding from the issuer's response, and verifies the token.
    ///
    /// # Errors
    /// [`PassError::Signature`] for a response that does not belong to the request and the key,
    /// [`PassError::OtherKey`] for another key than that of the request.
    pub fn finalize(
        self,
        response: &TokenResponse,
        key: &IssuerPublicKey,
    ) -> Result<PassToken, PassError> {
        check_key(&self.input, key)?;
        // The unblinding takes reduced numbers only.
        if !key.is_reduced(&response.blind_signature) {
            return Err(PassError::Signature);
        }

        let signature = BlindSignature(response.blind_signature.to_vec());
        let message = self.input.encode();
        let finalized = key
            .blind_rsa()
            .finalize(&signature, &self.factor.0, message);
        let authenticator = finalized
            .ok()
            .and_then(|signature| signature.0.try_into().ok());
        Ok(PassToken {
            input: TokenInput::clone(&self.input),
            authenticator: authenticator.ok_or(PassError::Signature)?,
        })
    }
}

impl fmt::Debug for TokenBlinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenBlinding")
            .finish_non_exhaustive()
    }
}

impl IssuerKey {
    /// Signs the blinded token of a request. `rng` protects the private key against side channels
    /// (see the crate's documentation); the response does not depend on it.
    ///
    /// # Errors
    /// [`PassError::OtherKey`] for a request for another key, [`PassError::Operation`] for a
    /// blinded token that is not below the modulus.
    pub fn sign_blinded(
        &self,
        request: &TokenRequest,
        rng: &mut dyn CryptoRng,
    ) -> Result<TokenResponse, PassError> {
        let expected = self.public().truncated_id();
        if request.truncated_key_id != expected {
            return Err(PassError::OtherKey {
                found: hex(&[request.truncated_key_id]),
                expected: hex(&[expected]),
            });
        }

        let blind_signature = self.private_operation(&request.blinded, rng)?;
        Ok(TokenResponse { blind_signature })
    }
}

/// Verifies that the issuer with this key signed a token for this challenge (RFC 9578, section
/// 6.4). The caller must also check that it has not seen the token's nonce.
///
/// # Errors
/// [`PassError::OtherKey`], [`PassError::OtherChallenge`] or [`PassError::Signature`].
pub fn verify(
    token: &PassToken,
    challenge: &TokenChallenge,
    key: &IssuerPublicKey,
) -> Result<(), PassError> {
    check_key(&token.input, key)?;
    if token.input.challenge_digest != challenge.digest() {
        return Err(PassError::OtherChallenge);
    }

    // A signature plus the modulus would be a second form of it.
    if !key.is_reduced(&token.authenticator) {
        return Err(PassError::Signature);
    }
    let signature = Signature(token.authenticator.to_vec());
    let verified = key
        .blind_rsa()
        .verify(&signature, None, token.input.encode());
    verified.map_err(|_| PassError::Signature)
}

/// Checks that a token names this key.
fn check_key(input: &TokenInput, key: &IssuerPublicKey) -> Result<(), PassError> {
    if input.key_id == *key.id() {
        return Ok(());
    }
    Err(PassError::OtherKey {
        found: hex(&input.key_id),
        expected: hex(key.id()),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{ISSUER, OTHER_ISSUER, challenge, issue, rng};
    use crate::token::TOKEN_BYTES;

    #[test]
    fn issued_tokens_verify() {
        let token = issue(&challenge(), 1);
        verify(&token, &challenge(), ISSUER.public()).unwrap();
        let parsed = PassToken::parse(&token.encode()).unwrap();
        verify(&parsed, &challenge(), ISSUER.public()).unwrap();
    }

    #[test]
    fn the_response_does_not_depend_on_the_issuers_randomness() {
        let (_, request) = TokenBlinding::new(&challenge(), ISSUER.public(), &mut rng(1)).unwrap();
        let first = ISSUER.sign_blinded(&request, &mut rng(2)).unwrap();
        assert_eq!(ISSUER.sign_blinded(&request, &mut rng(3)).unwrap(), first);
    }

    #[test]
    fn requests_of_one_generator_have_nothing_in_common() {
        let mut rng = rng(1);
        let mut blind = || TokenBlinding::new(&challenge(), ISSUER.public(), &mut rng).unwrap();
        let (first, first_request) = blind();
        let (second, second_request) = blind();
        assert_ne!(first.input.nonce, second.input.nonce);
        assert_ne!(first_request.blinded, second_request.blinded);
        assert_ne!(first.factor.0.secret.0, second.factor.0.secret.0);
    }

    #[test]
    fn tokens_for_another_challenge_are_refused() {
        let token = issue(&challenge(), 1);
        let other = TokenChallenge::new("issuer.example", None, vec![]).unwrap();
        let refused = verify(&token, &other, ISSUER.public());
        assert_eq!(refused.unwrap_err(), PassError::OtherChallenge);
    }

    #[test]
    fn other_keys_are_refused_at_each_step() {
        let key = ISSUER.public();
        let other = OTHER_ISSUER.public();
        let (blinding, mut request) = TokenBlinding::new(&challenge(), key, &mut rng(1)).unwrap();
        let refused = OTHER_ISSUER.sign_blinded(&request, &mut rng(2));
        assert_eq!(refused.unwrap_err().code(), "other_issuer_key");

        // An issuer that uses the wrong key is found by the client.
        request.truncated_key_id = other.truncated_id();
        request.blinded[0] = 0;
        let response = OTHER_ISSUER.sign_blinded(&request, &mut rng(2)).unwrap();
        let refused = blinding.finalize(&response, key);
        assert!(matches!(refused, Err(PassError::Signature)));

        let (blinding, request) = TokenBlinding::new(&challenge(), key, &mut rng(1)).unwrap();
        let response = ISSUER.sign_blinded(&request, &mut rng(2)).unwrap();
        let refused = blinding.finalize(&response, other);
        assert_eq!(refused.unwrap_err().code(), "other_issuer_key");

        let mut token = issue(&challenge(), 1);
        let refused = verify(&token, &challenge(), other);
        assert_eq!(refused.unwrap_err().code(), "other_issuer_key");
        token.input.key_id = *other.id();
        let refused = verify(&token, &challenge(), other);
        assert_eq!(refused.unwrap_err(), PassError::Signature);
    }

    #[test]
    fn numbers_from_the_modulus_on_are_refused() {
        let key = ISSUER.public();
        let largest = [0xff; MODULUS_BYTES];
        let request = TokenRequest {
            truncated_key_id: key.truncated_id(),
            blinded: largest,
        };
        let refused = ISSUER.sign_blinded(&request, &mut rng(2));
        assert_eq!(refused.unwrap_err().code(), "token_operation");

        let (blinding, _) = TokenBlinding::new(&challenge(), key, &mut rng(1)).unwrap();
        let response = TokenResponse {
            blind_signature: largest,
        };
        let refused = blinding.finalize(&response, key);
        assert_eq!(refused.unwrap_err(), PassError::Signature);

        let mut token = issue(&challenge(), 1);
        token.authenticator = largest;
        let refused = verify(&token, &challenge(), key);
        assert_eq!(refused.unwrap_err(), PassError::Signature);
    }

    #[test]
    fn every_byte_of_a_token_counts() {
        let bytes = issue(&challenge(), 1).encode();
        for place in 0..TOKEN_BYTES {
            let mut other = bytes;
            other[place] ^= 1 << (place % 8);
            let refused = PassToken::parse(&other)
                .and_then(|token| verify(&token, &challenge(), ISSUER.public()));
            assert!(refused.is_err(), "{place}");
        }
    }

    #[test]
    fn requests_and_responses_of_another_length_or_type_are_refused() {
        let mut request = [7; REQUEST_BYTES + 1];
        request[..2].copy_from_slice(&[0, 2]);
        for length in 0..=REQUEST_BYTES + 1 {
            let parsed = TokenRequest::parse(&request[..length]);
            assert_eq!(parsed.is_ok(), length == REQUEST_BYTES, "{length}");
            let parsed = TokenResponse::parse(&request[..length]);
            assert_eq!(parsed.is_ok(), length == RESPONSE_BYTES, "{length}");
        }
        request[1] = 1;
        let refused = TokenRequest::parse(&request[..REQUEST_BYTES]);
        assert_eq!(refused.unwrap_err(), PassError::TokenType { found: 1 });
    }

    #[test]
    fn debug_shows_no_secret() {
        let (blinding, _) = TokenBlinding::new(&challenge(), ISSUER.public(), &mut rng(1)).unwrap();
        assert_eq!(format!("{blinding:?}"), "TokenBlinding { .. }");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn changed_responses_are_refused(place in 0..RESPONSE_BYTES, flip in 1u8..) {
            let key = ISSUER.public();
            let (blinding, request) = TokenBlinding::new(&challenge(), key, &mut rng(1)).unwrap();
            let mut response = ISSUER.sign_blinded(&request, &mut rng(2)).unwrap();
            response.blind_signature[place] ^= flip;
            prop_assert_eq!(blinding.finalize(&response, key).unwrap_err(), PassError::Signature);
        }

        #[test]
        fn requests_return(truncated_key_id: u8, blinded: [u8; 32]) {
            let blinded = std::array::from_fn(|place| blinded[place % 32]);
            let request = TokenRequest { truncated_key_id, blinded };
            prop_assert_eq!(&TokenRequest::parse(&request.encode()).unwrap(), &request);
            let response = TokenResponse { blind_signature: blinded };
            prop_assert_eq!(&TokenResponse::parse(&response.encode()).unwrap(), &response);
        }
    }
}
