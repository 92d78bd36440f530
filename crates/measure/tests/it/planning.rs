//! Calibration and checks of the cost model.

use papir_core::NoProgress;
use papir_core::cost::Operation;
use papir_measure::calibrate::{CalibrationConfig, calibrate};
use papir_measure::check::{TINY, check, write_table};

#[test]
fn a_tiny_calibration_gives_every_rate() {
    let rates = calibrate(CalibrationConfig::TINY, 2, &NoProgress).unwrap();
    assert_eq!(rates.threads(), 2);
    for op in Operation::ALL {
        let one = rates.one(op);
        let all = rates.all(op);
        assert!(one > 0.0 && one.is_finite(), "{}: {one}", op.name());
        assert!(
            all <= one && all >= 0.499 * one,
            "{}: {all} of {one}",
            op.name()
        );
    }
}

/// Checks only that predictions and measurements are present. `papir plan --check` compares them on
/// an idle machine.
#[test]
fn predictions_are_listed_with_measurements() {
    let rates = calibrate(CalibrationConfig::TINY, 1, &NoProgress).unwrap();
    let checked = check(&TINY, &rates, 1, &NoProgress).unwrap();
    assert_eq!(
        checked.iter().map(|one| one.scheme).collect::<Vec<_>>(),
        ["inspire", "simple"]
    );

    for figure in checked
        .iter()
        .flat_map(|one| [one.answer, one.query, one.offline])
    {
        assert!(figure.predicted_s > 0.0 && figure.measured_s > 0.0);
        assert!((figure.ratio() * figure.measured_s / figure.predicted_s - 1.0).abs() < 1e-9);
    }

    // A title and a line for each of the two schemes.
    let mut out = Vec::new();
    write_table(&mut out, &checked).unwrap();
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 3);
}
