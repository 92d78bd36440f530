//! Private tokens of an issuer, which a service demands (RFC 9576 to 9578).
//!
//! | file | contents |
//! |---|---|
//! | `offers` | challenges of a service, and which of them a client accepts |
//! | `unspent` | the tokens that are not spent |
//! | `purse` | what is fetched from the issuer and when, and the spending of a token |
//! | `refill` | refills ahead of need |
//!
//! A client fetches [`TOKENS_PER_BATCH`] tokens at a time: when few are left for the challenge, at
//! a random time within an hour, and when none is left, at once. A token is removed from the state
//! before it is sent, so that it is spent at most once, also across a crash. What the client sends
//! to the issuer does not depend on the service or on what is looked up, except for the time.
//!
//! Tokens of one issuer cannot be told apart as long as all clients answer the same challenges
//! under the same keys. Therefore a challenge must have one of few forms, and a directory few keys.
//!
//! [`TOKENS_PER_BATCH`]: papir_privacy_pass::TOKENS_PER_BATCH

mod offers;
mod purse;
mod refill;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod testing;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod unspent;

pub(crate) use offers::{AcceptedChallenge, named_issuer, token_offers};
pub(crate) use purse::{TokenPurse, TokenReason};
pub use refill::TokenRefill;

/// Decodes a record of tokens and encodes it again, for fuzzing.
#[cfg(feature = "transport")]
pub(crate) fn reencoded(record: &[u8]) -> papir_core::Result<Vec<u8>> {
    let tokens = unspent::UnspentTokens::decode(record)?;
    Ok(tokens.encode().to_vec())
}
