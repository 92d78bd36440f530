//! InsPIRe's records under every interpolation and odd shape, also from a loaded server.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_core::scheme::{Client as _, Parameters as _, Server as _, Session};
use papir_core::sections::MemorySections;
use papir_core::{FailureBound, Goal, NoProgress, RecordBuffer, Shape, extract_bits};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral};
use papir_ring::prg::Seed;
use papir_schemes::inspire::params::{KeyBits, Literal};
use papir_schemes::inspire::{Client, Interpolation, Params, Server};

fn records(shape: Shape) -> RecordBuffer {
    let mut records = RecordBuffer::zeroed(shape);
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for index in 0..shape.records() {
        let mut bytes = vec![0; shape.record_bytes()];
        rng.fill_bytes(&mut bytes);
        records
            .set(index, &extract_bits(&bytes, 0, shape.record_bits()))
            .unwrap();
    }
    records
}

/// Returns insecure parameters of d = 64, which decode for up to a few hundred points.
fn small(shape: Shape, sizes: &[usize]) -> Params {
    let gadget = GadgetParams {
        levels: 2,
        log_base: 19,
        drop: 18,
    };
    let params = Params::insecure(Literal {
        shape,
        rlwe: RlweLiteral {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        },
        interpolation: Interpolation::of_variables(sizes).unwrap(),
        key_switch: gadget,
        rgsw: gadget,
        query_bits: 50,
        key_bits: KeyBits {
            y_g: 55,
            y_h: 53,
            rgsw: 54,
        },
        answer_bits: (28, 20),
        reserved: true,
        failure: FailureBound::DEFAULT,
    });
    let params = params.unwrap();
    assert!(
        params.describe().failure_log2 < -40.0,
        "{sizes:?}: 2^{}",
        params.describe().failure_log2
    );
    params
}

/// Retrieves the first records, the last and some between, from a fresh and a loaded server.
#[track_caller]
fn check(params: &Params) {
    let shape = params.shape();
    let records = records(shape);
    let server = Server::prepare(params.clone(), Seed([7; 32]), &records, &NoProgress).unwrap();
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let loaded = Server::load(params.clone(), &sections).unwrap();
    let client = Client::new(params.clone(), *server.public()).unwrap();
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let last = shape.records() - 1;
    for index in [0, 1, last / 3, last / 2, last.saturating_sub(1), last] {
        let index = index.min(last);
        let (secret, query) = client.query(None, &[index], &mut rng).unwrap();
        let answer = server.answer(Session::anonymous(), &query).unwrap();
        assert_eq!(
            answer,
            loaded.answer(Session::anonymous(), &query).unwrap(),
            "loaded"
        );
        let record = client.extract(secret, answer).unwrap().remove(0);
        assert_eq!(
            record,
            records.get(index).unwrap(),
            "{}: record {index} of {shape:?}",
            params.label()
        );
    }
}

const INTERPOLATIONS: [&[usize]; 17] = [
    &[],
    &[2],
    &[3],
    &[5],
    &[6],
    &[7],
    &[12],
    &[100],
    &[127],
    &[128],
    &[4, 8],
    &[8, 4],
    &[3, 4],
    &[2, 3, 5],
    &[2, 2, 2, 2],
    &[16, 16],
    &[128, 2],
];

/// Many columns, one full column, one that is not full, and a single record.
#[test]
fn every_interpolation_at_a_small_degree() {
    for sizes in INTERPOLATIONS {
        let points = sizes.iter().product::<usize>() as u64;
        for elements in [points * 5 / 2 + 1, points, points / 2 + 1, 1] {
            check(&small(Shape::of_bytes(elements, 128).unwrap(), sizes));
        }
    }
}

#[test]
fn records_of_many_lengths() {
    for (count, bits) in [
        (1, 1),
        (999, 1),
        (70, 13),
        (90, 512),
        (40, 1024),
        (20, 1025),
        (9, 3000),
    ] {
        for sizes in [&[][..], &[3], &[6], &[2, 4]] {
            check(&small(Shape::new(count, bits).unwrap(), sizes));
        }
    }
}

/// t = 256 at d = 64 is above 2d, so two variables are chosen.
#[test]
fn more_points_than_one_variable_has() {
    let shape = Shape::of_bytes(700, 128).unwrap();
    let above = Interpolation::of_points(256, 64).unwrap();
    assert_eq!(above.variables().collect::<Vec<_>>(), [128, 2]);
    assert_eq!(small(shape, &[128, 2]).layout().columns, 3);
    check(&small(shape, &[128, 2]));
}

/// Interpolations that the search picks at full degree, also with t above the number of elements.
#[test]
#[ignore = "long"]
fn every_interpolation_at_full_degree() {
    let shape = Shape::of_bytes(150, 2000).unwrap();
    for sizes in [&[][..], &[3], &[5], &[12], &[4, 8]] {
        let interpolation = Interpolation::of_variables(sizes).unwrap();
        check(&Params::with_interpolation(shape, interpolation).unwrap());
    }
    let one = Shape::of_bytes(1, 64).unwrap();
    for points in [1, 3, 4] {
        check(&Params::with_points(one, points).unwrap());
    }
}

#[test]
fn the_number_of_columns_gives_t() {
    let shape = Shape::of_bytes(1000, 4096).unwrap();
    for (asked, points, columns) in [
        (1000, 1, 1000),
        (999, 2, 500),
        (400, 3, 334),
        (300, 4, 250),
        (100, 10, 100),
        (91, 12, 84),
        (16, 64, 16),
        (8, 128, 8),
    ] {
        let params = Params::with_columns(shape, asked).unwrap();
        let layout = params.layout();
        assert_eq!(
            (layout.points, layout.columns),
            (points, columns),
            "{asked} columns"
        );
    }
    assert!(Params::with_columns(Shape::of_bytes(1 << 29, 64).unwrap(), 1 << 20).is_ok());
}

/// Encoded parameters decode to themselves. Parameters of several variables are longer and
/// unambiguous.
#[test]
fn parameters_are_read_back() {
    let shape = Shape::of_bytes(3000, 512).unwrap();
    for (sizes, length) in [(&[][..], 52), (&[12], 52), (&[3, 4], 60), (&[2, 2, 3], 64)] {
        let params =
            Params::with_interpolation(shape, Interpolation::of_variables(sizes).unwrap()).unwrap();
        let bytes = params.encode();
        assert_eq!(
            (bytes.len(), Params::decode(&bytes).unwrap().literal()),
            (length, params.literal())
        );
        let with = |sizes: &[u32]| {
            [
                &bytes[..52],
                &sizes
                    .iter()
                    .flat_map(|s| s.to_le_bytes())
                    .collect::<Vec<_>>(),
            ]
            .concat()
        };
        for bad in [
            &[12][..],
            &[1, 12],
            &[12, 1],
            &[3, 5],
            &[2, 2, 2, 2, 2],
            &[0, 0],
            &[1 << 31, 1 << 31],
        ] {
            assert!(Params::decode(&with(bad)).is_err(), "{sizes:?} as {bad:?}");
        }
        assert!(
            Params::decode(&bytes[..51]).is_err()
                && Params::decode(&[&bytes[..], &[0]].concat()).is_err()
        );
    }
}

/// From one byte to 32 GB of 64-byte records, every goal has parameters.
#[test]
fn every_goal_has_parameters() {
    for (count, bytes) in [
        (1, 1),
        (1 << 24, 64),
        (1 << 29, 64),
        (1 << 20, 1 << 15),
        (1 << 12, 1 << 18),
        (20_000_000, 64),
    ] {
        for goal in Goal::ALL {
            let params = Params::choose(Shape::of_bytes(count, bytes).unwrap(), goal).unwrap();
            assert!(
                params.describe().failure_log2 <= -40.0,
                "{goal:?}: {}",
                params.label()
            );
        }
    }
    let large = Params::with_columns(Shape::of_bytes(1 << 29, 64).unwrap(), 1 << 20).unwrap();
    assert!(large.literal().query_bits >= 45, "{:?}", large.literal());
}
