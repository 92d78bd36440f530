//! A scripted service and platform, without any I/O.
//!
//! | file | contents |
//! |---|---|
//! | `offer` | the versions of the database |
//! | `description` | what the service says of them |
//! | `clients` | the clients of the service: keys, status and tickets |
//! | `short_messages` | queries and answers of these clients without envelopes |
//! | `replies` | responses, and scripted refusals |
//! | `events` | the steps of a task, as the service sees them |
//! | `platform` | a clock and randomness |
//! | `storage` | the storage of the service's client |

#![allow(unreachable_pub)]

mod clients;
mod description;
mod events;
mod offer;
mod platform;
mod replies;
mod short_messages;
mod storage;

pub use clients::Registered;
pub use events::{Call, Event, queries, short};
pub use offer::Offer;
pub use platform::FixedPlatform;
pub use replies::{Reply, json, refusal};

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chacha20::ChaCha20Rng;
use papir_checkpoint::Log;
use papir_client::Result;
use papir_client::core::{
    Address, Failure, Method, Patches, PinnedOwner, Place, Platform, Request, Response,
    SavedRegistration, SavedVersion, Service, ServiceRelay, Session, Settings, Step, Task, Token,
};
use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::scheme::SENT_AHEAD;
use papir_core::{Goal, NoProgress, RecordBuffer, envelope};
use papir_lookup::Root;
use papir_protocol::{DatabaseList, DeltaInfo, code, header};
use papir_schemes::registry;
use rand_core::SeedableRng;

use replies::read;
use storage::RelayedState;

pub const RECORDS: u64 = 50;
pub const MAX_BATCH: usize = 4;
/// Time of day at the start of a test, in seconds since 1970.
pub const EPOCH: u64 = 1_800_000_000;

/// Returns record `index` of the version made from `seed`.
pub fn record(seed: u64, index: u64) -> Vec<u8> {
    vec![(index + seed) as u8; 8]
}

pub fn records(seed: u64) -> RecordBuffer {
    RecordBuffer::from_records((0..RECORDS).map(|index| record(seed, index))).unwrap()
}

/// A database under `simple`: the version made from `seed`.
pub fn simple(seed: u64) -> Box<dyn ErasedServer> {
    let scheme = registry::by_name("simple").unwrap();
    scheme
        .setup(&records(seed), Goal::Balanced, &mut rng(seed), &NoProgress)
        .unwrap()
}

pub fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// A service with one database.
pub struct Peer {
    /// The database's name.
    pub name: &'static str,
    /// The versions of the database; the last one is the newest.
    pub versions: Vec<Offer>,
    /// Replies to the next query requests, in place of answers.
    pub script: VecDeque<Reply>,
    /// Set if registered clients without tickets may send short messages.
    pub allows_short: bool,
    /// Applied to the answers of each query request, as they are sent.
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
    /// A copy that another program stores at once in place of the client's next one.
    pub overwriting: Option<Vec<u8>>,
    /// The kept version.
    pub version: Option<SavedVersion>,
    /// The patches of sessions that [`Peer::open`] opens: none by default, since most tests are
    /// about other requests.
    pub patches: Patches,
    /// Set if the service has the routes of blocks, which older ones lack.
    pub serves_blocks: bool,
    /// The relay before the service; `None` for direct requests.
    pub relay: Option<&'static str>,
    /// Set if the relay carries the keys of the service's gateway.
    pub carries_keys: bool,
    /// State that clients store for relays, by the relay's address.
    relayed: BTreeMap<String, RelayedState>,
    /// Keys that the client keeps while it uploads them.
    kept: Option<Vec<u8>>,
}

impl Peer {
    pub fn new(first: impl Into<Offer>) -> Self {
        Self {
            name: "table",
            versions: vec![first.into()],
            script: VecDeque::new(),
            allows_short: false,
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
            overwriting: None,
            version: None,
            patches: Patches::Never,
            serves_blocks: true,
            relay: None,
            carries_keys: false,
            relayed: BTreeMap::new(),
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
        let settings = Settings {
            patches: self.patches,
            ..settings
        };
        self.run(Session::open(service, settings))
    }

    /// The service, as clients address it.
    pub fn service(&self) -> Result<Service> {
        let token = Some(Token::new("secret").unwrap());
        let platform = self.platform.clone();
        let service = Service::new("https://papir.example", token, false, platform)?;
        Ok(match self.relay {
            Some(relay) => {
                let address = Address::parse(relay)?;
                service.with_relay(ServiceRelay::at(&address, self.carries_keys))
            }
            None => service,
        })
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
            (Method::Get, [_]) => refusal(404, code::UNKNOWN_DATABASE),
            (Method::Get, ["table", "checkpoint", "proof"]) => self.proof(),
            (Method::Get, ["table", "public"]) => self.public(call),
            (Method::Get, ["table", "prefilter"]) => self.prefilter(),
            (Method::Get, ["table", "public", version, "hashes"]) => self.hashes(version),
            (Method::Get, ["table", "public", version, "blocks", ranges]) => {
                self.blocks(version, ranges)
            }
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

        let enveloped = offer.enveloped(call)?;
        let queries = envelope::split(&enveloped).unwrap();
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
        let mut answers = offer.as_sent(call, answers)?;
        (self.damage)(&mut answers);
        Ok(Response {
            status: 200,
            headers: Vec::new(),
            body: Ok(answers),
        })
    }
}
