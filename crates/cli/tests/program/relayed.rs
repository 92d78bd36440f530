//! Clients, relay and gateway together: what arrives where.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use papir_client::{Options, Pin, ProxySetting, Relay};
use serde_json::Value;

use crate::gateway_keys::certify;
use crate::relay::RunningRelay;
use crate::signing::{self, OPEN, keygen};
use crate::support::{Folder, PATIENCE, Service, agent, fails_with, papir, succeeds};

/// The path of a gateway.
const GATEWAY: &str = "/.well-known/ohttp-gateway";
/// Texts of requests in the clear, longer than a sealed message contains them by chance.
const CLEAR: [&str; 5] = [
    "/v1/databases",
    "authorization",
    "user-agent",
    "no-such-key",
    "papir-version",
];

/// A listener before a server, which records what is sent to it, and passes everything on.
struct Recorder {
    address: SocketAddr,
    /// The bytes of each connection, in the order of the connections.
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A request that was recorded.
#[derive(Debug)]
struct Arrived {
    /// The head, in lower case.
    head: String,
    /// The length of the body in bytes.
    length: usize,
}

impl Recorder {
    /// Listens before the server at this address.
    fn before(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
        };

        let received = Arc::clone(&recorder.received);
        let server = server.to_owned();
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let onward = TcpStream::connect(&server).unwrap();
                let answers = onward.try_clone().unwrap();
                let asker = client.try_clone().unwrap();
                thread::spawn(move || pass(answers, asker, |_| {}));

                let number = {
                    let mut received = received.lock().unwrap();
                    received.push(Vec::new());
                    received.len() - 1
                };
                let received = Arc::clone(&received);
                thread::spawn(move || {
                    pass(client, onward, |bytes| {
                        received.lock().unwrap()[number].extend_from_slice(bytes);
                    });
                });
            }
        });
        recorder
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests since the last call, all of which are complete.
    fn take(&self) -> Vec<Arrived> {
        let mut received = self.received.lock().unwrap();
        let connections = received.iter_mut().map(std::mem::take);
        connections.flat_map(|bytes| requests(&bytes)).collect()
    }
}

/// Copies bytes, and shows them before they are passed on.
fn pass(mut from: TcpStream, mut to: TcpStream, mut show: impl FnMut(&[u8])) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut part) {
        show(&part[..count]);
        if to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The requests of one connection.
fn requests(mut bytes: &[u8]) -> Vec<Arrived> {
    let mut found = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("transfer-encoding"), "{head}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());

        let body = &bytes[end + 4..][..length];
        let text = String::from_utf8_lossy(body);
        for clear in CLEAR {
            assert!(!text.contains(clear), "{clear} in the body of {head}");
        }
        bytes = &bytes[end + 4 + length..];
        found.push(Arrived { head, length });
    }
    assert!(bytes.is_empty(), "{} bytes of no request", bytes.len());
    found
}

/// A service with a gateway, a relay, and a recorder before each.
struct Way {
    service: Service,
    at_service: Recorder,
    at_relay: Recorder,
    _relay: RunningRelay,
}

impl Way {
    /// Serves a file, with further arguments of the service.
    fn to(folder: &Folder, file: &str, more: &[&str]) -> Self {
        let gateway = folder.path("gateway.toml");
        let service = Service::start(&[file], &[&["--ohttp", &gateway], more].concat());
        let at_service = Recorder::before(service.url.trim_start_matches("http://"));

        let relay = RunningRelay::start(&[&at_service.url()], &[]);
        let at_relay = Recorder::before(relay.address());
        Self {
            service,
            at_service,
            at_relay,
            _relay: relay,
        }
    }

    /// The address of the service, as clients write it.
    fn url(&self) -> String {
        self.at_service.url()
    }

    /// Checks what has arrived since the last call: at the service only what the relay sends, and
    /// at the relay only sealed requests. Returns their lengths in bytes.
    #[track_caller]
    fn sealed(&self) -> Vec<usize> {
        for Arrived { head, .. } in self.at_service.take() {
            let line = head.lines().next().unwrap();
            let lines = ["get", "post"].map(|method| format!("{method} {GATEWAY} http/1.1"));
            assert!(lines.contains(&line.to_owned()), "{head}");
            assert!(CLEAR.iter().all(|clear| !head.contains(clear)), "{head}");
        }

        let resource = format!("/{} http/1.1", self.at_service.address);
        let mut lengths = Vec::new();
        for Arrived { head, length } in self.at_relay.take() {
            let line = head.lines().next().unwrap();
            assert!(line.ends_with(&resource), "{head}");
            assert!(CLEAR.iter().all(|clear| !head.contains(clear)), "{head}");
            match line.starts_with("post ") {
                true => lengths.push(length),
                false => assert_eq!(length, 0, "{head}"),
            }
        }
        lengths
    }
}

/// The arguments of a command that goes through a relay.
fn through<'a>(relay: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--relay", relay]].concat()
}

#[test]
fn a_lookup_reaches_the_service_through_the_relay_alone() {
    let folder = Folder::new();
    let words = folder.words(200, "inspire");
    let way = Way::to(&folder, &words, &[]);
    let url = way.url();
    let relay = way.at_relay.url();

    let mut lengths = Vec::new();
    for (key, value) in [
        ("key-7", Some("value-7")),
        ("key-199", Some("value-199")),
        ("no-such-key", None),
    ] {
        let output = papir(&through(&relay, &["get", &url, key]));
        let stderr = String::from_utf8_lossy(&output.stderr);
        let code = i32::from(value.is_none());
        assert_eq!(output.status.code(), Some(code), "{key}: {stderr}");
        assert_eq!(output.stdout, value.unwrap_or_default().as_bytes(), "{key}");
        lengths.push(way.sealed());
    }
    // The list, the description, the public part and the query, whatever the key.
    assert_eq!(lengths[0].len(), 4, "{lengths:?}");
    assert_eq!(lengths[1], lengths[0]);
    assert_eq!(lengths[2], lengths[0]);

    succeeds(&through(&relay, &["inspect", "--ready", &url]));
    assert_eq!(way.sealed().len(), 1);
    let findings = succeeds(&through(&relay, &["doctor", &url]));
    assert!(findings.contains("\nok    relay "), "{findings}");
    assert!(!way.sealed().is_empty());
}

#[test]
fn the_largest_request_is_within_the_bound_that_is_printed() {
    let folder = Folder::new();
    let words = folder.words(200, "inspire");
    let way = Way::to(&folder, &words, &[]);
    let url = way.url();
    let relay = way.at_relay.url();
    let facts: Value = serde_json::from_str(&succeeds(&["inspect", &words, "--json"])).unwrap();
    let bound = facts["sealed"]["request"].as_u64().unwrap() as usize;

    let keys: Vec<String> = (0..64).map(|number| format!("key-{number}")).collect();
    let mut get = vec!["get", &url];
    get.extend(keys.iter().map(String::as_str));
    let found = succeeds(&through(&relay, &get));
    assert_eq!(found.lines().count(), 64, "{found}");

    let longest = way.sealed().into_iter().max().unwrap();
    assert!(longest <= bound, "{longest} of at most {bound}");
    assert!(bound < longest + longest / 8 + 16_384, "{longest} {bound}");
}

/// Opens a connection, and looks these keys up, one after the other.
type Client = fn(&str, &Options, &[&str]) -> Vec<Option<Vec<u8>>>;

fn blocking(url: &str, options: &Options, keys: &[&str]) -> Vec<Option<Vec<u8>>> {
    let mut connection = papir_client::Connection::open_with(url, options).unwrap();
    keys.iter()
        .map(|key| connection.get_key(key.as_bytes()).unwrap())
        .collect()
}

fn asynchronous(url: &str, options: &Options, keys: &[&str]) -> Vec<Option<Vec<u8>>> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(async {
        let opening = papir_client::aio::Connection::open_with(url, options);
        let mut connection = opening.await.unwrap();
        let mut values = Vec::new();
        for key in keys {
            values.push(connection.get_key(key.as_bytes()).await.unwrap());
        }
        values
    })
}

#[test]
fn both_clients_of_the_library_send_requests_of_equal_lengths() {
    let folder = Folder::new();
    let words = folder.words(200, "inspire");
    let way = Way::to(&folder, &words, &[]);
    let options = Options {
        pin: Pin::Nothing,
        no_cache: true,
        state: Some(folder.path("state").into()),
        patience: Some(PATIENCE),
        ..Options::default()
    }
    .proxy(ProxySetting::Direct)
    .relay(Relay::new(way.at_relay.url()));

    let clients: [(&str, Client); 2] = [("blocking", blocking), ("aio", asynchronous)];
    for (name, look_up) in clients {
        let values = look_up(&way.url(), &options, &["key-3", "no-such-key", "key-198"]);
        let expected = [Some("value-3"), None, Some("value-198")];
        let expected = expected.map(|value| value.map(|text| text.as_bytes().to_vec()));
        assert_eq!(values, expected, "{name}");

        let lengths = way.sealed();
        assert_eq!(lengths.len(), 6, "{name}: {lengths:?}");
        assert_eq!(lengths[3..], [lengths[3]; 3], "{name}: {lengths:?}");
    }
}

/// The gateway's keys in a file, as the service's operator publishes them.
fn published(folder: &Folder, way: &Way) -> String {
    let url = format!("{}{GATEWAY}", way.service.url);
    let mut response = agent().get(&url).call().unwrap();
    let list = response.body_mut().read_to_vec().unwrap();
    folder.write("keys", list)
}

#[test]
fn a_signed_database_is_verified_behind_a_relay() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let (_, stranger) = keygen(&folder, "stranger.key");
    let words = signing::build(&folder, "words.papir", "value", &["--sign", &owner]);
    let way = Way::to(&folder, &words, &[OPEN, "--name", "words"]);
    let url = way.url();
    let relay = way.at_relay.url();
    let keys = published(&folder, &way);

    let states = ["first", "second"].map(|name| folder.path(name));
    let given = ["--owner-pub", &public, "--ohttp-keys", &keys];
    let trusting = signing::get(&url, &states[0], &given);
    assert_eq!(succeeds(&through(&relay, &trusting)), "value-7");
    assert!(!way.sealed().is_empty());

    let given = ["--owner-pub", &stranger, "--ohttp-keys", &keys];
    let wrong = signing::get(&url, &states[1], &given);
    fails_with(&through(&relay, &wrong), &["no query was sent"]);
    assert!(!way.sealed().is_empty());

    // Keys that the relay carries are those that the owner names, or none.
    let careless = signing::get(&url, &states[1], &["--owner-pub", &public]);
    let expected = ["no query was sent", "names no keys of gateways"];
    fails_with(&through(&relay, &careless), &expected);
    // The list and the proof.
    assert_eq!(way.sealed().len(), 2);
}

#[test]
fn a_token_is_sealed_for_keys_that_the_owner_names() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = signing::build(&folder, "words.papir", "value", &["--sign", &owner]);
    let tokens = folder.path("tokens.toml");
    let secret = succeeds(&["tokens", &tokens, "add", "--name", "phone"]);
    let token = folder.write("phone.token", &secret);

    // The first start makes the keys, and the second one has the same.
    let options = [OPEN, "--name", "words", "--tokens", &tokens];
    let keys = published(&folder, &Way::to(&folder, &words, &options));
    let certificate = certify(&folder, &owner, &[&keys]).0;
    let sign = ["checkpoint", "sign", &words, "--key", &owner];
    succeeds(&[&sign[..], &["--certificate", &certificate]].concat());
    let way = Way::to(&folder, &words, &options);
    let url = way.url();
    let relay = way.at_relay.url();

    let state = folder.path("state");
    let given = [
        "--owner-pub",
        &public,
        "--token-file",
        &token,
        "--database",
        "words",
    ];
    let get = signing::get(&url, &state, &given);
    assert_eq!(succeeds(&through(&relay, &get)), "value-7");
    assert!(!way.sealed().is_empty());
}

#[test]
fn no_token_is_sealed_for_keys_that_only_the_relay_carries() {
    let folder = Folder::new();
    let tokens = folder.path("tokens.toml");
    let secret = succeeds(&["tokens", &tokens, "add", "--name", "phone"]);
    let token = folder.write("phone.token", &secret);
    let words = folder.words(50, "inspire");
    let way = Way::to(&folder, &words, &["--tokens", &tokens]);
    let url = way.url();
    let relay = way.at_relay.url();

    let get = ["get", &url, "key-7", "--token-file", &token];
    let careless = through(&relay, &get);
    fails_with(&careless, &["no connection was made", "--ohttp-keys"]);
    assert!(way.sealed().is_empty(), "nothing was sent");
    let doctor = through(&relay, &["doctor", &url, "--token-file", &token]);
    let findings = String::from_utf8(papir(&doctor).stdout).unwrap();
    assert!(findings.contains("\nfail  relay "), "{findings}");

    let keys = published(&folder, &way);
    way.sealed();
    let vouched = [&careless[..], &["--ohttp-keys", &keys]].concat();
    assert_eq!(succeeds(&vouched), "value-7");
    assert_eq!(way.sealed().len(), 4);
}

/// Takes seconds with AVX-512 and longer without: two clients with 3,072-bit keys make four
/// lookups.
#[cfg(unix)]
#[test]
fn a_client_registers_anew_behind_a_relay() {
    let folder = Folder::new();
    let words = crate::registered::build(&folder);
    let registry = folder.path("registry");
    let clients = ["--tickets-ahead", "2", "--list-clients"];
    let more = [&["--registry", &registry], &clients[..]].concat();
    let way = Way::to(&folder, &words, &more);
    let url = way.url();
    let relay = way.at_relay.url();

    let state = folder.path("state");
    let get = ["get", &url, "word 7", "--state", &state];
    let registered = || {
        let listed = succeeds(&["clients", &way.service.url, "list"]);
        listed.matches("registered").count()
    };
    assert_eq!(succeeds(&get), "meaning 7");
    assert_eq!(registered(), 1);
    way.at_service.take();

    for _ in 0..2 {
        assert_eq!(succeeds(&through(&relay, &get)), "meaning 7");
        assert!(!way.sealed().is_empty());
        assert_eq!(
            registered(),
            2,
            "one of direct requests, one of the relay's"
        );
    }
    assert_eq!(succeeds(&get), "meaning 7");
    assert_eq!(registered(), 2);
}
