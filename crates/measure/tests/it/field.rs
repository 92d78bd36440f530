//! `papir bench --all`.

use papir_measure::schemes;
use serde_json::Value;

use crate::bench::output;

fn schemes_of(report: &Value) -> Vec<&str> {
    report["schemes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["scheme"].as_str().unwrap())
        .collect()
}

/// 2²⁰ records of 256 bytes in the table of a paper, predicted since no machine measures 2³⁰ of them.
#[test]
fn every_scheme_has_a_row() {
    let large: Value = serde_json::from_str(
        &output("--all --records 1073741824 --record-bytes 256 --json").unwrap(),
    )
    .unwrap();

    assert_eq!(schemes_of(&large), schemes::names().unwrap());

    // A scheme may have no parameters at this size. Its row then gives a reason, and no prediction.
    for entry in large["schemes"].as_array().unwrap() {
        let status = entry["status"].as_str().unwrap();
        let refused = status == "no_parameters" && !entry["reason"].as_str().unwrap().is_empty();
        assert!(refused || status == "predicted", "{entry}");
        assert_eq!(
            entry["private"],
            !["plain", "newton", "newtonsym", "newtonsym-batch"]
                .contains(&entry["scheme"].as_str().unwrap())
        );
    }

    let text = output("--all --records 1073741824 --record-bytes 256").unwrap();
    for part in [
        "1073741824 records of 256 B",
        "predicted, NOT PRIVATE",
        "refuses this database",
        "Predicted with",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}
