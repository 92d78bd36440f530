//! Records and checks of both packed schemes.

use std::fmt::Debug;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::scheme::{Client, Scheme, Server, Session};
use papir_core::{NoProgress, RecordBuffer, Shape, extract_bits};

/// Random records of any length.
pub(crate) fn records(shape: Shape, seed: u8) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    let mut bytes = vec![0; shape.total_bytes() as usize];
    ChaCha20Rng::from_seed([seed; 32]).fill_bytes(&mut bytes);

    let bits = shape.record_bits();
    for i in 0..shape.records() {
        let record = extract_bits(&bytes, i * bits, bits);
        records.set(i, &record).unwrap();
    }
    records
}

/// Checks that queries which are answered together have the answers of each alone.
pub(crate) fn assert_queries_share_the_passes<S: Scheme<Answer: Debug + PartialEq>>(
    server: &S::Server,
    client: &S::Client,
    rng: &mut ChaCha20Rng,
) {
    let queries = [7, 2999, 7].map(|index| client.query(None, &[index], rng).unwrap().1);
    let batch = queries
        .iter()
        .map(|query| (Session::anonymous(), query))
        .collect();
    let alone: Vec<S::Answer> = queries
        .iter()
        .map(|query| server.answer(Session::anonymous(), query).unwrap())
        .collect();

    assert_eq!(server.answer_many(batch, &NoProgress).unwrap(), alone);
    assert!(
        server
            .answer_many(Vec::new(), &NoProgress)
            .unwrap()
            .is_empty()
    );
}
