//! Golden hashes of every scheme's bytes: a change of a format, a mask or an encoding is seen here.
//!
//! The same on every backend. When a change is meant, raise the format and pin the new hashes.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::ErasedSession;
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Goal, NoProgress, RecordBuffer, Shape};
use papir_schemes::registry;

/// First 8 bytes of BLAKE3, in hexadecimal.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..16].to_owned()
}

/// Hashes of public part, query, answer and all sections, for a small fixed database.
fn hashes(scheme: &str, records: u64, record_bytes: u64) -> [String; 4] {
    let mut rng = ChaCha20Rng::from_seed([11; 32]);
    let shape = Shape::of_bytes(records, record_bytes).unwrap();
    let bytes =
        (0..(records * record_bytes) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let records = RecordBuffer::from_packed(shape, bytes).unwrap();
    let scheme = registry::by_name(scheme).unwrap();
    let server = scheme.setup(&records, Goal::Balanced, &mut rng, &NoProgress).unwrap();
    let client = scheme.client(&server.public()).unwrap();
    let (secret, query) = client.query(None, &[123], &mut rng).unwrap();
    let answer = server.answer(ErasedSession::default(), &query).unwrap();
    assert_eq!(
        client.extract(secret, &answer).unwrap(),
        [papir_core::extract_bits(records.packed(), 123 * 8 * record_bytes, 8 * record_bytes)]
    );
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let mut all = Vec::new();
    for name in sections.names().map(str::to_owned).collect::<Vec<_>>() {
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&sections.get(&name).unwrap());
    }
    [hash(&server.public()), hash(&query), hash(&answer), hash(&all)]
}

#[test]
fn plain() {
    assert_eq!(
        hashes("plain", 300, 100),
        ["cf1d2208917d2cbd", "9e88a044a7165120", "ff2959613d2711f0", "bb907b20a503d025"]
    );
}

#[test]
fn simple() {
    assert_eq!(
        hashes("simple", 300, 100),
        ["259664626b3655ec", "89891c8ef9752e96", "0b08f3d5c70a3499", "bde60ec01fa8e2b3"]
    );
}

#[test]
fn inspire() {
    assert_eq!(
        hashes("inspire", 300, 100),
        ["4273c204c384da7d", "35de33a99159fb4c", "d7ebcd7ce653ac22", "c796c8a21c2cf447"]
    );
}

#[test]
fn double() {
    assert_eq!(
        hashes("double", 15_000, 2),
        ["37b0f62190184875", "cab6ac7f7971e025", "dc4ae19b8113295f", "a0507cf025d5205a"]
    );
}

#[test]
fn inspire2() {
    assert_eq!(
        hashes("inspire2", 300, 100),
        ["c608239fa60303f8", "4812d7650aa2d876", "cd24aa71f0f56eaa", "9dd96f4856af3c70"]
    );
}
