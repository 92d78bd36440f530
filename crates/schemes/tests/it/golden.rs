//! Golden hashes of every scheme's bytes.
//!
//! They change with any format, mask or encoding, and with the generator of queries, and are the
//! same on every backend. After an intended change of a format, raise its number; then record the
//! new hashes in the scheme's `rows.rs`.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::hedge::Circumstances;
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Goal, NoProgress, NotPrivate, RecordBuffer, Records, Shape};
use papir_research::for_each_research_scheme;
use papir_schemes::for_each_scheme;
use papir_schemes::registry;
use papir_schemes::rows::ListedScheme;

use crate::peer::Peer;
use crate::short::{registered, with_short_modulus};

/// Makes a test for each listed scheme.
macro_rules! golden {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        $(#[test]
        fn $name() {
            check::<$scheme>();
        })*
    };
}

/// Names of the listed schemes.
macro_rules! names {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        [$(stringify!($name).replace('_', "-")),*]
    };
}

for_each_scheme!(golden);
for_each_research_scheme!(golden);

/// Compares a scheme's bytes with its row.
fn check<S: ListedScheme>() {
    let golden = S::ROWS.golden;
    let found = hashes(S::NAME, golden.records, golden.record_bytes);
    assert_eq!(found, golden.hashes);
}

#[test]
fn every_registered_scheme_has_golden_hashes() {
    let mut golden = for_each_scheme!(names).to_vec();
    golden.extend(for_each_research_scheme!(names));
    golden.sort();

    let mut names: Vec<_> = registered().iter().map(|scheme| scheme.name()).collect();
    names.sort();
    assert_eq!(names, golden);
}

/// Several units of rows.
#[test]
#[ignore = "long"]
fn zipdouble_of_many_records() {
    let expected = [
        "807d5d78cee8f1aa",
        "65d165937bbf1b56",
        "d07518ad0fb1a21f",
        "96e66863fd98acca",
        "ab2948ea1b3e026b",
        "020e3da05f045ae5",
        "a8406ff6da23cefa",
    ];
    assert_eq!(hashes("zipdouble", 15_000, 2), expected);
}

/// Returns the first 8 bytes of BLAKE3, in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Records of fixed bytes.
fn database(records: u64, record_bytes: u64) -> RecordBuffer {
    let shape = Shape::of_bytes(records, record_bytes).unwrap();
    let bytes = (0..(records * record_bytes) as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}

/// Returns the names and contents of a prepared database's sections.
fn sections(server: &dyn ErasedServer) -> Vec<u8> {
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let mut all = Vec::new();
    for name in sections.names().map(str::to_owned).collect::<Vec<_>>() {
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&sections.get(&name).unwrap());
    }
    all
}

/// Returns the scheme of this name, under a fixed owner's key if its databases are encrypted.
///
/// ZipPIR has a short modulus here, since its tickets take minutes otherwise.
fn scheme(name: &str, shape: Shape) -> Box<dyn ErasedScheme> {
    const KEY: &str =
        "papir-owner-key-1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    if name.starts_with("zip") {
        return with_short_modulus(name);
    }
    registered();
    let scheme = registry::by_name(name)
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged());
    let encrypted = scheme.plan(shape, Goal::Balanced).unwrap().limits.owner_key;
    scheme.with_owner_key(encrypted.then(|| KEY.parse().unwrap()).as_ref())
}

/// Prepares a small database. Batch schemes are prepared for batches of seven.
fn prepared(
    scheme: &dyn ErasedScheme,
    records: &RecordBuffer,
    rng: &mut ChaCha20Rng,
) -> Box<dyn ErasedServer> {
    let Some(batches) = registry::batches_named(scheme.name()) else {
        return scheme
            .setup(records, Goal::Balanced, rng, &NoProgress)
            .unwrap();
    };
    let parameters = batches
        .candidate(records.shape(), Goal::Balanced, 7)
        .unwrap()
        .parameters;
    scheme
        .setup_candidate(&parameters, records, rng, &NoProgress)
        .unwrap()
}

fn hashes(name: &str, records: u64, record_bytes: u64) -> Vec<String> {
    let mut rng = ChaCha20Rng::from_seed([11; 32]);
    let records = database(records, record_bytes);
    let index = 123 % records.shape().records();
    let scheme = scheme(name, records.shape());
    let server = prepared(&*scheme, &records, &mut rng);

    let mut peer = Peer::new(&*scheme, &*server, &Circumstances::none(), &mut rng);
    let ticket = peer.ticket(&*server);
    let (secret, query) = peer.query(index, &mut rng);
    let answer = server
        .answer(peer.session(ticket.as_ref()), &query)
        .unwrap();
    assert_eq!(
        peer.client.extract(secret, &answer).unwrap(),
        [records.get(index).unwrap()]
    );

    let mut all = vec![server.public(), query, answer, sections(&*server)];
    if let (Some(state), Some((keys, _))) = (&peer.state, peer.keys) {
        all.push(keys);
        all.extend(ticket);
        let side = peer.client.registered().unwrap();
        all.push(side.save_state(state).unwrap().to_vec());
    }
    all.iter().map(|bytes| hash(bytes)).collect()
}
