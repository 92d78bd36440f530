//! Bytes that a client fetches while a database changes, with patches and without.
//!
//! `cargo test -p papir-client --test core patched_versions -- --ignored --nocapture` prints a
//! table over 1,000 versions.

use papir_client::core::{Patches, Settings};
use papir_core::{Change, Choice, Goal, NoProgress, RecordBuffer, Records};
use papir_lookup::{BucketTarget, Entry, TableOptions};
use papir_schemes::registry;

use crate::peer::{Offer, Peer, rng};

/// Shortest public part of the database of `inspire1`: twice the shortest that clients keep.
const LEAST_PUBLIC: u64 = 32 << 10;
/// Number of keys of the keyed database. About eleven share a pilot of 2 bytes, so that the layout
/// is longer than the shortest that clients keep, 16 KiB.
const KEYS: u64 = 160_000;
/// Distance of the records that change in versions that follow each other: a prime, so that they
/// are everywhere in the database.
const DISTANCE: u64 = 7919;

/// A client that fetches each version.
struct Follower {
    peer: Peer,
    /// Bytes of the first public part.
    first: u64,
    /// Bytes of all later ones together.
    later: u64,
}

impl Follower {
    /// A client without a copy fetches this version.
    fn new(offer: &Offer, patches: Patches) -> Self {
        let mut peer = Peer::new(offer.clone());
        peer.patches = patches;
        let first = public_bytes(&mut peer);

        Self {
            peer,
            first,
            later: 0,
        }
    }

    /// Fetches the next version.
    fn fetch(&mut self, offer: &Offer) {
        self.peer.versions = vec![offer.clone()];
        self.later += public_bytes(&mut self.peer);
    }
}

/// Opens a session. Returns the bytes of the public part, list and blocks that it fetches.
fn public_bytes(peer: &mut Peer) -> u64 {
    let session = peer.open(Settings::default()).unwrap();
    peer.take();
    session.costs().public_bytes
}

/// What a client fetches over some versions of a database.
struct Row {
    name: &'static str,
    /// Bytes of the first version.
    first: u64,
    /// Bytes of the later versions, each as a whole.
    whole: u64,
    /// The same with patches.
    patched: u64,
}

impl Row {
    /// Fetches the first version, and as many later ones, in each of which one record changes.
    fn of(name: &'static str, first: Offer, versions: u64) -> Self {
        let mut whole = Follower::new(&first, Patches::Never);
        let mut patched = Follower::new(&first, Patches::Always);

        let mut newest = first;
        for number in 1..=versions {
            newest = next(&newest, number);
            whole.fetch(&newest);
            patched.fetch(&newest);
        }

        Self {
            name,
            first: whole.first,
            whole: whole.later,
            patched: patched.later,
        }
    }
}

/// The next version, with another record of the scheme's database.
fn next(before: &Offer, number: u64) -> Offer {
    let shape = before.server.describe().shape;
    let change = Change {
        index: number * DISTANCE % shape.records(),
        record: vec![number as u8; shape.record_bytes()],
    };

    let mut rng = rng(1000 + number);
    let server = before.server.update(&[change], &mut rng, &NoProgress);
    // A changed value leaves a key in its bucket, so that the layout stays the same.
    Offer::new(server.unwrap(), before.keyword.clone())
}

/// Records of `bytes` bytes.
fn records(count: u64, bytes: usize) -> RecordBuffer {
    RecordBuffer::from_records((0..count).map(|index| vec![index as u8; bytes])).unwrap()
}

/// A database of `simple`, of which a record changes a tenth of the public part.
fn simple() -> Offer {
    let scheme = registry::by_name("simple").unwrap();
    let records = records(3000, 8);
    let candidate = scheme
        .candidate(records.shape(), Choice::Columns(300))
        .unwrap();
    let server = scheme.setup_candidate(&candidate.parameters, &records, &mut rng(1), &NoProgress);
    server.unwrap().into()
}

/// A database of `inspire1` of several packs.
fn inspire1() -> Offer {
    let scheme = registry::by_name("inspire1").unwrap();
    let records = records(4096, 256);
    let candidate = scheme
        .candidate(records.shape(), Choice::Columns(64))
        .unwrap();
    assert!(
        candidate.description.sizes.public >= LEAST_PUBLIC,
        "a public part that clients keep"
    );

    let server = scheme.setup_candidate(&candidate.parameters, &records, &mut rng(1), &NoProgress);
    server.unwrap().into()
}

/// A keyed database of `inspire`, whose public part is a seed and the layout of the keys.
fn keyed_inspire() -> Offer {
    let entries = (0..KEYS)
        .map(|number| Entry {
            key: format!("key {number}").into_bytes(),
            value: number.to_le_bytes().to_vec(),
            line: number + 1,
        })
        .collect();
    let options = TableOptions {
        bucket: BucketTarget::Grow(64),
        ..TableOptions::default()
    };
    let table = papir_lookup::build(entries, &options, &mut rng(9), &NoProgress).unwrap();

    let scheme = registry::by_name("inspire").unwrap();
    let server = scheme
        .setup(&table.records, Goal::Balanced, &mut rng(1), &NoProgress)
        .unwrap();
    Offer::new(server, Some(table.layout))
}

/// The rows of all three databases.
fn rows(versions: u64) -> [Row; 3] {
    [
        Row::of("simple", simple(), versions),
        Row::of("inspire1", inspire1(), versions),
        Row::of("inspire, keyed", keyed_inspire(), versions),
    ]
}

#[test]
fn patches_of_single_changes_are_shorter_than_the_whole() {
    let versions = 2;
    for row in rows(versions) {
        let Row {
            name,
            first,
            whole,
            patched,
        } = row;
        assert_eq!(whole, versions * first, "{name}");
        assert!(patched < whole, "{name}: {patched} of {whole} bytes");
    }
}

#[test]
#[ignore = "long: prints the bytes of 1,000 versions"]
fn bytes_of_a_thousand_versions() {
    println!("| scheme | first | 1,000 versions, whole | with patches | share |");
    println!("|---|---|---|---|---|");
    for row in rows(1000) {
        let Row {
            name,
            first,
            whole,
            patched,
        } = row;
        let share = 100.0 * patched as f64 / whole as f64;
        println!("| {name} | {first} | {whole} | {patched} | {share:.1} % |");
        assert!(patched < whole, "{name}");
    }
}
