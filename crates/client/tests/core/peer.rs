//! A scripted service, storage and platform, without any I/O.
#![allow(unreachable_pub)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use papir_client::core::{
    Failure, Method, Platform, Request, Response, SavedRegistration, Service, Session, Settings, Step,
    StoreAction, StoreLock, StoreRequest, Stored, Task, Token,
};
use papir_client::{ClientStatus, DatabaseInfo, Result, SizesInfo};
use papir_core::erased::{ErasedKeys, ErasedServer, ErasedSession};
use papir_core::{NoProgress, RecordBuffer};
use papir_lookup::Bundle;
use papir_protocol::{DatabaseList, ErrorBody, ErrorDetail};
use rand_core::{CryptoRng, SeedableRng};

pub const RECORDS: u64 = 50;
pub const MAX_BATCH: usize = 4;
/// The time of day at the start of a test, in seconds since 1970.
pub const EPOCH: u64 = 1_800_000_000;

/// Record `index` of the version made from `seed`.
pub fn record(seed: u64, index: u64) -> Vec<u8> {
    vec![(index + seed) as u8; 8]
}

pub fn records(seed: u64) -> RecordBuffer {
    RecordBuffer::from_records((0..RECORDS).map(|index| record(seed, index))).unwrap()
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A clock that advances only while a task waits, and randomness that is the same in every test.
#[derive(Default)]
pub struct FixedPlatform {
    now: Mutex<Duration>,
    generators: AtomicU64,
}

impl Platform for FixedPlatform {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn unix_time(&self) -> u64 {
        EPOCH + self.now().as_secs()
    }

    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        Box::new(rng(1000 + self.generators.fetch_add(1, Ordering::Relaxed)))
    }
}

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Sent { method: Method, path: String, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    Waited(u64),
    Stored(&'static str),
}

/// A service with one database, `table`.
pub struct Peer {
    /// The versions of the database; the last one is the newest.
    pub versions: Vec<Box<dyn ErasedServer>>,
    /// Replies to the next query requests, in place of answers.
    pub script: VecDeque<Reply>,
    /// Applied to the answers of each query request.
    pub damage: fn(&mut Vec<u8>),
    pub events: Arc<Mutex<Vec<Event>>>,
    pub saved: Option<SavedRegistration>,
    pub platform: Arc<FixedPlatform>,
    keys: Vec<ErasedKeys>,
}

/// A scripted refusal.
pub struct Reply {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<&'static str>,
    /// A version that replaces the database before the refusal.
    pub next: Option<Box<dyn ErasedServer>>,
}

impl Reply {
    pub fn refusal(status: u16, code: &'static str) -> Self {
        Self { status, code, retry_after: None, next: None }
    }
}

impl Peer {
    pub fn new(first: Box<dyn ErasedServer>) -> Self {
        Self {
            versions: vec![first],
            script: VecDeque::new(),
            damage: |_| {},
            events: Arc::default(),
            saved: None,
            platform: Arc::default(),
            keys: Vec::new(),
        }
    }

    /// Opens a session with the database.
    pub fn open(&mut self, settings: Settings) -> Result<Session> {
        let token = Some(Token::new("secret").unwrap());
        let service = Service::new("https://papir.example", token, false, self.platform.clone())?;
        self.run(Session::open(service, settings))
    }

    /// Runs a task to its end.
    pub fn run<T>(&mut self, task: Task<'_, T>) -> T {
        let mut step = task.start();
        loop {
            step = match step {
                Step::Send(request, then) => then.resume(self.respond(request)),
                Step::Wait(duration, then) => {
                    self.wait(duration);
                    then.resume()
                }
                Step::Store(request, then) => then.resume(Ok(self.store(request))),
                Step::Done(output) => return output,
            };
        }
    }

    /// The events since the last call.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    /// Lets time pass.
    pub fn wait(&self, duration: Duration) {
        self.log(Event::Waited(duration.as_secs()));
        *self.platform.now.lock().unwrap() += duration;
    }

    /// The time since the start of the test.
    pub fn now(&self) -> Duration {
        self.platform.now()
    }

    pub fn log(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn newest(&self) -> &dyn ErasedServer {
        &**self.versions.last().unwrap()
    }

    pub fn respond(&mut self, request: Request) -> Result<Response, Failure> {
        let headers = request.headers.iter().map(|header| (header.name, header.value.to_string())).collect();
        let body = request.body.as_deref().cloned().unwrap_or_default();
        let path = request.path.clone();
        self.log(Event::Sent { method: request.method, path: path.clone(), headers, body: body.clone() });
        let mut response = match (request.method, path.strip_prefix("/v1/databases").unwrap()) {
            (Method::Get, "") => json(200, &DatabaseList { databases: vec![self.info().summary()] }),
            (Method::Get, "/table") => json(200, &self.info()),
            (Method::Get, "/table/public") => self.public(),
            (Method::Post, "/table/query") => match self.script.pop_front() {
                Some(reply) => self.refuse(reply),
                None => self.answer(&request, &body),
            },
            (Method::Post, "/table/clients") => {
                self.keys.push(self.newest().accept_keys(&body)?);
                json(201, &self.status(body.len() as u64))
            }
            other => panic!("{other:?}"),
        };
        let version = response.header("papir-version").map(str::to_owned);
        match request.body_limit(response.status, version.as_deref()) {
            Some(limit) => response.body.as_mut().unwrap().truncate(limit as usize),
            None => response.body = Ok(Vec::new()),
        }
        Ok(response)
    }

    fn info(&self) -> DatabaseInfo {
        let (description, version) = (self.newest().describe(), self.newest().version());
        let sizes = description.sizes;
        DatabaseInfo {
            name: "table".into(),
            scheme: description.scheme.into(),
            version: version.to_string(),
            records: RECORDS,
            record_bits: 64,
            keyed: false,
            lookups_per_key: None,
            max_batch: MAX_BATCH,
            private: true,
            sizes: SizesInfo {
                bundle: self.bundle().len() as u64,
                public: sizes.public,
                hint: sizes.hint,
                keys: sizes.keys,
                query: sizes.query,
                answer: sizes.answer,
                database: sizes.database,
                material: sizes.material,
            },
            security_bits: None,
            security_source: None,
            failure_log2: None,
            parameters: Default::default(),
            checkpoint: None,
        }
    }

    fn bundle(&self) -> Vec<u8> {
        Bundle { scheme_public: self.newest().public(), keyword: None, commitment_top: None }.encode()
    }

    fn public(&self) -> Response {
        let headers = vec![("papir-version".to_owned(), self.newest().version().to_string())];
        Response { status: 200, headers, body: Ok(self.bundle()) }
    }

    fn refuse(&mut self, reply: Reply) -> Response {
        self.versions.extend(reply.next);
        let error = ErrorDetail { code: reply.code.into(), message: "scripted".into(), version: None };
        let mut response = json(reply.status, &ErrorBody { error });
        response.headers.extend(reply.retry_after.map(|after| ("retry-after".to_owned(), after.to_owned())));
        response
    }

    fn answer(&self, request: &Request, body: &[u8]) -> Response {
        let server = self.newest();
        let keys = request.header("papir-client").map(|id| &self.keys[id.parse::<usize>().unwrap()]);
        let numbers = request.header("papir-ticket").into_iter().flat_map(|text| text.split(','));
        let tickets: Vec<Vec<u8>> = numbers
            .map(|number| server.ticket(keys.unwrap(), number.parse().unwrap(), &NoProgress).unwrap())
            .collect();
        let mut answers = Vec::new();
        for (position, query) in body.chunks(server.describe().sizes.query as usize).enumerate() {
            let session = ErasedSession { keys, ticket: tickets.get(position).map(Vec::as_slice) };
            answers.extend(server.answer(session, query).unwrap());
        }
        (self.damage)(&mut answers);
        Response { status: 200, headers: Vec::new(), body: Ok(answers) }
    }

    fn status(&self, keys_bytes: u64) -> ClientStatus {
        ClientStatus {
            id: (self.keys.len() - 1).to_string(),
            status: ClientStatus::REGISTERED.into(),
            created: 0,
            used: 0,
            expires: 0,
            keys_bytes,
            uploaded_bytes: keys_bytes,
            part_bytes: 1,
            version: self.newest().version().to_string(),
            tickets_ready: 0,
            tickets_used: 0,
            ticket_bytes: 0,
            tickets_ahead: 2,
            next_ticket: 0,
        }
    }

    pub fn store(&mut self, request: StoreRequest) -> Stored {
        assert_eq!(request.slot, "https://papir.example/v1/databases/table");
        let (name, stored) = match request.action {
            StoreAction::Lock => ("lock", Stored::Locked(StoreLock::new(Unlock(Arc::clone(&self.events))))),
            StoreAction::Read => ("read", Stored::Registration(self.saved.clone())),
            StoreAction::Write(saved) => {
                self.saved = Some(saved);
                ("write", Stored::Done)
            }
            StoreAction::Forget => {
                self.saved = None;
                ("forget", Stored::Done)
            }
            other => panic!("{other:?}"),
        };
        self.log(Event::Stored(name));
        stored
    }
}

/// Logs the release of the lock.
struct Unlock(Arc<Mutex<Vec<Event>>>);

impl Drop for Unlock {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(Event::Stored("unlock"));
    }
}

fn json(status: u16, body: &impl serde::Serialize) -> Response {
    Response { status, headers: Vec::new(), body: Ok(serde_json::to_vec(body).unwrap()) }
}

/// The events in short: `POST /query`, `wait 7`, `lock`.
pub fn short(events: &[Event]) -> Vec<String> {
    let descriptions = events.iter().map(|event| match event {
        Event::Sent { method, path, .. } => {
            format!("{} {}", method.name(), path.strip_prefix("/v1/databases").unwrap().replace("/table", ""))
        }
        Event::Waited(seconds) => format!("wait {seconds}"),
        Event::Stored(name) => (*name).to_owned(),
    });
    descriptions.collect()
}

/// The query requests among the events.
pub fn queries(events: &[Event]) -> Vec<Event> {
    let is_query = |event: &&Event| matches!(event, Event::Sent { path, .. } if path.ends_with("/query"));
    events.iter().filter(is_query).cloned().collect()
}
