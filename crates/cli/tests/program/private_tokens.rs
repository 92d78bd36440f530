//! Services whose requests cost private tokens.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::{Folder, Service, agent, fails_with, fetch, succeeds, until};

/// The directory of an issuer with the key of RFC 9578, appendix B.2.
const DIRECTORY: &str = concat!(
    r#"{"issuer-request-uri":"https://issuer.example/request","token-keys":[{"token-type":2,"#,
    r#""token-key":"MIIBUjA9BgkqhkiG9w0BAQowMKANMAsGCWCGSAFlAwQCAqEaMBgGCSqGSIb3DQEBCDALBglgh"#,
    "kgBZQMEAgKiAwIBMAOCAQ8AMIIBCgKCAQEAyxrta2qV9bHOATpM_KsluUsuZKIwNOQlCn6rQ8DfOowSmTrxKxEZ",
    "CNS0cb7DHUtsmtnN2pBhKi7pA1I-beWiJNawLwnlw3TQz-Adj1KcUAp4ovZ5CPpoK1orQwyB6vGvcte155T8mKMT",
    "knaHl1fORTtSbvm_bOuZl5uEI7kPRGGiKvN6qwz1cz91l6vkTTHHMttooYHGy75gfYwOUuBlX9mZbcWE7KC-h6-8",
    "14ozfRex26noKLvYHikTFxROf_ifVWGXCbCWy7nqR0zq0mTCBz_kl0DAHwDhCRBgZpg9IeX4PwhuLoI8h5zUPO9w",
    r#"DSo1Kpur1hLQPK0C2xNLfiJaXwIDAQAB"}]}"#
);

/// The challenge of RFC 9577 for this issuer and the origin pir.example, in base64url: the bytes
/// are the token type, the lengths, the two names, and no context.
const CHALLENGE: &str = "challenge=\"AAIADmlzc3Vlci5leGFtcGxlAAALcGlyLmV4YW1wbGU=\"";

/// The status of a request that costs a token, and its challenge.
fn ask(url: &str) -> (u16, String) {
    let url = format!("{url}/v1/databases/words/query");
    let response = agent().post(&url).send(&b"query"[..]).unwrap();
    let header = response.headers().get("www-authenticate");
    let challenge = header.map_or("", |value| value.to_str().unwrap());
    (response.status().as_u16(), challenge.to_owned())
}

fn is_ready(url: &str) -> bool {
    fetch(&format!("{url}/readyz")).0 == 200
}

#[test]
fn the_issuer_is_a_file_for_services_that_connect_to_nothing() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let registry = folder.path("registry");
    let file = format!("issuer.example={}", folder.write("keys.json", DIRECTORY));

    let service = Service::start(
        &[&words],
        &[
            "--allow-not-private",
            "--registry",
            &registry,
            "--privacy-pass",
            &file,
            "--privacy-pass-origin",
            "pir.example",
        ],
    );
    until("the key is known", || is_ready(&service.url));

    let (status, challenge) = ask(&service.url);
    assert_eq!(status, 401);
    assert!(challenge.starts_with("PrivateToken "), "{challenge}");
    assert!(challenge.contains(CHALLENGE), "{challenge}");
    assert!(challenge.contains("token-key=\"MIIBUjA9"), "{challenge}");
    assert_eq!(fetch(&format!("{}/v1/databases", service.url)).0, 200);
}

/// An issuer that returns its directory to every request, and remembers the requests.
struct FakeIssuer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeIssuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
        };

        let requests = Arc::clone(&issuer.requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                requests.lock().unwrap().push(read_head(&mut stream));
                let response = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/private-token-issuer-directory\r\n\
                     content-length: {}\r\nconnection: close\r\n\r\n{DIRECTORY}",
                    DIRECTORY.len()
                );
                let _ = stream.write_all(response.as_bytes());
            }
        });
        issuer
    }
}

/// Reads the head of a request.
fn read_head(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut part = [0; 4096];
    while !text.contains("\r\n\r\n") {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.push_str(&String::from_utf8_lossy(&part[..count])),
        }
    }
    text
}

#[test]
fn the_directory_is_fetched_from_the_issuer() {
    let issuer = FakeIssuer::start();
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let registry = folder.path("registry");
    let url = format!("http://{}", issuer.address);

    let service = Service::start(
        &[&words],
        &[
            "--allow-not-private",
            "--registry",
            &registry,
            "--privacy-pass",
            &url,
            "--privacy-pass-origin",
            "pir.example",
        ],
    );
    until("the key is known", || is_ready(&service.url));
    assert_eq!(ask(&service.url).0, 401);

    let requests = issuer.requests.lock().unwrap().clone();
    let line = "GET /.well-known/private-token-issuer-directory HTTP/1.1\r\n";
    assert!(requests[0].starts_with(line), "{requests:?}");
    let head = requests[0].to_ascii_lowercase();
    let accepted = "accept: application/private-token-issuer-directory\r\n";
    assert!(head.contains(accepted), "{head}");
}

#[test]
fn settings_that_cannot_work_are_refused_in_one_line() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let registry = folder.path("registry");
    let keys = folder.write("keys.json", DIRECTORY);
    let broken = folder.write("broken.json", "{}");
    let serve = ["serve", &words, "--allow-not-private", "--check-config"];
    let origin = ["--privacy-pass-origin", "pir.example"];

    let complete = ["--registry", &registry, "--privacy-pass", &keys];
    let printed = succeeds(&[&serve[..], &complete, &origin].concat());
    assert!(printed.contains("privacy-pass-origin = "), "{printed}");

    let privacy_pass = ["--privacy-pass", &keys];
    let of_broken = ["--registry", &registry, "--privacy-pass", &broken];
    for (arguments, part) in [
        ([&serve[..], &origin].concat(), "give --privacy-pass ISSUER"),
        ([&serve[..], &complete].concat(), "--privacy-pass-origin"),
        (
            [&serve[..], &privacy_pass, &origin].concat(),
            "give --registry DIR",
        ),
        (
            [&serve[..], &of_broken, &origin].concat(),
            "malformed issuer directory",
        ),
    ] {
        fails_with(&arguments, &[part]);
    }
}
