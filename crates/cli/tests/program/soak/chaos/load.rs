//! Clients that look keys up at a fixed rate, and check every answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_client::{
    CheckpointSettings, Connection, Error, Freshness, Issuer, Options, ProxySetting, Token,
};

use super::owner::{CHANGING, Database};
use super::record::Record;
use super::schedule::Random;
use super::services::{Place, Stage};

/// Time from a lookup's first attempt within which it must succeed, with all retries.
const RETRY_BUDGET: Duration = Duration::from_secs(300);
/// Pause before a lookup is tried again that the client library has given up.
const PAUSE: Duration = Duration::from_millis(250);
/// Lookups of one client with nothing else to do, and the time between two of them.
const UNLOADED: usize = 300;
const UNLOADED_PERIOD: Duration = Duration::from_millis(100);
/// One in so many lookups asks for a key that no version has.
const ABSENT: usize = 8;

/// The way to the service.
#[derive(Clone, Copy)]
enum Way {
    Proxy,
    Direct(Payment),
}

/// How a request to the service without a proxy is paid.
#[derive(Clone, Copy)]
enum Payment {
    Bearer,
    PrivateToken,
}

/// A client of a run.
#[derive(Clone, Copy)]
pub(super) struct ClientPlan {
    name: &'static str,
    way: Way,
    database: Database,
    /// Time between the starts of two lookups.
    period: Duration,
    /// Lookups after which the client begins anew with an empty folder, and registers again.
    lookups_per_state: usize,
}

/// A client that keeps its state for the whole run.
const fn lasting(name: &'static str, way: Way, database: Database, period: Duration) -> ClientPlan {
    ClientPlan {
        name,
        way,
        database,
        period,
        lookups_per_state: usize::MAX,
    }
}

const TENTH: Duration = Duration::from_millis(100);
const SEVENTH: Duration = Duration::from_millis(143);
const DIRECT: Way = Way::Direct(Payment::Bearer);

/// Together 47 lookups a second. One under ZipPIR takes a core for seconds, so they are rare.
pub(super) const CLIENTS: [ClientPlan; 9] = [
    lasting("first", Way::Proxy, Database::Words, TENTH),
    lasting("second", Way::Proxy, Database::Words, TENTH),
    lasting("third", Way::Proxy, Database::Words, TENTH),
    lasting("fourth", DIRECT, Database::Words, SEVENTH),
    lasting("fifth", DIRECT, Database::Words, SEVENTH),
    lasting(
        "private-tokens",
        Way::Direct(Payment::PrivateToken),
        Database::Words,
        Duration::from_millis(500),
    ),
    lasting(
        "letters",
        Way::Proxy,
        Database::Letters,
        Duration::from_secs(1),
    ),
    ClientPlan {
        lookups_per_state: 5,
        ..lasting(
            "registered",
            Way::Proxy,
            Database::Registered,
            Duration::from_secs(90),
        )
    },
    lasting(
        "registered-direct",
        DIRECT,
        Database::Registered,
        Duration::from_secs(120),
    ),
];

/// The clients of a run.
pub(super) struct Load<'a> {
    pub(super) stage: &'a Stage,
    pub(super) record: &'a Record,
    pub(super) seed: u64,
    /// Set when the run ends.
    pub(super) ended: &'a AtomicBool,
}

/// A key to look up, and its number unless no version has it.
struct Wanted {
    key: String,
    number: Option<usize>,
}

/// The value that a service gave for a key, and the sequence of the version that it is of.
struct Found {
    value: Option<Vec<u8>>,
    sequence: Option<u64>,
}

impl Load<'_> {
    /// Looks keys up until the run ends. The last lookup is finished.
    pub(super) fn run(&self, number: usize, plan: ClientPlan) {
        let mut random = Random::new(self.seed ^ (number as u64 + 1));
        let mut connection = None;
        let mut due = Instant::now();

        for lookup in 0usize.. {
            self.sleep_until(due);
            if self.ended.load(Ordering::SeqCst) {
                return;
            }

            let round = lookup / plan.lookups_per_state;
            if lookup.is_multiple_of(plan.lookups_per_state) {
                connection = None;
            }
            let options = self.options(plan, round);
            let wanted = choose(plan.database, &mut random);
            self.look_up(plan, &options, &mut connection, &wanted);

            // What a fault has delayed is not made up for: the rate stays bounded.
            due = (due + plan.period).max(Instant::now());
        }
    }

    /// Sleeps until this moment, or until the run ends.
    fn sleep_until(&self, due: Instant) {
        while !self.ended.load(Ordering::SeqCst) {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// Looks one key up, again and again within the budget, and checks the answer.
    fn look_up(
        &self,
        plan: ClientPlan,
        options: &Options,
        connection: &mut Option<Connection>,
        wanted: &Wanted,
    ) {
        let begin = Instant::now();
        let found = loop {
            match self.attempt(plan, options, connection, wanted) {
                Ok(found) => break found,
                Err(error) => {
                    *connection = None;
                    self.record.retried(error.code());
                    if begin.elapsed() > RETRY_BUDGET {
                        self.record.failed(format!("{}: {error}", plan.name));
                        return;
                    }
                }
            }
            sleep(PAUSE);
        };

        let time = begin.elapsed();
        match self.fault_in(plan.database, wanted, &found) {
            Some(fault) => self.record.wrong(format!("{}: {fault}", plan.name)),
            None => {
                // The other databases take longer by their nature.
                let is_timed = plan.database == Database::Words;
                self.record.answered(is_timed.then_some(time));
            }
        }
    }

    /// Looks one key up, over a new connection if there is none.
    fn attempt(
        &self,
        plan: ClientPlan,
        options: &Options,
        connection: &mut Option<Connection>,
        wanted: &Wanted,
    ) -> Result<Found, Error> {
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(Connection::open_with(&self.url(plan.way), options)?),
        };
        let value = connection.get_key(wanted.key.as_bytes())?;

        // After the lookup, which may have moved to another version: the answer is of this one.
        let sequence = connection.checkpoint().map(|one| one.leaf.sequence);
        Ok(Found { value, sequence })
    }

    /// The difference of an answer from what its version holds; `None` for a right answer.
    fn fault_in(&self, database: Database, wanted: &Wanted, found: &Found) -> Option<String> {
        let key = &wanted.key;
        let history = self.stage.owner.history(database);
        let Some(sequence) = found.sequence else {
            return Some(format!("{key}: no checkpoint, expected the owner's"));
        };
        let newest = history.newest();
        if sequence > newest {
            return Some(format!(
                "{key}: version {sequence}, expected at most {newest}"
            ));
        }

        let expected = wanted
            .number
            .and_then(|number| history.value(number, sequence));
        let value = found.value.as_deref();
        if value == expected.as_deref().map(str::as_bytes) {
            return None;
        }
        let value = value.map(String::from_utf8_lossy);
        Some(format!(
            "{key} in version {sequence}: {value:?}, expected {expected:?}"
        ))
    }

    fn url(&self, way: Way) -> String {
        match way {
            Way::Proxy => self.stage.nginx.url.clone(),
            Way::Direct(_) => self.stage.member(Place::Alone).url(),
        }
    }

    /// The options of a client in its round `round`.
    fn options(&self, plan: ClientPlan, round: usize) -> Options {
        let state = format!("state-{}-{round}", plan.name);
        let options = Options {
            database: Some(plan.database.name().to_owned()),
            checkpoint: CheckpointSettings {
                owner: Some(self.stage.owner.public.clone()),
                ..CheckpointSettings::default()
            },
            freshness: Freshness(Duration::from_secs(5)),
            state: Some(self.stage.folder.path(&state).into()),
            ..Options::default()
        }
        .proxy(ProxySetting::Direct);

        match plan.way {
            Way::Proxy => options,
            Way::Direct(Payment::Bearer) => Options {
                token: Some(token(&self.stage.bearer)),
                ..options
            },
            Way::Direct(Payment::PrivateToken) => {
                let issuer = &self.stage.issuer;
                Options {
                    issuer: Some(Issuer::new(&issuer.url, Some(token(&issuer.bearer)))),
                    ..options
                }
            }
        }
    }

    /// Times of lookups in `words` through the proxy, one after the other, with no other load.
    pub(super) fn unloaded(&self) -> Vec<Duration> {
        let [plan, ..] = CLIENTS;
        let options = self.options(plan, 0);
        let mut random = Random::new(self.seed);
        let mut connection = None;

        // The first one opens the connection.
        let mut look_up = || {
            let begin = Instant::now();
            let wanted = choose(plan.database, &mut random);
            let found = self.attempt(plan, &options, &mut connection, &wanted);
            let fault = self.fault_in(plan.database, &wanted, &found.unwrap());
            assert_eq!(fault, None);
            begin.elapsed()
        };
        look_up();

        (0..UNLOADED)
            .map(|_| {
                sleep(UNLOADED_PERIOD);
                look_up()
            })
            .collect()
    }

    /// Returns whether a new client finds the newest version of `words` behind the proxy and at the
    /// service without one.
    pub(super) fn is_newest_served(&self, round: usize) -> bool {
        let newest = self.stage.owner.history(Database::Words).newest();
        [Way::Proxy, DIRECT].into_iter().all(|way| {
            let plan = lasting("last", way, Database::Words, TENTH);
            let options = self.options(plan, round);
            let opened = Connection::open_with(&self.url(way), &options);
            opened.is_ok_and(|connection| {
                let accepted = connection.checkpoint();
                accepted.is_some_and(|one| one.leaf.sequence == newest)
            })
        })
    }
}

/// Half of the lookups are of keys that versions change.
fn choose(database: Database, random: &mut Random) -> Wanted {
    if random.below(ABSENT) == 0 {
        return Wanted {
            key: format!("absent-{}", random.below(1_000_000)),
            number: None,
        };
    }

    let keys = database.keys();
    let bound = match random.below(2) {
        0 => CHANGING.min(keys),
        _ => keys,
    };
    let number = random.below(bound);
    Wanted {
        key: format!("key-{number}"),
        number: Some(number),
    }
}

fn token(text: &str) -> Token {
    Token::new(text).unwrap()
}
