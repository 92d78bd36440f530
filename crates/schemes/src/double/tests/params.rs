//! Choices of parameters and bits, and their figures.

use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, FailureBound, Shape, Sizes};

use crate::double::noise::{Bits, bounds, choose};
use crate::double::params::{DoubleParams, MAX_SIDE, layout_of, units_of};
use crate::shared::byte_matrix::Layout;
use crate::shared::messages::SHAPE_BYTES;

const DEFAULT: FailureBound = FailureBound::DEFAULT;

fn described(records: u64, bits: u64, goal: Goal) -> Description {
    DoubleParams::choose(Shape::new(records, bits).unwrap(), goal)
        .unwrap()
        .describe()
}

#[test]
fn choices_fit_their_goals() {
    for (records, bits) in [
        (1 << 30, 8),
        (1 << 32, 1),
        (1_000_003, 16),
        (1 << 20, 1),
        (99_991, 64),
    ] {
        let goals = [Goal::MinCommunication, Goal::Balanced, Goal::MinTime];
        let [least, balanced, fast] = goals.map(|goal| described(records, bits, goal).sizes);

        let traffic = |sizes: Sizes| sizes.query + sizes.answer;
        let work = |sizes: Sizes| sizes.database + sizes.material;
        assert!(traffic(least) <= traffic(balanced) && traffic(balanced) <= traffic(fast));
        assert!(work(fast) <= work(balanced) && work(balanced) <= work(least));

        let shape = Shape::new(records, bits).unwrap();
        let units = units_of(&shape).unwrap().units() as f64;
        let words = (least.query as f64 - 32.0) * 8.0 / 25.0;
        assert!(
            words <= 1.05 * 2.0 * units.sqrt() + 32.0,
            "{records} × {bits} bits: {words} words"
        );
        assert!((fast.database as f64) < 1.05 * shape.total_bytes() as f64 + 1e6);
    }
}

/// The shape of the papers' tables. The reference program sends 312 KiB and 32 KiB after a hint
/// of 16 MiB.
#[test]
fn a_gibibyte_costs_what_the_documentation_says() {
    let sizes = described(1 << 30, 8, Goal::MinCommunication).sizes;
    assert_eq!(
        (sizes.query, sizes.answer, sizes.hint),
        (204_875, 9_892, 7_471_104)
    );
}

#[test]
fn parameters_survive_their_bytes_and_bad_ones_are_refused() {
    let params = DoubleParams::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
    let bytes = params.encode();

    assert_eq!(bytes.len(), SHAPE_BYTES + 8 + 4);
    assert_eq!(
        DoubleParams::decode(&bytes).unwrap().describe(),
        params.describe()
    );

    for (position, value) in [
        (24, 0),
        (25, 33),
        (26, 255),
        (24, 9),
        (25, 9),
        (26, 9),
        (27, 6),
    ] {
        let mut bad = bytes.clone();
        bad[position] = value;
        assert!(DoubleParams::decode(&bad).is_err(), "{value} at {position}");
    }
}

#[test]
fn extremes_are_taken_or_refused_with_a_reason() {
    for (records, bits) in [(1 << 38, 1), (1 << 32, 8), (1, 1), (1, 64), (1 << 30, 64)] {
        let description = described(records, bits, Goal::MinTime);
        assert!(
            description.failure_log2 <= -40.0,
            "{records} × {bits}: {}",
            description.failure_log2
        );
        assert!(description.security.unwrap().bits >= 128.0);
    }

    let error = DoubleParams::choose(Shape::new(9, 65).unwrap(), Goal::Balanced).unwrap_err();
    assert!(error.to_string().contains("at most 64"), "{error}");

    let error = DoubleParams::choose(Shape::new(1 << 40, 8).unwrap(), Goal::MinTime).unwrap_err();
    assert!(
        error.to_string().contains("at most 262144 columns"),
        "{error}"
    );
}

fn layout(bytes: u64, units: u64, columns: u64) -> Layout {
    layout_of(&Shape::of_bytes(units * columns, bytes).unwrap(), units).unwrap()
}

#[test]
fn the_largest_and_the_smallest_matrix_decode() {
    for (bytes, units, columns) in [
        (8, MAX_SIDE / 64, MAX_SIDE),
        (8, MAX_SIDE, 64),
        (1, 1 << 16, 1 << 16),
        (1, 1, 1),
        (8, 4096, 4096),
    ] {
        let layout = layout(bytes, units, columns);
        let bounds = bounds(&layout, &choose(&layout, DEFAULT).unwrap(), DEFAULT).unwrap();

        assert!(
            bounds.failure_log2 <= -40.0,
            "{layout:?}: {}",
            bounds.failure_log2
        );
        assert!(bounds.first < 1 << 23 && bounds.second < 1 << 24);
    }
}

#[test]
fn a_gibibyte_takes_few_bits() {
    let bits = choose(&layout(1, 1 << 15, 1 << 15), DEFAULT).unwrap();
    assert_eq!(
        bits,
        Bits {
            first: 26,
            second: 24,
            mask: 19,
            body: 13
        }
    );
}

#[test]
fn fewer_bits_than_chosen_do_not_fit() {
    let layout = layout(2, 5000, 9000);
    let bits = choose(&layout, DEFAULT).unwrap();
    let fewer = [
        Bits {
            first: bits.first - 1,
            ..bits
        },
        Bits {
            second: bits.second - 2,
            ..bits
        },
        Bits {
            mask: bits.mask - 2,
            ..bits
        },
        Bits {
            body: bits.body - 1,
            ..bits
        },
    ];

    assert!(
        fewer
            .iter()
            .all(|bits| bounds(&layout, bits, DEFAULT).is_none()),
        "{bits:?}"
    );

    assert!(
        bounds(
            &layout,
            &Bits {
                first: 32,
                second: 32,
                mask: 32,
                body: 32
            },
            DEFAULT
        )
        .is_some()
    );
}
