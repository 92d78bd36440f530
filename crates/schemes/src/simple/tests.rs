//! Parameters, noise, secrets and updates of SimplePIR, from inside.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Parameters, Server, Session};
use papir_core::{
    Choice, Description, Error, FailureBound, Goal, NoProgress, RecordBuffer, Records, Shape, Sizes,
};
use papir_lattice::lwe32::{LOG2_Q, N, SIGMA, dot};
use papir_testkit::noise::Moments;
use papir_testkit::typed::assert_opens_under_its_own_secret_only;
use rand_core::{Rng, SeedableRng};

use super::client::SimpleClient;
use super::noise::{CENTRE, LOG2_DELTA, budget, deviation};
use super::params::{MAX_COLUMNS, MAX_ROWS, Simple, SimpleParams, layout_of, masks, units_of};
use super::server::SimpleServer;
use crate::shared::fixtures::{
    assert_fresh_keys, assert_selected_before_refused, change, extreme_records,
};
use crate::shared::messages::SHAPE_BYTES;

const DELTA: u32 = 1 << LOG2_DELTA;

fn setup(
    records: &RecordBuffer,
    column_units: u64,
    seed: u64,
) -> (SimpleServer, SimpleClient, ChaCha20Rng) {
    let params = SimpleParams::new(records.shape(), column_units).unwrap();
    prepare(params, records, seed)
}

fn prepare(
    params: SimpleParams,
    records: &RecordBuffer,
    seed: u64,
) -> (SimpleServer, SimpleClient, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let server = SimpleServer::setup(params, records, &mut rng, &NoProgress).unwrap();
    let client = SimpleClient::new(server.params().clone(), server.public().clone()).unwrap();
    (server, client, rng)
}

/// Returns the errors of an unrounded answer: its phases less the column's words.
fn measured_noise(index: u64, seed: u64) -> Vec<f64> {
    let records = extreme_records(Shape::of_bytes(64 * 4096, 8).unwrap());
    let (server, client, mut rng) = setup(&records, 64, seed);
    let layout = &server.params().layout;

    let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
    let sums = &server.database.products(&[&query.values], LOG2_Q, CENTRE)[0];
    let hint: &[u32] = bytemuck::cast_slice(&server.public.hint);
    let phase = hint
        .chunks_exact(N)
        .zip(sums)
        .map(|(row, sum)| sum.wrapping_sub(dot(row, &secret.key)));

    let column = (layout.place(index).column as usize) * layout.rows;
    let words = &records.packed()[column..][..layout.rows];
    let noise = phase.zip(words).map(|(phase, word)| {
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
    assert_opens_under_its_own_secret_only::<Simple>(&server, &client, &records, &mut rng);
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let records = extreme_records(Shape::of_bytes(1000, 64).unwrap());
    let (server, client, mut rng) = setup(&records, 8, 1);
    assert_selected_before_refused::<Simple>(&server, &client, &[3], &mut rng);
}

#[test]
fn a_query_is_the_encrypted_unit_vector() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(20_000, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 5, 2);
    let (secret, query) = client.query(None, &[777 * 5 + 3], &mut rng).unwrap();

    let errors: Vec<f64> = (0..4000)
        .map(|column| {
            let mut row = vec![0; N];
            masks(server.public().seed).row(column, &mut row);

            let inner = dot(&row, &secret.key);
            let selected = if column == 777 { DELTA } else { 0 };
            f64::from(
                query.values[column]
                    .wrapping_sub(inner)
                    .wrapping_sub(selected) as i32,
            )
        })
        .collect();

    Moments::of(errors).assert_within(SIGMA * SIGMA, 0.12, 1.12);
    Moments::of(secret.key.iter().map(|s| f64::from(*s as i32))).assert_within(
        SIGMA * SIGMA,
        0.25,
        1.25,
    );
}

#[test]
fn secrets_are_fresh_and_do_not_follow_from_public_bytes() {
    let records = RecordBuffer::zeroed(Shape::of_bytes(100, 1).unwrap());
    let (server, client, mut rng) = setup(&records, 10, 3);
    let keys: Vec<Vec<u32>> = (0..4)
        .map(|_| client.query(None, &[7], &mut rng).unwrap().0.key.to_vec())
        .collect();

    assert_fresh_keys(&keys, server.public().seed);
}

#[test]
fn an_update_is_the_setup_of_the_changed_records() {
    for (bits, column_units) in [(8 * 24, 7), (3, 20), (13, 9), (1, 1)] {
        let shape = Shape::new(1500, bits).unwrap();
        let mut records = RecordBuffer::zeroed(shape);
        ChaCha20Rng::seed_from_u64(6).fill_bytes(records.packed_mut());
        let (server, _, mut rng) = setup(&records, column_units, 4);

        let changes = change(&mut records, &[0, 1499, 700, 701, 700, 3]);
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
        let (fresh, ..) = setup(&records, column_units, 4);

        assert_eq!(updated.public.seed, fresh.public.seed);
        assert!(
            **updated.database.tiles() == **fresh.database.tiles(),
            "{bits} bits: database"
        );
        assert!(
            *updated.public.hint == *fresh.public.hint,
            "{bits} bits: hint"
        );
        assert!(
            **server.database.tiles() != **updated.database.tiles(),
            "{bits} bits: nothing changed"
        );
    }
}

/// Returns random records of a shape.
fn random_records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    ChaCha20Rng::seed_from_u64(6).fill_bytes(records.packed_mut());
    records
}

#[test]
fn rows_first_records_are_found_and_read_back() {
    for (bits, column_units) in [(8 * 24, 7), (3, 20), (13, 9), (1, 1), (8, 1500)] {
        let shape = Shape::new(1500, bits).unwrap();
        let records = random_records(shape);
        let params = SimpleParams::new(shape, column_units).unwrap().rows_first();
        let (server, client, mut rng) = prepare(params, &records, 4);

        for index in [0, 1, 7, 8, 777, 1499] {
            let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
            let answer = server.answer(Session::anonymous(), &query).unwrap();
            let found = client.extract(secret, answer).unwrap();
            assert_eq!(found, [records.get(index).unwrap()], "{bits} bits: {index}");
        }

        for (first, count) in [(0, 1500), (1, 1), (776, 500), (1496, 4), (777, 500), (3, 0)] {
            // Packed records are read from whole bytes on.
            if !(first * bits).is_multiple_of(8) {
                continue;
            }
            let mut found = vec![0; (count * bits).div_ceil(8) as usize];
            server.read_packed(first, count, &mut found).unwrap();
            let mut expected = found.clone();
            records.read_packed(first, count, &mut expected).unwrap();
            assert_eq!(found, expected, "{bits} bits: {count} from {first}");
        }
    }
}

#[test]
fn a_rows_first_update_is_the_setup_of_the_changed_records() {
    for (bits, column_units) in [(8 * 24, 7), (3, 20), (13, 9), (1, 1)] {
        let shape = Shape::new(1500, bits).unwrap();
        let mut records = random_records(shape);
        let params = SimpleParams::new(shape, column_units).unwrap().rows_first();
        let (server, _, mut rng) = prepare(params.clone(), &records, 4);

        let changes = change(&mut records, &[0, 1499, 700, 701, 700, 3]);
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();
        let (fresh, ..) = prepare(params, &records, 4);
        assert!(
            **updated.database.tiles() == **fresh.database.tiles(),
            "{bits} bits: database"
        );
        assert!(
            *updated.public.hint == *fresh.public.hint,
            "{bits} bits: hint"
        );
    }
}

#[test]
fn rows_first_a_run_of_changes_changes_one_band() {
    let shape = Shape::of_bytes(1500, 24).unwrap();
    let columns_first = SimpleParams::new(shape, 7).unwrap();
    let rows_first = columns_first.clone().rows_first();
    // A band has 215 records, and a column 7.
    let run: Vec<u64> = (20..50).collect();

    for (params, expected) in [(rows_first, 24), (columns_first, 7 * 24)] {
        let mut records = random_records(shape);
        let (server, _, mut rng) = prepare(params, &records, 4);
        let changes = change(&mut records, &run);
        let updated = server.update(&changes, &mut rng, &NoProgress).unwrap();

        let before = server.public.hint.chunks_exact(4 * N);
        let after = updated.public.hint.chunks_exact(4 * N);
        let rows = before.zip(after).filter(|(old, new)| old != new).count();
        // A byte of all records of a row may stay the same by chance.
        assert!(rows <= expected && rows + 2 >= expected, "{rows} rows");
    }
}

#[test]
fn chosen_parameters_of_a_large_shape_have_the_described_hint() {
    let params =
        SimpleParams::choose(Shape::of_bytes(1 << 24, 64).unwrap(), Goal::Balanced).unwrap();
    assert_eq!(params.describe().sizes.hint, params.hint_bytes() as u64);
}

fn described(records: u64, bits: u64, goal: Goal) -> Description {
    SimpleParams::choose(Shape::new(records, bits).unwrap(), goal)
        .unwrap()
        .describe()
}

#[test]
fn choices_fit_their_goals() {
    for (records, bits) in [(1 << 24, 512), (1_000_003, 8), (1 << 20, 1), (99_991, 4096)] {
        let goals = [Goal::MinCommunication, Goal::Balanced, Goal::MinTime];
        let [least, balanced, fast] = goals.map(|goal| described(records, bits, goal).sizes);

        let traffic = |sizes: Sizes| sizes.query + sizes.answer;
        assert!(traffic(least) <= traffic(balanced) && traffic(least) <= traffic(fast));
        assert!(balanced.hint <= least.hint && fast.database <= least.database);

        let bytes = Shape::new(records, bits).unwrap().total_bytes() as f64;
        let optimum = 2.0 * (4.0 * 9.0 / 8.0 * bytes).sqrt();
        assert!(
            traffic(least) as f64 <= 1.05 * optimum + 200.0,
            "{records} × {bits} bits"
        );
        assert!(
            (fast.database as f64) < 1.02 * bytes.max(1e6),
            "{records} × {bits} bits"
        );
    }
}

#[test]
fn parameters_survive_their_bytes() {
    let params = SimpleParams::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
    let again = SimpleParams::decode(&params.encode()).unwrap();
    assert_eq!(
        (again.describe(), params.encode().len()),
        (params.describe(), SHAPE_BYTES + 8)
    );
}

#[test]
fn rows_first_parameters_differ_in_one_bit() {
    let shape = Shape::new(12_345, 13).unwrap();
    let choice = Choice::RowsFirst(Goal::Balanced.into());
    let params = SimpleParams::with_choice(shape, choice).unwrap();
    let bytes = params.encode();
    let again = SimpleParams::decode(&bytes).unwrap();
    assert!(again.is_rows_first());
    assert_eq!(again.describe(), params.describe());

    let mut other = bytes.clone();
    other[SHAPE_BYTES + 7] ^= 1 << 7;
    let columns_first = SimpleParams::choose(shape, Goal::Balanced).unwrap();
    assert_eq!(other, columns_first.encode());
    assert_eq!(params.describe().sizes, columns_first.describe().sizes);

    // Such a number of units is out of bounds without the bit, as earlier clients read it.
    other[SHAPE_BYTES + 7] = 1 << 6;
    assert!(SimpleParams::decode(&other).is_err());
}

#[test]
fn extremes_are_taken_or_refused_with_a_reason() {
    for (records, bits) in [
        (1 << 40, 1),
        (1 << 32, 8),
        (1, 1 << 21),
        (1 << 16, 1 << 21),
        (9, (1 << 21) - 1),
    ] {
        let description = described(records, bits, Goal::Balanced);
        assert!(
            description.failure_log2 <= -40.0,
            "{records} × {bits}: {}",
            description.failure_log2
        );
        assert!(description.security.unwrap().bits >= 128.0);
    }

    for (records, bits) in [(1 << 32, 512), (1 << 40, 1 << 21)] {
        let error =
            SimpleParams::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).unwrap_err();
        assert!(matches!(error, Error::Parameters { .. }), "{error}");
    }
}

#[test]
fn units_fill_whole_bytes() {
    let cases = [
        (1, 8, 1),
        (3, 8, 3),
        (4, 2, 1),
        (6, 4, 3),
        (8, 1, 1),
        (12, 2, 3),
        (13, 8, 13),
        (264, 1, 33),
    ];

    for (bits, records, bytes) in cases {
        let unit_layout = units_of(&Shape::new(9, bits).unwrap());
        assert_eq!(
            (unit_layout.per_unit, unit_layout.unit_bytes),
            (records, bytes),
            "{bits} bits"
        );
    }
}

#[test]
fn places_are_distinct_and_columns_are_runs() {
    let layout = layout_of(&Shape::new(1000, 3).unwrap(), 5).unwrap();
    assert_eq!(
        (
            layout.rows,
            layout.columns,
            layout.units as u64 * layout.unit_layout.per_unit
        ),
        (15, 25, 40)
    );

    for index in 0..1000 {
        let place = layout.place(index);
        assert_eq!((place.column * 5 + place.unit) * 8 + place.slot, index);
    }
}

#[test]
fn rows_first_places_are_distinct_and_bands_are_runs() {
    let params = SimpleParams::new(Shape::new(1000, 3).unwrap(), 5).unwrap();
    let layout = params.rows_first().layout;
    for index in 0..1000 {
        let place = layout.place(index);
        assert!(place.unit < 5 && place.column < 25);
        assert_eq!((place.unit * 25 + place.column) * 8 + place.slot, index);
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let shape = Shape::of_bytes(1 << 20, 32).unwrap();
    assert!(layout_of(&shape, 0).is_err());
    assert!(layout_of(&shape, (1 << 20) + 1).is_err());
    assert!(layout_of(&shape, 15).is_err(), "columns");
    assert!(layout_of(&shape, (1 << 16) + 1).is_err(), "rows");
    assert!(layout_of(&shape, 16).is_ok() && layout_of(&shape, 1 << 16).is_ok());
}

#[test]
fn the_largest_matrix_decodes() {
    let budget = budget(
        MAX_ROWS as usize,
        MAX_COLUMNS as usize,
        FailureBound::DEFAULT,
    )
    .unwrap();
    assert!(budget.failure_log2 <= -40.0);
}

#[test]
fn a_gibibyte_is_answered_with_nine_bits_a_word() {
    let budget = budget(1 << 15, 1 << 15, FailureBound::DEFAULT).unwrap();
    assert_eq!(budget.dropped_bits, 23);
    assert!(budget.bound < 1 << 23 && budget.failure_log2 < -41.5);
}

#[test]
fn too_much_noise_is_seen() {
    assert!(budget(1, 1 << 26, FailureBound::DEFAULT).is_none());
    let one = deviation(1);
    let two = deviation(4);
    assert_eq!((one, two), (1408.0, 2816.0));
}
