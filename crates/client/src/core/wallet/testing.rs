//! An issuer in memory, for tests.

use std::sync::LazyLock;

use papir_core::hedge::system_rng;
use papir_privacy_pass::{
    DIRECTORY_PATH, DirectoryKey, IssuerDirectory, IssuerKey, encode_responses, parse_requests,
};

use crate::core::request::{Method, Request, Response};

/// The key of the issuer.
pub(crate) static KEY: LazyLock<IssuerKey> = LazyLock::new(generate);
/// The key of another issuer.
pub(crate) static OTHER: LazyLock<IssuerKey> = LazyLock::new(generate);

fn generate() -> IssuerKey {
    IssuerKey::generate(&mut system_rng()).unwrap()
}

/// An issuer for the client with the bearer token `secret`.
pub(crate) struct TestIssuer {
    /// The keys in the directory, of which the first signs.
    pub(crate) keys: Vec<&'static IssuerKey>,
    pub(crate) request_uri: &'static str,
    /// Lengths of the requests for tokens in bytes.
    pub(crate) lengths: Vec<usize>,
}

impl TestIssuer {
    pub(crate) fn new(key: &'static IssuerKey) -> Self {
        Self {
            keys: vec![key],
            request_uri: "/token-request",
            lengths: Vec::new(),
        }
    }

    /// The response to a request of a client.
    pub(crate) fn answer(&mut self, request: &Request) -> Response {
        if request.path == DIRECTORY_PATH {
            assert_eq!(request.header("authorization"), None);
            return success(self.directory());
        }

        assert_eq!(request.method, Method::Post);
        assert_eq!(request.path, "/token-request");
        assert_eq!(request.header("authorization"), Some("Bearer secret"));
        let body = request.body.as_ref().unwrap();
        self.lengths.push(body.len());

        let mut signed = Vec::new();
        for request in parse_requests(body).unwrap() {
            let response = self.keys[0].sign_blinded(&request, &mut system_rng());
            signed.push(response.unwrap());
        }
        success(encode_responses(&signed).unwrap())
    }

    fn directory(&self) -> Vec<u8> {
        let listed = self.keys.iter().map(|key| DirectoryKey {
            key: key.public().clone(),
            not_before: None,
        });
        let directory = IssuerDirectory::new(self.request_uri, listed.collect()).unwrap();
        directory.to_json().unwrap().into_bytes()
    }
}

fn success(body: Vec<u8>) -> Response {
    Response {
        status: 200,
        headers: Vec::new(),
        body: Ok(body),
    }
}
