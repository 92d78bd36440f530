//! Clients of the stateful test scheme, with handwritten requests.

use std::path::Path;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use papir_core::RecordBuffer;
use papir_core::erased::{
    Erased, ErasedClient, ErasedRegisteredClient, ErasedScheme, ErasedSecret, ErasedServer,
    ErasedState,
};
use papir_server::{Database, RegistryConfig, ServerConfig};
use papir_testkit::stateful::{self, Stateful};
use rand_core::SeedableRng;

use super::{Reply, Running, config, get, record, records, send};

/// Bytes of keys that fit in one request.
pub const SMALL: u64 = 400;

/// A prepared database of 50 records whose clients have keys. The seed determines its version.
pub fn prepared_stateful(keys_bytes: u64, seed: u64) -> Box<dyn ErasedServer> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    stateful::setup(&records(50) as &RecordBuffer, keys_bytes, &mut rng).unwrap()
}

/// Like [`prepared_stateful`], named `table`.
pub fn stateful(keys_bytes: u64, seed: u64) -> Database {
    Database::new("table", prepared_stateful(keys_bytes, seed), None)
}

/// Checks the statuses of different queries under one ticket: one is answered.
pub fn assert_answered_once(statuses: &[u16]) {
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 410).count(),
        statuses.len() - 1,
        "{statuses:?}"
    );
}

/// A registry with default settings, except that it allows the list.
pub fn registry(directory: &Path) -> RegistryConfig {
    RegistryConfig {
        allow_list: true,
        ..RegistryConfig::new(directory)
    }
}

/// A service with a registry and one database with [`SMALL`] keys.
pub fn start(registry: RegistryConfig) -> Running {
    start_with(registry, stateful(SMALL, 1))
}

pub fn start_with(registry: RegistryConfig, database: Database) -> Running {
    Running::start(
        ServerConfig {
            registry: Some(registry),
            ..config()
        },
        vec![database],
    )
}

pub fn clients_url(server: &Running) -> String {
    format!("{}/v1/databases/table/clients", server.url())
}

/// A client with handwritten requests.
pub struct Client {
    pub client: Box<dyn ErasedClient>,
    pub state: ErasedState,
    pub keys: Vec<u8>,
    pub id: String,
    url: String,
}

/// A query and its secret.
pub struct Query {
    pub secret: ErasedSecret,
    pub bytes: Vec<u8>,
    pub ticket: u64,
}

/// A client whose keys are not registered.
pub fn unregistered(server: &Running) -> Client {
    unregistered_at(&server.url())
}

/// Like [`unregistered`], for a URL.
pub fn unregistered_at(url: &str) -> Client {
    unregistered_of(
        &Erased::<Stateful>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        url,
    )
}

/// Like [`unregistered_at`], for another scheme.
pub fn unregistered_of(scheme: &dyn ErasedScheme, url: &str) -> Client {
    let bundle = get(&format!("{url}/v1/databases/table/public")).body;
    let bundle = papir_lookup::Bundle::decode(&bundle).unwrap();
    let client = scheme.client(&bundle.scheme_public).unwrap();
    let registered = client.require_registered().unwrap();
    let (state, keys) = registered.register(&mut super::rng()).unwrap();
    Client {
        client,
        state,
        keys,
        id: String::new(),
        url: url.to_owned(),
    }
}

/// A client that registered in one request.
pub fn registered(server: &Running) -> Client {
    let mut client = unregistered(server);
    let reply = client.register();
    assert_eq!(reply.status, 201, "{:?}", reply.json());
    client.id = reply.json()["id"].as_str().unwrap().to_owned();
    client
}

impl Client {
    /// The side of the scheme's client that registers.
    pub fn registration(&self) -> &dyn ErasedRegisteredClient {
        self.client.require_registered().unwrap()
    }

    pub fn at(&self, part: &str) -> String {
        self.sender().at(part)
    }

    /// The same client of another service.
    pub fn moved_to(self, server: &Running) -> Self {
        self.moved_to_url(&server.url())
    }

    /// Like [`Self::moved_to`], for a URL.
    pub fn moved_to_url(self, url: &str) -> Self {
        Self {
            url: url.to_owned(),
            ..self
        }
    }

    /// Registers in one request.
    pub fn register(&self) -> Reply {
        send(
            "POST",
            &format!("{}/v1/databases/table/clients", self.url),
            &[],
            &self.keys,
        )
    }

    /// Starts to register in parts.
    pub fn begin(&mut self) {
        let length = self.keys.len().to_string();
        let url = format!("{}/v1/databases/table/clients", self.url);
        let reply = send("POST", &url, &[("papir-upload-length", &length)], &[]);
        assert_eq!(
            (reply.status, reply.header("papir-upload-offset")),
            (201, Some("0"))
        );
        self.id = reply.json()["id"].as_str().unwrap().to_owned();
    }

    /// Sends one part.
    pub fn part(&self, offset: usize, end: usize) -> Reply {
        let header = offset.to_string();
        send(
            "PATCH",
            &self.at("/keys"),
            &[("papir-upload-offset", &header)],
            &self.keys[offset..end],
        )
    }

    pub fn status(&self) -> serde_json::Value {
        let reply = get(&self.at(""));
        assert_eq!(reply.status, 200, "{:?}", reply.json());
        reply.json()
    }

    /// Waits until a field of the status has the expected value.
    pub fn wait_for(&self, field: &str, expected: u64) {
        let start = Instant::now();
        while self.status()[field] != expected {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{field}: {}",
                self.status()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn query(&mut self, index: u64) -> Query {
        let numbers = self.registration().numbers(&self.state).unwrap();
        let ticket = numbers.query.unwrap();
        let (secret, bytes) = self
            .client
            .query(Some(&mut self.state), &[index], &mut super::rng())
            .unwrap();
        Query {
            secret,
            bytes,
            ticket,
        }
    }

    /// Sends the key of a later query ahead, and holds the answer.
    pub fn hold(&mut self) {
        let sender = self.sender();
        let registered = self.client.require_registered().unwrap();
        let number = registered.numbers(&self.state).unwrap().ticket.unwrap();
        let key = registered
            .send_ahead(&mut self.state, &mut super::rng())
            .unwrap();
        let reply = sender.ask(number, &key);
        assert_eq!(
            reply.status,
            200,
            "{:?}",
            String::from_utf8_lossy(&reply.body)
        );
        registered
            .hold(&mut self.state, number, &reply.body)
            .unwrap();
    }

    /// A handle to send queries without the state, for other threads.
    pub fn sender(&self) -> QuerySender {
        QuerySender {
            id: self.id.clone(),
            url: self.url.clone(),
        }
    }

    /// Sends bytes with this client's id and ticket numbers.
    pub fn ask_with(&self, ticket: &str, body: &[u8]) -> Reply {
        self.sender().ask_with(ticket, body)
    }

    /// Sends a query. Waits for its ticket if it is not prepared yet.
    pub fn ask(&self, query: &Query) -> Reply {
        self.sender().ask(query.ticket, &query.bytes)
    }

    /// Queries a record and checks the answer.
    pub fn check(&mut self, index: u64) {
        let query = self.query(index);
        let reply = self.ask(&query);
        assert_eq!(
            reply.status,
            200,
            "{:?}",
            String::from_utf8_lossy(&reply.body)
        );
        assert_eq!(
            self.client.extract(query.secret, &reply.body).unwrap(),
            [record(index)]
        );
    }
}

/// Sends queries with a client's id.
pub struct QuerySender {
    id: String,
    url: String,
}

impl QuerySender {
    /// Address of the client, or of a part of it.
    pub fn at(&self, part: &str) -> String {
        format!("{}/v1/databases/table/clients/{}{part}", self.url, self.id)
    }

    pub fn ask_with(&self, ticket: &str, body: &[u8]) -> Reply {
        let url = format!("{}/v1/databases/table/query", self.url);
        send(
            "POST",
            &url,
            &[("papir-client", &self.id), ("papir-ticket", ticket)],
            body,
        )
    }

    pub fn ask(&self, ticket: u64, body: &[u8]) -> Reply {
        let start = Instant::now();
        loop {
            let reply = self.ask_with(&ticket.to_string(), body);
            if reply.status != 503 {
                return reply;
            }
            assert_eq!(reply.code(), "no_ticket");
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the ticket was not prepared"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
