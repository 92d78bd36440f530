//! Privacy Pass with publicly verifiable tokens.
//!
//! A service offers a [`TokenChallenge`]. A client blinds a token for it, and an issuer signs the
//! blinded token, which it cannot recognise later. The client redeems the signed token at the
//! service, which verifies it with the issuer's public key. Neither learns which client redeems
//! which token, unless the times or the number of its requests tell (RFC 9576, section 7).
//!
//! | step | function | message |
//! |---|---|---|
//! | service → client | [`write_challenges`], [`parse_challenges`] | `WWW-Authenticate` |
//! | client → issuer | [`TokenBlinding::new`] | [`TokenRequest`], [`encode_requests`] |
//! | issuer → client | [`IssuerKey::sign_blinded`] | [`TokenResponse`], [`encode_responses`] |
//! | client | [`TokenBlinding::finalize`] | [`PassToken`] |
//! | client → service | [`write_authorization`], [`parse_authorization`] | `Authorization` |
//! | service | [`verify`]; and it refuses a nonce that it has seen | |
//!
//! | module | contents |
//! |---|---|
//! | `challenge`, `server_name` | token challenges (RFC 9577, section 2.1.1) |
//! | `header`, `auth_params` | the two HTTP headers (RFC 9577, sections 2.1.3 and 2.2.2) |
//! | `token` | tokens and the bytes that are signed (RFC 9577, section 2.2) |
//! | `key` | keys of issuers (RFC 9578, section 6.5) |
//! | `issuance` | requests, responses, blinding, verification (RFC 9578, section 6) |
//! | `batch` | several requests in one message |
//! | `directory` | the public keys of an issuer as JSON (RFC 9578, section 4) |
//!
//! # Implementation of RSA
//!
//! `blind-rsa-signatures` implements RFC 9474 with RSABSSA-SHA384-PSS-Deterministic on top of `rsa`
//! 0.10, whose big integers are `crypto-bigint`. RUSTSEC-2023-0071 (the Marvin attack) concerns the
//! variable-time integers of `rsa` up to 0.9. Here the private operation exponentiates in constant
//! time. In addition, each one multiplies the message by a fresh random factor, adds a random
//! multiple of p − 1 or q − 1 of 128 bits to each exponent, and computes modulo fresh multiples of
//! the primes. Its result is checked with the public key, so that a faulty computation reveals no
//! factor. All this needs the generator that [`IssuerKey::sign_blinded`] takes.
//!
//! The nonce, the salt and the blinding factor come from the generator that [`TokenBlinding::new`]
//! takes. Two blindings with equal randomness would link the tokens, so callers hedge it.

mod auth_params;
mod base64url;
mod batch;
mod bytes;
mod challenge;
mod directory;
mod error;
mod header;
mod issuance;
mod key;
mod server_name;
#[cfg(test)]
mod testing;
mod token;

pub use batch::{
    MAX_BATCH, TOKENS_PER_BATCH, encode_requests, encode_responses, parse_requests,
    parse_responses, request_bytes, response_bytes,
};
pub use challenge::{
    CONTEXT_BYTES, DIGEST_BYTES, MAX_CHALLENGE_BYTES, MAX_ORIGIN_INFO_BYTES, TOKEN_TYPE,
    TokenChallenge, challenge_digest,
};
pub use directory::{
    DirectoryKey, IssuerDirectory, MAX_DIRECTORY_BYTES, MAX_DIRECTORY_KEYS, MAX_URI_BYTES,
};
pub use error::PassError;
pub use header::{
    ChallengeOffer, MAX_HEADER_BYTES, MAX_OFFERS, SCHEME, parse_authorization, parse_challenges,
    write_authorization, write_challenges,
};
pub use issuance::{
    REQUEST_BYTES, RESPONSE_BYTES, TokenBlinding, TokenRequest, TokenResponse, verify,
};
pub use key::{
    IssuerKey, IssuerPublicKey, KEY_BITS, KEY_ID_BYTES, MAX_PEM_BYTES, MODULUS_BYTES, SPKI_BYTES,
};
pub use server_name::MAX_NAME_BYTES;
pub use token::{INPUT_BYTES, NONCE_BYTES, PassToken, TOKEN_BYTES, TokenInput};

/// The media type of a [`TokenRequest`] (RFC 9578, section 6.1).
pub const REQUEST_MEDIA_TYPE: &str = "application/private-token-request";
/// The media type of a [`TokenResponse`] (RFC 9578, section 6.2).
pub const RESPONSE_MEDIA_TYPE: &str = "application/private-token-response";
/// The media type of a batch of requests (draft-ietf-privacypass-batched-tokens).
pub const BATCH_REQUEST_MEDIA_TYPE: &str = "application/private-token-generic-batch-request";
/// The media type of a batch of responses (draft-ietf-privacypass-batched-tokens).
pub const BATCH_RESPONSE_MEDIA_TYPE: &str = "application/private-token-generic-batch-response";
/// The media type of an [`IssuerDirectory`] (RFC 9578, section 4).
pub const DIRECTORY_MEDIA_TYPE: &str = "application/private-token-issuer-directory";
/// The path of an issuer's directory on its host (RFC 9578, section 4).
pub const DIRECTORY_PATH: &str = "/.well-known/private-token-issuer-directory";
