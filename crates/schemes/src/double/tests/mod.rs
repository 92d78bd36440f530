//! Noise, secrets and updates of DoublePIR, from inside.
#![allow(clippy::unwrap_used)]

mod layout;
mod params;

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Server};
use papir_core::{NoProgress, RecordBuffer, Records, Shape};
use papir_lattice::lwe32::{LOG2_Q, Masks, N, SIGMA, dot, round};
use papir_testkit::noise::Moments;
use papir_testkit::typed::assert_opens_under_its_own_secret_only;
use rand_core::{Rng, SeedableRng};

use super::client::DoubleClient;
use super::levels::{BODY, CENTRE, MASK, digit_rows, first_masks, second_masks, split};
use super::noise::{FIRST, SECOND};
use super::params::{Double, DoubleParams};
use super::server::DoubleServer;
use super::wire::DoubleQuery;
use crate::shared::fixtures::{
    assert_fresh_keys, assert_selected_before_refused, change, extreme_records,
};

/// Root mean square of a uniform centred digit: √((2¹⁴ + 2)/12).
const UNIFORM_DIGIT: f64 = 36.95;

fn setup(
    records: &RecordBuffer,
    units: u64,
    seed: u64,
) -> (DoubleServer, DoubleClient, ChaCha20Rng) {
    let params = DoubleParams::new(records.shape(), units).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let server = DoubleServer::setup(params, records, &mut rng, &NoProgress).unwrap();
    let client = DoubleClient::new(server.params().clone(), server.public().clone()).unwrap();
    (server, client, rng)
}

/// Returns the words of a query as the server uses them.
fn words(values: &[u32], bits: u32) -> Vec<u32> {
    values
        .iter()
        .map(|value| value << (LOG2_Q - bits))
        .collect()
}

/// Returns the distances of phases from the expected ones, modulo q.
fn differences(phases: &[u32], expected: &[u32]) -> Vec<f64> {
    phases
        .iter()
        .zip(expected)
        .map(|(a, b)| f64::from(a.wrapping_sub(*b) as i32))
        .collect()
}

/// Returns the first level's errors, with masks rounded as their digits round them.
fn first_noise(
    server: &DoubleServer,
    hint: &[u32],
    query: &DoubleQuery,
    key: &[u32],
    column: usize,
) -> Vec<f64> {
    let answers = server.first_level(&[query]).remove(0);

    let rounded = |words: &[u32]| {
        words
            .iter()
            .map(|&word| {
                MASK.join_leading(
                    MASK.split(MASK.leading(word))
                        .collect::<Vec<_>>()
                        .into_iter(),
                )
            })
            .collect::<Vec<_>>()
    };

    let phase = |(mask, body): (&[u32], &u32)| body.wrapping_sub(dot(&rounded(mask), key));
    let phases: Vec<u32> = hint.chunks_exact(N).zip(&answers).map(phase).collect();

    let database = &server.first.database;
    let byte = |row| u32::from(database.tiles()[database.position(row, column)]);
    let expected: Vec<u32> = (0..database.rows())
        .map(|row| byte(row).wrapping_sub(128) << FIRST.log2_delta)
        .collect();

    differences(&phases, &expected)
}

/// Returns the second level's errors in the ciphertexts of the hint's digits, with rounded masks
/// and bodies that are not rounded.
fn second_noise(server: &DoubleServer, query: &DoubleQuery, key: &[u32], unit: usize) -> Vec<f64> {
    let firsts = server.first_level(&[query]);
    let ciphertexts = server.second_level(&[query], &firsts).remove(0);

    let dropped = LOG2_Q - server.params.bits.mask;
    let rounded = |row: &[u32]| {
        row.iter()
            .map(|&w| round(w, dropped) << dropped)
            .collect::<Vec<_>>()
    };
    let masks = server.offline_masks().chunks_exact(N);
    let phases: Vec<u32> = masks
        .zip(&ciphertexts.bodies)
        .map(|(mask, body)| body.wrapping_sub(dot(&rounded(mask), key)))
        .collect();

    let digits = &server.second.digits;
    let digit = |row| u32::from(digits.tiles()[digits.position(row, unit)]);
    let expected: Vec<u32> = (0..digits.rows())
        .map(|row| digit(row).wrapping_sub(CENTRE.into()) << SECOND.log2_delta)
        .collect();

    differences(&phases, &expected)
}

#[test]
fn measured_noise_of_both_levels_is_within_the_bounds_and_near_them() {
    let records = extreme_records(Shape::of_bytes(512 * 4096, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 512, 9);
    let hint = server.first.hint(&server.params.lwe, &NoProgress);
    let hint: &[u32] = bytemuck::cast_slice(hint.as_ref());
    let bits = server.params.bits;

    let mut first = Vec::new();
    let mut second = Vec::new();
    for i in 0..8 {
        let place = server.params.layout.place(i * 250_007);
        let (secret, query) = client.query(None, &[i * 250_007], &mut rng).unwrap();
        first.extend(first_noise(
            &server,
            hint,
            &query,
            &secret.keys[0],
            place.column as usize,
        ));
        second.extend(second_noise(
            &server,
            &query,
            &secret.keys[1],
            place.unit as usize,
        ));
    }

    // Uniform rounding errors have a third of the bound's square.
    let bound = FIRST.deviation(4096, LOG2_Q - bits.first, MASK.dropped_bits());
    let errors = FIRST.deviation(4096, LOG2_Q - bits.first, 0);
    let expected = errors * errors + (bound * bound - errors * errors) / 3.0;

    let moments = Moments::of(first);
    println!(
        "first level: bound 2^{:.2}, measured 2^{:.2}",
        bound.log2(),
        moments.deviation().log2()
    );
    moments.assert_within(expected, 0.2, 1.2);
    assert!(moments.log2_max < moments.expected_log2_max(bound) + 0.6);

    let bound = SECOND.deviation(512, LOG2_Q - bits.second, LOG2_Q - bits.mask);
    let errors = SECOND.deviation_of(UNIFORM_DIGIT, 512, LOG2_Q - bits.second, 0);
    let all = SECOND.deviation_of(UNIFORM_DIGIT, 512, LOG2_Q - bits.second, LOG2_Q - bits.mask);
    let expected = errors * errors + (all * all - errors * errors) / 3.0;
    let moments = Moments::of(second);
    println!(
        "second level: bound 2^{:.2}, measured 2^{:.2}",
        bound.log2(),
        moments.deviation().log2()
    );
    moments.assert_within(expected, 0.2, 1.2);
    assert!(moments.log2_max < moments.expected_log2_max(bound) + 0.6);
}

#[test]
fn the_second_level_encrypts_the_first_hint_and_the_first_answers() {
    let records = extreme_records(Shape::new(3000, 24).unwrap());
    let (server, client, mut rng) = setup(&records, 60, 10);
    let (secret, query) = client.query(None, &[1234], &mut rng).unwrap();

    let firsts = server.first_level(&[&query]);
    let ciphertexts = server.second_level(&[&query], &firsts).remove(0);
    assert_eq!(ciphertexts.masks.len(), 3 * BODY.count * N);

    let masks = server
        .offline_masks()
        .chunks_exact(N)
        .chain(ciphertexts.masks.chunks_exact(N));
    let key = &secret.keys[1];
    let digits: Vec<u8> = masks
        .zip(&ciphertexts.bodies)
        .map(|(mask, body)| {
            let phase = body
                .wrapping_sub(dot(mask, key))
                .wrapping_add(1 << (SECOND.log2_delta - 1));
            ((phase >> SECOND.log2_delta) as u8).wrapping_add(CENTRE) & 127
        })
        .collect();

    let row = server.params.layout.place(1234).unit as usize * 3;
    let hint = server.first.hint(&server.params.lwe, &NoProgress);
    let hint: &[u32] = bytemuck::cast_slice(hint.as_ref());
    let words = hint[row * N..(row + 3) * N].iter();
    let expected: Vec<u8> = words
        .flat_map(|&word| split(MASK, word))
        .chain(
            firsts[0][row..row + 3]
                .iter()
                .flat_map(|&word| split(BODY, word)),
        )
        .collect();

    assert!(digits == expected, "digits of the wrong unit, or noise");
    assert_eq!(
        digits.len(),
        digit_rows(&server.params.layout) + 3 * BODY.count
    );

    let answer = server.round(&ciphertexts);
    assert_eq!(client.phases(key, &answer).unwrap().len(), digits.len());
}

#[test]
fn an_answer_opens_under_its_own_secret_only() {
    let records = extreme_records(Shape::of_bytes(1000, 2).unwrap());
    let (server, client, mut rng) = setup(&records, 8, 1);
    assert_opens_under_its_own_secret_only::<Double>(&server, &client, &records, &mut rng);
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let records = extreme_records(Shape::of_bytes(1000, 2).unwrap());
    let (server, client, mut rng) = setup(&records, 8, 1);
    assert_selected_before_refused::<Double>(&server, &client, &[3], &mut rng);
}

/// Errors of a query: its words less masks and unit vector.
fn query_errors(
    words: &[u32],
    masks: &Masks,
    key: &[u32],
    selected: usize,
    delta: u32,
) -> Vec<f64> {
    let mut row = vec![0; N];
    let error = |(i, word): (usize, &u32)| {
        masks.row(i, &mut row);
        let unit = if i == selected { delta } else { 0 };
        f64::from(word.wrapping_sub(dot(&row, key)).wrapping_sub(unit) as i32)
    };
    words.iter().enumerate().map(error).collect()
}

#[test]
fn a_query_is_two_encrypted_unit_vectors() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(4000 * 3000, 1).unwrap());
    let params = DoubleParams::new(records.shape(), 3000).unwrap();
    // The public part alone: nothing here needs a hint.
    let public = super::wire::DoublePublic {
        seed: papir_ring::prg::Seed([4; 32]),
        hint: papir_core::Blob::copy_of(&[]),
    };

    let client = DoubleClient::new(params, public.clone()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let (secret, query) = client.query(None, &[777 * 3000 + 2222], &mut rng).unwrap();

    let bits = client.params().bits;
    let levels = [
        (
            words(&query.first, bits.first),
            first_masks(public.seed),
            777,
            FIRST.log2_delta,
            bits.first,
        ),
        (
            words(&query.second, bits.second),
            second_masks(public.seed),
            2222,
            SECOND.log2_delta,
            bits.second,
        ),
    ];

    for ((words, masks, selected, log2_delta, bits), key) in levels.into_iter().zip(&secret.keys) {
        let errors = query_errors(&words, &masks, key, selected, 1 << log2_delta);
        let rounding = (4f64.powi((LOG2_Q - bits) as i32) + 2.0) / 12.0;
        Moments::of(errors).assert_within(SIGMA * SIGMA + rounding, 0.12, 1.12);
        Moments::of(key.iter().map(|s| f64::from(*s as i32))).assert_within(
            SIGMA * SIGMA,
            0.25,
            1.25,
        );
    }
}

#[test]
fn secrets_are_fresh_and_do_not_follow_from_public_bytes() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(100, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 10, 3);

    let both = |rng: &mut ChaCha20Rng| {
        let (secret, _) = client.query(None, &[7], rng).unwrap();
        secret.keys.each_ref().map(|key| key.to_vec())
    };
    let keys: Vec<Vec<u32>> = (0..3).flat_map(|_| both(&mut rng)).collect();

    assert_fresh_keys(&keys, server.public().seed);
}

#[test]
fn an_update_is_the_setup_of_the_changed_records() {
    // With few changed units, the second level is updated; with more, it or both are prepared
    // again.
    let few: &[u64] = &[1499, 3, 701];
    let many: &[u64] = &[0, 1499, 700, 701, 700, 3];
    for (bits, units, indices) in [
        (24, 200, many),
        (24, 200, few),
        (3, 300, few),
        (13, 150, many),
        (1, 187, few),
        (8, 7, many),
    ] {
        let shape = Shape::new(1500, bits).unwrap();
        let mut records = RecordBuffer::zeroed(shape);
        ChaCha20Rng::seed_from_u64(6).fill_bytes(records.packed_mut());
        let (server, _, mut rng) = setup(&records, units, 4);

        let changes = change(&mut records, indices);
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
        let (fresh, ..) = setup(&records, units, 4);

        assert_eq!(updated.public.seed, fresh.public.seed);

        let tiles = |server: &DoubleServer| {
            [&server.first.database, &server.second.digits].map(|m| m.tiles().clone())
        };
        let [database, digits] = tiles(&updated);
        let [new_database, new_digits] = tiles(&fresh);

        assert!(*database == *new_database, "{bits} bits: database");
        assert!(*digits == *new_digits, "{bits} bits: digits");
        assert!(
            updated.offline_masks() == fresh.offline_masks(),
            "{bits} bits: masks"
        );
        assert!(
            *updated.public.hint == *fresh.public.hint,
            "{bits} bits: hint"
        );
        assert!(
            **server.first.database.tiles() != *database,
            "{bits} bits: unchanged"
        );
    }
}
