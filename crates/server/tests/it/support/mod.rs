//! Test services, databases in memory, proxies, and misbehaving servers.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

pub mod canned;
pub mod clients;
pub mod faulty;
pub mod files;
pub mod memory;
pub mod process;
pub mod proxy;
pub mod secured;
pub mod tap;
pub mod transports;
pub mod zip;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use papir_client::{Options, Pin};
use papir_core::erased::{ErasedServer, scheme_of_public};
use papir_core::scheme::Goal;
use papir_core::{Change, Choice, NoProgress, NotPrivate, RecordBuffer, Records};
use papir_lookup::{Bundle, Entry, KeywordLayout, Lookup, TableOptions};
use papir_schemes::registry;
use papir_server::{BoundServer, Database, Error, Listen, ReloadHandle, Server, ServerConfig};
use tokio::sync::oneshot;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// Placeholder address of a service on a Unix socket.
const NOWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 0);

/// A service on loopback that stops when dropped.
pub struct Running {
    pub address: SocketAddr,
    pub handle: ReloadHandle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    /// Serves databases in memory.
    pub fn start(config: ServerConfig, databases: Vec<Database>) -> Self {
        Self::try_start(config, databases).unwrap()
    }

    /// Serves databases in memory, if they are valid.
    pub fn try_start(config: ServerConfig, databases: Vec<Database>) -> Result<Self, Error> {
        Self::start_by(move || Server::bind_loaded(config, databases))
    }

    /// Serves snapshot files.
    pub fn start_files(config: ServerConfig) -> Result<Self, Error> {
        Self::start_by(move || Server::bind(config))
    }

    fn start_by<F: Future<Output = Result<BoundServer, Error>>>(
        bind: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Self, Error> {
        let (stop, stopped) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let bound = match bind().await {
                    Ok(bound) => bound,
                    Err(error) => {
                        ready.send(Err(error)).unwrap();
                        return Ok(());
                    }
                };
                ready
                    .send(Ok((
                        bound.local_addr().unwrap_or(NOWHERE),
                        bound.reload_handle(),
                    )))
                    .unwrap();
                bound.serve(async { drop(stopped.await) }).await
            })
        });
        let (address, handle) = started.recv().unwrap()?;
        Ok(Self {
            address,
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks the service to stop, without waiting.
    pub fn begin_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Stops the service and waits.
    pub fn finish(mut self) {
        self.begin_stop();
        self.thread.take().unwrap().join().unwrap().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Loopback, a free port, two threads, all schemes allowed, no old versions. Bodies have a minute, so that
/// no slow machine runs out of time; tests of that limit shorten it.
pub fn config() -> ServerConfig {
    ServerConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        threads: 2,
        allow_not_private: true,
        body_timeout: Duration::from_secs(60),
        keep_old: Duration::ZERO,
        ..ServerConfig::default()
    }
}

/// A loopback address where no other test listens: a port there stays free once its service has stopped.
pub fn own_address() -> Listen {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let last = NEXT.fetch_add(1, Ordering::Relaxed);
    Listen::Tcp(SocketAddr::from(([127, 0, 1, last], 0)))
}

/// `count` entries: `key-i` with value `value-i-salt`.
pub fn entries(count: u64, salt: &str) -> Vec<Entry> {
    (0..count)
        .map(|i| Entry {
            key: key(i),
            value: value(i, salt),
            line: i + 1,
        })
        .collect()
}

pub fn key(i: u64) -> Vec<u8> {
    format!("key-{i}").into_bytes()
}

pub fn value(i: u64, salt: &str) -> Vec<u8> {
    format!("value-{i}-{salt}").into_bytes()
}

/// A prepared database of keys.
pub fn prepared_keys(
    scheme: &str,
    count: u64,
    salt: &str,
) -> (Box<dyn ErasedServer>, KeywordLayout) {
    let table = papir_lookup::build(
        entries(count, salt),
        &TableOptions::default(),
        &mut rng(),
        &NoProgress,
    )
    .unwrap();
    (prepared(scheme, &table.records), table.layout)
}

/// A prepared database of records.
pub fn prepared(scheme: &str, records: &dyn Records) -> Box<dyn ErasedServer> {
    let scheme = registry::by_name(scheme)
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged());
    scheme
        .setup(records, Goal::default(), &mut rng(), &NoProgress)
        .unwrap()
}

/// Keys 0 to 999 under `name`.
pub fn keyed(name: &str, scheme: &str, salt: &str) -> Database {
    let (server, layout) = prepared_keys(scheme, 1000, salt);
    Database::new(name, server, Some(layout))
}

/// `count` records of 24 bytes: record i is i three times.
pub fn records(count: u64) -> RecordBuffer {
    RecordBuffer::from_records((0..count).map(record)).unwrap()
}

pub fn record(i: u64) -> Vec<u8> {
    i.to_le_bytes().repeat(3)
}

/// Records under `name`.
pub fn indexed(name: &str, scheme: &str, count: u64) -> Database {
    Database::new(name, prepared(scheme, &records(count)), None)
}

/// Two versions of 3,000 records in scheme `simple`, ten of them in each of 300 columns. The second
/// has another first record, so that 24 rows of 240 of the hint differ.
pub fn two_versions(name: &str) -> [Database; 2] {
    let scheme = registry::by_name("simple").unwrap();
    let records = records(3000);
    let shape = records.shape();
    let candidate = scheme.candidate(shape, Choice::Columns(300)).unwrap();
    let first = scheme
        .setup_candidate(&candidate.parameters, &records, &mut rng(), &NoProgress)
        .unwrap();

    let change = Change {
        index: 0,
        record: record(3000),
    };
    let second = first.update(&[change], &mut rng(), &NoProgress).unwrap();
    [first, second].map(|server| Database::new(name, server, None))
}

/// Waits until a condition holds, for as long as the slowest machine may take.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(90),
            "not in 90 s: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn rng() -> impl rand_core::CryptoRng {
    papir_client::system_rng()
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    /// The code of an error. Panics unless the body has problem details of this response.
    pub fn code(&self) -> String {
        let json = self.json();
        let code = json["code"].as_str().expect("a code").to_owned();
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{json}"
        );
        assert_eq!(json["type"], format!("urn:papir:problem:{code}"), "{json}");
        assert_eq!(json["status"], self.status, "{json}");
        assert_eq!(
            json["retryable"],
            [408, 429, 503].contains(&self.status),
            "{json}"
        );
        for text in ["title", "detail"] {
            assert!(
                json[text].as_str().is_some_and(|text| !text.is_empty()),
                "{text}: {json}"
            );
        }
        code
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// Settings of a client: no proxy of the environment carries requests to this machine.
pub fn agent() -> ConfigBuilder<AgentScope> {
    ureq::Agent::config_builder().proxy(None)
}

/// Sends one request. Errors are replies too.
pub fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let agent = agent().http_status_as_error(false).build().new_agent();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = match method {
        "POST" | "PUT" | "PATCH" => agent.run(request.body(body).unwrap()),
        _ => agent.run(request.body(()).unwrap()),
    };
    let (parts, mut body) = response
        .unwrap_or_else(|e| panic!("{method} {url}: {e}"))
        .into_parts();
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        // Public parts of several MiB, too.
        body: body.with_config().limit(64 << 20).read_to_vec().unwrap(),
    }
}

pub fn get(url: &str) -> Reply {
    send("GET", url, &[], &[])
}

pub fn post(url: &str, body: &[u8]) -> Reply {
    send("POST", url, &[], body)
}

/// Options of a client that stores nothing, and reads nothing that the person who runs the tests has stored.
pub fn stateless() -> Options {
    Options {
        no_cache: true,
        pin: Pin::Nothing,
        ..Options::default()
    }
}

/// A connection that stores nothing.
pub fn open(url: &str, database: Option<&str>) -> papir_client::Result<papir_client::Connection> {
    transports::AnyConnection::open_even_if_not_private(url, database)
}

/// A lookup client from the service's public part.
pub fn lookup(url: &str, database: &str) -> Lookup {
    lookup_of(&get(&format!("{url}/v1/databases/{database}/public")).body)
}

/// A lookup client from the bytes of a public part.
pub fn lookup_of(public: &[u8]) -> Lookup {
    let bundle = Bundle::decode(public).unwrap();
    let scheme = registry::by_id(scheme_of_public(&bundle.scheme_public).unwrap()).unwrap();
    let client = scheme
        .allow_insecure(NotPrivate::acknowledged())
        .client(&bundle.scheme_public)
        .unwrap();
    Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top).unwrap()
}
