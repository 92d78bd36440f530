//! A scripted service and platform, without any I/O; its storage is in `storage`.
#![allow(unreachable_pub)]

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use papir_checkpoint::Log;
use papir_client::core::{
    Failure, Method, PinnedOwner, Place, Platform, Request, Response, SavedRegistration, Service,
    Session, Settings, Step, Task, Token,
};
use papir_client::{ClientStatus, DatabaseInfo, Result, SizesInfo};
use papir_core::erased::{ErasedKeys, ErasedServer, ErasedSession};
use papir_core::scheme::SENT_AHEAD;
use papir_core::{NoProgress, RecordBuffer, envelope};
use papir_lookup::{Bundle, KeywordLayout, Root};
use papir_protocol::{CheckpointInfo, DatabaseList, DeltaInfo, ErrorBody, code, header, limit};
use rand_core::{CryptoRng, SeedableRng};

use crate::ticket_table::{AHEAD, TicketTable};

mod storage;

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

impl FixedPlatform {
    pub fn advance(&self, duration: Duration) {
        *self.now.lock().unwrap() += duration;
    }
}

impl Platform for FixedPlatform {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn unix_time(&self) -> u64 {
        EPOCH + self.now().as_secs()
    }

    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(
            &self
                .generators
                .fetch_add(1, Ordering::Relaxed)
                .to_le_bytes(),
        );
        Box::new(ChaCha20Rng::from_seed(seed))
    }
}

/// One step of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Sent(Call),
    Waited(u64),
    Stored(&'static str),
}

impl Event {
    /// The seconds of a wait.
    pub fn waited(&self) -> Option<u64> {
        if let Self::Waited(seconds) = self {
            Some(*seconds)
        } else {
            None
        }
    }
}

/// A request as the service receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Call {
    fn of(request: &Request) -> Self {
        let headers = request
            .headers
            .iter()
            .map(|one| (one.name.to_owned(), one.value.to_string()));
        Self {
            method: request.method,
            path: request.path.clone(),
            headers: headers.collect(),
            body: request.body.as_deref().cloned().unwrap_or_default(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(one, _)| one == name)
            .map(|(_, value)| value.as_str())
    }

    /// The path below that of the databases, without parameters.
    pub fn route(&self) -> &str {
        let path = self
            .path
            .split_once('?')
            .map_or(self.path.as_str(), |(path, _)| path);
        path.strip_prefix("/v1/databases").unwrap()
    }
}

/// One version of a database, as a service offers it.
#[derive(Clone)]
pub struct Offer {
    pub server: Arc<dyn ErasedServer>,
    pub keyword: Option<KeywordLayout>,
    pub bundle: Arc<Vec<u8>>,
    /// Clones share what was computed for clients.
    memo: Arc<Mutex<Memo>>,
}

/// Results that the service has computed for clients: tests register the same clients many times.
#[derive(Default)]
struct Memo {
    /// Accepted keys by their bytes.
    keys: HashMap<Vec<u8>, Arc<ErasedKeys>>,
    /// Tickets by the client's keys and their number.
    tickets: HashMap<(Vec<u8>, u64), Vec<u8>>,
}

impl Offer {
    pub fn new(server: Box<dyn ErasedServer>, keyword: Option<KeywordLayout>) -> Self {
        let scheme_public = server.public();
        let bundle = Bundle {
            scheme_public,
            keyword: keyword.clone(),
            commitment_top: None,
        }
        .encode();
        Self {
            server: server.into(),
            keyword,
            bundle: Arc::new(bundle),
            memo: Arc::default(),
        }
    }

    /// The same version with the top of a hash tree.
    pub fn with_top(self, top: [u8; 32]) -> Self {
        let scheme_public = self.server.public();
        let bundle = Bundle {
            scheme_public,
            keyword: self.keyword.clone(),
            commitment_top: Some(top),
        };
        Self {
            bundle: Arc::new(bundle.encode()),
            ..self
        }
    }

    fn accept_keys(&self, sealed: &[u8]) -> Result<Arc<ErasedKeys>, Failure> {
        let memo = &mut self.memo.lock().unwrap().keys;
        if let Some(keys) = memo.get(sealed) {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(self.server.accept_keys(sealed)?);
        memo.insert(sealed.to_vec(), Arc::clone(&keys));
        Ok(keys)
    }

    fn ticket(&self, client: &Registered, number: u64) -> Result<Vec<u8>, Failure> {
        let memo = &mut self.memo.lock().unwrap().tickets;
        let key = (client.received.clone(), number);
        if let Some(ticket) = memo.get(&key) {
            return Ok(ticket.clone());
        }
        let ticket = self
            .server
            .ticket(client.keys.as_ref().unwrap(), number, &NoProgress)?;
        memo.insert(key, ticket.clone());
        Ok(ticket)
    }
}

impl From<Box<dyn ErasedServer>> for Offer {
    fn from(server: Box<dyn ErasedServer>) -> Self {
        Self::new(server, None)
    }
}

/// A client at the service.
#[derive(Clone)]
pub struct Registered {
    /// `None` while the keys are being uploaded.
    keys: Option<Arc<ErasedKeys>>,
    received: Vec<u8>,
    length: u64,
    removed: bool,
    pub tickets: TicketTable,
}

impl Registered {
    /// Removes the client at the service.
    pub fn remove(&mut self) {
        self.removed = true;
    }
}

/// A service with one database.
pub struct Peer {
    /// The database's name.
    pub name: &'static str,
    /// The versions of the database; the last one is the newest.
    pub versions: Vec<Offer>,
    /// Replies to the next query requests, in place of answers.
    pub script: VecDeque<Reply>,
    /// Applied to the answers of each query request.
    pub damage: fn(&mut Vec<u8>),
    pub events: Arc<Mutex<Vec<Event>>>,
    pub saved: Option<SavedRegistration>,
    pub platform: Arc<FixedPlatform>,
    pub clients: Vec<Registered>,
    /// Time to prepare a ticket.
    pub ticket_time: Duration,
    /// The place of the client's state.
    pub place: Option<Place>,
    /// The refusal of every registration.
    pub registering: Option<(u16, &'static str)>,
    /// The checkpoint of the newest version, if the database is signed.
    pub log: Option<Log>,
    /// Checkpoints that are shown before `log`, each once.
    pub behind: VecDeque<Log>,
    /// The pinned owner's key.
    pub pin: Option<PinnedOwner>,
    /// The pinned name of the database.
    pub pinned_name: Option<String>,
    /// The pinned root.
    pub root: Option<Root>,
    /// The delta that the description states.
    pub delta: Option<DeltaInfo>,
    /// The stored copy of the public part.
    pub copy: Option<Vec<u8>>,
    /// Keys that the client keeps while it uploads them.
    kept: Option<Vec<u8>>,
}

/// A scripted refusal.
pub struct Reply {
    pub status: u16,
    pub code: &'static str,
    pub retry_after: Option<&'static str>,
    /// A version that replaces the database before the refusal.
    pub next: Option<Offer>,
}

impl Reply {
    pub fn refusal(status: u16, code: &'static str) -> Self {
        Self {
            status,
            code,
            retry_after: None,
            next: None,
        }
    }
}

impl Peer {
    pub fn new(first: impl Into<Offer>) -> Self {
        Self {
            name: "table",
            versions: vec![first.into()],
            script: VecDeque::new(),
            damage: |_| {},
            events: Arc::default(),
            saved: None,
            platform: Arc::default(),
            clients: Vec::new(),
            ticket_time: Duration::ZERO,
            place: Some(Place {
                slot: [1; 32],
                boot: [2; 32],
            }),
            registering: None,
            log: None,
            behind: VecDeque::new(),
            delta: None,
            pin: None,
            root: None,
            pinned_name: None,
            copy: None,
            kept: None,
        }
    }

    /// Gives the database another name, under which the client has pinned nothing.
    pub fn rename(&mut self, name: &'static str) {
        (self.name, self.pin, self.root) = (name, None, None);
    }

    /// Opens a session with the database.
    pub fn open(&mut self, settings: Settings) -> Result<Session> {
        let service = self.service()?;
        self.run(Session::open(service, settings))
    }

    /// The service, as clients address it.
    pub fn service(&self) -> Result<Service> {
        let token = Some(Token::new("secret").unwrap());
        Service::new("https://papir.example", token, false, self.platform.clone())
    }

    /// Runs a task to its end.
    pub fn run<T>(&mut self, task: Task<'_, T>) -> T {
        self.run_through(task, &mut |peer, call| peer.receive(call))
    }

    /// Runs a task to its end. `deliver` receives its requests in the service's place.
    pub fn run_through<T>(
        &mut self,
        task: Task<'_, T>,
        deliver: &mut dyn FnMut(&mut Self, &Call) -> Result<Response, Failure>,
    ) -> T {
        let mut step = task.start();
        loop {
            step = match step {
                Step::Send(request, then) => {
                    let call = Call::of(&request);
                    self.record(Event::Sent(call.clone()));
                    then.resume(deliver(self, &call).map(|response| read(&request, response)))
                }
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
        self.record(Event::Waited(duration.as_secs()));
        self.platform.advance(duration);
    }

    /// The time since the start of the test.
    pub fn now(&self) -> Duration {
        self.platform.now()
    }

    pub fn record(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    pub fn newest(&self) -> &Offer {
        self.versions.last().unwrap()
    }

    /// The version that a request is for.
    pub fn version_of(&self, call: &Call) -> Option<&Offer> {
        let version = call.header(header::VERSION)?;
        self.versions
            .iter()
            .find(|offer| offer.server.version().to_string() == version)
    }

    pub fn respond(&mut self, request: &Request) -> Result<Response, Failure> {
        let call = Call::of(request);
        self.record(Event::Sent(call.clone()));
        Ok(read(request, self.receive(&call)?))
    }

    /// The service's response, with its whole body.
    pub fn receive(&mut self, call: &Call) -> Result<Response, Failure> {
        let segment = |text| if text == self.name { "table" } else { text };
        let segments: Vec<&str> = call.route().split('/').skip(1).map(segment).collect();
        Ok(match (call.method, segments.as_slice()) {
            (Method::Get, []) => json(
                200,
                &DatabaseList {
                    databases: vec![self.info().summary()],
                },
            ),
            (Method::Get, ["table"]) => json(200, &self.info()),
            (Method::Get, ["table", "checkpoint", "proof"]) => self.proof(),
            (Method::Get, ["table", "public"]) => self.public(call),
            (Method::Post, ["table", "query"]) => match self.script.pop_front() {
                Some(reply) => self.refuse(reply),
                None => self.answer(call)?,
            },
            (Method::Post, ["table", "clients"]) => self.register(call)?,
            (Method::Get, ["table", "clients", id]) => {
                let newest = self.newest().server.version().to_string();
                match call.header(header::VERSION) {
                    Some(version) if version != newest => refusal(409, code::WRONG_VERSION),
                    Some(_) if self.refuses_keys(id) => refusal(410, code::CLIENT_GONE),
                    _ => self.status(id),
                }
            }
            (Method::Patch, ["table", "clients", id, "keys"]) => self.upload(id, &call.body)?,
            (Method::Delete, ["table", "clients", id]) => self.remove(id),
            other => panic!("{other:?}"),
        })
    }

    fn info(&self) -> DatabaseInfo {
        let Offer {
            server,
            keyword,
            bundle,
            ..
        } = self.newest();
        let description = server.describe();
        let version = server.version();
        let sizes = description.sizes;
        let shape = description.shape;
        DatabaseInfo {
            name: self.name.into(),
            scheme: description.scheme.into(),
            version: version.to_string(),
            records: shape.records(),
            record_bits: shape.record_bits(),
            keyed: keyword.is_some(),
            lookups_per_key: keyword.as_ref().map(KeywordLayout::lookups),
            max_batch: MAX_BATCH,
            private: true,
            sizes: SizesInfo {
                bundle: bundle.len() as u64,
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
            checkpoint: self.shown().map(|log| {
                let sequence = log.newest().unwrap().sequence;
                CheckpointInfo {
                    sequence,
                    time: EPOCH,
                }
            }),
            delta: self.delta.clone(),
        }
    }

    /// The checkpoint that is shown next.
    fn shown(&self) -> Option<&Log> {
        self.behind.front().or(self.log.as_ref())
    }

    fn proof(&mut self) -> Response {
        let Some(log) = self.shown() else {
            return refusal(404, code::NO_CHECKPOINT);
        };
        let body = log.proof().unwrap().encode().unwrap().into_bytes();
        self.behind.pop_front();
        let headers = vec![(
            "papir-version".to_owned(),
            self.newest().server.version().to_string(),
        )];
        Response {
            status: 200,
            headers,
            body: Ok(body),
        }
    }

    fn public(&self, call: &Call) -> Response {
        let Offer { server, bundle, .. } = self.newest();
        let version = server.version().to_string();
        let tag = format!("\"{}\"", server.version());
        let unchanged = call.header(header::IF_NONE_MATCH) == Some(tag.as_str());
        let headers = vec![
            ("papir-version".to_owned(), version),
            ("etag".to_owned(), tag),
        ];
        let (status, body) = if unchanged {
            (304, Vec::new())
        } else {
            (200, bundle.to_vec())
        };
        Response {
            status,
            headers,
            body: Ok(body),
        }
    }

    fn refuse(&mut self, reply: Reply) -> Response {
        self.versions.extend(reply.next);
        let mut response = refusal(reply.status, reply.code);
        response.headers.extend(
            reply
                .retry_after
                .map(|after| ("retry-after".to_owned(), after.to_owned())),
        );
        response
    }

    fn answer(&mut self, call: &Call) -> Result<Response, Failure> {
        let offer = self.newest().clone();
        let server = &*offer.server;
        let version = offer.server.version().to_string();
        let queries = envelope::split(&call.body).unwrap();
        let numbers = call
            .header(header::TICKET)
            .into_iter()
            .flat_map(|text| text.split(','));
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        let id = call.header(header::CLIENT);
        if call.header(header::VERSION) != Some(&version) {
            if let Some(tickets) = id.and_then(|id| self.tickets(id)) {
                let unanswered: Vec<(u64, &[u8])> =
                    numbers.iter().map(|&number| (number, &[][..])).collect();
                let _ = tickets.take("", &unanswered);
            }
            return Ok(refusal(409, code::WRONG_VERSION));
        }
        if id.is_some_and(|id| self.refuses_keys(id)) {
            return Ok(refusal(410, code::CLIENT_GONE));
        }
        let uses: Vec<(u64, &[u8])> = numbers
            .iter()
            .copied()
            .zip(queries.iter().copied())
            .collect();
        if let Some(Err((status, code))) = id
            .and_then(|id| self.tickets(id))
            .map(|tickets| tickets.take(&version, &uses))
        {
            return Ok(refusal(status, code));
        }
        let client = id.and_then(|id| self.client(id));
        let keys = client.and_then(|client| client.keys.as_deref());
        let ticket = |&number: &u64| {
            let ticketed = number < SENT_AHEAD;
            ticketed
                .then(|| offer.ticket(client.unwrap(), number))
                .transpose()
        };
        let tickets: Vec<Option<Vec<u8>>> = numbers.iter().map(ticket).collect::<Result<_, _>>()?;
        let mut answers = Vec::new();
        for (position, query) in queries.into_iter().enumerate() {
            let session = ErasedSession {
                keys,
                ticket: tickets.get(position).and_then(Option::as_deref),
            };
            answers.extend(server.answer(session, query)?);
        }
        (self.damage)(&mut answers);
        Ok(Response {
            status: 200,
            headers: Vec::new(),
            body: Ok(answers),
        })
    }

    /// Returns true if the client does not exist, or the newest version refuses its keys.
    fn refuses_keys(&self, id: &str) -> bool {
        self.client(id).is_none_or(|client| {
            client.keys.is_some() && self.newest().accept_keys(&client.received).is_err()
        })
    }

    /// A client's tickets, prepared until now.
    fn tickets(&mut self, id: &str) -> Option<&mut TicketTable> {
        let version = self.newest().server.version().to_string();
        let now = self.now();
        let each = self.ticket_time;
        let client = self
            .clients
            .get_mut(id.parse::<usize>().ok()?)
            .filter(|client| !client.removed)?;
        client.tickets.work(&version, now, each);
        Some(&mut client.tickets)
    }

    fn client(&self, id: &str) -> Option<&Registered> {
        self.clients
            .get(id.parse::<usize>().ok()?)
            .filter(|client| !client.removed)
    }

    fn remove(&mut self, id: &str) -> Response {
        if self.client(id).is_none() {
            return refusal(410, code::CLIENT_GONE);
        }
        self.clients[id.parse::<usize>().unwrap()].remove();
        Response {
            status: 204,
            headers: Vec::new(),
            body: Ok(Vec::new()),
        }
    }

    fn register(&mut self, call: &Call) -> Result<Response, Failure> {
        if let Some((status, code)) = self.registering {
            return Ok(refusal(status, code));
        }
        let announced = call
            .header(header::UPLOAD_LENGTH)
            .map(|length| length.parse().unwrap());
        self.clients.push(Registered {
            keys: None,
            received: Vec::new(),
            length: announced.unwrap_or(call.body.len() as u64),
            removed: false,
            tickets: TicketTable::new(self.platform.now()),
        });
        let id = format!("{:032}", self.clients.len() - 1);
        if announced.is_none() {
            self.accept(&id, &call.body)?;
        }
        Ok(Response {
            status: 201,
            ..self.status(&id)
        })
    }

    fn upload(&mut self, id: &str, part: &[u8]) -> Result<Response, Failure> {
        if self.client(id).is_none() {
            return Ok(refusal(410, code::CLIENT_GONE));
        }
        self.accept(id, part)?;
        Ok(self.status(id))
    }

    /// Adds a part of a client's keys, and reads the keys once they are whole.
    fn accept(&mut self, id: &str, part: &[u8]) -> Result<(), Failure> {
        let offer = self.newest().clone();
        let client = &mut self.clients[id.parse::<usize>()?];
        client.received.extend_from_slice(part);
        if client.received.len() as u64 == client.length {
            client.keys = Some(offer.accept_keys(&client.received)?);
        }
        Ok(())
    }

    fn status(&mut self, id: &str) -> Response {
        let version = self.newest().server.version().to_string();
        let tickets = self.tickets(id);
        let tickets = tickets.map(|tickets| {
            (
                tickets.next,
                tickets.next_sent_ahead,
                tickets.ready(&version),
            )
        });
        let (next_ticket, next_sent_ahead, tickets_ready) = tickets.unwrap_or_default();
        let Some(client) = self.client(id) else {
            return refusal(410, code::CLIENT_GONE);
        };
        let whole = client.keys.is_some();
        let status = if whole {
            ClientStatus::REGISTERED
        } else {
            ClientStatus::UPLOADING
        };
        let received = if whole {
            client.length
        } else {
            client.received.len() as u64
        };
        let status = ClientStatus {
            id: id.to_owned(),
            status: status.into(),
            created: 0,
            used: 0,
            expires: 0,
            keys_bytes: client.length,
            uploaded_bytes: received,
            part_bytes: limit::PART_BYTES as u64,
            version,
            tickets_ready,
            tickets_used: 0,
            ticket_bytes: 0,
            tickets_ahead: AHEAD,
            next_ticket,
            next_sent_ahead,
        };
        json(200, &status)
    }
}

/// The part of a response that the request accepts.
fn read(request: &Request, mut response: Response) -> Response {
    match (
        request.body_limit(response.status, response.header(header::VERSION)),
        &mut response.body,
    ) {
        (Some(limit), Ok(body)) => body.truncate(usize::try_from(limit).unwrap()),
        (Some(_), Err(_)) => {}
        (None, body) => *body = Ok(Vec::new()),
    }
    response
}

pub fn json(status: u16, body: &impl serde::Serialize) -> Response {
    Response {
        status,
        headers: Vec::new(),
        body: Ok(serde_json::to_vec(body).unwrap()),
    }
}

/// A refusal with a code of `papir_protocol::code`.
pub fn refusal(status: u16, code: &str) -> Response {
    json(status, &ErrorBody::new(status, code, "scripted".into()))
}

/// The events in short: `POST /query`, `wait 7`, `lock`, with the ids of clients as numbers.
pub fn short(events: &[Event]) -> Vec<String> {
    let descriptions = events.iter().map(|event| match event {
        Event::Sent(call) => {
            let route = call
                .route()
                .replace("/table", "")
                .replace(&"0".repeat(31), "");
            format!("{} {route}", call.method.name())
        }
        Event::Waited(seconds) => format!("wait {seconds}"),
        Event::Stored(name) => (*name).to_owned(),
    });
    descriptions.collect()
}

/// The query requests among the events.
pub fn queries(events: &[Event]) -> Vec<Call> {
    let calls = events.iter().filter_map(|event| match event {
        Event::Sent(call) if call.path.ends_with("/query") => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}
