//! The issuer of private tokens.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use papir_testkit::GuardedChild;
use rustix::process::Signal;

use crate::support::{Folder, PATIENCE, fails_with, listening, program, send_to, succeeds};

/// A running issuer; stopped when dropped.
struct RunningIssuer {
    child: GuardedChild,
    address: String,
    bearer: String,
    folder: Folder,
}

impl RunningIssuer {
    fn start() -> Self {
        let folder = Folder::new();
        let clients = folder.path("clients.toml");
        let bearer = succeeds(&["tokens", &clients, "add", "--name", "phone"]);

        let mut command = program();
        command
            .args(["issuer", "--listen", "127.0.0.1:0", "--daily", "64"])
            .args(["--keys", &folder.path("issuer.toml")])
            .args(["--counts", &folder.path("issued.redb")])
            .args(["--tokens", &clients]);
        let log = File::create(folder.path("log")).unwrap();
        command.stdout(Stdio::piped()).stderr(log);
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let url = listening(&mut child);
        Self {
            child,
            address: url.strip_prefix("http://").unwrap().to_owned(),
            bearer: bearer.trim().to_owned(),
            folder,
        }
    }

    /// Sends the bytes of a request, and returns the response.
    fn exchange(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();

        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn get(&self, path: &str) -> String {
        self.exchange(&format!(
            "GET {path} HTTP/1.1\r\nhost: issuer\r\nconnection: close\r\n\r\n"
        ))
    }

    /// Sends a body that is no token request, with a bearer token.
    fn post(&self, bearer: &str) -> String {
        self.exchange(&format!(
            "POST /token-request HTTP/1.1\r\nhost: issuer\r\nconnection: close\r\n\
             authorization: Bearer {bearer}\r\ncontent-length: 4\r\n\
             content-type: application/private-token-request\r\n\r\nblob"
        ))
    }

    /// Stops the issuer in order, and returns its log.
    fn log(mut self) -> String {
        send_to(Signal::TERM, &self.child);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        fs::read_to_string(self.folder.path("log")).unwrap()
    }
}

#[test]
fn the_issuer_serves_its_keys_and_its_log_names_no_client() {
    let issuer = RunningIssuer::start();
    assert!(issuer.get("/healthz").starts_with("HTTP/1.1 200 "));
    let directory = issuer.get("/.well-known/private-token-issuer-directory");
    assert!(directory.starts_with("HTTP/1.1 200 "), "{directory}");
    assert!(directory.contains("\"token-type\":2"), "{directory}");

    let known = issuer.post(&issuer.bearer);
    assert!(known.starts_with("HTTP/1.1 422 "), "{known}");
    let stranger = issuer.post("papir_secret");
    assert!(stranger.starts_with("HTTP/1.1 401 "), "{stranger}");

    let bearer = issuer.bearer.clone();
    let log = issuer.log();
    for expected in [
        "issuer started",
        "issuer stopping",
        "token_request",
        "status=401",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    for hidden in [bearer.as_str(), "phone", "secret", "127.0.0.1", "blob"] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}

#[test]
fn settings_with_which_no_client_gets_tokens_are_refused() {
    let folder = Folder::new();
    let keys = folder.path("issuer.toml");
    let counts = folder.path("issued.redb");
    let clients = folder.path("clients.toml");
    let arguments = |more: [&'static str; 2]| {
        let mut all = vec!["issuer", "--listen", "127.0.0.1:0"];
        all.extend(["--keys", &keys, "--counts", &counts]);
        all.extend(["--tokens", &clients]);
        all.extend(more);
        all
    };

    fails_with(&arguments(["--daily", "31"]), &["31 tokens a day", "32"]);
    fails_with(&arguments(["--body-timeout", "0s"]), &["body-timeout"]);
    fails_with(&arguments(["--daily", "64"]), &["clients.toml"]);
}
