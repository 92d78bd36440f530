//! An updated InsPIRe server equals a fresh setup, byte for byte in every section.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Client as _, Parameters as _, Server as _, Session};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Change, Error, FailureBound, NoProgress, RecordBuffer, Shape, extract_bits};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral};
use papir_ring::prg::Seed;
use papir_schemes::inspire::encode::whitening;
use papir_schemes::inspire::params::{KeyBits, Literal};
use papir_schemes::inspire::{Client, Interpolation, Params, Server};

use crate::stages::Stages;

/// Degree of the small ring.
const D: usize = 64;

/// Returns insecure parameters whose ring elements hold 128 bytes.
fn small(shape: Shape, points: usize) -> Params {
    of_variables(
        shape,
        if points == 1 {
            &[]
        } else {
            std::slice::from_ref(&points)
        },
    )
}

fn of_variables(shape: Shape, sizes: &[usize]) -> Params {
    let gadget = GadgetParams {
        levels: 2,
        log_base: 19,
        drop: 18,
    };
    Params::insecure(Literal {
        shape,
        rlwe: RlweLiteral {
            degree: D,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        },
        interpolation: Interpolation::of_variables(sizes).unwrap(),
        key_switch: gadget,
        rgsw: gadget,
        query_bits: 42,
        key_bits: KeyBits::equal(50),
        answer_bits: (28, 20),
        reserved: true,
        failure: FailureBound::DEFAULT,
    })
    .unwrap()
}

fn random_record(shape: Shape, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut bytes = vec![0; shape.record_bytes()];
    rng.fill_bytes(&mut bytes);
    extract_bits(&bytes, 0, shape.record_bits())
}

fn random_records(shape: Shape, rng: &mut ChaCha20Rng) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    for index in 0..shape.records() {
        records.set(index, &random_record(shape, rng)).unwrap();
    }
    records
}

fn prepare(params: &Params, records: &RecordBuffer) -> Server {
    Server::prepare(params.clone(), Seed([7; 32]), records, &NoProgress).unwrap()
}

fn sections(server: &Server) -> MemorySections {
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    sections
}

#[track_caller]
fn assert_same(found: &Server, expected: &Server, what: &str) {
    let found = sections(found);
    let expected = sections(expected);
    assert!(
        found.names().eq(expected.names()) && expected.names().count() == 5,
        "{what}: other sections"
    );
    for name in expected.names() {
        assert!(
            *found.get(name).unwrap() == *expected.get(name).unwrap(),
            "{what}: section {name}"
        );
    }
}

fn updated(server: &Server, changes: &[Change]) -> Server {
    server
        .update(changes, &mut ChaCha20Rng::from_seed([9; 32]), &NoProgress)
        .unwrap()
}

/// Updates a server and its records, and compares with a fresh setup.
#[track_caller]
fn check(server: &Server, records: &mut RecordBuffer, changes: &[Change], what: &str) -> Server {
    let before = sections(server);
    let next = updated(server, changes);
    changes
        .iter()
        .for_each(|change| records.set(change.index, &change.record).unwrap());
    assert_same(&next, &prepare(server.params(), records), what);
    let mut found = vec![0; records.packed().len()];
    next.read_packed(0, server.params().shape().records(), &mut found)
        .unwrap();
    assert!(found == records.packed(), "{what}: other records");
    let after = sections(server);
    assert!(
        before
            .names()
            .all(|name| *before.get(name).unwrap() == *after.get(name).unwrap()),
        "{what}: old"
    );
    next
}

/// Returns changes to new random records at these indices, in this order.
fn changes(
    shape: Shape,
    indices: impl IntoIterator<Item = u64>,
    rng: &mut ChaCha20Rng,
) -> Vec<Change> {
    indices
        .into_iter()
        .map(|index| Change {
            index,
            record: random_record(shape, rng),
        })
        .collect()
}

/// Whole bytes, below a byte, padded to bytes, several chunks, a single record; t = 1 and more.
#[test]
fn every_section_is_that_of_a_fresh_setup() {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let shapes = [
        (301, 512),
        (5001, 3),
        (40_000, 1),
        (333, 100),
        (77, 3000),
        (29, 3003),
        (1, 4096),
        (9, 1025),
    ];
    for (records, bits) in shapes {
        let shape = Shape::new(records, bits).unwrap();
        for sizes in [&[][..], &[4], &[3], &[6], &[2, 4]] {
            let params = of_variables(shape, sizes);
            let points = params.layout().points;
            let what = format!("{shape:?}, t = {sizes:?}");
            let mut records = random_records(shape, &mut rng);
            let server = prepare(&params, &records);
            let last = shape.records() - 1;
            let column = (params.layout().per_element() * points as u64).min(shape.records());
            let server = check(&server, &mut records, &[], &format!("{what}, none"));
            let one = changes(shape, [last], &mut rng);
            let server = check(&server, &mut records, &one, &format!("{what}, the last"));
            let several = changes(shape, (0..column).step_by(3).chain([0]), &mut rng);
            let server = check(
                &server,
                &mut records,
                &several,
                &format!("{what}, one column"),
            );
            let stride = (shape.records() as usize / 90).max(1);
            let many = changes(shape, (0..=last).rev().step_by(stride), &mut rng);
            let server = check(
                &server,
                &mut records,
                &many,
                &format!("{what}, many columns"),
            );
            check(
                &server,
                &mut records,
                &[one, several, many].concat(),
                &format!("{what}, all again"),
            );
        }
    }
}

/// At full parameters, an updated server also answers correctly.
#[test]
fn full_parameters() {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    let shape = Shape::of_bytes(4000, 64).unwrap();
    let params = Params::with_points(shape, 6).unwrap();
    let mut records = random_records(shape, &mut rng);
    let server = prepare(&params, &records);
    let batch = changes(shape, [0, 64, 3999, 1234], &mut rng);
    let next = check(&server, &mut records, &batch, "d = 2048");
    let client = Client::new(params, *next.public()).unwrap();
    for index in [0, 1, 64, 1234, 3999] {
        let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
        let answer = next.answer(Session::anonymous(), &query).unwrap();
        assert_eq!(
            client.extract(secret, answer).unwrap(),
            [records.get(index).unwrap()],
            "index {index}"
        );
    }
}

/// Updating a loaded server gives the same bytes as updating the saved one.
#[test]
fn a_loaded_server_can_be_updated() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    let shape = Shape::of_bytes(700, 50).unwrap();
    let params = small(shape, 8);
    let mut records = random_records(shape, &mut rng);
    let loaded = Server::load(params.clone(), &sections(&prepare(&params, &records))).unwrap();
    let batch = changes(shape, [3, 600, 3], &mut rng);
    check(&loaded, &mut records, &batch, "loaded");
}

/// Returns the record whose whitened words, in this element, are all `word`.
fn record_of_words(seed: &Seed, element: u64, word: u16) -> Vec<u8> {
    let mut stream = whitening(seed, 0);
    stream.seek(element * 2 * D as u64);
    let mut mask = vec![0; 2 * D];
    stream.fill(&mut mask);
    mask.iter()
        .zip(word.to_le_bytes().iter().cycle())
        .map(|(mask, byte)| mask ^ byte)
        .collect()
}

fn exceptions(server: &Server) -> Vec<[u32; 2]> {
    let bytes = sections(server).get("inspire/exceptions").unwrap();
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    bytes
        .chunks(8)
        .map(|pair| [number(&pair[..4]), number(&pair[4..])])
        .collect()
}

/// t equal values interpolate to a constant polynomial. Its coefficient 0 is first +32768, an
/// exception; then −32768, stored as the same word; then +32768 in two columns, and in neither.
#[test]
fn exceptions_come_and_go() {
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let shape = Shape::of_bytes(300, 2 * D as u64).unwrap();
    for points in [1u64, 4] {
        let mut records = random_records(shape, &mut rng);
        let server = prepare(&small(shape, points as usize), &records);
        let seed = server.public().seed;
        let constant = |column: u64, word| {
            let elements = column * points..(column + 1) * points;
            elements.map(move |index| Change {
                index,
                record: record_of_words(&seed, index, word),
            })
        };
        let mut step = |server: &Server, changes: Vec<Change>, expected: [usize; 2]| {
            let next = check(
                server,
                &mut records,
                &changes,
                &format!("t = {points}, {expected:?}"),
            );
            let count = |column| {
                exceptions(&next)
                    .iter()
                    .filter(|[_, c]| *c == column)
                    .count()
            };
            assert_eq!([count(5), count(40)], expected, "t = {points}");
            next
        };
        let server = step(&server, constant(5, 0x8000).collect(), [D, 0]);
        let server = step(&server, constant(5, 0x8001).collect(), [0, 0]);
        let both = constant(40, 0x8000).chain(constant(5, 0x8000)).collect();
        let server = step(&server, both, [D, D]);
        step(
            &server,
            constant(5, 1).chain(constant(40, 2)).collect(),
            [0, 0],
        );
    }
}

/// Bits beyond a record's length do not reach the matrix.
#[test]
fn bits_beyond_the_record_are_ignored() {
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    for bits in [3, 100, 3003] {
        let shape = Shape::new(100, bits).unwrap();
        let mut records = random_records(shape, &mut rng);
        let server = prepare(&small(shape, 2), &records);
        let all_ones = [Change {
            index: 41,
            record: vec![0xFF; shape.record_bytes()],
        }];
        check(&server, &mut records, &all_ones, &format!("{bits} bits"));
    }
}

/// Only the packs of chunks with a changed word are prepared again.
#[test]
fn unchanged_packs_are_not_prepared_again() {
    let mut rng = ChaCha20Rng::from_seed([6; 32]);
    let shape = Shape::of_bytes(20, 3 * 2 * D as u64).unwrap();
    let records = random_records(shape, &mut rng);
    let server = prepare(&small(shape, 2), &records);
    let stages = |changes: &[Change]| {
        let stages = Stages::default();
        server
            .update(changes, &mut ChaCha20Rng::from_seed([9; 32]), &stages)
            .unwrap();
        stages.0.into_inner().unwrap()
    };
    let stage = |name: &str, steps| (name.to_owned(), steps, steps);
    let mut change = Change {
        index: 11,
        record: records.get(11).unwrap(),
    };
    assert_eq!(stages(std::slice::from_ref(&change)), [stage("encode", 1)]);
    change.record[2 * D] ^= 1;
    let mut other = Change {
        index: 0,
        record: records.get(0).unwrap(),
    };
    assert_eq!(
        stages(&[change.clone(), other.clone()]),
        [stage("encode", 2), stage("pack", 2)]
    );
    *other.record.last_mut().unwrap() ^= 1;
    assert_eq!(
        stages(&[change, other]),
        [stage("encode", 2), stage("pack", 4)]
    );
}

#[test]
fn the_update_cost_is_predicted() {
    let shape = Shape::of_bytes(1000, 64).unwrap();
    let params = small(shape, 4);
    let server = prepare(&params, &RecordBuffer::zeroed(shape));
    let change = |index| Change {
        index,
        record: vec![0; 64],
    };
    // Two records an element, four elements a column: 125 columns of 256 rows, 126 with padding.
    let cost = |indices: &[u64]| {
        server
            .update_cost(
                &indices
                    .iter()
                    .map(|&index| change(index))
                    .collect::<Vec<_>>(),
            )
            .unwrap()
    };
    assert_eq!(cost(&[]).update, Counts::new());
    assert_eq!(cost(&[1]).setup, params.describe().work.setup);
    let of_columns = |indices: &[u64], columns: f64| {
        let update = cost(indices).update;
        let matrices = 4.0 * 2.0 * 64.0 * 64.0 * 4.0 + 4.0 * 3.0 * 2.0 * 64.0 * 4.0;
        for (operation, times) in [
            (Operation::Encode16, 2.0 * 256.0 * columns),
            (Operation::Interpolate, 2.0 * 2.0 * 256.0 * columns),
            (Operation::HintTransform, 256.0 * 2.0),
            (Operation::Pack, 4.0),
            (Operation::Copy, 256.0 * 126.0 * 2.0 + matrices),
        ] {
            assert!(
                (update.times(operation) - times).abs() < 0.5,
                "{operation:?}: {update:?}"
            );
        }
    };
    of_columns(&[1], 1.0);
    of_columns(&[0, 7, 8, 999], 3.0);
    // 3 elements: 3 divisions, of 7, 7 and 6 rotations, and 3 more; 4 rotations count as a level.
    let thirds = prepare(&small(shape, 3), &RecordBuffer::zeroed(shape))
        .update_cost(&[change(1)])
        .unwrap();
    let levels =
        thirds.update.times(Operation::Interpolate) / thirds.update.times(Operation::Encode16);
    assert!((levels - 23.0 / 3.0 / 4.0).abs() < 1e-9, "{thirds:?}");
    let outside = server.update_cost(&[change(1000)]).err();
    assert!(
        matches!(outside, Some(Error::IndexOutOfRange { .. })),
        "{outside:?}"
    );
    let short = server
        .update_cost(&[Change {
            index: 0,
            record: vec![0; 63],
        }])
        .err();
    assert!(matches!(short, Some(Error::Length { .. })), "{short:?}");
}
