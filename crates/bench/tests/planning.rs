//! The cost model against what is measured.
#![allow(clippy::unwrap_used)]

use papir_bench::calibrate::{Extent, calibrate};
use papir_bench::check::{Checked, check, write_table};
use papir_core::NoProgress;
use papir_core::cost::Operation;

#[test]
fn a_tiny_calibration_gives_every_rate() {
    let rates = calibrate(Extent::TINY, 2, &NoProgress).unwrap();
    assert_eq!(rates.threads(), 2);
    for op in Operation::ALL {
        let (one, all) = (rates.one(op), rates.all(op));
        assert!((1e-12..1.0).contains(&one), "{}: {one}", op.name());
        assert!(all <= one && all >= 0.499 * one, "{}: {all} of {one}", op.name());
    }
    // Preparing a pack is minutes of bytes, rounding a word is not.
    assert!(rates.one(Operation::Pack) > 1e4 * rates.one(Operation::Word), "{rates:?}");
}

fn worst(checked: &[Checked]) -> f64 {
    let ratios = checked.iter().flat_map(|one| [one.answer.ratio(), one.query.ratio(), one.offline.ratio()]);
    ratios.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max)
}

/// Needs a machine that does nothing else: three tries.
#[test]
#[ignore = "about two minutes: make test-long"]
fn predictions_are_within_a_quarter() {
    let mut tries = Vec::new();
    for _ in 0..3 {
        let rates = calibrate(Extent::WHOLE, 1, &NoProgress).unwrap();
        let checked = check(&rates, 9, &NoProgress).unwrap();
        write_table(&mut std::io::stdout(), &checked).unwrap();
        tries.push(worst(&checked));
        if tries.last().is_some_and(|&worst| worst <= 1.25) {
            return;
        }
    }
    assert!(tries.is_empty(), "off by the factors {tries:?}");
}
