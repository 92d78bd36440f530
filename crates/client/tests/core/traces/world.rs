//! Databases of one scheme, and other databases that a lying server may offer in their place.

use std::sync::OnceLock;

use papir_client::core::{Patches, SavedRegistration, Settings};
use papir_core::erased::ErasedScheme;
use papir_core::{Goal, NoProgress, NotPrivate, OwnerKey, RecordBuffer, Records};
use papir_lookup::{BucketTarget, Entry, KeywordLayout, TableOptions, Wanted};
use papir_schemes::registry;

use super::schemes::{scheme, short};
use crate::peer::{Offer, Peer, Registered, rng};

/// Number of records in the databases that are looked up by index.
pub const RECORDS: u64 = 40;
/// Number of keys in the databases that are looked up by key.
const KEYS: u64 = 40;

fn owner() -> &'static OwnerKey {
    static OWNER: OnceLock<OwnerKey> = OnceLock::new();
    OWNER.get_or_init(|| OwnerKey::generate(&mut rng(7)))
}

/// Another database in place of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Database of the same records, prepared again.
    Newer,
    /// Half of the records, or a table of half of the keys.
    Half,
    /// One record, or a table of one key.
    One,
    /// Database of the same records under another private scheme.
    Scheme,
    /// Database of the same records under `plain`, which sends the index in the clear.
    Plain,
}

/// The databases of one scheme.
pub struct World {
    pub settings: Settings,
    /// One database looked up by index; one by key, unless the scheme is for short records.
    pub sides: Vec<Side>,
}

/// A database, the databases that a server may offer in its place, and lookups that must look the
/// same.
pub struct Side {
    pub offer: Offer,
    others: Vec<(Other, Offer)>,
    /// A registration at the database, in schemes with client keys.
    pub registered: Option<(SavedRegistration, Vec<Registered>)>,
    /// Each of them must lead to the same requests as the first.
    pub wanted: Vec<Want>,
}

/// Something to look up.
#[derive(Clone, Debug)]
pub enum Want {
    Index(u64),
    Key(Vec<u8>),
}

impl Want {
    /// The index. Panics for a key.
    pub fn index(&self) -> u64 {
        match self {
            Self::Index(index) => *index,
            Self::Key(key) => panic!("{key:?}"),
        }
    }

    /// The key. Panics for an index.
    pub fn key(&self) -> &[u8] {
        match self {
            Self::Index(index) => panic!("{index}"),
            Self::Key(key) => key,
        }
    }

    pub fn wanted(&self) -> Wanted<'_> {
        match self {
            Self::Index(index) => Wanted::Index(*index),
            Self::Key(key) => Wanted::Key(key),
        }
    }
}

impl World {
    pub fn of(name: &str) -> Self {
        let scheme = scheme(name);
        let settings = Settings {
            schemes: short(),
            // The scripts count responses, so that only those about patches have them.
            patches: Patches::Never,
            owner_key: (name == "pirouette-encrypted").then(|| owner().clone()),
            ..Settings::default()
        };
        let holds_buckets = scheme.plan(table(KEYS).0.shape(), Goal::Balanced).is_ok();
        let by_key = holds_buckets.then(|| Side::by_key(scheme, &settings));
        let sides = [Some(Side::by_index(scheme, &settings)), by_key]
            .into_iter()
            .flatten()
            .collect();
        Self { settings, sides }
    }
}

impl Side {
    fn by_index(scheme: &dyn ErasedScheme, settings: &Settings) -> Self {
        let records =
            |count: u64| RecordBuffer::from_records((0..count).map(|i| [i as u8 + 1])).unwrap();
        let wanted = [3, RECORDS - 1, RECORDS + 5].map(Want::Index).to_vec();
        Self::new(
            scheme,
            settings,
            wanted,
            |count| (records(count), None),
            RECORDS,
        )
    }

    fn by_key(scheme: &dyn ErasedScheme, settings: &Settings) -> Self {
        let wanted = [key(3), key(KEYS - 2), b"absent".to_vec()]
            .map(Want::Key)
            .to_vec();
        Self::new(scheme, settings, wanted, table, KEYS)
    }

    fn new(
        scheme: &dyn ErasedScheme,
        settings: &Settings,
        wanted: Vec<Want>,
        records: impl Fn(u64) -> (RecordBuffer, Option<KeywordLayout>),
        count: u64,
    ) -> Self {
        let offer = |scheme: &dyn ErasedScheme, seed: u64, count: u64| {
            let (records, layout) = records(count);
            let scheme = scheme
                .allow_insecure(NotPrivate::acknowledged())
                .with_owner_key(
                    settings
                        .owner_key
                        .as_ref()
                        .filter(|_| scheme.name().contains("encrypted")),
                );
            let server = scheme
                .setup(&records, Goal::Balanced, &mut rng(seed), &NoProgress)
                .unwrap();
            Offer::new(server, layout)
        };
        let other_scheme = registry::by_name(if scheme.name() == "simple" {
            "inspire"
        } else {
            "simple"
        });
        let others = vec![
            (Other::Newer, offer(scheme, 2, count)),
            (Other::Half, offer(scheme, 3, count / 2)),
            (Other::One, offer(scheme, 4, 1)),
            (Other::Scheme, offer(other_scheme.unwrap(), 5, count)),
            (
                Other::Plain,
                offer(registry::by_name("plain").unwrap(), 6, count),
            ),
        ];
        let mut side = Self {
            offer: offer(scheme, 1, count),
            others,
            registered: None,
            wanted,
        };
        if side.offer.server.describe().limits.client_keys {
            let mut peer = Peer::new(side.offer.clone());
            let mut session = peer.open(settings.clone()).unwrap();
            peer.run(session.register()).unwrap();
            side.registered = Some((peer.saved.unwrap(), peer.clients));
        }
        side
    }

    /// Returns true if clients upload their keys in parts.
    pub fn uploads(&self) -> bool {
        self.offer.server.describe().sizes.keys > 64 << 10
    }

    /// Returns true if registered clients may send short messages.
    pub fn takes_short(&self) -> bool {
        let limits = self.offer.server.describe().limits;
        limits.client_keys && !limits.tickets
    }

    /// Returns true if clients keep copies of the public part.
    pub fn keeps_copies(&self) -> bool {
        self.offer.bundle.len() >= 16 << 10
    }

    pub fn other(&self, other: Other) -> Offer {
        self.others
            .iter()
            .find(|(one, _)| *one == other)
            .unwrap()
            .1
            .clone()
    }

    /// The service, with the registration if there is one and `registered` is set.
    pub fn peer(&self, registered: bool) -> Peer {
        let mut peer = Peer::new(self.offer.clone());
        if let Some((saved, clients)) = self.registered.clone().filter(|_| registered) {
            (peer.saved, peer.clients) = (Some(saved), clients);
        }
        peer
    }
}

fn key(i: u64) -> Vec<u8> {
    format!("key {i}").into_bytes()
}

/// Returns a table of `count` keys in short buckets.
pub fn table(count: u64) -> (RecordBuffer, Option<KeywordLayout>) {
    let entries = (0..count)
        .map(|i| Entry {
            key: key(i),
            value: vec![i as u8],
            line: i + 1,
        })
        .collect();
    let options = TableOptions {
        bucket: BucketTarget::Grow(64),
        ..TableOptions::default()
    };
    let table = papir_lookup::build(entries, &options, &mut rng(9), &NoProgress).unwrap();
    (table.records, Some(table.layout))
}
