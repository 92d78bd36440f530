//! Random histories of clients, compared with a model.
//!
//! Queries are lost, refused and repeated. States are copied, used at two places and restored.
//! Clients are evicted. Keys are registered again, by copies of a client and after a lost response.
//! Versions change, and queries for versions that are no longer answered are refused.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::Version;
use papir_core::scheme::SENT_AHEAD;

use super::super::id::ClientId;
use super::super::keys_digest::KeysDigest;
use super::super::known_keys::Completed;
use super::super::numbers::Claim;
use super::super::quota::Quota;
use super::super::row::ClientRow;
use super::super::test_stores::TestStore;
use super::TakeError;

const DATABASE: &str = "a";
const WINDOW: u64 = 16;

/// The client's half of the state machine.
#[derive(Clone, Debug)]
struct Client {
    id: u128,
    next: u64,
    /// Number of queries whose keys were sent ahead.
    sent_ahead: u64,
    /// Queries that were sent and not answered: number, version and hash.
    waiting: Vec<(u64, u8, [u8; 32])>,
}

/// The server's tables, and the queries that the server has seen.
struct World {
    store: TestStore,
    version: u8,
    registered: u128,
    client: Client,
    copies: Vec<Client>,
    /// The first client that registered each digest, and the step at which it did.
    keys: BTreeMap<KeysDigest, (u128, u64)>,
    steps: u64,
    /// Registrations that were refused since another client has the keys.
    repeated: usize,
    /// The first query that the service saw with each number.
    seen: BTreeMap<(u128, u64), (u8, [u8; 32])>,
    answered: usize,
    refused: usize,
    /// Queries that were refused for their version.
    unanswered: usize,
    rng: ChaCha20Rng,
}

fn version(number: u8) -> Version {
    Version([number; 8])
}

impl World {
    /// A client with keys of its own, or with those of another one if its random numbers repeat.
    fn register(&mut self) {
        let is_copy = self.rng.next_u32().is_multiple_of(2);
        let copied = self.rng.next_u32() as usize % self.keys.len().max(1);
        let keys = match self.keys.keys().nth(copied) {
            Some(digest) if is_copy => *digest,
            _ => {
                let mut digest = [0; 32];
                self.rng.fill_bytes(&mut digest);
                KeysDigest(digest)
            }
        };

        if !self.register_with(keys) {
            self.repeated += 1;
            self.register();
        }
    }

    /// Registers keys, and returns whether they are accepted. The last response may be lost.
    fn register_with(&mut self, keys: KeysDigest) -> bool {
        self.registered += 1;
        let quota = Quota {
            clients: 1 << 30,
            bytes: u64::MAX,
        };
        let row = ClientRow::new([0; 16], 10, version(self.version), 0, u64::MAX);
        self.store
            .add(DATABASE, ClientId::of(self.registered), &row, quota, 0)
            .unwrap();

        let id = ClientId::of(self.registered);
        let complete = || self.store.complete(DATABASE, id, keys, self.steps, |_| {});
        let first = self
            .keys
            .entry(keys)
            .or_insert((self.registered, self.steps));
        if first.0 != self.registered {
            assert_eq!(complete().unwrap(), Completed::Repeated);
            self.store.remove(DATABASE, id).unwrap();
            return false;
        }
        for _ in 0..2 {
            assert_eq!(complete().unwrap(), Completed::Registered);
        }

        self.client = Client {
            id: self.registered,
            next: 0,
            sent_ahead: 0,
            waiting: Vec::new(),
        };
        true
    }

    /// Forgets the keys of registrations before a random step.
    fn forget_keys(&mut self) {
        let before = u64::from(self.rng.next_u32()) % (self.steps + 1);
        self.store
            .forget_keys_before(before, u64::MAX >> 1)
            .unwrap();
        self.keys.retain(|_, (_, step)| *step >= before);
    }

    /// A fresh query: its number is taken before it is sent.
    fn query(&mut self) {
        let mut hash = [0; 32];
        self.rng.fill_bytes(&mut hash);
        self.client
            .waiting
            .push((self.client.next, self.version, hash));
        self.client.next += 1;
    }

    /// A query whose key was sent ahead.
    fn query_sent_ahead(&mut self) {
        self.query();
        self.client.next -= 1;
        if let Some((number, ..)) = self.client.waiting.last_mut() {
            *number = SENT_AHEAD + self.client.sent_ahead;
        }
        self.client.sent_ahead += 1;
    }

    /// Sends one of the waiting queries, and checks the service's answer against the model.
    fn send(&mut self) {
        if self.client.waiting.is_empty() {
            return;
        }
        let position = self.rng.next_u32() as usize % self.client.waiting.len();
        let (number, sent, hash) = self.client.waiting[position];
        let id = ClientId::of(self.client.id);

        if !self.answered_versions().contains(&version(sent)) {
            // The client follows the change with a fresh query. The service has seen the old one.
            self.store
                .claim_unanswered(DATABASE, id, &[number], WINDOW)
                .unwrap();
            self.seen
                .entry((self.client.id, number))
                .or_insert((0, [0; 32]));
            self.client.waiting.swap_remove(position);
            self.unanswered += 1;
            return;
        }

        let claims = [Claim {
            number,
            version: version(sent),
            hash,
        }];
        let taken = self
            .store
            .take_tickets(DATABASE, id, &claims, |_| {}, WINDOW);

        let newest = self.newest_seen(number >= SENT_AHEAD);
        let first = *self
            .seen
            .entry((self.client.id, number))
            .or_insert((sent, hash));
        let behind = newest.is_some_and(|newest| number + WINDOW < newest + 1);

        match taken {
            Ok(_) => {
                assert_eq!(first, (sent, hash), "number {number} answers two queries");
                assert!(
                    !behind,
                    "{number} is older than the window: the newest is {newest:?}"
                );
                self.answered += 1;
                self.client.waiting.swap_remove(position);
            }
            Err(TakeError::NotReady(_)) => {
                assert!(first == (sent, hash) && !behind && number < SENT_AHEAD)
            }
            Err(TakeError::Used(_)) => {
                assert!(
                    first != (sent, hash) || behind,
                    "{number} is refused to its own query"
                );
                self.refused += 1;
                // The state was copied, or the query is too old: the client registers anew.
                self.register();
            }
            Err(TakeError::Gone) => self.register(),
            Err(TakeError::Storage(error)) => panic!("{error}"),
        }
    }

    /// The newest version and the one before.
    fn answered_versions(&self) -> [Version; 2] {
        [version(self.version), version(self.version - 1)]
    }

    fn change_version(&mut self) {
        self.version += 1;
        let versions = self.answered_versions();
        self.store.keep_versions(DATABASE, &versions).unwrap();
    }

    /// Goes on with a copied state. The state in use so far becomes a copy.
    fn use_a_copy(&mut self) {
        if !self.copies.is_empty() {
            let position = self.rng.next_u32() as usize % self.copies.len();
            std::mem::swap(&mut self.client, &mut self.copies[position]);
        }
    }

    /// The largest number that the service has seen, of queries whose keys were sent ahead or of
    /// others.
    fn newest_seen(&self, sent_ahead: bool) -> Option<u64> {
        let [first, last] = if sent_ahead {
            [SENT_AHEAD, u64::MAX]
        } else {
            [0, SENT_AHEAD - 1]
        };
        self.seen
            .range((self.client.id, first)..=(self.client.id, last))
            .next_back()
            .map(|((_, number), _)| *number)
    }

    /// Prepares a ticket that a waiting query lacks, else the next one.
    fn prepare(&self) {
        let id = ClientId::of(self.client.id);
        let next = (self.client.next, self.version);
        let waiting = self
            .client
            .waiting
            .iter()
            .map(|(number, sent, _)| (*number, *sent));
        let waiting = waiting.filter(|(number, _)| *number < SENT_AHEAD);

        for (number, sent) in waiting.chain([next]) {
            if self.store.numbers(id).unwrap().lacks(version(sent), number) {
                self.store
                    .put_ticket(DATABASE, id, version(sent), number, &[sent; 3])
                    .unwrap();
                return;
            }
        }
    }

    /// Every waiting query of the client is answered once its ticket is prepared.
    fn settle(&mut self) {
        let id = self.client.id;
        let waiting = self.client.waiting.len();
        for _ in 0..200 * (waiting + 1) {
            if self.client.id != id || self.client.waiting.is_empty() {
                return;
            }
            self.prepare();
            self.send();
        }
        panic!("queries are not answered: {:?}", self.client);
    }

    fn step(&mut self) {
        self.steps += 1;
        match self.rng.next_u32() % 100 {
            0..22 => self.query(),
            22..30 => self.query_sent_ahead(),
            30..65 => self.send(),
            65..85 => self.prepare(),
            // A query is lost before the service sees it, or its answer is.
            85..89 => drop(self.client.waiting.pop()),
            89 => {
                self.register();
                self.forget_keys();
            }
            90..92 => self.copies.push(self.client.clone()),
            92 => {
                if let Some(copy) = self.copies.pop() {
                    self.client = copy;
                }
            }
            93..95 => self.use_a_copy(),
            95..97 => self.change_version(),
            97 => drop(
                self.store
                    .remove(DATABASE, ClientId::of(self.client.id))
                    .unwrap(),
            ),
            _ => self.settle(),
        }
    }
}

fn play(store: TestStore, seed: u8, steps: usize) {
    let mut world = World {
        store,
        version: 1,
        registered: 0,
        client: Client {
            id: 0,
            next: 0,
            sent_ahead: 0,
            waiting: Vec::new(),
        },
        copies: Vec::new(),
        keys: BTreeMap::new(),
        steps: 0,
        repeated: 0,
        seen: BTreeMap::new(),
        answered: 0,
        refused: 0,
        unanswered: 0,
        rng: ChaCha20Rng::from_seed([seed; 32]),
    };

    world.register();
    (0..steps).for_each(|_| world.step());

    let World {
        answered,
        refused,
        unanswered,
        repeated,
        ..
    } = world;
    assert!(
        20 * answered > steps && refused > 0 && unanswered > 0 && repeated > 0,
        "{answered}, {refused}, {unanswered}, {repeated}"
    );
}

#[test]
fn a_number_belongs_to_the_first_query_that_the_service_sees() {
    (0..3).for_each(|seed| play(TestStore::embedded(), seed, 1300));
}

#[test]
#[cfg(all(unix, feature = "postgres"))]
fn a_number_belongs_to_the_first_query_that_the_services_see() {
    play(TestStore::shared(), 3, 500);
}
