//! Noise, secrets and updates at full parameters, seen from the inside.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Parameters, Server, Session};
use papir_core::{Change, Goal, NoProgress, RecordBuffer, Records, Shape, extract_bits};
use papir_lattice::lwe32::{N, SIGMA, dot};
use papir_ring::prg::SecretRng;
use papir_ring::sample::Gaussian;
use papir_testkit::noise::Moments;
use rand_core::{CryptoRng, Rng, SeedableRng};

use super::client::SimpleClient;
use super::noise::{LOG2_DELTA, deviation};
use super::params::SimpleParams;
use super::server::SimpleServer;

const DELTA: u32 = 1 << LOG2_DELTA;

fn setup(records: &RecordBuffer, column_units: u64, seed: u64) -> (SimpleServer, SimpleClient, ChaCha20Rng) {
    let params = SimpleParams::new(records.shape(), column_units).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let server = SimpleServer::setup(params, records, &mut rng, &NoProgress).unwrap();
    let client = SimpleClient::new(server.params().clone(), server.public().clone()).unwrap();
    (server, client, rng)
}

/// Words that are 0 or 255, the largest ones when centred.
fn extreme_records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    ChaCha20Rng::seed_from_u64(5).fill_bytes(records.packed_mut());
    records.packed_mut().iter_mut().for_each(|byte| *byte = (*byte & 1).wrapping_neg());
    records
}

/// What is left of an unrounded answer when the column's words are taken off.
fn measured_noise(index: u64, seed: u64) -> Vec<f64> {
    let records = extreme_records(Shape::of_bytes(64 * 4096, 8).unwrap());
    let (server, client, mut rng) = setup(&records, 64, seed);
    let layout = &server.params().layout;
    let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
    let phase = client.phase(&secret, &server.sums(&[&query])[0]);
    let column = (layout.place(index).column as usize) * layout.rows;
    let words = &records.packed()[column..][..layout.rows];
    let noise = phase.iter().zip(words).map(|(phase, word)| {
        let centred = (i32::from(*word) - 128) as u32;
        f64::from(phase.wrapping_sub(centred.wrapping_mul(DELTA)) as i32)
    });
    noise.collect()
}

#[test]
fn measured_noise_is_within_the_bound_and_near_it() {
    let noise: Vec<f64> = (0..8).flat_map(|i| measured_noise(i * 30_011, i)).collect();
    let moments = Moments::of(noise);
    let bound = deviation(4096);
    assert_eq!(moments.count, 8 * 512);
    // The errors of one query are common to its rows: 8 · 4096 of them, 5 deviations are 11 %.
    moments.assert_within(bound * bound, 0.11, 1.12);
    assert!(moments.log2_max < moments.expected_log2_max(bound) + 0.6);
}

#[test]
fn an_answer_opens_under_its_own_secret_only() {
    let records = extreme_records(Shape::of_bytes(1000, 64).unwrap());
    let (server, client, mut rng) = setup(&records, 8, 1);
    let (first, query) = client.query(None, &[3], &mut rng).unwrap();
    let (second, _) = client.query(None, &[3], &mut rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();
    assert!(client.extract(second, answer.clone()).is_err());
    assert_eq!(client.extract(first, answer).unwrap(), [records.get(3).unwrap()]);
}

#[test]
fn a_query_is_the_encrypted_unit_vector() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(20_000, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 5, 2);
    let (secret, query) = client.query(None, &[777 * 5 + 3], &mut rng).unwrap();
    let errors: Vec<f64> = (0..4000)
        .map(|column| {
            let mut row = vec![0; N];
            super::columns::masks(server.public().seed).row(column, &mut row);
            let inner = dot(&row, secret.key());
            let selected = if column == 777 { DELTA } else { 0 };
            f64::from(query.values[column].wrapping_sub(inner).wrapping_sub(selected) as i32)
        })
        .collect();
    Moments::of(errors).assert_within(SIGMA * SIGMA, 0.12, 1.12);
    Moments::of(secret.key().iter().map(|s| f64::from(*s as i32))).assert_within(SIGMA * SIGMA, 0.25, 1.25);
}

#[test]
fn secrets_are_fresh_and_do_not_follow_from_public_bytes() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(100, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 10, 3);
    let keys: Vec<Vec<u32>> =
        (0..4).map(|_| client.query(None, &[7], &mut rng).unwrap().0.key().to_vec()).collect();
    // Routes by which published programs gave their keys away: all zeros, or drawn from a generator
    // that the public seed starts.
    let from = |rng: &mut dyn CryptoRng| {
        let mut guess = vec![0i32; N];
        Gaussian::new(SIGMA).unwrap().fill(rng, &mut guess);
        guess.into_iter().map(|word| word as u32).collect::<Vec<_>>()
    };
    let public = || ChaCha20Rng::from_seed(server.public().seed.0);
    let guesses = [vec![0; N], from(&mut public()), from(&mut SecretRng::new(&mut public()))];
    for (i, key) in keys.iter().enumerate() {
        assert!(keys[..i].iter().chain(&guesses).all(|other| other != key), "key {i} is known");
    }
}

fn changed(index: u64, shape: &Shape) -> Change {
    let bytes: Vec<u8> = (0..shape.record_bytes()).map(|i| (i as u64 * 37 + index * 5 + 1) as u8).collect();
    Change { index, record: extract_bits(&bytes, 0, shape.record_bits()) }
}

#[test]
fn an_update_is_the_setup_of_the_changed_records() {
    for (bits, column_units) in [(8 * 24, 7), (3, 20), (13, 9), (1, 1)] {
        let shape = Shape::new(1500, bits).unwrap();
        let mut records = RecordBuffer::zeroed(shape);
        ChaCha20Rng::seed_from_u64(6).fill_bytes(records.packed_mut());
        let (server, _, mut rng) = setup(&records, column_units, 4);
        let changes: Vec<Change> = [0, 1499, 700, 701, 700, 3].map(|index| changed(index, &shape)).into();
        changes.iter().for_each(|change| records.set(change.index, &change.record).unwrap());
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
        let (fresh, ..) = setup(&records, column_units, 4);
        assert_eq!(updated.public.seed, fresh.public.seed);
        assert!(**updated.database.tiles() == **fresh.database.tiles(), "{bits} bits: database");
        assert!(*updated.public.hint == *fresh.public.hint, "{bits} bits: hint");
        assert!(**server.database.tiles() != **updated.database.tiles(), "{bits} bits: nothing changed");
    }
}

#[test]
fn chosen_parameters_of_a_large_shape_have_the_described_hint() {
    let params = SimpleParams::choose(Shape::of_bytes(1 << 24, 64).unwrap(), Goal::Balanced).unwrap();
    assert_eq!(params.describe().sizes.hint, params.hint_bytes() as u64);
}
