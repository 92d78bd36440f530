//! Strangers who trickle, register and flood do not hold up a client with a token of its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use papir_client::{Connection, Options, Pin, Token};
use papir_lookup::{Bundle, Lookup, Wanted};
use papir_schemes::registry;

use crate::support::{Folder, Service, agent, loaded_machine, succeeds};

const TRICKLING: usize = 500;
const REGISTERING: usize = 200;
const FLOODING: usize = 64;
const LOOKUPS: usize = 200;
/// Most measurements of lookups without strangers and among them.
const ROUNDS: usize = 5;
/// Pause of a stranger between two requests. All strangers together then leave a part of two slow cores idle,
/// also without optimisation: with all of it taken, any client waits.
const PAUSE: Duration = Duration::from_millis(600);

/// Requests of strangers, and their counts.
struct Strangers<'a> {
    address: &'a str,
    token: &'a str,
    stopped: AtomicBool,
    requests: AtomicUsize,
}

impl Strangers<'_> {
    fn head(&self, path: &str, length: usize, more: &str) -> String {
        let address = self.address;
        let token = self.token;
        format!(
            "POST /v1/databases/{path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-length: {length}\r\n{more}\r\n"
        )
    }

    fn are_active(&self) -> bool {
        !self.stopped.load(Ordering::SeqCst)
    }

    /// Sends the first bytes of bodies that never end.
    fn trickle(&self) {
        let head = self.head("words/query", 10_000, "");
        let mut streams: Vec<Option<TcpStream>> = (0..TRICKLING).map(|_| None).collect();
        while self.are_active() {
            for stream in &mut streams {
                let sent = stream
                    .as_mut()
                    .is_some_and(|stream| stream.write_all(b"x").is_ok());
                if !sent {
                    *stream = TcpStream::connect(self.address).ok();
                    stream
                        .as_mut()
                        .map(|stream| stream.write_all(head.as_bytes()));
                }
            }
            sleep(Duration::from_millis(500));
        }
    }

    /// Sends the same request again and again over one connection.
    fn repeat(&self, request: &[u8]) {
        let mut stream: Option<TcpStream> = None;
        let mut response = vec![0; 64 << 10];
        while self.are_active() {
            if stream.is_none() {
                stream = TcpStream::connect(self.address).ok();
            }
            let sent = stream.as_mut().is_some_and(|stream| {
                stream.write_all(request).is_ok()
                    && stream.read(&mut response).is_ok_and(|bytes| bytes > 0)
            });
            if sent {
                self.requests.fetch_add(1, Ordering::SeqCst);
            } else {
                stream = None;
            }
            sleep(PAUSE);
        }
    }

    /// Runs `honest` while all strangers are active. `begin` begins a registration.
    fn during<T>(&self, begin: &[u8], flood: &[u8], honest: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            scope.spawn(|| self.trickle());
            (0..REGISTERING).for_each(|_| drop(scope.spawn(|| self.repeat(begin))));
            (0..FLOODING).for_each(|_| drop(scope.spawn(|| self.repeat(flood))));
            sleep(Duration::from_secs(2));
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(honest));
            self.stopped.store(true, Ordering::SeqCst);
            done.expect("every lookup is answered")
        })
    }
}

fn get(service: &Service, token: &str, path: &str) -> Vec<u8> {
    let url = format!("{}/v1/databases/{path}", service.url);
    let mut response = agent()
        .get(url)
        .header("authorization", format!("Bearer {token}"))
        .call()
        .unwrap();
    assert_eq!(response.status(), 200, "{path}");
    response.body_mut().read_to_vec().unwrap()
}

/// The length of a client's keys.
fn keys_length(service: &Service, token: &str) -> u64 {
    let info: serde_json::Value =
        serde_json::from_slice(&get(service, token, "registered")).unwrap();
    info["sizes"]["keys"].as_u64().unwrap()
}

/// The queries of one lookup.
fn query(service: &Service, token: &str) -> Vec<u8> {
    let bundle = Bundle::decode(&get(service, token, "words/public")).unwrap();
    let scheme = registry::by_name("inspire").unwrap();
    let client = scheme.client(&bundle.scheme_public).unwrap();
    let lookup = Lookup::new(client, bundle.keyword).unwrap();
    let wanted = [Wanted::Key(b"key-1")];
    lookup
        .prepare_batch(None, &wanted, &mut papir_client::system_rng())
        .unwrap()
        .queries()
        .concat()
}

/// The times of lookups, sorted.
fn times(connection: &mut Connection) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..LOOKUPS)
        .map(|number| {
            let begin = Instant::now();
            let value = connection
                .get_key(format!("key-{}", number % 50).as_bytes())
                .unwrap()
                .unwrap();
            assert_eq!(value, format!("value-{}", number % 50).as_bytes());
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn p95(times: &[Duration]) -> Duration {
    times[times.len() * 95 / 100]
}

#[test]
#[ignore = "long"]
fn strangers_do_not_hold_up_an_honest_client() {
    let _machine = loaded_machine();
    let folder = Folder::new();
    let words = folder.words(30_000, "inspire");
    let tokens = folder.path("tokens.toml");
    let zip = Folder::new();
    let registered = zip.path("registered.papir");
    std::fs::rename(zip.words(500, "zip"), &registered).unwrap();
    let token = |name| {
        succeeds(&["tokens", &tokens, "add", "--name", name])
            .trim()
            .to_owned()
    };
    let honest = token("honest");
    let stranger = token("stranger");
    let registry = folder.path("registry");
    let service = Service::start(
        &[&words, &registered],
        &["--tokens", &tokens, "--registry", &registry],
    );
    let options = Options {
        database: Some("words".into()),
        pin: Pin::Nothing,
        token: Some(Token::new(&honest).unwrap()),
        state: Some(folder.path("state").into()),
        ..Options::default()
    };
    let mut connection = Connection::open_with(&service.url, &options).unwrap();
    let query = query(&service, &honest);
    let length = format!(
        "papir-upload-length: {}\r\n",
        keys_length(&service, &honest)
    );
    // Other tests may load the machine in one of the two measurements of a round, not in all rounds.
    let fair = (0..ROUNDS).any(|_| {
        let unloaded = p95(&times(&mut connection));
        let strangers = Strangers {
            address: service.url.strip_prefix("http://").unwrap(),
            token: &stranger,
            stopped: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
        };
        let begin = strangers
            .head("registered/clients", 0, &length)
            .into_bytes();
        let flood = [
            strangers.head("words/query", query.len(), "").as_bytes(),
            &query,
        ]
        .concat();
        let loaded = strangers.during(&begin, &flood, || p95(&times(&mut connection)));
        let requests = strangers.requests.load(Ordering::SeqCst);
        println!("p95 {unloaded:?} unloaded, {loaded:?} under {requests} requests of strangers");
        assert!(requests > 1000, "{requests}");
        loaded <= (5 * unloaded).max(Duration::from_millis(50))
    });
    assert!(fair, "strangers hold up an honest client");
}
