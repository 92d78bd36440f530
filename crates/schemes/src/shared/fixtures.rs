//! Records, changes and checks of tests in several families.

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Scheme, Server, Session};
use papir_core::{Change, Error, RecordBuffer, Records, Shape, extract_bits};
use papir_lattice::lwe32::{N, SIGMA};
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::sample::Gaussian;
use rand_core::{CryptoRng, Rng, SeedableRng};

use super::units::count_selected;

/// Returns records of bytes that are 0 or 255. These are the largest bytes when centred.
pub(crate) fn extreme_records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    ChaCha20Rng::seed_from_u64(5).fill_bytes(records.packed_mut());
    records
        .packed_mut()
        .iter_mut()
        .for_each(|byte| *byte = (*byte & 1).wrapping_neg());
    records
}

/// Returns a new record for this index.
pub(crate) fn changed(index: u64, shape: &Shape) -> Change {
    let bytes: Vec<u8> = (0..shape.record_bytes())
        .map(|i| (i as u64 * 37 + index * 5 + 1) as u8)
        .collect();
    Change {
        index,
        record: extract_bits(&bytes, 0, shape.record_bits()),
    }
}

/// Changes these records, and returns the changes.
pub(crate) fn change(records: &mut RecordBuffer, indices: &[u64]) -> Vec<Change> {
    let shape = records.shape();
    let changes: Vec<Change> = indices
        .iter()
        .map(|&index| changed(index, &shape))
        .collect();

    for change in &changes {
        records.set(change.index, &change.record).unwrap();
    }
    changes
}

/// Checks that a client selects the records before it refuses an answer to another query.
pub(crate) fn assert_selected_before_refused<S: Scheme>(
    server: &S::Server,
    client: &S::Client,
    indices: &[u64],
    rng: &mut ChaCha20Rng,
) {
    let (_, query) = client.query(None, indices, rng).unwrap();
    let (other, _) = client.query(None, indices, rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();

    let (refused, selected) = count_selected(|| client.extract(other, answer));
    assert!(matches!(refused, Err(Error::NotDecodable)));
    assert_eq!(selected, indices.len());
}

/// Draws an LWE key.
fn lwe_key(rng: &mut dyn CryptoRng) -> Vec<u32> {
    let mut key = vec![0i32; N];
    Gaussian::new(SIGMA).unwrap().fill(rng, &mut key);
    key.into_iter().map(|word| word as u32).collect()
}

/// Checks that LWE keys are distinct and do not follow from the public seed.
pub(crate) fn assert_fresh_keys(keys: &[Vec<u32>], seed: Seed) {
    // Routes by which published programs gave their keys away: all zeros, or drawn from a generator
    // that the public seed starts.
    let public = || ChaCha20Rng::from_seed(seed.0);
    let guesses = [
        vec![0; N],
        lwe_key(&mut public()),
        lwe_key(&mut SecretRng::new(&mut public())),
    ];

    for (i, key) in keys.iter().enumerate() {
        assert!(
            keys[..i].iter().chain(&guesses).all(|other| other != key),
            "key {i} is known"
        );
    }
}
