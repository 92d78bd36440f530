//! Keys, generators and challenges for tests.
#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use chacha20::ChaCha20Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;

use crate::challenge::TokenChallenge;
use crate::issuance::TokenBlinding;
use crate::key::IssuerKey;
use crate::token::PassToken;

/// An issuer's key.
pub(crate) static ISSUER: LazyLock<IssuerKey> =
    LazyLock::new(|| IssuerKey::generate(&mut rng(100)).unwrap());
/// The key of another issuer, with another truncated id.
pub(crate) static OTHER_ISSUER: LazyLock<IssuerKey> =
    LazyLock::new(|| IssuerKey::generate(&mut rng(101)).unwrap());

/// A generator.
pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// A challenge with all fields.
pub(crate) fn challenge() -> TokenChallenge {
    let origins = vec!["origin.example".to_owned(), "other.example:8443".to_owned()];
    TokenChallenge::new("issuer.example", Some([7; 32]), origins).unwrap()
}

/// A token of [`ISSUER`].
pub(crate) fn issue(challenge: &TokenChallenge, seed: u8) -> PassToken {
    let mut rng = rng(seed);
    let (blinding, request) = TokenBlinding::new(challenge, ISSUER.public(), &mut rng).unwrap();
    let response = ISSUER.sign_blinded(&request, &mut rng).unwrap();
    blinding.finalize(&response, ISSUER.public()).unwrap()
}

/// Any challenge with short names.
pub(crate) fn challenges() -> impl Strategy<Value = TokenChallenge> {
    let name = "[a-z.-]{1,20}(:[0-9]{1,4})?";
    let origins = prop::collection::vec(name, 0..4);
    (name, any::<Option<[u8; 32]>>(), origins).prop_map(|fields| {
        let (issuer, context, origins) = fields;
        TokenChallenge::new(issuer, context, origins).unwrap()
    })
}
