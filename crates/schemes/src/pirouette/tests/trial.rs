//! papir's phase 0 and the paper's, under the same keys.

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Goal, Parameters};
use papir_core::{NoProgress, Shape};
use rand_core::SeedableRng;

use super::super::params::PirouetteParams;
use super::super::trial::{Operations, Split, Tables, Trial};
use super::super::{ParameterSet, Standard};

const SPLIT: Split = Split {
    digits: 2,
    bits: 3,
    log2_rows: 3,
    gate: (4, 6),
};

fn trial() -> Trial<Standard> {
    let params =
        PirouetteParams::choose(Shape::of_bytes(64, 1024).unwrap(), Goal::Balanced).unwrap();
    Trial::new(params, &mut ChaCha20Rng::from_seed([8; 32])).unwrap()
}

#[test]
fn both_phases_select_the_item_of_the_query() {
    let trial = trial();
    let mut rng = ChaCha20Rng::from_seed([9; 32]);

    for item in [0, 0o25, 0o52, 63] {
        let query = trial.query(item, &mut rng);
        let mut selection = trial.run(&query, &NoProgress).unwrap();
        assert_eq!(trial.item(&selection), Some(item));

        for tables in [Tables::Single, Tables::Together] {
            let printed = trial
                .run_printed(&query, (SPLIT, tables), &NoProgress)
                .unwrap();
            assert_eq!(
                trial.printed_item(SPLIT, &printed).unwrap(),
                Some(item),
                "{tables:?}"
            );
        }

        // A gate's rows in the place of selectors are not one-hot.
        selection.selectors = selection.gates[0].clone();
        assert_eq!(trial.item(&selection), None);
    }
}

#[test]
fn operations_are_counted() {
    let trial = trial();
    let [bits, digits] = Standard::DIMENSIONS;
    assert_eq!(trial.dimensions(), [bits, digits]);

    let (levels, rows, index_bits) = trial.sizes();
    let boxes = rows.next_power_of_two() / 16;
    let gates = index_bits as usize - rows.next_power_of_two().trailing_zeros() as usize;
    let extracted = index_bits as usize - 4;

    let expected = Operations {
        bit_rotations: extracted,
        digit_rotations: boxes,
        external_products: extracted * bits + boxes * digits,
        // A trace has 11 steps. Of a box, 7 steps and an expansion into 16.
        key_switches: gates * levels * 12 + boxes * (7 + 15),
    };
    assert_eq!(trial.operations(), expected);

    // Decision 20: for 20 bits in four digits 10 rotations, and one more for each bit.
    let split = Split {
        digits: 4,
        bits: 5,
        log2_rows: 11,
        gate: (8, 4),
    };

    let printed = trial.printed_operations(split, Tables::Together);
    assert_eq!((printed.bit_rotations, printed.digit_rotations), (20, 10));
    assert_eq!(
        printed.external_products,
        20 * bits + 10 * digits + 2 * 2047
    );
    assert_eq!(
        trial
            .printed_operations(split, Tables::Single)
            .bit_rotations,
        160
    );
}

/// Digits of 5 bits are at a distance of several standard deviations here, but not with the paper's
/// key at a modulus with 128 bits of security.
#[test]
fn printed_digits_are_closer_than_their_errors() {
    let [used, printed] = trial().margins(5);
    assert!(
        used > 9.0 && printed < 1.0,
        "{used} and {printed} standard deviations"
    );
}

#[test]
fn sizes_beyond_the_keys_are_refused() {
    let trial = trial();
    let mut rng = ChaCha20Rng::from_seed([9; 32]);
    let query = trial.query(1, &mut rng);

    let wrong = [
        Split { digits: 0, ..SPLIT },
        Split { bits: 1, ..SPLIT },
        Split { digits: 9, ..SPLIT },
        Split {
            gate: (9, 4),
            ..SPLIT
        },
        Split {
            gate: (8, 9),
            ..SPLIT
        },
        Split {
            log2_rows: 7,
            ..SPLIT
        },
    ];

    for split in wrong {
        let found = trial.run_printed(&query, (split, Tables::Together), &NoProgress);
        assert!(found.is_err(), "{split:?}");
    }
}
