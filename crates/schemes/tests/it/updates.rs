//! Updates perform exactly the predicted operations and give the bytes of a fresh setup.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Scheme, Server};
use papir_core::{Change, NoProgress, RecordBuffer, Shape};
use papir_lattice::lwe32::N;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_schemes::double::Double;
use papir_schemes::double::packed::{ByInspiring, DigitShape, Inspire0, Params};
use papir_schemes::double::params::DoubleParams;
use papir_schemes::simple::Simple;
use papir_schemes::simple::packed as simpleypir;
use papir_schemes::simple::packed::SimpleYpir;
use papir_schemes::simple::params::SimpleParams;
use papir_testkit::typed::sections;

use crate::stages::Stages;

fn records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    ChaCha20Rng::from_seed([1; 32]).fill_bytes(records.packed_mut());
    records
}

fn setup<S: Scheme>(params: S::Params, records: &RecordBuffer) -> S::Server {
    S::Server::setup(
        params,
        records,
        &mut ChaCha20Rng::from_seed([2; 32]),
        &NoProgress,
    )
    .unwrap()
}

/// Changes that invert these bytes of these records.
fn inverted(records: &RecordBuffer, indices: &[u64], bytes: std::ops::Range<usize>) -> Vec<Change> {
    let change = |&index: &u64| {
        let mut record = records.get(index).unwrap();
        record[bytes.clone()]
            .iter_mut()
            .for_each(|byte| *byte = !*byte);
        Change { index, record }
    };
    indices.iter().map(change).collect()
}

/// Checks that an update reports these stages, each completed with this number of steps, and gives
/// the bytes of a fresh setup.
#[track_caller]
fn check_stages<S: Scheme>(
    params: &S::Params,
    records: &RecordBuffer,
    changes: &[Change],
    expected: &[(&str, u64)],
) {
    let server = setup::<S>(params.clone(), records);
    let stages = Stages::default();
    let next = server
        .update(changes, &mut ChaCha20Rng::from_seed([3; 32]), &stages)
        .unwrap();
    let expected: Vec<_> = expected
        .iter()
        .map(|&(name, steps)| (name.to_owned(), steps, steps))
        .collect();
    assert_eq!(stages.0.into_inner().unwrap(), expected, "{}", S::NAME);
    let mut after = records.clone();
    changes
        .iter()
        .for_each(|change| after.set(change.index, &change.record).unwrap());
    assert!(
        sections::<S>(&next) == sections::<S>(&setup::<S>(params.clone(), &after)),
        "{}",
        S::NAME
    );
}

fn cost<S: Scheme>(server: &S::Server, changes: &[Change]) -> Counts {
    let cost = server.update_cost(changes).unwrap();
    assert_eq!(cost.setup, server.params().describe().work.setup);
    cost.update
}

#[track_caller]
fn assert_counts(found: &Counts, expected: &[(Operation, usize)]) {
    for operation in Operation::ALL {
        let expected = expected
            .iter()
            .filter(|(other, _)| *other == operation)
            .map(|(_, times)| *times as f64);
        let found = found.times(operation);
        let expected = expected.sum::<f64>();
        assert!(
            (found - expected).abs() < 1e-6,
            "{operation:?}: {found}, expected {expected}"
        );
    }
}

#[test]
fn simple_changes_the_hint_by_bytes_or_by_rows() {
    let shape = Shape::of_bytes(3000, 24).unwrap();
    let records = records(shape);
    let params = SimpleParams::new(shape, 10).unwrap();
    let all: Vec<u64> = (0..3000).collect();
    let one = inverted(&records, &[77], 0..24);
    let all = inverted(&records, &all, 3..24);
    check_stages::<Simple>(&params, &records, &inverted(&records, &[77], 0..0), &[]);
    check_stages::<Simple>(&params, &records, &one, &[("update", 24)]);
    check_stages::<Simple>(&params, &records, &all, &[("hint", 210)]);
    let server = setup::<Simple>(params, &records);
    let sizes = server.params().describe().sizes;
    let stored = (sizes.database + sizes.hint) as usize;
    assert_counts(&cost::<Simple>(&server, &[]), &[]);
    assert_counts(
        &cost::<Simple>(&server, &one),
        &[(Operation::DecryptRow, 24), (Operation::Copy, stored)],
    );
    let product = transformed_bytes(240, 300) as usize;
    assert_counts(
        &cost::<Simple>(&server, &all),
        &[
            (Operation::HintProduct8, product),
            (Operation::Copy, stored),
        ],
    );
}

#[test]
fn double_prepares_changed_units_or_all() {
    let shape = Shape::of_bytes(3000, 2).unwrap();
    let records = records(shape);
    let params = DoubleParams::new(shape, 100).unwrap();
    let server = setup::<Double>(params.clone(), &records);
    let sizes = server.params().describe().sizes;
    let of = |units: u64, every: u64| {
        let indices: Vec<u64> = (0..units).flat_map(|unit| [unit, 2900 + unit]).collect();
        let changes = inverted(&records, &indices, 0..2);
        assert_eq!(changes.len() as u64, every);
        changes
    };
    let rows = 3 * 2 * N;
    let first = |rows| transformed_bytes(rows, 30) as usize;
    let second = transformed_bytes(rows, 100) as usize;
    let stored = (sizes.database + sizes.material) as usize;
    assert_counts(&cost::<Double>(&server, &[]), &[]);
    for (changes, counts) in [
        (
            of(4, 8),
            vec![
                (Operation::HintProduct8, first(8)),
                (Operation::DecryptRow, 4 * rows),
            ],
        ),
        (
            of(5, 10),
            vec![(Operation::HintProduct8, first(10) + second)],
        ),
    ] {
        assert_counts(
            &cost::<Double>(&server, &changes),
            &[counts, vec![(Operation::Copy, stored)]].concat(),
        );
    }
    assert_counts(
        &cost::<Double>(&server, &of(51, 102)),
        &[
            (Operation::HintProduct8, first(200) + second),
            (Operation::Copy, sizes.database as usize),
        ],
    );
    check_stages::<Double>(&params, &records, &inverted(&records, &[5], 0..0), &[]);
    check_stages::<Double>(&params, &records, &of(4, 8), &[("update", 4)]);
}

#[test]
fn inspire0_prepares_the_packs_of_changed_bytes() {
    let shape = Shape::of_bytes(1500, 3).unwrap();
    let seven = DigitShape {
        bits: 7,
        mask: 3,
        body: 2,
    };
    let params = Params::<ByInspiring>::with_digits(shape, 200, seven, 1024).unwrap();
    let records = records(shape);
    type S = Inspire0;
    // A byte's n words of three digits are three packs of 1024.
    let changes = |bytes| inverted(&records, &[0, 700, 701], bytes);
    check_stages::<S>(&params, &records, &changes(0..0), &[]);
    check_stages::<S>(
        &params,
        &records,
        &changes(1..2),
        &[("update", 3), ("pack", 3)],
    );
    check_stages::<S>(
        &params,
        &records,
        &changes(0..3),
        &[("update", 3), ("pack", 9)],
    );
    let server = setup::<S>(params, &records);
    let update = cost::<S>(&server, &changes(0..3));
    let setup = server.params().describe().work.setup;
    for operation in [Operation::Pack, Operation::HintTransform] {
        assert!((update.times(operation) - setup.times(operation)).abs() < 1e-6);
    }
    let product = transformed_bytes(9, 8) as f64;
    assert!((update.times(Operation::HintProduct8) - product).abs() < 1e-6);
    assert!(update.times(Operation::Encode8) == 0.0 && update.times(Operation::Copy) > 0.0);
    assert_eq!(cost::<S>(&server, &[]), Counts::new());
}

#[test]
fn simpleypir_prepares_the_packs_of_changed_records() {
    // Two records a column, each a pack of 2048 words.
    let shape = Shape::of_bytes(40, 4096).unwrap();
    let params = simpleypir::Params::<simpleypir::ByCdks>::with_packs(shape, 2).unwrap();
    let records = records(shape);
    let even = inverted(&records, &[0, 18], 5..6);
    let both = inverted(&records, &[18, 19], 5..6);
    check_stages::<SimpleYpir>(&params, &records, &inverted(&records, &[7], 0..0), &[]);
    check_stages::<SimpleYpir>(&params, &records, &even, &[("pack", 1)]);
    check_stages::<SimpleYpir>(&params, &records, &both, &[("pack", 2)]);
    let server = setup::<SimpleYpir>(params, &records);
    let setup = server.params().describe().work.setup;
    for (changes, packs, columns) in [(&even, 0.5, 2.0), (&both, 1.0, 1.0)] {
        let update = cost::<SimpleYpir>(&server, changes);
        for operation in [Operation::Pack, Operation::HintTransform] {
            assert!((update.times(operation) - packs * setup.times(operation)).abs() < 1e-6);
        }
        assert!((update.times(Operation::Encode16) - 2.0 * 4096.0 * columns).abs() < 1e-6);
    }
    assert_eq!(cost::<SimpleYpir>(&server, &[]), Counts::new());
}
