//! Choices of parameters, their sizes and noise.

use papir_core::cost::Rates;
use papir_core::scheme::Parameters;
use papir_core::{Description, Error, FailureBound, Goal, Shape};

use crate::double::params::MAX_SIDE;
use crate::shared::messages::SHAPE_BYTES;
use crate::simple::params::{MAX_COLUMNS, MAX_ROWS};
use crate::zip::base::{Base, Standard};
use crate::zip::compression::{Compression, MAX_KEY_BITS};
use crate::zip::noise::Budget;
use crate::zip::over_double::{self, Levels};
use crate::zip::over_simple::{self, Columns};
use crate::zip::params::ZipParams;

type OverSimple = ZipParams<Columns<Standard>>;
type OverDouble = ZipParams<Levels<Standard>>;

fn described<B: Base>(records: u64, bits: u64, goal: Goal) -> Description {
    ZipParams::<B>::choose(Shape::new(records, bits).unwrap(), goal)
        .unwrap()
        .describe()
}

fn traffic(description: &Description) -> u64 {
    description.sizes.query + description.sizes.answer
}

#[test]
fn choices_fit_their_goals() {
    for (records, bits) in [(1 << 24, 512), (1_000_003, 8), (1 << 20, 1), (99_991, 4096)] {
        let [least, balanced, fast] =
            Goal::ALL.map(|goal| described::<Columns<Standard>>(records, bits, goal));
        assert!(
            traffic(&least) <= traffic(&balanced) + 1000
                && traffic(&least) <= traffic(&fast) + 1000
        );

        let seconds = |one: &Description| one.work.answer.core_seconds(&Rates::BUILT_IN);
        assert!(seconds(&fast) <= 1.02 * seconds(&least).min(seconds(&balanced)));
    }

    for (records, bits) in [(1 << 30, 8), (1_000_003, 16), (1 << 20, 1), (99_991, 64)] {
        let [least, balanced, fast] =
            Goal::ALL.map(|goal| described::<Levels<Standard>>(records, bits, goal));
        assert!(
            traffic(&least) <= traffic(&balanced) + 1000
                && traffic(&least) <= traffic(&fast) + 1000
        );
    }
}

fn survives_its_bytes<B: Base>() {
    let params = ZipParams::<B>::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
    let again = ZipParams::<B>::decode(&params.encode()).unwrap();
    assert_eq!(
        (again.describe(), params.encode().len()),
        (params.describe(), SHAPE_BYTES + 8 + 4)
    );
}

#[test]
fn parameters_survive_their_bytes() {
    survives_its_bytes::<Columns<Standard>>();
    survives_its_bytes::<Levels<Standard>>();
}

#[test]
fn a_gibibyte_has_the_sizes_of_the_table() {
    let sizes = described::<Columns<Standard>>(1 << 16, 1 << 17, Goal::MinCommunication).sizes;
    assert!(sizes.query + sizes.answer < 575 << 10, "{sizes:?}");
    assert!(sizes.keys < 500, "{sizes:?}");

    // With a held ticket, an answer is half as long.
    let sizes = described::<Columns<Standard>>(1 << 16, 1 << 17, Goal::Balanced).sizes;
    assert!(
        sizes.query < 450 << 10 && sizes.answer / 2 < 66 << 10,
        "{sizes:?}"
    );
}

#[test]
fn tickets_over_double_do_not_grow_with_the_records() {
    let of = |records: u64| OverDouble::new(Shape::of_bytes(records, 1).unwrap(), 1 << 10, 4);
    let [small, large] = [1 << 20, 1 << 28].map(|records| of(records).unwrap().describe().sizes);
    assert!(
        small.ticket == large.ticket && small.answer == large.answer && small.query < large.query
    );
}

#[test]
fn extremes_are_accepted_or_refused_with_a_reason() {
    let simple = [(1 << 40, 1), (1 << 32, 8), (1, 1 << 21), (1 << 16, 1 << 21)];
    let simple =
        simple.map(|(records, bits)| described::<Columns<Standard>>(records, bits, Goal::Balanced));
    let double = [(1 << 38, 1), (1, 1), (1 << 30, 64)];
    let double =
        double.map(|(records, bits)| described::<Levels<Standard>>(records, bits, Goal::Balanced));

    for description in simple.into_iter().chain(double) {
        assert!(description.failure_log2 <= -40.0, "{description:?}");
        assert!(description.security.unwrap().bits >= 128.0);
    }

    let error = OverSimple::choose(Shape::new(1 << 40, 1 << 21).unwrap(), Goal::Balanced);
    assert!(matches!(error, Err(Error::Parameters { .. })));

    for (records, bits) in [(9, 65), (1 << 40, 8)] {
        assert!(OverDouble::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).is_err());
    }
}

#[test]
fn the_largest_and_the_smallest_matrix_decode() {
    // Units of one record of 2¹⁸ bytes.
    let height = MAX_ROWS >> 18;
    let params = OverSimple::new(
        Shape::new(MAX_COLUMNS * height, 1 << 21).unwrap(),
        height,
        1,
    )
    .unwrap();

    assert!(
        params.describe().failure_log2 <= -40.0 && params.base.budget.bound < 128,
        "{params:?}"
    );

    for (bytes, units, columns) in [
        (8, MAX_SIDE, 64),
        (8, 64, MAX_SIDE),
        (1, 1 << 15, 1 << 15),
        (1, 1, 1),
    ] {
        let shape = Shape::of_bytes(units * columns, bytes).unwrap();
        let params = OverDouble::new(shape, units, 1).unwrap();
        let Budget { query_bits, bound } = params.base.budget;

        assert!(
            params.describe().failure_log2 <= -40.0 && bound < 256,
            "{params:?}"
        );

        let deviation = |bits| over_double::LEVEL.deviation(units as usize, 1280, bits);
        assert!(query_bits == 1 || deviation(query_bits - 1) > deviation(query_bits));
    }
}

#[test]
fn a_gibibyte_needs_queries_of_26_bits_a_word() {
    let bits = |rows, columns| {
        over_simple::LEVEL
            .budget(rows, columns, 1280, FailureBound::DEFAULT)
            .unwrap()
            .query_bits
    };
    assert_eq!((bits(1 << 15, 1 << 15), bits(1 << 14, 1 << 16)), (26, 26));
    assert_eq!(bits(1 << 12, 1 << 8), over_simple::LEVEL.least_bits);
}

#[test]
fn too_much_noise_is_detected() {
    assert!(
        over_simple::LEVEL
            .budget(1 << 20, 1 << 26, 1280, FailureBound::DEFAULT)
            .is_none()
    );
    for level in [over_simple::LEVEL, over_double::LEVEL] {
        assert!((level.deviation(0, 1280, 32) - 7.30).abs() < 0.01);
    }
}

#[test]
fn packed_keys_are_shorter_and_answers_longer() {
    let compression = Compression::new::<Columns<Standard>>;
    let of = |key_bits| Compression {
        rows: 1 << 14,
        ..compression(key_bits).unwrap()
    };

    let sizes: Vec<_> = (1..=4)
        .map(of)
        .map(|c| (c.plaintexts(), c.ciphertexts()))
        .collect();
    assert_eq!(sizes, [(1280, 86), (640, 173), (427, 261), (320, 349)]);

    for key_bits in [0, MAX_KEY_BITS + 1] {
        let error = compression(key_bits).unwrap_err();
        assert!(matches!(error, Error::Parameters { .. }), "{error}");
    }
}
