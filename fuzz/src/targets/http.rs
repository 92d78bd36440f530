//! A running service on loopback: arbitrary requests, and valid requests with arbitrary bodies.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use papir_core::envelope::{Header, Kind};
use papir_core::{Goal, NoProgress, RecordBuffer, Shape};
use papir_schemes::registry;
use papir_server::{Database, Server, ServerConfig};
use tokio::runtime::Runtime;

use super::schemes::rng;
use crate::{Target, repair};

/// A service silent for longer than this is a finding.
const SILENCE: Duration = Duration::from_secs(30);
const NAME: &str = "words";

/// Behaviour of a client after sending.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Waits for the answer; for complete requests.
    Wait,
    /// Closes its side: otherwise the service would wait for the rest of an arbitrary request.
    Cut,
}

/// A service with one database, and the details that its clients need.
struct ServiceFixture {
    address: SocketAddr,
    query: Vec<u8>,
    header: Header,
    _runtime: Runtime,
}

impl ServiceFixture {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let scheme = registry::by_name("plain")
            .unwrap()
            .allow_insecure(papir_core::NotPrivate::acknowledged());
        let records = RecordBuffer::zeroed(Shape::of_bytes(40, 8).unwrap());
        let server = scheme
            .setup(&records, Goal::Balanced, &mut rng(), &NoProgress)
            .unwrap();

        let client = scheme.client(&server.public()).unwrap();
        let (_, query) = client.query(None, &[3], &mut rng()).unwrap();

        let header = Header {
            kind: Kind::Query,
            scheme: scheme.properties().id,
            version: server.version(),
        };

        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            allow_not_private: true,
            ..ServerConfig::default()
        };

        let database = Database::new(NAME, server, None);
        let bound = runtime
            .block_on(Server::bind_loaded(config, vec![database]))
            .unwrap();
        let address = bound.local_addr().unwrap();

        runtime.spawn(bound.serve(std::future::pending()));

        Self {
            address,
            query,
            header,
            _runtime: runtime,
        }
    }

    /// Sends bytes and returns the answer. The service may close early, and may leave a client
    /// that closed its side without an answer.
    fn send(&self, bytes: &[u8], then: After) -> String {
        let mut stream = TcpStream::connect(self.address).expect("the service is gone");
        stream.set_read_timeout(Some(SILENCE)).unwrap();

        let mut sent = stream.write_all(bytes);
        if then == After::Cut {
            sent = sent.and_then(|()| stream.shutdown(Shutdown::Write));
        }

        let mut answer = Vec::new();
        let read = stream.take(1 << 20).read_to_end(&mut answer);
        if let Err(error) = &read {
            let silent = matches!(
                error.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            );
            assert!(!silent, "no answer within {SILENCE:?}");
        }

        let line = answer
            .split(|&byte| byte == b'\r')
            .next()
            .unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();

        assert!(!line.contains(" 500"), "{line}");
        format!("{line} {} {}", sent.is_ok(), code(&answer))
    }

    fn post(&self, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "POST /v1/databases/{NAME}/query HTTP/1.1\r\nHost: papir\r\nConnection: close\r\n\
             papir-version: {}\r\nContent-Length: {}\r\n\r\n",
            self.header.version,
            body.len()
        );
        [head.as_bytes(), body].concat()
    }
}

/// The error code of an answer.
fn code(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);

    let code = text
        .split_once("\"code\":\"")
        .and_then(|(_, rest)| rest.split('"').next());
    code.unwrap_or_default().to_owned()
}

/// A request for a path.
fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: papir\r\nConnection: close\r\n\r\n").into_bytes()
}

/// Complete requests.
pub(super) fn requests() -> Target {
    let service = ServiceFixture::start();

    let mut seeds: Vec<Vec<u8>> = [
        "/healthz",
        "/v1/databases",
        "/v1/databases/words",
        "/v1/databases/words/public",
    ]
    .map(get)
    .to_vec();
    seeds.push(service.post(&service.query));
    seeds.push(
        b"POST /v1/databases/words/query HTTP/1.1\r\nHost: p\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            .to_vec(),
    );

    // Seeds that close their connection: an answer is certain only if the client waits for it.
    let closing: Vec<Vec<u8>> = seeds[..seeds.len() - 1].to_vec();

    Target::new(seeds, move |input| {
        let then = if closing.iter().any(|seed| seed == input) {
            After::Wait
        } else {
            After::Cut
        };
        service.send(input, then)
    })
    .with_words(&[
        "HTTP/1.1\r\n",
        "\r\n\r\n",
        "Content-Length: ",
        "Transfer-Encoding: chunked\r\n",
        "If-None-Match: *\r\n",
        "papir-version: 0\r\n",
        "%00",
        "%ff",
        "/../",
        "Expect: 100-continue\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
}

/// Query bodies in valid requests, unchanged and in a valid envelope.
pub(super) fn bodies() -> Target {
    let service = ServiceFixture::start();
    let seeds = vec![service.query.clone(), repair::payload(&service.query)];
    Target::new(seeds, move |input| {
        let plain = service.send(&service.post(input), After::Wait);
        let sealed = service.send(
            &service.post(&repair::seal(service.header, input)),
            After::Wait,
        );
        format!("{plain} {sealed}")
    })
}
