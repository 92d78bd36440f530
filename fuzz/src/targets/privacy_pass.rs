//! Privacy Pass: messages, headers, files of an issuer, tokens of a client.

use chacha20::ChaCha20Rng;
use papir_client::parsers;
use papir_privacy_pass::{
    ChallengeOffer, DirectoryKey, IssuerDirectory, IssuerKey, IssuerPublicKey, PassToken,
    TokenBlinding, TokenChallenge, TokenRequest, TokenResponse, encode_requests, encode_responses,
    parse_authorization, parse_challenges, parse_requests, parse_responses, verify,
    write_authorization, write_challenges,
};
use rand_core::SeedableRng;

use crate::{Target, outcome};

/// An issuer, a challenge for its tokens, and all messages of two issued tokens.
struct Issued {
    issuer: IssuerKey,
    challenge: TokenChallenge,
    requests: Vec<TokenRequest>,
    responses: Vec<TokenResponse>,
    tokens: Vec<PassToken>,
}

impl Issued {
    /// The same messages in every run.
    fn new() -> Self {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let issuer = IssuerKey::generate(&mut rng).unwrap();
        let origins = vec!["origin.example".to_owned(), "[::1]:8443".to_owned()];
        let challenge = TokenChallenge::new("issuer.example", Some([7; 32]), origins).unwrap();

        let mut requests = Vec::new();
        let mut responses = Vec::new();
        let mut tokens = Vec::new();
        for _ in 0..2 {
            let (blinding, request) =
                TokenBlinding::new(&challenge, issuer.public(), &mut rng).unwrap();
            let response = issuer.sign_blinded(&request, &mut rng).unwrap();
            tokens.push(blinding.finalize(&response, issuer.public()).unwrap());
            requests.push(request);
            responses.push(response);
        }
        Self {
            issuer,
            challenge,
            requests,
            responses,
            tokens,
        }
    }
}

/// Challenges, tokens, requests, responses, batches and public keys. What parses is encoded to the
/// same bytes, and only the issued tokens verify.
pub(super) fn messages() -> Target {
    let issued = Issued::new();
    let seeds = vec![
        issued.challenge.encode(),
        issued.tokens[0].encode().to_vec(),
        issued.requests[0].encode().to_vec(),
        issued.responses[0].encode().to_vec(),
        encode_requests(&issued.requests).unwrap(),
        encode_responses(&issued.responses).unwrap(),
        issued.issuer.public().spki().to_vec(),
    ];

    Target::new(seeds, move |input| {
        let challenge = TokenChallenge::parse(input);
        if let Ok(challenge) = &challenge {
            assert_eq!(challenge.encode(), input);
        }

        let token = PassToken::parse(input);
        if let Ok(token) = &token {
            assert_eq!(token.encode()[..], *input);
            let verified = verify(token, &issued.challenge, issued.issuer.public());
            assert_eq!(verified.is_ok(), issued.tokens.contains(token));
        }

        let request = TokenRequest::parse(input);
        if let Ok(request) = &request {
            assert_eq!(request.encode()[..], *input);
        }
        let response = TokenResponse::parse(input);

        let requests = parse_requests(input);
        if let Ok(requests) = &requests {
            assert_eq!(encode_requests(requests).unwrap(), input);
        }

        let responses = parse_responses(input, issued.responses.len());
        if let Ok(responses) = &responses {
            assert_eq!(encode_responses(responses).unwrap(), input);
        }

        let key = IssuerPublicKey::parse(input);
        if let Ok(key) = &key {
            assert_eq!(key.spki()[..], *input);
        }

        [
            outcome(&challenge),
            outcome(&token),
            outcome(&request),
            outcome(&response),
            outcome(&requests),
            outcome(&responses),
            outcome(&key),
        ]
        .join(" ")
    })
    .with_words(&[
        "\u{0}\u{2}",
        "\u{0}\u{1}",
        "\u{0}",
        " ",
        ",",
        "@",
        ":65535",
        "[",
        "]",
        "B\u{6}",
    ])
}

/// The tokens in the state of a client. What parses is encoded to the same bytes.
pub(super) fn unspent() -> Target {
    let issued = Issued::new();
    let mut record = vec![1];
    for token in &issued.tokens {
        record.extend(token.encode());
    }

    Target::new(vec![vec![1], record], |input| {
        let parsed = parsers::unspent_tokens(input);
        if let Ok(again) = &parsed {
            assert_eq!(again, input);
        }
        outcome(&parsed)
    })
    .with_words(&["\u{1}\u{0}\u{2}", "\u{0}\u{2}"])
}

/// `WWW-Authenticate` and `Authorization`. What parses is written to a header with the same
/// meaning.
pub(super) fn headers() -> Target {
    let issued = Issued::new();
    let key = issued.issuer.public();
    let offers = [
        ChallengeOffer::new(&issued.challenge, Some(key), Some(60)),
        ChallengeOffer::new(&issued.challenge, None, None),
    ];
    let seeds = vec![
        write_challenges(&offers).into_bytes(),
        b"Basic realm=\"a, b\", PrivateToken challenge=AAI=, more=\"x\\\"\"".to_vec(),
        write_authorization(&issued.tokens[0]).as_bytes().to_vec(),
    ];

    Target::new(seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let offers = parse_challenges(&text);
        if let Ok(offers) = &offers {
            assert_eq!(
                parse_challenges(&write_challenges(offers)).unwrap(),
                *offers
            );
        }

        let token = parse_authorization(&text);
        if let Ok(Some(token)) = &token {
            let again = parse_authorization(&write_authorization(token)).unwrap();
            assert_eq!(again.as_ref(), Some(token));
        }

        format!("{} {}", outcome(&offers), outcome(&token))
    })
    .with_words(&[
        "PrivateToken ",
        "challenge=",
        "token=",
        "token-key=",
        "max-age=",
        "18446744073709551616",
        ", ",
        "\"",
        "\\",
        "AAI=",
        "==",
        "Negotiate a=",
        "\t",
        "\u{0}",
        "\u{fc}",
    ])
}

/// The directory and the private key of an issuer. What parses is written to a file with the same
/// content.
pub(super) fn issuer() -> Target {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let issuer = IssuerKey::generate(&mut rng).unwrap();
    let later = DirectoryKey {
        key: issuer.public().clone(),
        not_before: Some(1),
    };
    let now = DirectoryKey {
        key: issuer.public().clone(),
        not_before: None,
    };

    let directory = IssuerDirectory::new("/request", vec![later, now]).unwrap();
    let seeds = vec![
        directory.to_json().unwrap().into_bytes(),
        issuer.to_pem().unwrap().as_bytes().to_vec(),
    ];

    Target::new(seeds, |input| {
        let directory = IssuerDirectory::parse(input);
        if let Ok(directory) = &directory {
            let again = IssuerDirectory::parse(directory.to_json().unwrap().as_bytes());
            assert_eq!(again.unwrap(), *directory);
        }

        let key = IssuerKey::from_pem(&String::from_utf8_lossy(input));
        if let Ok(key) = &key {
            let again = IssuerKey::from_pem(&key.to_pem().unwrap()).unwrap();
            assert_eq!(again.public(), key.public());
        }

        format!("{} {}", outcome(&directory), outcome(&key))
    })
    .with_words(&[
        "\"token-keys\":",
        "\"token-type\":2",
        "\"token-key\":\"",
        "\"not-before\":-1",
        "[[[[[[[[",
        "1e999",
        "null",
        "\\u0000",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "MII",
        "=",
    ])
}
