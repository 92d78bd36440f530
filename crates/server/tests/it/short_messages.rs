//! Short messages of registered clients: bytes on the wire, requests of a lookup, and files.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::support::clients::{registry, start_with};
use crate::support::secured::{Authority, pair};
use crate::support::tap::Tap;
use crate::support::{Running, indexed, record, send, stateless};
use papir_client::{Connection, KnownVersion, Options, OwnedWanted, aio, extract_message};
use papir_core::Version;
use papir_core::short::Binding;
use papir_server::{RegistryPlace, TlsFiles, answer_message};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

/// Bytes before the first frame of a client (RFC 9113, section 3.4).
const PREFACE: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// Bytes that one side of a connection has sent.
type Recording = Arc<Mutex<Vec<u8>>>;

/// A frame of HTTP/2.
#[derive(Debug)]
struct Frame {
    kind: u8,
    stream: u32,
    payload: usize,
}

impl Frame {
    fn bytes(&self) -> usize {
        9 + self.payload
    }
}

/// The frames in these bytes.
fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let payload = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let Some(rest) = rest.get(payload..) else {
            break;
        };
        frames.push(Frame {
            kind: head[3],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload,
        });
        bytes = rest;
    }
    frames
}

/// A proxy that ends TLS, and records what both sides of its only HTTP/2 connection send.
struct Capture {
    address: SocketAddr,
    sent: Recording,
    received: Recording,
}

impl Capture {
    async fn start(target: SocketAddr, files: &TlsFiles) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let capture = Self {
            address: listener.local_addr().unwrap(),
            sent: Arc::default(),
            received: Arc::default(),
        };

        let acceptor = acceptor(files);
        let sent = Arc::clone(&capture.sent);
        let received = Arc::clone(&capture.received);
        tokio::spawn(async move {
            let (client, _) = listener.accept().await.unwrap();
            let client = acceptor.accept(client).await.unwrap();
            let service = TcpStream::connect(target).await.unwrap();
            let (from_client, to_client) = tokio::io::split(client);
            let (from_service, to_service) = service.into_split();
            tokio::join!(
                relay(from_client, to_service, sent),
                relay(from_service, to_client, received),
            );
        });
        capture
    }
}

fn acceptor(files: &TlsFiles) -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(&files.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    let provider = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Copies and records bytes until a side ends.
async fn relay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    recording: Recording,
) {
    let mut part = vec![0; 16 << 10];
    loop {
        let length = from.read(&mut part).await.unwrap_or(0);
        // Before they go on: the test reads the recording once the client has its answer.
        recording.lock().unwrap().extend_from_slice(&part[..length]);
        if length == 0 || to.write_all(&part[..length]).await.is_err() {
            break;
        }
        // TLS may hold the end of a record back.
        if to.flush().await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

/// A service with a small database of pirouette, named `table`.
fn serve(folder: &Path) -> Running {
    let database = indexed("table", "pirouette", 60);
    start_with(registry(&folder.join("registry")), database)
}

/// Options of a client that keeps versions in the folder.
fn keeping(folder: &Path, known: KnownVersion) -> Options {
    Options {
        state: Some(folder.join("state")),
        known,
        ..stateless()
    }
}

fn index(index: u64) -> OwnedWanted {
    OwnedWanted::Index(Zeroizing::new(index))
}

/// The frames of the last request, and the number of requests since `before` bytes of the client.
fn last_request(sent: &[u8], before: usize) -> (Vec<Frame>, usize) {
    let since = frames(&sent[before..]);
    let heads = since.iter().filter(|frame| frame.kind == HEADERS);
    let requests = heads.clone().count();
    let last = heads.map(|frame| frame.stream).max().unwrap();
    let begin = since
        .iter()
        .position(|frame| frame.kind == HEADERS && frame.stream == last)
        .unwrap();
    (since.into_iter().skip(begin).collect(), requests)
}

/// A lookup has at most 40 bytes of body, and 250 bytes in frames each way without the answer
/// itself, on a connection that has made such a request before (docs/operate.md).
#[tokio::test(flavor = "multi_thread")]
async fn a_lookup_has_few_bytes_in_the_frames_of_a_warm_connection() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let authority = Authority::new(folder.path(), "own");
    let files = pair(folder.path());
    authority.issue(&files);

    let capture = Capture::start(server.address, &files).await;
    let url = format!("https://{}/v1/databases/table", capture.address);
    let options = Options {
        ca: Some(authority.root()),
        ..keeping(folder.path(), KnownVersion::Use)
    };
    let mut connection = aio::Connection::open_with(&url, &options).await.unwrap();
    connection.register().await.unwrap();
    for warm in 0..2 {
        assert_eq!(connection.get_index(warm).await.unwrap(), record(warm));
    }

    // All of it: a frame at the border would otherwise be cut.
    let of_client = capture.sent.lock().unwrap().len();
    let of_service = capture.received.lock().unwrap().len();
    let answers = connection.costs().answer_bytes;
    assert_eq!(connection.get_index(7).await.unwrap(), record(7));

    let sent = capture.sent.lock().unwrap().clone();
    let (request, requests) = last_request(&sent, of_client);
    let bytes: usize = request.iter().map(Frame::bytes).sum();
    let body: usize = request
        .iter()
        .filter(|frame| frame.kind == DATA)
        .map(|frame| frame.payload)
        .sum();
    assert_eq!(requests, 1);
    assert_eq!(body, 40, "{request:?}");
    assert!(bytes <= 250, "{bytes} bytes: {request:?}");

    let received = capture.received.lock().unwrap()[of_service..].to_vec();
    let answer = (connection.costs().answer_bytes - answers) as usize;
    let response = frames(&received);
    let around = response.iter().map(Frame::bytes).sum::<usize>() - answer;
    assert!(
        around <= 250,
        "{around} bytes beside {answer}: {response:?}"
    );
    println!("{bytes} bytes sent; {answer} received, and {around} around them");

    // The preface and the first frame are where this test expects them.
    assert_eq!(&sent[..3], b"PRI");
    assert!(!frames(&sent[PREFACE..]).is_empty());
}

#[test]
fn a_lookup_with_a_known_version_is_one_request() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let tap = Tap::passing(server.address);
    let url = format!("{}/v1/databases/table", tap.url());
    let options = keeping(folder.path(), KnownVersion::Use);
    let get = |index| {
        let mut connection = Connection::open_with(&url, &options).unwrap();
        let found = connection.get_index(index).unwrap();
        (found, connection.costs().query_bytes)
    };

    assert_eq!(get(3), (record(3), 40));
    assert!(tap.take().len() > 3, "the first lookup registers");
    for wanted in [4, 5] {
        assert_eq!(get(wanted), (record(wanted), 40));
        let heads = tap.take();
        assert_eq!(heads.len(), 1, "{heads:?}");
        assert!(heads[0].contains("content-type: application/papir-short"));
    }

    // A client that the service has removed registers again, and finds the same.
    let listed: serde_json::Value =
        crate::support::get(&format!("{}/v1/databases/table/clients", server.url())).json();
    let id = listed["clients"][0]["id"].as_str().unwrap();
    let path = format!("{}/v1/databases/table/clients/{id}", server.url());
    assert_eq!(send("DELETE", &path, &[], &[]).status, 204);
    assert_eq!(get(6), (record(6), 80));
}

/// Refusals of short messages that no client of this crate sends.
#[test]
fn malformed_short_messages_are_refused() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let path = format!("{}/v1/databases/table/query", server.url());
    let id = "0".repeat(32);
    let ask = |named: bool, body: &[u8]| {
        let mut headers = vec![("content-type", "application/papir-short")];
        if named {
            headers.push(("papir-client", &*id));
        }
        let reply = send("POST", &path, &headers, body);
        (reply.status, reply.code())
    };

    let refused = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(ask(true, b"abc"), refused(400, "wrong_length"));
    // Nobody has this handle at this version.
    assert_eq!(ask(true, &[7; 40]), refused(409, "wrong_version"));
    assert_eq!(ask(false, &[7; 40]).0, 400);
}

/// Each fault of a short message has a refusal of its own.
#[test]
fn faults_of_short_messages_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let carrier = Carrier::new(&server);
    let query = carrier.query(3);
    let path = format!("{}/v1/databases/table/query", server.url());
    let clients = format!("{}/v1/databases/table/clients", server.url());
    let listed: serde_json::Value = crate::support::get(&clients).json();
    let id = listed["clients"][0]["id"].as_str().unwrap();
    let headers = [
        ("content-type", "application/papir-short"),
        ("papir-client", id),
    ];
    let ask = |body: &[u8]| send("POST", &path, &headers, body);
    let refusal = |body: &[u8]| {
        let reply = ask(body);
        (reply.status, reply.code())
    };

    let truncated = &query[..query.len() - 1];
    assert_eq!(refusal(truncated), (400, "wrong_length".to_owned()));
    assert_eq!(refusal(&query[..3]), (400, "wrong_length".to_owned()));

    let scheme = papir_schemes::registry::by_name("pirouette").unwrap();
    let scheme = scheme.properties().id;
    let earlier = Binding::new(id, scheme, Version([7; 8])).handle();
    let of_earlier = [&earlier[..], &query[4..]].concat();
    assert_eq!(refusal(&of_earlier), (409, "wrong_version".to_owned()));

    // Answers: a damaged one and a truncated one leave the lookup for the true one.
    let answer = ask(&query).body;
    let mut damaged = answer.clone();
    damaged[0] ^= 1;
    let refused = carrier.refusal(&damaged);
    assert!(refused.contains("the tag of another client"), "{refused}");
    let refused = carrier.refusal(&answer[..answer.len() - 1]);
    assert!(refused.contains("bytes: a truncated one"), "{refused}");
    assert_eq!(carrier.extract(&answer).unwrap(), Some(record(3)));
    let refused = carrier.refusal(&answer);
    assert!(refused.contains("one that was extracted"), "{refused}");

    // The handle is right, and the client is gone.
    assert_eq!(
        send("DELETE", &format!("{clients}/{id}"), &[], &[]).status,
        204
    );
    assert_eq!(refusal(&query), (410, "client_gone".to_owned()));
}

/// A client, its folder and its options.
struct Carrier {
    folder: TempDir,
    url: String,
}

impl Carrier {
    /// Registers, and keeps the version.
    fn new(server: &Running) -> Self {
        let carrier = Self {
            folder: TempDir::new().unwrap(),
            url: format!("{}/v1/databases/table", server.url()),
        };
        let options = keeping(carrier.folder.path(), KnownVersion::Use);
        let mut connection = Connection::open_with(&carrier.url, &options).unwrap();
        connection.register().unwrap();
        carrier
    }

    fn options(&self) -> Options {
        keeping(self.folder.path(), KnownVersion::Use)
    }

    /// Makes a query without a connection.
    fn query(&self, wanted: u64) -> Vec<u8> {
        let mut connection = Connection::open_with(&self.url, &self.options()).unwrap();
        connection.query_message(index(wanted)).unwrap()
    }

    /// Decodes an answer in another connection.
    fn extract(&self, answer: &[u8]) -> papir_client::Result<Option<Vec<u8>>> {
        extract_message(&self.url, &self.options(), answer.to_vec())
    }

    /// Changes the stored query of a lookup that waits, and the file's checksum.
    fn damage(&self, query: &[u8]) {
        let mut files = fs::read_dir(self.folder.path().join("state")).unwrap();
        let path = files
            .find_map(|file| {
                let path = file.unwrap().path();
                path.extension()
                    .is_some_and(|extension| extension == "version")
                    .then_some(path)
            })
            .unwrap();

        let mut bytes = fs::read(&path).unwrap();
        let place = bytes
            .windows(query.len())
            .position(|part| part == query)
            .unwrap();
        bytes[place + 4] ^= 1;

        let end = bytes.len() - 8;
        let sum = blake3::hash(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum.as_bytes()[..8]);
        fs::write(&path, bytes).unwrap();
    }

    /// The words of a refusal of an answer, which leaves the state unchanged.
    fn refusal(&self, answer: &[u8]) -> String {
        self.extract(answer).unwrap_err().to_string()
    }
}

/// The files of an exchange: no service is running.
#[test]
fn queries_and_answers_travel_in_files() {
    let folder = TempDir::new().unwrap();
    let database = indexed("table", "pirouette", 60);
    let server = start_with(registry(&folder.path().join("registry")), database);
    let first = Carrier::new(&server);
    let second = Carrier::new(&server);
    let info = crate::support::get(&format!("{}/v1/databases/table", server.url())).json();
    assert_eq!(info["short_messages"], true);

    let asked = [first.query(3), first.query(4), second.query(5)];
    assert!(asked.iter().all(|query| query.len() == 40));
    assert_eq!(asked[0][..4], asked[1][..4]);
    assert_ne!(asked[0][..4], asked[2][..4]);
    server.finish();

    // The service of the same database in memory is gone: its version is only there.
    let place = RegistryPlace::Directory(folder.path().join("registry"));
    let other = indexed("table", "pirouette", 60);
    let refused = answer_message(&other, place, None, &asked[0]).unwrap_err();
    assert!(refused.to_string().contains("at version"), "{refused}");
    assert!(
        first
            .refusal(b"1234 no answer")
            .contains("2 waiting queries")
    );
}

/// A version that is renewed drops lookups that wait, once. A change of the version during the
/// session leaves those whose queries the session has made.
#[test]
fn a_lookup_that_waits_survives_a_change_of_the_version() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let carrier = Carrier::new(&server);
    let dropped = carrier.query(2);
    let renewing = keeping(carrier.folder.path(), KnownVersion::Renew);
    let mut connection = Connection::open_with(&carrier.url, &renewing).unwrap();
    let query = connection.query_message(index(3)).unwrap();

    // The answers travel while the database changes.
    let answers = [&dropped, &query].map(|query| answer(&server, query));
    server
        .handle
        .replace(indexed("table", "pirouette", 60))
        .unwrap();
    assert_eq!(connection.get_index(4).unwrap(), record(4));

    let early = connection.query_message(index(5)).unwrap_err().to_string();
    assert!(early.contains("extract what waits"), "{early}");
    let refused = carrier.refusal(&answers[0]);
    assert!(refused.contains("1 waiting queries"), "{refused}");
    assert_eq!(carrier.extract(&answers[1]).unwrap(), Some(record(3)));

    // Nothing waits any more, so that the session keeps its version again.
    let query = connection.query_message(index(5)).unwrap();
    let answer = answer(&server, &query);
    assert_eq!(carrier.extract(&answer).unwrap(), Some(record(5)));
}

/// The service's answer to a short query of one of its clients.
fn answer(server: &Running, query: &[u8]) -> Vec<u8> {
    let clients = format!("{}/v1/databases/table/clients", server.url());
    let path = format!("{}/v1/databases/table/query", server.url());
    let listed = crate::support::get(&clients).json();

    // The query names its client by a handle only, and an earlier registration may still be listed.
    let replies = listed["clients"].as_array().unwrap().iter().map(|client| {
        let headers = [
            ("content-type", "application/papir-short"),
            ("papir-client", client["id"].as_str().unwrap()),
        ];
        send("POST", &path, &headers, query)
    });
    let mut answered = replies.filter(|reply| reply.status == 200);
    answered.next().unwrap().body
}

/// A lookup whose query cannot be made again keeps no other one from its answer.
#[test]
fn a_damaged_lookup_leaves_the_others() {
    let folder = TempDir::new().unwrap();
    let server = serve(folder.path());
    let carrier = Carrier::new(&server);
    let asked = [carrier.query(3), carrier.query(4)];
    let answers = asked.each_ref().map(|query| answer(&server, query));

    carrier.damage(&asked[0]);
    assert_eq!(carrier.extract(&answers[1]).unwrap(), Some(record(4)));
    let refused = carrier.refusal(&answers[0]);
    assert!(refused.contains("another query from its seed"), "{refused}");
}
