//! Issuance: RFC 9578, appendix B.2.

use chacha20::ChaCha20Rng;
use papir_privacy_pass::{
    IssuerKey, IssuerPublicKey, PassToken, TokenBlinding, TokenChallenge, TokenRequest,
    TokenResponse, verify,
};
use rand_core::SeedableRng;
use serde::Deserialize;

use crate::support::{ScriptedRng, from_hex};

const VECTORS: &str = include_str!("vectors/rfc9578.json");

/// All vectors. They share a key.
#[derive(Deserialize)]
struct Vectors {
    private_key: String,
    public_key: String,
    issuances: Vec<Issuance>,
}

/// One vector, in hexadecimal digits.
#[derive(Deserialize)]
struct Issuance {
    challenge: String,
    nonce: String,
    blind: String,
    salt: String,
    request: String,
    response: String,
    token: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

fn issuer(vectors: &Vectors) -> IssuerKey {
    let pem = String::from_utf8(from_hex(&vectors.private_key)).unwrap();
    IssuerKey::from_pem(&pem).unwrap()
}

/// A generator that returns the nonce, the salt and the blinding factor of a vector.
fn scripted(vector: &Issuance) -> ScriptedRng {
    let mut bytes = from_hex(&vector.nonce);
    bytes.extend(from_hex(&vector.salt));
    // The vector has the number in big-endian order, the generator draws it in little-endian order.
    bytes.extend(from_hex(&vector.blind).into_iter().rev());
    ScriptedRng::new(bytes)
}

#[test]
fn the_keys_belong_together() {
    let vectors = vectors();
    let spki = from_hex(&vectors.public_key);
    let public = IssuerPublicKey::parse(&spki).unwrap();
    assert_eq!(issuer(&vectors).public(), &public);
    assert_eq!(public.spki()[..], spki);
}

#[test]
fn every_message_has_the_bytes_of_the_vectors() {
    let vectors = vectors();
    let issuer = issuer(&vectors);
    assert_eq!(vectors.issuances.len(), 5);

    for vector in &vectors.issuances {
        let bytes = from_hex(&vector.challenge);
        let challenge = TokenChallenge::parse(&bytes).unwrap();
        assert_eq!(challenge.encode(), bytes);

        let mut rng = scripted(vector);
        let (blinding, request) =
            TokenBlinding::new(&challenge, issuer.public(), &mut rng).unwrap();
        assert!(rng.is_empty());
        assert_eq!(request.encode()[..], from_hex(&vector.request));
        let request = TokenRequest::parse(&request.encode()).unwrap();

        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let response = issuer.sign_blinded(&request, &mut rng).unwrap();
        assert_eq!(response.encode()[..], from_hex(&vector.response));
        let response = TokenResponse::parse(&response.encode()).unwrap();

        let token = blinding.finalize(&response, issuer.public()).unwrap();
        assert_eq!(token.encode()[..], from_hex(&vector.token));
        verify(&token, &challenge, issuer.public()).unwrap();
    }
}

#[test]
fn tokens_of_the_vectors_verify_for_their_challenge_only() {
    let vectors = vectors();
    let public = IssuerPublicKey::parse(&from_hex(&vectors.public_key)).unwrap();
    let challenges: Vec<TokenChallenge> = vectors
        .issuances
        .iter()
        .map(|vector| TokenChallenge::parse(&from_hex(&vector.challenge)).unwrap())
        .collect();

    for (number, vector) in vectors.issuances.iter().enumerate() {
        let token = PassToken::parse(&from_hex(&vector.token)).unwrap();
        for (other, challenge) in challenges.iter().enumerate() {
            let verified = verify(&token, challenge, &public);
            assert_eq!(verified.is_ok(), number == other);
        }
    }
}
