//! Challenges, signed bytes and headers: RFC 9577, appendix A.

use papir_privacy_pass::{ChallengeOffer, TokenChallenge, TokenInput, parse_challenges};
use serde::Deserialize;

use crate::support::{array_from_hex, from_hex};

const VECTORS: &str = include_str!("vectors/rfc9577.json");

/// All vectors.
#[derive(Deserialize)]
struct Vectors {
    tokens: Vec<TokenVector>,
    headers: Vec<HeaderVector>,
}

/// A challenge, and the signed bytes of a token for it.
#[derive(Deserialize)]
struct TokenVector {
    issuer_name: String,
    redemption_context: String,
    origin_info: String,
    nonce: String,
    token_key_id: String,
    token_authenticator_input: String,
}

/// A header and the challenges in it.
#[derive(Deserialize)]
struct HeaderVector {
    header: String,
    offers: Vec<OfferVector>,
}

/// A challenge in a header.
#[derive(Deserialize)]
struct OfferVector {
    challenge: String,
    token_key: String,
    max_age: Option<u64>,
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

fn text(digits: &str) -> String {
    String::from_utf8(from_hex(digits)).unwrap()
}

#[test]
fn signed_bytes_are_those_of_the_vectors() {
    let vectors = vectors();
    assert_eq!(vectors.tokens.len(), 5);

    for vector in &vectors.tokens {
        let context = &vector.redemption_context;
        let context = (!context.is_empty()).then(|| array_from_hex(context));
        let origins = text(&vector.origin_info);
        let origins = origins.split_terminator(',').map(str::to_owned).collect();
        let challenge = TokenChallenge::new(text(&vector.issuer_name), context, origins).unwrap();

        let input = TokenInput {
            nonce: array_from_hex(&vector.nonce),
            challenge_digest: challenge.digest(),
            key_id: array_from_hex(&vector.token_key_id),
        };
        assert_eq!(
            input.encode()[..],
            from_hex(&vector.token_authenticator_input)
        );
    }
}

#[test]
fn headers_have_the_offers_of_the_vectors() {
    let vectors = vectors();
    assert_eq!(vectors.headers.len(), 3);

    for vector in &vectors.headers {
        let expected: Vec<ChallengeOffer> = vector
            .offers
            .iter()
            .map(|offer| ChallengeOffer {
                challenge: from_hex(&offer.challenge),
                token_key: Some(from_hex(&offer.token_key)),
                max_age: offer.max_age,
            })
            .collect();
        assert_eq!(parse_challenges(&vector.header).unwrap(), expected);

        // Without quotes, as some services send them.
        let unquoted = vector.header.replace('"', "");
        assert_eq!(parse_challenges(&unquoted).unwrap(), expected);
    }
}

#[test]
fn unsupported_offers_of_the_vectors_are_named() {
    let mut supported = Vec::new();
    for vector in &vectors().headers {
        for offer in parse_challenges(&vector.header).unwrap() {
            let challenge = offer.parse_challenge();
            supported.push(challenge.is_ok());
            match challenge {
                Ok(_) => assert!(offer.parse_key().unwrap().is_some()),
                Err(error) => assert_eq!(error.code(), "token_type"),
            }
        }
    }
    assert_eq!(supported, [true, true, false, false, false]);
}
